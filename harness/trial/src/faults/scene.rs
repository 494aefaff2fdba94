//! A trial in the making: its pods, its steps, what is expected, and how long it takes.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::Span;
use serde_json::{Value, json};

use super::{Expected, Fault, Promised, Quantity, Trial};
use crate::pod::{LABEL, Stand};
use crate::promise::{self, Promise};
use probity_case::manifest::CASE;
use probity_case::{Case, CaseName, CasePod, Profile, Step};
use probity_model::timeline::{ProbeKind, ProbeSpec};

pub(super) const SECOND: i64 = 1_000_000;
/// The client calls for so long before a fault comes.
const BEFORE: i64 = 3 * SECOND;
/// What a cluster may need beyond the promise before a trial goes on.
pub(super) const SPARE: i64 = 5 * SECOND;
/// So many requests wait at most.
pub(super) const WAITING: i64 = 20;
/// A status goes from the kubelet to the API server and to the watch.
const LATE_STATUS: i64 = 4 * SECOND;
/// The kubelet kills by the runtime.
const LATE_KILL: i64 = 3 * SECOND;
/// A container is started anew, and the Service hears of it.
const LATE_SERVICE: i64 = 8 * SECOND;
/// A kubelet counts from the start that the runtime told it, cut to seconds.
const EARLY_START: i64 = SECOND;
/// Where both ends are of one clock.
const EARLY: i64 = 200_000;
/// What clients ask for, if no probe and no hook asks the same: what is slow or ill for them is not so for those.
const CALLED_PATH: &str = "/try";
/// Longer than steps may take: what takes so long is refused by its sum, so a step need not say it.
const LONGEST: i64 = 10 * 365 * 24 * 3600 * SECOND;
/// Why nothing is said of readiness about a kill.
pub(super) const UNSEEN_KILL: &str = "without a readiness probe a kill and a new start may go by unseen";

/// A trial in the making.
pub(super) struct Scene<'s> {
    pub(super) stand: &'s Stand,
    pub(super) fault: Fault,
    pub(super) pods: Vec<(&'static str, Value)>,
    pub(super) steps: Vec<Value>,
    pub(super) promised: Vec<Promised>,
    /// What the trial takes, part by part.
    pub(super) parts: Vec<(String, i64)>,
    /// How the client calls.
    pub(super) client: Value,
}

impl<'s> Scene<'s> {
    pub(super) fn new(stand: &'s Stand, fault: Fault) -> Self {
        let app = serde_json::to_value(&stand.pod).unwrap_or_default();
        Self {
            stand,
            fault,
            pods: vec![("app", app)],
            steps: Vec::new(),
            promised: Vec::new(),
            parts: Vec::new(),
            client: json!({ "every": "100ms", "timeout": "1s", "at-once": WAITING }),
        }
    }

    pub(super) fn probe(&self, kind: ProbeKind) -> Option<&'s ProbeSpec> {
        self.stand.probe(kind)
    }

    /// How long the preStop hook takes when this probe kills: it is cut by the grace of the kill.
    pub(super) fn pre_stop(&self, killer: ProbeKind) -> Promise {
        let grace = self.probe(killer).map_or(self.stand.grace, |probe| self.stand.grace_of(probe));
        let takes = self.stand.pre_stop_within(grace);
        let formula = match takes {
            0 => String::new(),
            us => format!("the preStop hook of {} s", us / SECOND),
        };
        Promise::new(takes, takes, formula)
    }

    /// How long the subject may take to answer well before this probe ends it.
    pub(super) fn patience(&self, kind: ProbeKind) -> Option<Promise> {
        self.probe(kind).map(|probe| self.stand.patience(probe))
    }

    /// How long the whole pod takes to be ready at most, if its subject takes so long.
    pub(super) fn whole_pod(&self, subject: i64) -> i64 {
        subject + self.stand.slower
    }

    /// Whether a kill shows in the pod's readiness. Without a readiness probe the kubelet may see neither the end of
    /// one life nor the beginning of the next, if there is a next.
    pub(super) fn shows_kills(&self) -> bool {
        self.probe(ProbeKind::Readiness).is_some() || self.stand.policy == "Never"
    }

    pub(super) fn ready(&self, boot: i64) -> Promise {
        let startup = self.probe(ProbeKind::Startup);
        let mut ready = promise::ready(startup, self.probe(ProbeKind::Readiness), boot);
        // The kubelet looks at a container only after its postStart hook.
        if self.stand.post_start > 0 {
            ready.span.hi += self.stand.post_start;
            ready.formula += ", after the postStart hook";
        }
        ready
    }

    pub(super) fn expect(&mut self, quantity: Quantity, expected: Expected) {
        let (early, late) = match quantity {
            Quantity::Ready | Quantity::ReadyAgain => (EARLY_START, LATE_STATUS),
            Quantity::Killed if self.fault == Fault::SlowStart => (EARLY_START, LATE_KILL),
            Quantity::Killed => (EARLY, LATE_KILL),
            Quantity::Unready => (EARLY, LATE_STATUS),
            Quantity::Stopped => (EARLY, LATE_STATUS),
            Quantity::Downtime => (EARLY_START, LATE_SERVICE),
            Quantity::Restarts | Quantity::Lost => (0, 0),
        };
        self.promised.push(Promised { quantity, expected, early, late });
    }

    pub(super) fn step(&mut self, step: Value) {
        self.steps.push(step);
    }

    pub(super) fn watch(&mut self, why: &str, us: i64) {
        self.parts.push((why.to_owned(), us));
        self.step(json!({ "watch": span(us) }));
    }

    /// Waits until the pod is ready, and until every probe is due.
    pub(super) fn begin(&mut self) {
        let ready = self.whole_pod(self.ready(0).span.hi);
        let within = ready + 40 * SECOND;
        let keys: Vec<&str> = self.pods.iter().map(|(key, _)| *key).collect();
        for key in keys {
            self.step(json!({ "wait": { "pod": key, "ready": true, "within": span(within) } }));
        }
        self.parts.push(("ready".to_owned(), ready + SPARE));
        let delay = self.stand.probes.iter().map(|probe| probe.initial_delay).max().unwrap_or(0);
        if delay > 0 {
            self.watch("the longest initialDelaySeconds", delay);
        }
    }

    /// Lets the client call through the Service.
    pub(super) fn call(&mut self) {
        let serving = json!({ "service": "web", "ready": true });
        self.step(json!({ "wait": { "pod": "app", "serving": serving, "within": "20s" } }));
        self.step(json!({ "create": { "pod": "client" } }));
        self.watch("calls before", BEFORE);
    }

    pub(super) fn change(&mut self, to: Value) {
        self.step(json!({ "change": { "pod": "app", "container": self.stand.subject, "to": to } }));
    }

    pub(super) fn reset(&mut self) {
        self.step(json!({ "reset": { "pod": "app", "container": self.stand.subject } }));
    }

    pub(super) fn ready_again(&mut self, within: i64) {
        self.parts.push(("ready again".to_owned(), within));
        self.step(json!({ "wait": { "pod": "app", "ready": true, "within": span(within + 20 * SECOND) } }));
    }

    /// What clients ask for.
    fn called_path(&self) -> String {
        let plan = self.stand.plan();
        let asked = plan.listeners.get(&self.stand.traffic.listener).map(|listener| &listener.paths);
        let free = |path: &String| !asked.is_some_and(|asked| asked.contains_key(path));
        let others = (2..).map(|nth: u64| format!("{CALLED_PATH}-{nth}"));
        std::iter::once(CALLED_PATH.to_owned()).chain(others).find(free).unwrap_or_default()
    }

    /// The case as it stands.
    pub(super) fn done(self) -> Result<Trial, String> {
        let fault = |error: serde_json::Error| {
            format!("the trial `{}` cannot be arranged: {error}", self.fault.word())
        };
        let total: i64 = self.parts.iter().map(|(_, us)| us).sum();
        let mut pods: BTreeMap<String, CasePod> = BTreeMap::new();
        for (key, pod) in &self.pods {
            pods.insert((*key).to_owned(), serde_json::from_value(pod.clone()).map_err(fault)?);
        }
        let name = CaseName(format!("try/{}", self.fault.word()));
        let mut objects = Vec::new();
        if self.steps.iter().any(|step| step.get("create").is_some()) {
            let mut client = self.client.clone();
            client["name"] = json!("load");
            client["url"] = json!(format!("http://{{service-ip:web}}:80{}", self.called_path()));
            client["for"] = json!(span(total + 60 * SECOND));
            client["after"] = json!("500ms");
            let pod = json!({
                "later": true,
                "pod": { "spec": { "terminationGracePeriodSeconds": 1, "containers": [{ "name": "client" }] } },
                "target": { "client": { "process": { "clients": [client] } } }
            });
            pods.insert("client".to_owned(), serde_json::from_value(pod).map_err(fault)?);
            objects.push(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
                "spec": { "selector": { LABEL.0: LABEL.1, CASE: name.slug() },
                    "ports": [{ "port": 80, "targetPort": self.stand.traffic.port }] }
            }));
        }
        let steps: Result<Vec<Step>, _> =
            self.steps.iter().map(|step| serde_json::from_value(step.clone())).collect();
        let formula = self.parts.iter().map(|(why, us)| format!("{why} {} s", (us + SECOND / 2) / SECOND));
        let takes = Promise::new(total, total, formula.collect::<Vec<_>>().join(" + "));
        Ok(Trial {
            fault: self.fault,
            promised: self.promised,
            subject: self.stand.subject.clone(),
            case: Case {
                workloads: BTreeMap::new(),
                name,
                story: self.fault.story().to_owned(),
                judges: Vec::new(),
                profile: Profile::Core,
                needs: BTreeSet::new(),
                quiet: false,
                watch: Vec::new(),
                takes: Some(Span::from_micros(total.unsigned_abs())),
                pods,
                objects,
                steps: steps.map_err(fault)?,
                expect: Vec::new(),
            },
            takes,
        })
    }
}

/// Whether a command of the plan answers a hook and no probe.
pub(super) fn hook(name: &str) -> bool {
    name.starts_with("pre-stop-") || name.starts_with("post-start-")
}

pub(super) fn span(us: i64) -> String {
    Span::from_micros(us.clamp(0, LONGEST).unsigned_abs()).to_string()
}
