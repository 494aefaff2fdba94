//! The values for everything that exists on the node: pods, their containers and instances, and the workers of their
//! probes.

use std::collections::BTreeMap;

use probity_model::timeline::ProbeKind;
use probity_script::answer::ListenState;
use probity_script::{Endpoint, Plan, Span};
use serde_json::Value;

use crate::pressure::Cause;
use crate::world::SECOND;

/// A pod.
pub(crate) struct Pod {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The object as the API has it.
    pub(crate) object: Value,
    /// The pod as it was created.
    pub(crate) first: Value,
    /// The pod before its newest change.
    pub(crate) before: Value,
    pub(crate) ip: String,
    pub(crate) on_host: bool,
    pub(crate) started: i64,
    /// When its deletion was requested, and the grace period in seconds.
    pub(crate) deleted: Option<(i64, i64)>,
    pub(crate) containers: Vec<Container>,
    /// The pod to which this ephemeral container belongs. The API does not show it as a pod.
    pub(crate) within: Option<usize>,
    pub(crate) publishing: bool,
    /// How many times the pod's status had to be written, and how many times the pod was removed from each Service.
    pub(crate) written: u64,
    pub(crate) falls: BTreeMap<usize, u32>,
    /// When the kubelet may sync the pod again, and whether a sync is planned.
    pub(crate) next_sync: i64,
    pub(crate) syncing: bool,
    /// When the postStart hook that the kubelet waits for is done.
    pub(crate) hooked_until: i64,
    /// Whether its sandbox and network were created.
    pub(crate) sandbox: bool,
    /// How long the kubelet waits before it retries to mount the pod's volumes, and the end of this wait.
    pub(crate) mount_wait: i64,
    pub(crate) mounts_at: i64,
    pub(crate) terminal: bool,
    /// It exceeded its deadline.
    pub(crate) expired: bool,
    /// All its containers are being restarted.
    pub(crate) resetting: bool,
    /// Why the pod was evicted, if it was evicted.
    pub(crate) evicted: Option<Cause>,
    /// The time for which it tolerates a taint of its node, if this time is limited, and the time before which a
    /// defective controller does not evict it.
    pub(crate) tolerance: Option<i64>,
    pub(crate) spared_until: i64,
    pub(crate) gone: bool,
    /// When the API server removed it.
    pub(crate) gone_at: Option<i64>,
    /// Whether the pod is static, so that the API shows a mirror pod for it.
    pub(crate) is_static: bool,
    /// How many events of each type were recorded about it, for the recorder's spam filter.
    pub(crate) recorded: BTreeMap<String, u32>,
}

impl Pod {
    /// The name in the cluster; for an ephemeral container, the name of its pod.
    pub(crate) fn shown_name(&self) -> &str {
        self.name.trim_end_matches('/')
    }
}

/// The list that contains a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Init,
    Sidecar,
    Main,
}

/// A container.
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) spec: Value,
    /// The resources in its cgroup since a resize, if there was one.
    pub(crate) enacted: Option<Value>,
    /// For a defective kubelet: until when the cgroup keeps its old resources after a resize, and these resources.
    pub(crate) enacted_late: Option<(i64, Value)>,
    pub(crate) plan: Option<Plan>,
    pub(crate) state: State,
    pub(crate) last: Option<Ended>,
    pub(crate) starts: u64,
    /// How many of its starts failed in the runtime.
    pub(crate) failed_starts: u64,
    /// When the last pull of its image failed, and how long the next pull waits.
    pub(crate) pulled: Option<(i64, i64)>,
    /// How many times its creation failed.
    pub(crate) tries: u32,
    /// The image of its newest instance.
    pub(crate) image: Value,
    /// Whether an update gave the container an image that the node does not have.
    pub(crate) absent: bool,
    /// Whether an update changed its image while it was running.
    pub(crate) replaced: bool,
    pub(crate) life: Option<Life>,
    /// The kubelet's own status of the container, which the probe workers use.
    pub(crate) view: View,
    pub(crate) workers: Vec<Worker>,
    pub(crate) results: Results,
    pub(crate) back_off: BackOff,
    /// When the container's next start is planned, and the planned start that an earlier start has replaced.
    pub(crate) waits_until: i64,
    pub(crate) void_start: Option<i64>,
    /// The container must be created again, because all containers of its pod restart.
    pub(crate) reset: bool,
    /// The kind of the probe because of which the container is being killed, and whether the container will be
    /// restarted.
    pub(crate) killing: Option<ProbeKind>,
    pub(crate) restarting: bool,
    /// The container needed more memory than its limit, and the kubelet reports this.
    pub(crate) out_of_memory: bool,
    /// The container was ready in this instance, and then not ready.
    pub(crate) was_ready: bool,
    pub(crate) spoiled: bool,
    /// The container's postStart hook has failed, so the container is being stopped.
    pub(crate) failing: bool,
    /// The restarts that a restarted kubelet does not know of.
    pub(crate) forgotten: u64,
    /// The instance that was no longer new when the kubelet was restarted.
    pub(crate) survived: Option<String>,
    /// The container is a sidecar that waits for its turn to stop.
    pub(crate) turn: Option<Turn>,
}

/// A sidecar's turn to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// When its hook is done, which is the earliest time.
    pub(crate) ready: i64,
    /// When the grace period ends, which is the latest time.
    pub(crate) deadline: i64,
    /// Whether its hook was run, if it has one.
    pub(crate) hooked: bool,
}

/// The state of a container on the node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Waiting(&'static str),
    Running(i64),
    Ended(Ended),
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) code: i64,
    pub(crate) started: i64,
    pub(crate) finished: i64,
    pub(crate) id: String,
    /// Its termination message.
    pub(crate) message: String,
}

/// A container in the kubelet's status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: u64,
    pub(crate) started: bool,
    pub(crate) started_since: Option<i64>,
    pub(crate) ready: bool,
}

/// The results of a container's probes: for each probe, the instance and the result, which is `None` if it is not known
/// yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results(BTreeMap<ProbeKind, (String, Option<bool>)>);

/// How long a container waits before its restart.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackOff {
    pub(crate) wait: i64,
    /// When it grew.
    pub(crate) since: i64,
}

/// The worker of one probe.
pub(crate) struct Worker {
    pub(crate) kind: ProbeKind,
    pub(crate) generation: u64,
    pub(crate) id: String,
    pub(crate) hold: bool,
    pub(crate) last: Option<bool>,
    pub(crate) streak: u64,
    /// The total numbers of successes and failures of this instance, for a defective kubelet, and the number of its
    /// first scheduled probes that were skipped.
    pub(crate) in_all: (u64, u64),
    pub(crate) waited: u64,
    /// The number of scheduled probes, and the successes and failures of all instances, for a kubelet that is only
    /// sometimes defective.
    pub(crate) turns: u64,
    pub(crate) results: (u64, u64),
    pub(crate) busy: bool,
    pub(crate) backlog: bool,
    pub(crate) trigger: bool,
    pub(crate) stopped: bool,
    /// The worker waits for its first probe after a kubelet restart.
    pub(crate) asleep: bool,
    /// Its counters of results.
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// A connection that a defective kubelet keeps: its number, and the number of requests that it has carried.
    pub(crate) kept: Option<(u64, u64, u64)>,
    /// When the last probe was sent, and how long it took, for a defective kubelet.
    pub(crate) sent: i64,
    pub(crate) took: i64,
    /// The worker does not wait for the start of its container.
    pub(crate) ungated: bool,
    /// The first report of a status code with which the probe failed.
    pub(crate) said: Option<String>,
    /// The cookie of an answer, for a defective kubelet.
    pub(crate) cookie: Option<String>,
}

/// The process of a container.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) boot: String,
    pub(crate) attempt: u64,
    pub(crate) began: i64,
    pub(crate) opened: bool,
    pub(crate) seq: u64,
    pub(crate) conn: u64,
    pub(crate) exec: u64,
    pub(crate) plan: Plan,
    /// The resources that the container had when the process started.
    pub(crate) resources: Value,
    pub(crate) changes: u64,
    pub(crate) counts: BTreeMap<Endpoint, u64>,
    pub(crate) marks: BTreeMap<String, i64>,
    /// The ports were closed before the end of the process.
    pub(crate) shut: bool,
    /// The process has received its stop signal.
    pub(crate) stopping: bool,
    /// A resize stops the process, perhaps after a hook.
    pub(crate) stops_for_resize: bool,
    /// The process is not killed before this time, whatever was decided earlier, because a restarted kubelet has
    /// started its termination again.
    pub(crate) spared_until: i64,
    pub(crate) doors: BTreeMap<String, ListenState>,
    pub(crate) is_target: bool,
    /// The workers of its listeners, if their number is limited.
    pub(crate) pools: BTreeMap<String, Pool>,
    /// The end of the process's log, if it may be needed.
    pub(crate) log: String,
    /// Child processes that commands left behind: their ids, and when they end.
    pub(crate) orphans: Vec<(u32, i64)>,
}

/// The limited workers of a listener.
pub(crate) struct Pool {
    /// When each is free.
    pub(crate) free: Vec<i64>,
    /// The times until which the waiting requests will have to wait.
    pub(crate) waiting: Vec<i64>,
}

impl Container {
    /// The probe of this kind from the spec.
    pub(crate) fn probe(&self, kind: ProbeKind) -> Option<&Value> {
        self.spec.get(kind.field())
    }

    /// The number of this instance, as the API counts restarts.
    pub(crate) fn attempt(&self) -> u64 {
        self.starts.saturating_sub(1)
    }

    /// The id of this life of the container.
    pub(crate) fn id(&self, uid: &str) -> String {
        if self.starts == 0 {
            String::new()
        } else {
            format!("containerd://{uid}-{}-{}", self.name, self.attempt())
        }
    }

    pub(crate) fn worker(&mut self, kind: ProbeKind) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.kind == kind)
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }
}

impl Results {
    /// The result for this instance, if there is one.
    pub(crate) fn get(&self, kind: ProbeKind, id: &str) -> Option<Option<bool>> {
        self.0.get(&kind).filter(|(of, _)| of == id).map(|(_, result)| *result)
    }

    /// The last result, of any instance.
    pub(crate) fn last(&self, kind: ProbeKind) -> Option<bool> {
        self.0.get(&kind)?.1
    }

    /// Sets a result; returns whether this changed anything.
    pub(crate) fn set(&mut self, kind: ProbeKind, id: &str, to: Option<bool>) -> bool {
        let new = (id.to_owned(), to);
        self.0.insert(kind, new.clone()) != Some(new)
    }
}

impl Worker {
    pub(crate) fn new(kind: ProbeKind) -> Self {
        Self {
            kind,
            generation: 0,
            id: String::new(),
            hold: false,
            last: None,
            streak: 0,
            in_all: (0, 0),
            waited: 0,
            turns: 0,
            results: (0, 0),
            busy: false,
            backlog: false,
            trigger: false,
            stopped: false,
            asleep: false,
            passed: 0,
            failed: 0,
            kept: None,
            sent: 0,
            took: 0,
            ungated: false,
            said: None,
            cookie: None,
        }
    }
}

impl Life {
    /// The time since each event from which steps can count.
    pub(crate) fn since(&self, now: i64) -> BTreeMap<String, Span> {
        self.marks.iter().map(|(name, at)| (name.clone(), span(now - at))).collect()
    }

    /// Counts one more probe of an endpoint.
    pub(crate) fn count(&mut self, endpoint: &Endpoint) -> u64 {
        let count = self.counts.entry(endpoint.clone()).or_insert(0);
        *count += 1;
        *count
    }
}

impl Pod {
    /// The grace period in the pod's spec, in microseconds.
    pub(crate) fn grace(&self) -> i64 {
        self.object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30) * SECOND
    }

    pub(crate) fn restart_policy(&self) -> &str {
        self.object["spec"]["restartPolicy"].as_str().unwrap_or("Always")
    }
}

/// Microseconds as a span. A negative number becomes zero.
pub(crate) fn span(us: i64) -> Span {
    Span::from_micros(u64::try_from(us).unwrap_or(0))
}

/// A span as microseconds.
pub(crate) fn micros(span: Span) -> i64 {
    probity_model::clause::micros(span)
}
