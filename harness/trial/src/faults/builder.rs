//! Builds a trial: its pods, its steps, the promises of the settings, and its duration.

use probity_case::manifest::CASE;
use probity_case::{Case, CaseName, WrittenCase};
use probity_model::timeline::{ProbeKind, ProbeSpec};
use probity_script::Span;
use serde_json::{Map, Value, json};

use super::{Fault, Promised, Quantity, Trial};
use crate::pod::{LABEL, StandIn};
use crate::promise::{self, Promise, SECOND};

/// How long the client calls before a fault starts.
const BEFORE: i64 = 3 * SECOND;
/// The time that a cluster may need in addition to the promise before a trial continues.
pub(super) const SPARE: i64 = 5 * SECOND;
/// The maximum number of waiting requests.
pub(super) const WAITING: i64 = 20;
/// How long a status may take from the kubelet to the API server and to the watch.
const LATE_STATUS: i64 = 4 * SECOND;
/// How long the kubelet and the runtime may take to kill a container.
const LATE_KILL: i64 = 3 * SECOND;
/// How long a restart of a container and an update of the Service may take.
const LATE_SERVICE: i64 = 8 * SECOND;
/// How much earlier times may be that count from a container's start. A kubelet counts from the start time that the
/// runtime reports, truncated to seconds.
const EARLY_START: i64 = SECOND;
/// The tolerance for an interval whose ends are measured with the same clock.
const EARLY: i64 = 200_000;
/// The path that clients request, if no probe and no hook uses it. A path can then be slow or broken for clients but not
/// for probes.
const CALLED_PATH: &str = "/try";
/// The limit of every time in a step. A trial that would need more is rejected because of its total duration, so the
/// limit does no harm.
const LONGEST: i64 = 10 * 365 * 24 * 3600 * SECOND;
/// Why there is no promise for readiness after a kill.
pub(super) const UNSEEN_KILL: &str = "without a readiness probe a restart may go unnoticed";

/// Builds a trial.
pub(super) struct TrialBuilder<'s> {
    pub(super) pod: &'s StandIn,
    pub(super) fault: Fault,
    /// The replicas of the pod.
    replicas: Map<String, Value>,
    steps: Vec<Value>,
    pub(super) promised: Vec<Promised>,
    /// The parts of the trial's duration.
    parts: Vec<(String, i64)>,
    /// How long the client waits for an answer.
    pub(super) client_timeout: &'static str,
}

impl<'s> TrialBuilder<'s> {
    pub(super) fn new(pod: &'s StandIn, fault: Fault) -> Self {
        let app = serde_json::to_value(&pod.pod).unwrap_or_default();
        Self {
            pod,
            fault,
            replicas: Map::from_iter([("app".to_owned(), app)]),
            steps: Vec::new(),
            promised: Vec::new(),
            parts: Vec::new(),
            client_timeout: "1s",
        }
    }

    pub(super) fn probe(&self, kind: ProbeKind) -> Option<&'s ProbeSpec> {
        self.pod.probe(kind)
    }

    /// Whether the subject has a probe of one of these kinds.
    pub(super) fn has_any(&self, kinds: [ProbeKind; 2]) -> bool {
        kinds.into_iter().any(|kind| self.probe(kind).is_some())
    }

    /// The plan of the subject, as it is at the start of the trial.
    pub(super) fn plan(&mut self) -> &mut Value {
        &mut self.replicas["app"]["target"][self.pod.subject.as_str()]
    }

    /// Adds a second replica, like the first.
    pub(super) fn second_replica(&mut self) {
        self.replicas.insert("other".to_owned(), self.replicas["app"].clone());
    }

    /// How long the preStop hook takes when this probe kills the container. The grace period of the kill limits it.
    pub(super) fn pre_stop(&self, killer: ProbeKind) -> Promise {
        let grace = self.probe(killer).map_or(self.pod.grace, |probe| self.pod.grace_of(probe));
        let takes = self.pod.pre_stop_within(grace);
        let formula = match takes {
            0 => String::new(),
            us => format!("the preStop hook of {} s", us / SECOND),
        };
        Promise::exactly(takes, formula)
    }

    /// Whether a kill is visible in the pod's readiness. Without a readiness probe, the status may show neither the end
    /// of one attempt nor the start of the next one, if there is one.
    pub(super) fn shows_kills(&self) -> bool {
        self.probe(ProbeKind::Readiness).is_some() || self.pod.policy == "Never"
    }

    pub(super) fn ready(&self, boot: i64) -> Promise {
        let [startup, _, readiness] = ProbeKind::ALL.map(|kind| self.probe(kind));
        self.pod.after_post_start(promise::ready(startup, readiness, boot))
    }

    pub(super) fn expect(&mut self, quantity: Quantity, promise: Promise) {
        let (early, late) = match quantity {
            Quantity::Ready | Quantity::ReadyAgain => (EARLY_START, LATE_STATUS),
            Quantity::Killed if self.fault == Fault::SlowStart => (EARLY_START, LATE_KILL),
            Quantity::Killed => (EARLY, LATE_KILL),
            Quantity::Unready | Quantity::Stopped => (EARLY, LATE_STATUS),
            Quantity::Downtime => (EARLY_START, LATE_SERVICE),
            Quantity::Restarts | Quantity::Lost => (0, 0),
        };
        self.promised.push(Promised { quantity, promise, early, late });
    }

    pub(super) fn step(&mut self, step: Value) {
        self.steps.push(step);
    }

    pub(super) fn watch(&mut self, why: &str, us: i64) {
        self.parts.push((why.to_owned(), us));
        self.step(json!({ "watch": span(us) }));
    }

    /// Waits for something that takes at most `us` microseconds, and gives up `later` microseconds after this time.
    pub(super) fn wait(&mut self, why: &str, condition: Value, us: i64, later: i64) {
        self.parts.push((why.to_owned(), us + SPARE));
        self.wait_for("app", condition, us + later);
    }

    fn wait_for(&mut self, pod: &str, mut condition: Value, us: i64) {
        condition["pod"] = json!(pod);
        condition["within"] = json!(span(us));
        self.step(json!({ "wait": condition }));
    }

    /// Waits until all pods are ready, and until every probe is due.
    pub(super) fn begin(&mut self) {
        let ready = self.ready(0).span.hi + self.pod.slower;
        for pod in self.replicas.keys().cloned().collect::<Vec<_>>() {
            self.wait_for(&pod, json!({ "ready": true }), ready + 40 * SECOND);
        }
        self.parts.push(("ready".to_owned(), ready + SPARE));
        let delay = self.pod.probes.iter().map(|probe| probe.initial_delay).max().unwrap_or(0);
        if delay > 0 {
            self.watch("the longest initialDelaySeconds", delay);
        }
    }

    /// Waits until the Service sends requests to a pod.
    pub(super) fn wait_serving(&mut self, pod: &str) {
        self.wait_for(pod, json!({ "serving": { "service": "web", "ready": true } }), 20 * SECOND);
    }

    /// Lets the client call through the Service.
    pub(super) fn create_client(&mut self) {
        self.wait_serving("app");
        self.step(json!({ "create": { "pod": "client" } }));
    }

    /// Lets the client call through the Service, for a while before the fault.
    pub(super) fn call(&mut self) {
        self.create_client();
        self.watch("calls before the fault", BEFORE);
    }

    pub(super) fn change(&mut self, to: Value) {
        self.step(json!({ "change": { "pod": "app", "container": self.pod.subject, "to": to } }));
    }

    pub(super) fn reset(&mut self) {
        self.step(json!({ "reset": { "pod": "app", "container": self.pod.subject } }));
    }

    pub(super) fn ready_again(&mut self, us: i64) {
        self.parts.push(("ready again".to_owned(), us));
        self.wait_for("app", json!({ "ready": true }), us + 20 * SECOND);
    }

    /// The path that clients request.
    fn called_path(&self) -> String {
        let plan = self.pod.plan();
        let asked = plan.listeners.get(&self.pod.traffic.listener).map(|listener| &listener.paths);
        let free = |path: &String| !asked.is_some_and(|asked| asked.contains_key(path));
        let others = (2..).map(|nth: u64| format!("{CALLED_PATH}-{nth}"));
        std::iter::once(CALLED_PATH.to_owned()).chain(others).find(free).unwrap_or_default()
    }

    /// The trial with all steps that were added.
    pub(super) fn done(self) -> Result<Trial, String> {
        let total: i64 = self.parts.iter().map(|(_, us)| us).sum();
        let name = CaseName(format!("try/{}", self.fault.word()));
        let (mut pods, mut objects) = (self.replicas.clone(), json!([]));
        if self.steps.iter().any(|step| step.get("create").is_some()) {
            let client = json!({
                "name": "load", "url": format!("http://{{service-ip:web}}:80{}", self.called_path()),
                "every": "100ms", "timeout": self.client_timeout, "at-once": WAITING,
                "after": "500ms", "for": span(total + 60 * SECOND),
            });
            let pod = json!({
                "later": true,
                "pod": { "spec": { "terminationGracePeriodSeconds": 1, "containers": [{ "name": "client" }] } },
                "target": { "client": { "process": { "clients": [client] } } }
            });
            pods.insert("client".to_owned(), pod);
            objects = json!([{
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
                "spec": { "selector": { LABEL.0: LABEL.1, CASE: name.slug() },
                    "ports": [{ "port": 80, "targetPort": self.pod.traffic.port }] }
            }]);
        }
        let case = json!({
            "case": name, "story": self.fault.story(), "takes": span(total),
            "pods": pods, "objects": objects, "steps": self.steps,
        });
        let case = serde_json::from_value::<WrittenCase>(case).map_err(|error| error.to_string());
        let case = case.and_then(Case::from_written);
        let formula: Vec<String> =
            self.parts.iter().map(|(why, us)| format!("{why} {} s", (us + SECOND / 2) / SECOND)).collect();
        Ok(Trial {
            fault: self.fault,
            case: case.map_err(|why| format!("the trial `{}` cannot be set up: {why}", self.fault.word()))?,
            promised: self.promised,
            subject: self.pod.subject.clone(),
            takes: Promise::exactly(total, formula.join(" + ")),
        })
    }
}

/// Whether a command of the plan answers a hook and no probe.
pub(super) fn is_hook(command: &str) -> bool {
    command.starts_with("pre-stop-") || command.starts_with("post-start-")
}

pub(super) fn span(us: i64) -> String {
    Span::from_micros(us.clamp(0, LONGEST).unsigned_abs()).to_string()
}
