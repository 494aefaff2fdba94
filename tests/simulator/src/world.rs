//! The clock and the queue: the time of each act, and the order in which the harness receives the results.
//!
//! Time is virtual and moves from one act to the next. Each received event (a revision, a witness line) is written into
//! the history shortly after it happened, as on a real network. The world does not know how probes or pods behave.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use probity_case::manifest::{Setting, variants};
use probity_case::{Case, TaintStep};
use probity_composer::{AHEAD_US, NODE, ZERO_WALL_US};
use probity_model::history::{Deed, Did, Happening, Header, Reading};
use probity_model::timeline::ProbeKind;
use probity_model::{EventId, History};
use probity_script::Fact;

use crate::budgets::Budget;
use crate::critical::{CLUSTER_CRITICAL, CRITICAL};
use crate::director::Director;
use crate::endpoints::Service;
use crate::kubelet::{Flight, Run};
use crate::node_facts::node_facts;
use crate::node_loss::Held;
use crate::node_shutdown::Shutdown;
use crate::node_verbs::NodeSettings;
use crate::pod::Pod;
use crate::target::Errand;
use crate::{Defect, Oddity};

/// The image of the targets.
const IMAGE: &str = "probity.local/agnhost-rs:dev";
/// A millisecond in microseconds.
pub(crate) const MS: i64 = 1_000;
/// A second in microseconds.
pub(crate) const SECOND: i64 = 1_000_000;
/// The maximum duration of a case, whatever its steps.
const LONGEST: i64 = 2400 * SECOND;
/// How often clocks are read.
const READING_EVERY: i64 = 5 * SECOND;
/// How long a witness line takes to reach the harness.
const WITNESS_DELAY: i64 = 4 * MS;
/// How long a revision takes to reach the harness.
const WATCH_DELAY: i64 = 9 * MS;

/// A container of a pod, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) pod: usize,
    pub(crate) container: usize,
}

/// One instance of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LifeAt {
    pub(crate) at: At,
    pub(crate) attempt: u64,
}

/// Something that is due at a given time.
pub(crate) enum Act {
    /// The harness receives something.
    Hear(Box<Happening>),
    /// A process records something, if it still runs.
    Note(LifeAt, Box<Fact>),
    /// Clocks are read.
    Read,
    /// The harness checks whether it can continue.
    Direct,
    /// A pod is bound to the node.
    Bind(usize),
    /// The kubelet creates the pod's next containers.
    Create(usize),
    /// The kubelet retries a container that could not be created.
    Retry(At),
    /// A container starts.
    Start(At),
    /// A process checks a dependency for which it waits: the number of the dependency, and the number of checks so far.
    /// When all are available, it opens its ports.
    Await(LifeAt, usize, u64),
    /// A process checks the plan for its ports.
    Doors(LifeAt),
    /// A client of a process sends a request: the number of the client, and the number of requests so far.
    Ask(LifeAt, usize, u64),
    /// The kubelet syncs the pod.
    Sync(usize),
    /// The pod's status reaches the API.
    Publish(usize),
    /// The ticker of a probe's worker, of this generation.
    Tick(At, ProbeKind, u64),
    /// A worker is told to probe now.
    Poke(At, ProbeKind),
    /// A probe is sent one more time than it should be.
    Extra(At, ProbeKind, u64),
    /// A probe is sent.
    Probe(Box<Run>),
    /// A probe completes, by its number among those in progress.
    Settled(u64),
    /// A container gets its stop signal; it is killed at the second time.
    Terminate(LifeAt, i64),
    /// A container is killed.
    Force(LifeAt),
    /// Sidecars of a terminating pod may stop, if it is their turn.
    Turn(usize),
    /// A process exits by itself.
    Exit(LifeAt, u8, &'static str),
    /// The postStart hook of a container runs.
    Hook(LifeAt),
    /// An event about a container is recorded: its type, its reason, and its message.
    Report(At, &'static str, &'static str, &'static str),
    /// A failed probe of a container is reported, long after the failure.
    Unhealthy(At, String),
    /// The postStart hook of a container has failed.
    HookFailed(LifeAt),
    /// The endpoint controller updates a Service.
    Reconcile(usize),
    /// The node's proxy learns of a service's endpoints.
    Proxy(usize),
    /// A pod exceeded its deadline.
    Expire(usize),
    /// A process used more storage than the limit of its pod, and the kubelet notices it.
    Evict(LifeAt),
    /// The kubelet ends the critical pods of a node that shuts down, or all others.
    EndForShutdown(bool),
    /// The kubelet checks which pods are left on a node that shuts down.
    LookAtShutdown,
    /// The kubelet checks the memory of its node.
    LookAtMemory,
    /// A process wants more memory than its container's limit.
    OutOfMemory(LifeAt),
    /// All containers of a pod have ended and are created again; one of them caused this.
    Reset(At),
    /// The API server removes a pod.
    Drop(usize),
    /// The scheduler finds no node for a pod.
    Unschedulable(usize),
    /// The garbage collector finds a pod on a node that does not exist.
    Collect(usize),
    /// The budget controller updates a budget.
    Weigh(usize),
    /// The kubelet gives a running container its new resources.
    Resize(At),
    /// The node controller has received nothing from the node for too long.
    Lose,
    /// A defective API server writes why a pod terminates.
    Explain(usize),
    /// A defective cluster no longer leaves a pod alone.
    Tire(usize),
    /// A pod no longer tolerates that its node is lost.
    Untolerated(usize),
    /// The garbage collector counts the terminated pods.
    CollectSurplus,
    /// The kubelet creates the mirror pod of a static pod again.
    Mirror(usize),
    /// The taint controller deletes a pod.
    EndByTaint(usize),
    /// The kubelet tries again to start a critical pod.
    Accept(usize, i64),
    /// The scheduler retries a pod that found no place.
    Preempt(usize),
    /// The garbage collector handles pods on a lost node.
    Sweep,
    /// A request of a process's client completes, by its number among those in progress.
    Called(u64),
}

/// The whole state at one time.
pub(crate) struct World<'c> {
    pub(crate) case: &'c Case,
    defects: BTreeSet<Defect>,
    /// The unusual thing that the cluster does.
    pub(crate) oddity: Option<Oddity>,
    /// The defects on which anything has depended so far.
    depends_on: Rc<RefCell<BTreeSet<Defect>>>,
    pub(crate) now: i64,
    queue: BTreeMap<(i64, u64), Act>,
    ticket: u64,
    dice: u64,
    pub(crate) history: History,
    pub(crate) setting: Setting,
    pub(crate) pods: Vec<Pod>,
    pub(crate) services: Vec<Service>,
    pub(crate) budgets: Vec<Budget>,
    /// The keys of the ConfigMaps and Secrets, by kind and name, each with its first and its last value.
    pub(crate) settings: BTreeMap<(String, String), BTreeMap<String, [String; 2]>>,
    /// The quota of the case, as its author wrote it.
    pub(crate) quota: Option<serde_json::Value>,
    pub(crate) director: Director,
    pub(crate) revision: u64,
    /// Probes in progress, by number.
    pub(crate) flights: BTreeMap<u64, Flight>,
    /// Requests of processes' clients in progress, by number.
    pub(crate) errands: BTreeMap<u64, Errand>,
    /// The settings of the kubelet that a verb changed.
    pub(crate) node: NodeSettings,
    /// The shutdown of the node that was announced.
    pub(crate) shutdown: Option<Shutdown>,
    /// Everything that waits for the network of the node, while it has none.
    pub(crate) held: Option<Held>,
    /// Whether the node controller knows that the node is lost.
    pub(crate) lost: bool,
    /// The taints that clients gave to the node.
    pub(crate) taints: Vec<TaintStep>,
    /// The extended resources of the node, in thousandths.
    pub(crate) advertised: BTreeMap<String, i64>,
    /// The value of each PriorityClass.
    pub(crate) priorities: BTreeMap<String, i64>,
    /// The process that the most recent call reached.
    pub(crate) reached: Option<LifeAt>,
    /// The recorded events, by pod and content: the number of each event, its count, and when it first occurred.
    pub(crate) events: BTreeMap<(usize, String), (u64, u64, i64)>,
}

/// The beginning of the addresses of pods.
pub(crate) const FIRST_NETWORK: &str = "10.244.1.";
/// The beginning of the address of a pod that has lost its sandbox.
pub(crate) const NEXT_NETWORK: &str = "10.244.2.";

impl<'c> World<'c> {
    pub(crate) fn new(case: &'c Case, defects: &[Defect], seed: u64) -> Self {
        let header = Header {
            run: "simulated".to_owned(),
            case: case.name.0.clone(),
            judges: case.judges.clone(),
            expect: case.expect.clone(),
            server: "v1.36.3".to_owned(),
            nodes: BTreeMap::from([(NODE.to_owned(), node_facts())]),
            began_wall_us: ZERO_WALL_US,
            ..Header::default()
        };
        let setting = Setting {
            run: "simulated".to_owned(),
            namespace: "probity-simulated".to_owned(),
            image: IMAGE.to_owned(),
            pull_policy: "Never".to_owned(),
            recorder: "10.244.1.2:7070".to_owned(),
            token: "simulated".to_owned(),
            addresses: variants::references(IMAGE).collect(),
            ..Setting::default()
        };
        Self {
            case,
            defects: defects.iter().copied().collect(),
            oddity: None,
            depends_on: Rc::default(),
            now: 0,
            queue: BTreeMap::new(),
            ticket: 0,
            dice: seed ^ 0x9E37_79B9_7F4A_7C15,
            history: History::new(header),
            setting,
            pods: Vec::new(),
            services: Vec::new(),
            budgets: Vec::new(),
            settings: BTreeMap::new(),
            quota: None,
            director: Director::default(),
            revision: 1000,
            flights: BTreeMap::new(),
            errands: BTreeMap::new(),
            node: NodeSettings::default(),
            shutdown: None,
            held: None,
            lost: false,
            taints: Vec::new(),
            advertised: BTreeMap::new(),
            priorities: [CRITICAL, CLUSTER_CRITICAL].map(|(name, value)| (name.to_owned(), value)).into(),
            reached: None,
            events: BTreeMap::new(),
        }
    }

    /// Runs all acts until the case ends.
    pub(crate) fn run(mut self) -> History {
        self.later(0, Act::Read);
        self.later(10 * MS, Act::Direct);
        while let Some(((at, _), act)) = self.queue.pop_first() {
            self.now = at;
            if at > LONGEST {
                self.did(Did::Over { why: "out of time".to_owned() });
                break;
            }
            self.perform(act);
            if self.director.over {
                break;
            }
        }
        self.history
    }

    fn perform(&mut self, act: Act) {
        let Some(act) = self.hold(act) else { return };
        match act {
            Act::Hear(what) => {
                self.history.push(self.now, *what);
                self.heard();
            }
            Act::Note(life, fact) => self.note(life, *fact),
            Act::Read => self.read_clocks(),
            Act::Direct => self.direct(),
            Act::Bind(pod) => self.bind(pod),
            Act::Create(pod) => self.create_containers(pod),
            Act::Retry(at) => self.retry(at),
            Act::Start(at) => self.start(at),
            Act::Await(life, which, tries) => self.look_for(life, which, tries),
            Act::Doors(life) => self.doors(life),
            Act::Ask(life, client, count) => self.ask(life, client, count),
            Act::Sync(pod) => self.sync(pod),
            Act::Publish(pod) => self.publish(pod),
            Act::Tick(at, kind, generation) => self.tick(at, kind, generation),
            Act::Poke(at, kind) => self.poke(at, kind),
            Act::Extra(at, kind, generation) => self.probe_again(at, kind, generation),
            Act::Probe(run) => self.send_probe(*run),
            Act::Settled(flight) => self.lands(flight),
            Act::Terminate(life, until) => self.terminate(life, until),
            Act::Force(life) => self.force(life),
            Act::Turn(pod) => self.give_turns(pod),
            Act::Exit(life, code, why) => self.exit(life, code, why),
            Act::Hook(life) => self.run_start_hook(life),
            Act::Report(at, kind, reason, says) => self.record(at.pod, at.container, kind, reason, says),
            Act::Unhealthy(at, says) => self.record(at.pod, at.container, "Warning", "Unhealthy", &says),
            Act::HookFailed(life) => self.hook_failed(life),
            Act::Reconcile(service) => self.reconcile(service),
            Act::Proxy(service) => self.proxy(service),
            Act::Expire(pod) => self.expire(pod),
            Act::Evict(life) => self.evict_for_storage(life),
            Act::EndForShutdown(critical) => self.end_for_shutdown(critical),
            Act::LookAtShutdown => self.look_at_shutdown(),
            Act::LookAtMemory => self.look_at_memory(),
            Act::OutOfMemory(life) => self.kill_for_memory(life),
            Act::Reset(at) => self.create_anew(at),
            Act::Drop(pod) => self.drop_pod(pod),
            Act::Unschedulable(pod) => self.find_no_node(pod),
            Act::Collect(pod) => self.collect(pod),
            Act::Weigh(budget) => self.weigh(budget),
            Act::Resize(at) => self.enact(at),
            Act::Explain(pod) => self.explain(pod),
            Act::Tire(pod) => self.tire(pod),
            Act::Lose => self.lose(),
            Act::Untolerated(pod) => self.delete_on_lost_node(pod),
            Act::CollectSurplus => self.collect_surplus(),
            Act::Mirror(pod) => self.mirror_again(pod),
            Act::EndByTaint(pod) => self.end_by_taint(pod),
            Act::Accept(pod, created) => self.accept(pod, created),
            Act::Preempt(pod) => self.preempt(pod),
            Act::Sweep => self.sweep(),
            Act::Called(number) => self.called(number),
        }
    }

    /// Whether this defect is planted.
    pub(crate) fn has(&self, defect: Defect) -> bool {
        self.depends_on.borrow_mut().insert(defect);
        self.defects.contains(&defect)
    }

    /// The defects on which the run will have depended when it has ended.
    pub(crate) fn depends_on(&self) -> Rc<RefCell<BTreeSet<Defect>>> {
        Rc::clone(&self.depends_on)
    }

    /// Schedules an act after this time.
    pub(crate) fn later(&mut self, after: i64, act: Act) {
        self.at(self.now + after.max(0), act);
    }

    /// Schedules an act for a given time.
    pub(crate) fn at(&mut self, when: i64, act: Act) {
        self.ticket += 1;
        self.queue.insert((when.max(self.now), self.ticket), act);
    }

    /// A unique number.
    pub(crate) fn number(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    /// A number from `from` up to `to`, different each time.
    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let width = u64::try_from(to - from).unwrap_or(0).max(1);
        from + i64::try_from(z % width).unwrap_or(0)
    }

    /// The harness will receive what a target saw.
    pub(crate) fn hear_witness(&mut self, what: Happening) {
        if let Some(held) = &mut self.held {
            held.news.push(what);
            return;
        }
        self.later(WITNESS_DELAY, Act::Hear(Box::new(what)));
    }

    /// The harness will receive what the API shows.
    pub(crate) fn hear_watch(&mut self, what: Happening) {
        self.later(WATCH_DELAY, Act::Hear(Box::new(what)));
    }

    /// Records what the harness just did.
    pub(crate) fn did(&mut self, did: Did) -> EventId {
        let deed = Deed { began_us: (self.now - 5 * MS).max(0), did };
        self.history.push(self.now, Happening::Deed(deed))
    }

    /// The node's monotonic clock.
    pub(crate) fn mono(&self) -> u64 {
        u64::try_from(self.now + AHEAD_US).unwrap_or_default()
    }

    /// The wall clock in whole seconds, as the API writes it.
    pub(crate) fn timestamp(&self, at: i64) -> String {
        let second = (at + ZERO_WALL_US).div_euclid(SECOND);
        jiff::Timestamp::from_second(second).map(|at| at.to_string()).unwrap_or_default()
    }

    fn read_clocks(&mut self) {
        let reading = Reading {
            node: NODE.to_owned(),
            sent_us: self.now - 400,
            received_us: self.now + 400,
            mono_us: self.now + AHEAD_US,
            wall_us: self.now + ZERO_WALL_US,
        };
        if self.held.is_none() {
            self.later(400, Act::Hear(Box::new(Happening::Reading(reading))));
        }
        self.later(READING_EVERY, Act::Read);
    }
}
