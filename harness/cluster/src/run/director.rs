//! The director of one case: arranges what the case describes, does its steps, and returns the history.
//!
//! It asserts nothing. If it cannot do something, it records this in the history, and continues as far as possible. It
//! cleans up in any case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use probity_case::manifest::{Setting, name_of_object, object_name, pod_name};
use probity_case::{Case, wait};
use probity_case::{ONLY, Wait};
use probity_model::clocks::Stamp;
use probity_model::history::{Did, Happening, Header, NodeFacts};
use probity_model::timeline::PodLife;
use probity_model::{EventId, History, Timeline};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::api::client::ClusterClient;
use crate::api::port_forward::PortForwardClient;
use crate::fields::Fields as _;
use crate::listen::logs;
use crate::run::drain::Kubectl;
use crate::run::history_writer::{CaseHistory, HistoryWriter};
use crate::run::progress::Progress;
use crate::run::schedule::RunCapacity;
use crate::run_clock::RunClock;
use crate::setup::namespace::release;
use crate::setup::node_changes::NodeChange;

/// The maximum time of a wait, unless the case sets another.
const WAIT_WITHIN: Duration = Duration::from_secs(60);
/// Events and lines that are in transit when the last step completes can still arrive within this time. Some judges
/// assume that the lines of a target arrive within two seconds ([`probity_model::mechanisms::UNDER_WAY`]).
const SETTLE: Duration = Duration::from_secs(2);
const LOG_WITHIN: Duration = Duration::from_secs(5);

/// The context that all directors of a run share.
#[derive(Clone)]
pub(super) struct RunContext {
    pub(super) cluster: ClusterClient,
    pub(super) clock: RunClock,
    pub(super) histories: HistoryWriter,
    pub(super) capacity: RunCapacity,
    pub(super) out: UnboundedSender<Progress>,
    /// Set when the run is interrupted.
    pub(super) stop: CancellationToken,
    pub(super) nodes: Arc<BTreeMap<String, NodeFacts>>,
    /// The nodes that run the control plane.
    pub(super) control_plane: Arc<BTreeSet<String>>,
    /// The user's command for verbs on nodes.
    pub(super) node_command: Option<Vec<String>>,
    /// The program that drains nodes.
    pub(super) kubectl: Option<Kubectl>,
    /// Whether pods are kept for the user to look at.
    pub(super) keep: bool,
}

/// Why a case stopped before its last step.
pub(super) enum EarlyEnd {
    /// The run was interrupted.
    Interrupted,
    /// It could not be arranged.
    Broken(String),
}

/// The director of one case.
pub(super) struct Director<'c> {
    pub(super) run: RunContext,
    pub(super) case: &'c Case,
    pub(super) setting: Setting,
    pub(super) history: CaseHistory,
    /// The control ports in use, by pod and container.
    pub(super) control_ports: BTreeMap<(String, String), PortForwardClient>,
    /// Whether the case has pods, or had some.
    pub(super) begun: bool,
    /// Whether a part of the case did not start in time.
    pub(super) gave_up: bool,
    /// The nodes on which steps acted, each with the verb that undoes the action, in the order of the steps.
    pub(super) to_undo: Vec<(String, &'static str)>,
    /// The taints, cordons and resources that steps set, each with its node.
    pub(super) changes: Vec<(String, NodeChange)>,
}

/// Runs one case from its first object to its cleanup. Returns how long it took, in microseconds.
pub(super) async fn direct(run: RunContext, case: Arc<Case>, setting: Setting) -> i64 {
    let room = run.stop.run_until_cancelled(run.capacity.room(&case)).await;
    // A case that has not begun when the run is interrupted leaves no history.
    let Some(room) = room.flatten().filter(|_| !run.stop.is_cancelled()) else { return 0 };
    // Thousands of cases may wait for capacity. Only those that run need memory for what they do.
    Box::pin(direct_in(room, run, &case, setting)).await
}

async fn direct_in(room: OwnedSemaphorePermit, run: RunContext, case: &Case, setting: Setting) -> i64 {
    let (out, clock) = (run.out.clone(), run.clock);
    let began_us = clock.us();
    let _ = out.send(Progress::Began { case: case.name.clone(), us: began_us });
    let here = |node: &String| setting.placement.node.as_ref().is_none_or(|only| only == node);
    let nodes = run.nodes.iter().filter(|(node, _)| here(node));
    let header = Header {
        run: setting.run.clone(),
        case: case.name.0.clone(),
        judges: case.judges.clone(),
        expect: case.expect.clone(),
        server: run.cluster.server_version.clone(),
        nodes: nodes.map(|(node, facts)| (node.clone(), facts.clone())).collect(),
        began_wall_us: clock.wall_us(),
        ..Header::default()
    };
    let history = run.histories.open(&case.name.slug(), header, run.nodes_of(case, &setting));
    let mut director = Director {
        run,
        case,
        setting,
        history,
        control_ports: BTreeMap::new(),
        begun: false,
        gave_up: false,
        to_undo: Vec::new(),
        changes: Vec::new(),
    };
    let end = director.play().await;
    director.fill_holes().await;
    let why = match &end {
        Ok(()) => "done",
        Err(EarlyEnd::Interrupted) => "interrupted",
        Err(EarlyEnd::Broken(why)) => why,
    };
    director.history.write_absences();
    director.history.deed(clock.us(), Did::Over { why: why.to_owned() });
    let us = clock.us();
    director.clean_up().await;
    let history = Box::new(director.history.close());
    let name = case.name.clone();
    let _ = out.send(match end {
        Err(EarlyEnd::Broken(why)) => Progress::Broken { case: name, why, history, room: room.into() },
        _ => Progress::Ended { case: name, history, began_us, us, room: room.into() },
    });
    us - began_us
}

/// How much of the time since `from` the nodes of the case's pods, or the harness, were stalled.
fn noise_since(history: &History, from: &Stamp, now_us: i64) -> Duration {
    let run = Timeline::of(history);
    let noise = run.pods.iter().map(|pod| run.noise_between(&pod.node, from, &Stamp::harness(now_us)));
    Duration::from_micros(noise.max().unwrap_or(0).unsigned_abs())
}

impl RunContext {
    /// The nodes that can affect a case: all of them, or only its own and those of the control plane, if it is bound to one
    /// node.
    fn nodes_of(&self, case: &Case, setting: &Setting) -> Option<BTreeSet<String>> {
        let own = setting.placement.node.as_ref().filter(|_| !case.needs_several_nodes())?;
        Some(self.control_plane.iter().chain([own]).cloned().collect())
    }
}

impl Director<'_> {
    /// Creates the objects and the pods, and does the steps.
    async fn play(&mut self) -> Result<(), EarlyEnd> {
        self.place_everything().await?;
        for (at, step) in self.case.steps.iter().enumerate() {
            let since = if at == 0 { EventId(0) } else { self.history.look(History::next_id) };
            self.report(step.in_words());
            self.step(step, since).await?;
        }
        if self.case.steps.is_empty() {
            self.watch_as_long_as_the_probes_need().await?;
        }
        self.pause(SETTLE).await
    }

    pub(super) fn report(&self, what: String) {
        let (case, us) = (self.case.name.clone(), self.run.clock.us());
        let _ = self.run.out.send(Progress::Doing { case, what, us });
    }

    /// Waits until the history fulfills a condition, and returns whether it did in time.
    pub(super) async fn until(
        &mut self,
        within: Duration,
        fulfilled: impl Fn(&History) -> bool,
    ) -> Result<bool, EarlyEnd> {
        let deadline = tokio::time::Instant::now() + within;
        loop {
            if self.history.look(&fulfilled) {
                return Ok(true);
            }
            tokio::select! {
                () = self.history.changed() => {}
                () = tokio::time::sleep_until(deadline) => return Ok(false),
                () = self.run.stop.cancelled() => return Err(EarlyEnd::Interrupted),
            }
        }
    }

    pub(super) async fn pause(&mut self, span: Duration) -> Result<(), EarlyEnd> {
        self.until(span, |_| false).await.map(|_| ())
    }

    /// Lets time pass, and extends it by the duration of the noise, but at most to twice the time. On a busy node,
    /// events are late, and judges accept an absence only after the whole time without noise.
    pub(super) async fn watch(&mut self, span: Duration) -> Result<(), EarlyEnd> {
        let began = Stamp::harness(self.run.clock.us());
        let mut left = span;
        while !left.is_zero() {
            self.pause(left).await?;
            let now_us = self.run.clock.us();
            let noise = self.history.look(|history| noise_since(history, &began, now_us));
            let lasted = Duration::from_micros(now_us.saturating_sub(began.at.lo).unsigned_abs());
            left = (span + noise.min(span)).saturating_sub(lasted);
        }
        Ok(())
    }

    /// A step that waits.
    pub(super) async fn wait(&mut self, of: &Wait, since: EventId) -> Result<(), EarlyEnd> {
        let began = self.run.clock.us();
        let within = of.within.map_or(WAIT_WITHIN, |span| span.0);
        let case = self.case;
        let came = self.until(within, |history| wait::met(of, case, history, since)).await?;
        let what = probity_case::Step::Wait(Box::new(of.clone())).in_words();
        self.history.deed(began, Did::Waited { what, came });
        Ok(())
    }

    /// A case without steps, such as a pod from a bug report, lasts long enough for each of its probes to reach its
    /// threshold twice.
    async fn watch_as_long_as_the_probes_need(&mut self) -> Result<(), EarlyEnd> {
        let span = self.history.look(|history| {
            let run = Timeline::of(history);
            probity_case::forecast::watched(run.probes().map(|(_, _, probe)| probe))
        });
        let span = span.0;
        self.report(format!(
            "watches for {span:?}: the time for each probe to reach its threshold twice, at least 10 s and at most 3 min"
        ));
        self.pause(span).await
    }

    /// Reads the logs of targets whose lines did not all reach the recorder.
    async fn fill_holes(&mut self) {
        let incomplete: Vec<[String; 4]> = self.history.look(|history| {
            let run = Timeline::of(history);
            let targets = run.containers().filter(|(pod, container)| {
                let plans = self.case.plans(&pod.key);
                let whole = container.attempts.iter().all(|attempt| attempt.holes.is_empty());
                plans.is_some_and(|plans| plans.contains_key(&container.name))
                    && (container.attempts.is_empty() || !whole)
            });
            // The kubelet serves the log of a static pod under the UID of its present mirror pod.
            let uid = |pod: &PodLife<'_>| pod.mirrors.last().map_or(&pod.uid, |mirror| &mirror.uid).clone();
            targets
                .map(|(pod, container)| {
                    [pod.name.clone(), uid(pod), container.name.clone(), pod.node.clone()]
                })
                .collect()
        });
        for [pod, uid, container, node] in incomplete {
            for previous in [true, false] {
                let namespace = &self.setting.namespace;
                let log = self.run.cluster.log_of(namespace, (&pod, &uid), &container, previous);
                let Ok(Ok(Some(text))) = tokio::time::timeout(LOG_WITHIN, log).await else { continue };
                for heard in logs::lines(&text, &pod, &uid, &container, &node) {
                    self.history.write(Happening::Witness(heard));
                }
            }
        }
    }

    /// Removes what the case created. Objects that remain are removed with the namespace, or reported when the
    /// namespace is removed.
    async fn clean_up(&mut self) {
        self.take_changes_back().await;
        self.undo_verbs().await;
        if self.run.keep {
            return;
        }
        let (cluster, namespace) = (&self.run.cluster, &self.setting.namespace);
        for (key, of) in &self.case.pods {
            let name = pod_name(self.case, key);
            let _ = cluster.delete(namespace, "Pod", &name, Some(1)).await;
            let _ = release(cluster, namespace, "Pod", &name, &of.pod).await;
        }
        // The controllers remove the pods, in the background.
        for (key, workload) in &self.case.workloads {
            let _ = cluster.delete(namespace, workload.kind(), &object_name(self.case, key), None).await;
        }
        for object in &self.case.objects {
            let name = name_of_object(self.case, object, &self.setting.run);
            let _ = cluster.delete(namespace, object.text("/kind"), &name, Some(0)).await;
        }
    }

    /// The pod and the container to which a step refers.
    pub(super) fn target(&self, pod: Option<&str>, container: Option<&str>) -> (String, String) {
        let key = pod.unwrap_or(ONLY);
        let first = self.case.pods.get(key).and_then(|pod| pod.target.keys().next());
        let container = container.or(first.map(String::as_str)).unwrap_or_default();
        (key.to_owned(), container.to_owned())
    }
}
