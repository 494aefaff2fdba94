//! The director of one case: arranges what the case says, does its steps, and hands over the history.
//!
//! It asserts nothing. What it cannot do it enters into the history, goes on as far as that makes sense, and cleans up
//! in any case.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_case::manifest::{self, Setting, object_name, pod_name};
use probity_case::{Case, wait};
use probity_case::{CasePod, ONLY, Wait};
use probity_model::EventId;
use probity_model::history::{Did, Happening, Header, NodeFacts};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::books::{Book, Books};
use crate::connect::Ground;
use crate::forward::Door;
use crate::schedule::Slots;
use crate::turns::Turn;
use crate::{Progress, Zero};

/// How long a wait takes at most, if the case does not say.
const WITHIN: Duration = Duration::from_secs(60);
/// How long a pod may take to get its address, or its containers to start, before the case goes on without.
const START_WITHIN: Duration = Duration::from_secs(60);
/// What is on its way when the last step is done may still come in.
const SETTLE: Duration = Duration::from_millis(400);

/// What all directors of a run share.
#[derive(Clone)]
pub struct Stage {
    /// The cluster.
    pub ground: Ground,
    /// The run's clock.
    pub zero: Zero,
    /// The books.
    pub books: Books,
    /// The slots.
    pub slots: Slots,
    /// Where progress is told.
    pub out: UnboundedSender<Progress>,
    /// Set when the run is interrupted.
    pub stop: CancellationToken,
    /// The nodes.
    pub nodes: BTreeMap<String, NodeFacts>,
    /// The user's command for verbs on nodes.
    pub node_command: Option<Vec<String>>,
    /// Whether pods are left for the user to look at.
    pub keep: bool,
}

/// Why a case stopped before its last step.
pub(crate) enum Cut {
    /// The run was interrupted.
    Interrupted,
    /// It could not be arranged.
    Broken(String),
}

/// One case on the stage.
pub(crate) struct Director<'c> {
    pub(crate) stage: Stage,
    pub(crate) case: &'c Case,
    pub(crate) setting: Setting,
    pub(crate) book: Book,
    pub(crate) doors: BTreeMap<(String, String), Door>,
    /// Whether the case has pods, or has had.
    begun: bool,
}

/// Runs one case from its first object to its clean-up. Returns how long it took, in microseconds.
pub async fn direct(stage: Stage, case: Case, setting: Setting) -> i64 {
    let Some(room) = stage.slots.room(&case).await else { return 0 };
    let (out, zero) = (stage.out.clone(), stage.zero);
    let began_us = zero.us();
    let _ = out.send(Progress::Began { case: case.name.clone(), us: began_us });
    let header = Header {
        run: setting.run.clone(),
        case: case.name.0.clone(),
        judges: case.judges.clone(),
        expect: case.expect.clone(),
        server: stage.ground.server_version.clone(),
        nodes: stage.nodes.clone(),
        began_wall_us: zero.wall_us(),
        ..Header::default()
    };
    let book = stage.books.open(&case.name.slug(), header);
    let mut director = Director { stage, case: &case, setting, book, doors: BTreeMap::new(), begun: false };
    let cut = director.play().await;
    director.fill_holes().await;
    let why = match &cut {
        Ok(()) => "done".to_owned(),
        Err(Cut::Interrupted) => "interrupted".to_owned(),
        Err(Cut::Broken(why)) => why.clone(),
    };
    director.book.enter_absences();
    director.book.deed(zero.us(), Did::Over { why });
    let us = zero.us();
    director.clear().await;
    let history = Box::new(director.book.close());
    let name = case.name.clone();
    let _ = out.send(match cut {
        Err(Cut::Broken(why)) => Progress::Broken { case: name, why, history },
        _ => Progress::Ended { case: name, history, began_us, us },
    });
    drop(room);
    us - began_us
}

impl Director<'_> {
    /// The objects, the pods, the steps.
    async fn play(&mut self) -> Result<(), Cut> {
        self.place_objects().await?;
        for key in self.in_order_of_addresses()? {
            self.place_pod(&key).await?;
        }
        for key in self.case.workloads.keys() {
            self.place_workload(key).await?;
        }
        for (at, step) in self.case.steps.iter().enumerate() {
            let since = if at == 0 { EventId(0) } else { self.book.look(|history| history.next_id()) };
            self.tell(step.in_words());
            self.step(step, since).await?;
        }
        if self.case.steps.is_empty() {
            self.watch_as_long_as_the_probes_need().await?;
        }
        self.pause(SETTLE).await
    }

    pub(crate) fn tell(&self, what: String) {
        let (case, us) = (self.case.name.clone(), self.stage.zero.us());
        let _ = self.stage.out.send(Progress::Doing { case, what, us });
    }

    async fn place_objects(&mut self) -> Result<(), Cut> {
        for object in &self.case.objects {
            let began = self.stage.zero.us();
            let sent = manifest::object(self.case, object, &self.setting);
            let stored = self.create(&sent).await?;
            let text = |field: &str| sent[field].as_str().unwrap_or_default().to_owned();
            let name = sent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let Some(ip) = stored["spec"]["clusterIP"].as_str() {
                let own = object["metadata"]["name"].as_str().unwrap_or_default();
                self.setting.addresses.insert(format!("service-ip:{own}"), ip.to_owned());
            }
            self.book.deed(began, Did::Created { kind: text("kind"), name, manifest: sent });
        }
        Ok(())
    }

    /// Pods whose manifests name the address of another come after it.
    fn in_order_of_addresses(&self) -> Result<Vec<String>, Cut> {
        let mut left: Vec<(&String, &CasePod)> =
            self.case.pods.iter().filter(|(_, pod)| !pod.later).collect();
        let mut order: Vec<String> = Vec::new();
        while !left.is_empty() {
            let ready = |pod: &CasePod| {
                manifest::placeholders(pod).iter().all(|name| {
                    name.strip_prefix("ip:").is_none_or(|key| order.iter().any(|placed| placed == key))
                })
            };
            let Some(at) = left.iter().position(|(_, pod)| ready(pod)) else {
                return Err(Cut::Broken("its pods wait for each other's addresses in a circle".to_owned()));
            };
            order.push(left.remove(at).0.clone());
        }
        Ok(order)
    }

    /// The turn of so many more pods to start.
    async fn turn(&mut self, pods: u64) -> Option<Turn> {
        let fresh = !std::mem::replace(&mut self.begun, true);
        self.stage.slots.start(self.case, fresh, pods).await
    }

    /// Creates a pod, and waits until its containers began to run: starts are what loads a node.
    pub(crate) async fn place_pod(&mut self, key: &str) -> Result<(), Cut> {
        let Some(pod) = self.case.pods.get(key) else { return Ok(()) };
        self.learn_addresses(manifest::placeholders(pod)).await?;
        let turn = self.turn(1).await;
        let name = pod_name(self.case, key);
        self.book.own_pod(&name);
        let began = self.stage.zero.us();
        let sent = manifest::pod(self.case, key, pod, &self.setting);
        self.create(&sent).await?;
        self.book.deed(began, Did::Created { kind: "Pod".to_owned(), name: name.clone(), manifest: sent });
        self.tell(format!("waits for pod {name} to start"));
        self.until(START_WITHIN, |history| started(history, &name)).await?;
        drop(turn);
        Ok(())
    }

    /// Creates a workload, and waits until all its pods began to run.
    async fn place_workload(&mut self, key: &str) -> Result<(), Cut> {
        let case = self.case;
        let Some(workload) = case.workloads.get(key) else { return Ok(()) };
        self.learn_addresses(manifest::placeholders_in(&workload.workload, &workload.target)).await?;
        let turn = self.turn(workload.replicas()).await;
        let (kind, name) = (workload.kind().to_owned(), object_name(case, key));
        self.book.expect_pods(&format!("{name}-"));
        let began = self.stage.zero.us();
        let sent = manifest::workload(case, key, workload, &self.setting);
        self.create(&sent).await?;
        self.book.deed(began, Did::Created { kind, name: name.clone(), manifest: sent });
        self.tell(format!("waits for the pods of {name} to start"));
        let wanted = usize::try_from(workload.replicas()).unwrap_or(usize::MAX);
        self.until(START_WITHIN, |history| {
            let pods = wait::pods_of(case, key, history);
            pods.len() >= wanted && pods.iter().all(|pod| started(history, pod))
        })
        .await?;
        drop(turn);
        Ok(())
    }

    /// Addresses of pods that are named by placeholders must be known before what names them can be sent.
    pub(crate) async fn learn_addresses(&mut self, placeholders: Vec<String>) -> Result<(), Cut> {
        for name in placeholders {
            if let Some(other) = name.strip_prefix("ip:") {
                self.learn_address(other).await?;
            }
        }
        Ok(())
    }

    async fn learn_address(&mut self, key: &str) -> Result<(), Cut> {
        let name = pod_name(self.case, key);
        self.tell(format!("waits for the address of pod {name}"));
        self.until(START_WITHIN, |history| address(history, &name).is_some()).await?;
        let found = self.book.look(|history| address(history, &name));
        let ip =
            found.ok_or_else(|| Cut::Broken(format!("pod {name} got no address in {START_WITHIN:?}")))?;
        self.setting.addresses.insert(format!("ip:{key}"), ip);
        Ok(())
    }

    /// Creates an object. After an interruption nothing comes into being any more, whatever waited for its turn.
    async fn create(&mut self, manifest: &Value) -> Result<Value, Cut> {
        if self.stage.stop.is_cancelled() {
            return Err(Cut::Interrupted);
        }
        let created = self.stage.ground.create(&self.setting.namespace, manifest, false).await;
        created.map_err(|refusal| {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
            Cut::Broken(format!(
                "{} {name} could not be created: {refusal}",
                manifest["kind"].as_str().unwrap_or("object")
            ))
        })
    }

    /// Waits until something holds of the history, and says whether it came in time.
    pub(crate) async fn until(
        &mut self,
        within: Duration,
        holds: impl Fn(&probity_model::History) -> bool,
    ) -> Result<bool, Cut> {
        let deadline = tokio::time::Instant::now() + within;
        loop {
            if self.book.look(&holds) {
                return Ok(true);
            }
            tokio::select! {
                () = self.book.changed() => {}
                () = tokio::time::sleep_until(deadline) => return Ok(false),
                () = self.stage.stop.cancelled() => return Err(Cut::Interrupted),
            }
        }
    }

    pub(crate) async fn pause(&mut self, span: Duration) -> Result<(), Cut> {
        self.until(span, |_| false).await.map(|_| ())
    }

    /// A step that waits.
    pub(crate) async fn wait(&mut self, of: &Wait, since: EventId) -> Result<(), Cut> {
        let began = self.stage.zero.us();
        let within = of.within.map_or(WITHIN, |span| span.0);
        let case = self.case;
        let came = self.until(within, |history| wait::met(of, case, history, since)).await?;
        let what = probity_case::Step::Wait(Box::new(of.clone())).in_words();
        self.book.deed(began, Did::Waited { what, came });
        Ok(())
    }

    /// A case without steps, such as a pod from a bug report: long enough for each of its probes to come to a
    /// conclusion twice.
    async fn watch_as_long_as_the_probes_need(&mut self) -> Result<(), Cut> {
        let span = self.book.look(|history| {
            let run = probity_model::Timeline::of(history);
            let needs = run.probes().map(|(_, _, probe)| {
                probe.initial_delay
                    + probe.period * probe.failures.max(probe.successes) * 2
                    + probe.timeout
                    + 3_000_000
            });
            needs.max().unwrap_or(15_000_000).clamp(10_000_000, 180_000_000)
        });
        let span = Duration::from_micros(span.unsigned_abs());
        self.tell(format!("watches for {span:?}, as long as its probes need to come to a conclusion twice"));
        self.pause(span).await
    }

    /// Lines that the recorder never got may stand in the container's log.
    async fn fill_holes(&mut self) {
        let missing = self.book.look(|history| {
            let run = probity_model::Timeline::of(history);
            let targets = run.containers().filter(|(pod, container)| {
                let planned =
                    self.case.plans(&pod.key).is_some_and(|plans| plans.contains_key(&container.name));
                planned
                    && (container.attempts.is_empty()
                        || container.attempts.iter().any(|one| !one.holes.is_empty()))
            });
            targets
                .map(|(pod, container)| {
                    (pod.name.clone(), pod.uid.clone(), container.name.clone(), pod.node.clone())
                })
                .collect::<Vec<_>>()
        });
        for (pod, uid, container, node) in missing {
            for previous in [true, false] {
                let log = self.stage.ground.log(&self.setting.namespace, &pod, &container, previous);
                let Ok(Ok(text)) = tokio::time::timeout(Duration::from_secs(5), log).await else { continue };
                for heard in crate::logs::lines(&text, &pod, &uid, &container, &node) {
                    self.book.enter(Happening::Witness(heard));
                }
            }
        }
    }

    /// Removes what the case made. What remains is removed with the namespace, or named there.
    async fn clear(&mut self) {
        if self.stage.keep {
            return;
        }
        let namespace = self.setting.namespace.clone();
        for key in self.case.pods.keys() {
            let _ = self.stage.ground.delete(&namespace, "Pod", &pod_name(self.case, key), Some(1)).await;
        }
        // Its controllers see to its pods, in the background.
        for (key, workload) in &self.case.workloads {
            let name = object_name(self.case, key);
            let _ = self.stage.ground.delete(&namespace, workload.kind(), &name, None).await;
        }
        for object in &self.case.objects {
            let kind = object["kind"].as_str().unwrap_or_default();
            let name = object_name(self.case, object["metadata"]["name"].as_str().unwrap_or("object"));
            let _ = self.stage.ground.delete(&namespace, kind, &name, Some(0)).await;
        }
    }

    /// The pod and the container that a step means.
    pub(crate) fn means(&self, pod: Option<&str>, container: Option<&str>) -> (String, String) {
        let key = pod.unwrap_or(ONLY);
        let first = self.case.pods.get(key).and_then(|pod| pod.target.keys().next());
        let container = container.map_or_else(|| first.cloned().unwrap_or_default(), str::to_owned);
        (key.to_owned(), container)
    }
}

/// The newest revision of a pod.
fn newest<'h>(history: &'h probity_model::History, pod: &str) -> Option<&'h Value> {
    history.events().rev().find_map(|(_, event)| match &event.what {
        Happening::Sighting(seen) if seen.kind == "Pod" && seen.name == pod => Some(&seen.object),
        _ => None,
    })
}

fn address(history: &probity_model::History, pod: &str) -> Option<String> {
    newest(history, pod)?.get("status")?.get("podIP")?.as_str().map(str::to_owned)
}

/// Whether a pod's first container runs or ran: what comes then costs the node little.
fn started(history: &probity_model::History, pod: &str) -> bool {
    let Some(status) = newest(history, pod).and_then(|pod| pod.get("status")) else { return false };
    let all = |list: &str| status.get(list).and_then(Value::as_array).into_iter().flatten();
    let begun = |one: &Value| one["state"].get("waiting").is_none() || one["restartCount"].as_u64() > Some(0);
    let settled = ["Running", "Succeeded", "Failed"].iter().any(|phase| status["phase"] == **phase);
    settled || (all("initContainerStatuses").count() > 0 && all("initContainerStatuses").any(begun))
}
