//! A whole run: prepare the cluster, run all cases, clean up.

mod director;
pub(crate) mod drain;
mod history_writer;
mod latest;
mod namespaces;
mod node_changes;
mod node_steps;
pub(crate) mod options;
mod placing;
pub(crate) mod progress;
pub(crate) mod rehearsal;
pub mod schedule;
mod start_slots;
mod steps;
mod timekeeping;
mod usage;
mod young_kubelets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use probity_case::manifest::{self, Setting};
use probity_case::{Case, CaseName};
use probity_model::history::NodeFacts;
use probity_report::run_log::Usage;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::api::nodes::UsableNodes;
use crate::listen::incoming::Incoming;
use crate::listen::stalls::StallDetector;
use crate::listen::watches::watch;
use crate::run::director::{RunContext, direct};
use crate::run::history_writer::HistoryWriter;
use crate::run::namespaces::needs_privileged;
use crate::run::options::{RunError, RunOptions};
use crate::run::progress::Progress;
use crate::run::schedule::RunCapacity;
use crate::run::timekeeping::Timekeeper;
use crate::run_clock::RunClock;
use crate::setup::namespace::Namespace;
use crate::setup::recorder::Recorder;
use crate::setup::wide_objects;

/// The kinds that are watched for every case; a case can add more.
const WATCHED: [&str; 4] = ["Pod", "Event", "EndpointSlice", "Service"];

/// How long the cleanup waits until deleted objects are removed.
const CLEAR_WITHIN: Duration = Duration::from_secs(45);
/// The maximum number of pods that exist at the same time, unless the user sets another number. The history of a case
/// is in memory until it is judged, and takes one to two megabytes.
const MOST_PODS: u32 = 1_000;
/// When this few cases are left, the nodes are calm. Cases that are undecided because of noise then run again, without
/// the noise of the other cases.
const FEW: usize = 6;

/// Runs cases, reports what happens, and cleans up: on success, on failure, and when `stop` is set.
///
/// # Errors
///
/// If the cluster could not be prepared, if the API server finds a pod invalid, or if a policy refuses the pods of all
/// cases. Objects that the run has already created are removed, or reported as leftovers.
pub async fn conduct(
    cluster: ClusterClient,
    options: RunOptions,
    cases: Vec<Case>,
    clock: RunClock,
    out: UnboundedSender<Progress>,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let mut run = RunInProgress { cluster, options, clock, out, stop, namespaces: Vec::new() };
    let has_wide = cases.iter().any(|case| case.objects.iter().any(probity_case::wide::is_wide));
    let usage = run.play(cases).await;
    // If the dry runs end the run, there is nothing to inspect.
    let is_refused = matches!(usage, Err(RunError::Refused(_) | RunError::AllRefused(_)));
    if !run.options.keep || is_refused {
        if has_wide {
            for left in wide_objects::remove(&run.cluster, &run.options.run).await {
                run.report(Progress::Leftover { what: left.what, why: left.why });
            }
        }
        let removals = run.namespaces.iter().map(|namespace| namespace.remove(&run.cluster, CLEAR_WITHIN));
        for left in join_all(removals).await.into_iter().flatten() {
            run.report(Progress::Leftover { what: left.what, why: left.why });
        }
    }
    let (cpu_us, peak_memory) = usage::of_this_process();
    run.report(Progress::Finished(Usage {
        wall_us: clock.us(),
        cpu_us,
        peak_memory,
        requests: run.cluster.requests(),
        interrupted: run.stop.is_cancelled(),
        ..usage?
    }));
    Ok(())
}

struct RunInProgress {
    cluster: ClusterClient,
    options: RunOptions,
    clock: RunClock,
    out: UnboundedSender<Progress>,
    stop: CancellationToken,
    /// The namespaces to clean up.
    namespaces: Vec<Namespace>,
}

impl RunInProgress {
    fn report(&self, progress: Progress) {
        let _ = self.out.send(progress);
    }

    /// Everything between the first object and the last case.
    async fn play(&mut self, cases: Vec<Case>) -> Result<Usage, RunError> {
        let (incoming, entries) = unbounded_channel();
        let histories = HistoryWriter::new(self.clock);
        let _writing = AbortOnDropHandle::new(tokio::spawn(histories.clone().write(entries)));
        let stalls = StallDetector::start(self.clock, incoming.clone());

        let stop = self.stop.clone();
        // An interruption during the preparation ends it at once: nothing has run yet.
        let Some(namespace) = stop.run_until_cancelled(self.restricted_namespace()).await else {
            return Ok(Usage::default());
        };
        let namespace = namespace?;
        let Some((cases, privileged)) = stop.run_until_cancelled(self.with_privileged(cases)).await else {
            return Ok(Usage::default());
        };
        let rehearsed = self.rehearse(cases, &namespace, privileged.as_deref());
        let Some(cases) = stop.run_until_cancelled(rehearsed).await else { return Ok(Usage::default()) };
        let cases = cases?;
        let _watches = self.watch(&cases, &incoming);
        let token = uuid::Uuid::new_v4().simple().to_string();
        let setting = self.options.setting(&namespace, "", &token);
        let recorder = Recorder::deploy(&self.cluster, &namespace, &setting);
        let Some(recorder) = stop.run_until_cancelled(recorder).await else { return Ok(Usage::default()) };
        let recorder = recorder?;
        let setting = Setting { recorder: recorder.address.clone(), ..setting };
        let image = recorder.image_digest.clone();
        let UsableNodes { facts: mut nodes, control_plane } =
            self.cluster.nodes(&self.options.placement).await?;
        self.leave_out_unused(&cases, &control_plane, &mut nodes);
        self.bind_to_nodes(&cases, &nodes.keys().cloned().collect::<Vec<_>>(), &recorder.node);
        let unknown = stop.run_until_cancelled(self.cluster.add_settings(&mut nodes)).await;
        if let Some(warning) = unknown.flatten() {
            self.report(Progress::Warning(warning));
        }
        let _stream = recorder.listen(self.clock, incoming.clone());
        let (told, deployed) = oneshot::channel();
        let _metronomes = self.keep_time(setting.clone(), nodes.keys().cloned().collect(), incoming, told);
        if cases.iter().any(Case::takes_a_node_away) {
            // No metronome can start on a node that is cut off. If a metronome cannot start now, there is a warning,
            // and the run continues.
            let _ = stop.run_until_cancelled(deployed).await;
        }
        self.wait_for_young_kubelets(young_kubelets::age_for(&cases), &nodes).await;
        let laid_us = self.clock.us();
        self.report(Progress::Ready {
            context: self.cluster.context.clone(),
            cluster_uid: self.cluster.uid().await,
            server: self.cluster.server_version.clone(),
            namespace,
            nodes: nodes.clone(),
            image,
            us: laid_us,
        });

        let room = match self.options.pods {
            Some(pods) => pods,
            None => self.cluster.free_pods(&self.options.placement).await.unwrap_or(60).min(MOST_PODS),
        };
        let starts = self.options.starts;
        let capacity = RunCapacity::new(room, starts, nodes.keys(), histories.clone(), self.clock);
        let context = RunContext {
            cluster: self.cluster.clone(),
            clock: self.clock,
            capacity,
            histories,
            out: self.out.clone(),
            stop: self.stop.clone(),
            nodes: Arc::new(nodes),
            control_plane: Arc::new(control_plane),
            node_command: self.options.node_command.clone(),
            kubectl: self.options.kubectl.clone(),
            keep: self.options.keep,
        };
        let cases_run = cases.len() as u64;
        let privileged = privileged.as_deref();
        let mut longest_us = 0;
        let (mut ran, mut next) = (Vec::new(), cases);
        while !next.is_empty() {
            longest_us =
                longest_us.max(self.direct_all(next, &context, (&setting, privileged), &mut ran).await);
            next = self.undecided(&ran).await;
        }
        let (stalls, stalled_us) = stalls.totals();
        Ok(Usage { laid_us, longest_us, cases: cases_run, stalls, stalled_us, ..Usage::default() })
    }

    /// Leaves out the nodes on which no case runs, if every case with pods is bound to a node: for example, the nodes of
    /// other shards. They need no metronome. A node of the control plane affects all cases.
    fn leave_out_unused(
        &self,
        cases: &[Case],
        control_plane: &BTreeSet<String>,
        nodes: &mut BTreeMap<String, NodeFacts>,
    ) {
        let bound = |case: &Case| self.options.bound.contains_key(&case.name);
        if !self.options.bound.is_empty() && cases.iter().all(|case| case.most_pods() == 0 || bound(case)) {
            let used: BTreeSet<&String> = self.options.bound.values().collect();
            nodes.retain(|node, _| used.contains(node) || control_plane.contains(node));
        }
    }

    /// Binds some cases to one node. The cases that make a node unavailable, or taint it, run on a node without the recorder,
    /// which all other cases need. The cases that configure a node all run on the same node.
    fn bind_to_nodes(&mut self, cases: &[Case], nodes: &[String], recorder: &str) {
        let spare = nodes.iter().rfind(|node| *node != recorder);
        let taking = cases.iter().filter(|case| case.takes_a_node_away() || case.taints_a_node());
        let bound = taking.filter_map(|case| Some((case.name.first(), spare?.clone())));
        self.options.bound.extend(bound);
        for case in cases.iter().filter(|case| case.configures_a_node()) {
            if let Some(node) = nodes.first() {
                self.options.bound.entry(case.name.first()).or_insert_with(|| node.clone());
            }
        }
    }

    /// Waits until the kubelet of each of these nodes has run for this long, so that it sends the first probe of each
    /// container on time.
    async fn wait_for_young_kubelets(&self, age: Duration, nodes: &BTreeMap<String, NodeFacts>) {
        if age.is_zero() {
            return;
        }
        let Some(started) = self.cluster.last_kubelet_start(nodes).await else { return };
        let wait = young_kubelets::time_until(age, started, Timestamp::now());
        if wait.is_zero() {
            return;
        }
        self.report(Progress::Warning(format!(
            "a kubelet has just started and would delay first probes by up to their period: the next case begins in {} s",
            wait.as_secs() + 1
        )));
        let _ = self.stop.run_until_cancelled(tokio::time::sleep(wait)).await;
    }

    /// Watches what these cases need in all namespaces of the run. Workloads, and the objects between them and their
    /// pods, are watched only if a case has workloads, because each kind costs a request a minute.
    fn watch(&self, cases: &[Case], incoming: &UnboundedSender<Incoming>) -> Vec<AbortOnDropHandle<()>> {
        let named = cases.iter().flat_map(|case| case.watch.iter().map(String::as_str));
        let workloads = cases.iter().flat_map(|case| case.workloads.values());
        let of_workloads = workloads.flat_map(|workload| match workload.kind() {
            "Deployment" => vec!["Deployment", "ReplicaSet"],
            kind => vec![kind],
        });
        let kinds: BTreeSet<&str> = WATCHED.into_iter().chain(named).chain(of_workloads).collect();
        let label = format!("{}={}", manifest::RUN, self.options.run);
        let in_namespace = |namespace: &Namespace, kind: &str| {
            let labels = (kind != "Event").then_some(label.as_str());
            watch(&self.cluster, &namespace.name, kind, labels, self.clock, incoming.clone())
        };
        let pairs = self.namespaces.iter().flat_map(|one| kinds.iter().map(move |kind| (one, *kind)));
        pairs.map(|(namespace, kind)| in_namespace(namespace, kind)).collect()
    }

    /// Starts the metronomes while the first cases start, and reads the clocks of their nodes from then on.
    fn keep_time(
        &self,
        setting: Setting,
        nodes: Vec<String>,
        incoming: UnboundedSender<Incoming>,
        deployed: oneshot::Sender<()>,
    ) -> AbortOnDropHandle<()> {
        let (cluster, clock, out) = (self.cluster.clone(), self.clock, self.out.clone());
        let timekeeper = Timekeeper { cluster, setting, clock, out, incoming };
        AbortOnDropHandle::new(tokio::spawn(timekeeper.work(nodes, deployed)))
    }

    /// The cases that should run again, under separate names.
    async fn undecided(&self, ran: &[Arc<Case>]) -> Vec<Case> {
        let (again, answer) = oneshot::channel();
        if self.stop.is_cancelled() {
            return Vec::new();
        }
        self.report(Progress::Undecided { again });
        let names = answer.await.unwrap_or_default();
        let names: BTreeSet<CaseName> = names.into_iter().collect();
        ran.iter().filter(|case| names.contains(&case.name)).map(|case| case.again()).collect()
    }

    /// Runs all cases and, together with the last of them, the cases that should run again. Returns the longest time
    /// that a case took. Adds every case that was started to `ran`.
    async fn direct_all(
        &self,
        cases: Vec<Case>,
        context: &RunContext,
        setting: (&Setting, Option<&str>),
        ran: &mut Vec<Arc<Case>>,
    ) -> i64 {
        let (together, mut alone) = schedule::order(cases);
        let mut running = JoinSet::new();
        for case in together {
            self.start(case, context, setting, (&mut running, ran));
            // Cases start in the order in which they request capacity.
            tokio::task::yield_now().await;
        }
        let mut longest_us = 0;
        while let Some(took) = self.next_end(&mut running).await {
            longest_us = longest_us.max(took);
            if running.len() > FEW {
                continue;
            }
            let again = self.undecided(ran).await.into_iter();
            let (quiet, again): (Vec<_>, Vec<_>) = again.partition(|case| case.quiet);
            alone.extend(quiet);
            again.into_iter().for_each(|case| self.start(case, context, setting, (&mut running, ran)));
        }
        // The metronome of a node ends with all other pods of the node.
        alone.sort_by_key(Case::ends_pods_of_a_node);
        let mut restarted = false;
        for case in alone {
            if self.stop.is_cancelled() {
                break;
            }
            if restarted && !case.restarts_a_kubelet() {
                let age = young_kubelets::age_for(std::slice::from_ref(&case));
                self.wait_for_young_kubelets(age.max(young_kubelets::STEADY), &context.nodes).await;
            }
            restarted |= case.restarts_a_kubelet() || case.takes_a_node_away();
            self.start(case, context, setting, (&mut running, ran));
            longest_us = longest_us.max(self.next_end(&mut running).await.unwrap_or_default());
        }
        longest_us
    }

    /// Starts a case.
    fn start(
        &self,
        case: Case,
        context: &RunContext,
        (setting, privileged): (&Setting, Option<&str>),
        (running, ran): (&mut JoinSet<i64>, &mut Vec<Arc<Case>>),
    ) {
        let namespace = privileged.filter(|_| needs_privileged(&case)).unwrap_or(&setting.namespace);
        let placement = match self.options.bound.get(&case.name.first()) {
            Some(node) => setting.placement.on(node),
            None => setting.placement.clone(),
        };
        // The name of a mirror pod contains that of its node.
        let case = match &placement.node {
            Some(node) if case.has_static_pods() => case.with_static_pods_on(node),
            _ => case,
        };
        let setting = Setting { namespace: namespace.to_owned(), placement, ..setting.clone() };
        let case = Arc::new(case);
        ran.push(Arc::clone(&case));
        running.spawn(direct(context.clone(), case, setting));
    }

    /// Waits until a case ends; returns how long it took.
    async fn next_end(&self, running: &mut JoinSet<i64>) -> Option<i64> {
        let ended = running.join_next().await?;
        Some(ended.unwrap_or_else(|error| {
            let why = format!("the director of a case failed: {error}; please report it");
            self.report(Progress::Warning(why));
            0
        }))
    }
}
