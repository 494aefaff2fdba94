//! The standard faults: each a generated case, with what the settings promise for it.
//!
//! A fault comes to one container of a healthy pod, while a client calls it through a Service. Where its probes notice,
//! the promise is an interval; where they do not, it is that nothing happens; and where the settings say nothing, that
//! is said.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::Span;
use serde_json::{Value, json};

use super::pod::{LABEL, Stand, listener_at, plain_path};
use crate::case::{Case, CaseName, CasePod, Profile, Step};
use crate::promise::{self, Failing, Promise, tenths};
use crate::timeline::{Handler, ProbeKind, ProbeSpec};

const SECOND: i64 = 1_000_000;
/// The client calls for so long before a fault comes.
const BEFORE: i64 = 3 * SECOND;
/// What a cluster may need beyond the promise before a trial goes on.
const SPARE: i64 = 5 * SECOND;
/// An application that is told to stop needs so long.
const STOPPING: i64 = 5 * SECOND;
/// What an overloaded application needs for one request; it serves one at a time.
const SERVICE: i64 = 400_000;
/// So many requests wait at most.
const WAITING: i64 = 20;
/// After so long that many wait.
const RAMP: i64 = 3 * SECOND;

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

/// What happens to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing.
    Calm,
    /// It opens its ports late.
    SlowStart,
    /// It accepts connections and answers nothing.
    Hang,
    /// It answers everything by errors.
    Errors,
    /// It has two outages that are too short to matter.
    Flapping,
    /// More requests come than it can answer.
    Overload,
    /// What it depends on is away, and its readiness endpoint says so.
    DependencyLoss,
    /// It takes its time to stop.
    SlowShutdown,
}

impl Fault {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Calm,
        Self::SlowStart,
        Self::Hang,
        Self::Errors,
        Self::Flapping,
        Self::Overload,
        Self::DependencyLoss,
        Self::SlowShutdown,
    ];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::SlowStart => "slow-start",
            Self::Hang => "hang",
            Self::Errors => "errors",
            Self::Flapping => "flapping",
            Self::Overload => "overload",
            Self::DependencyLoss => "dependency-loss",
            Self::SlowShutdown => "slow-shutdown",
        }
    }

    /// What it is, in a sentence.
    #[must_use]
    pub fn story(self) -> &'static str {
        match self {
            Self::Calm => "Nothing is wrong.",
            Self::SlowStart => "The application opens its ports late.",
            Self::Hang => "The application accepts connections and answers nothing any more.",
            Self::Errors => "The application answers everything by an error.",
            Self::Flapping => "The application has two outages, each a little too short for its probes.",
            Self::Overload => {
                "More requests come than the application can answer; it serves them one by one."
            }
            Self::DependencyLoss => {
                "What the application depends on is away, and its readiness endpoint says so."
            }
            Self::SlowShutdown => {
                "One of two replicas is deleted under load: it closes its ports at SIGTERM and ends five seconds later."
            }
        }
    }
}

/// What is observed of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// From the container's start until the pod is ready.
    Ready,
    /// From the fault until the pod is not ready.
    Unready,
    /// From the fault until the container is told to stop.
    Killed,
    /// How often the container was started again.
    Restarts,
    /// From the end of the fault, or the new start, until the pod is ready again.
    ReadyAgain,
    /// From the pod's deletion until the process ends.
    Stopped,
    /// How long clients got no good answer.
    Downtime,
    /// How many of their requests failed.
    Lost,
}

impl Quantity {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "time to ready",
            Self::Unready => "out of service after",
            Self::Killed => "told to stop after",
            Self::Restarts => "restarts",
            Self::ReadyAgain => "ready again after",
            Self::Stopped => "stopped after",
            Self::Downtime => "downtime for clients",
            Self::Lost => "requests lost",
        }
    }
}

/// What the settings let one expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It happens within this.
    Within(Promise),
    /// So many times.
    Times(i64, String),
    /// It does not happen, and why.
    Never(String),
    /// The settings say nothing, and why.
    Unsaid(String),
}

/// What is expected of one quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// Of what.
    pub quantity: Quantity,
    /// What.
    pub expected: Expected,
    /// It may be so much sooner, by the clocks.
    pub early: i64,
    /// It may be so much later, by the cluster's own work.
    pub late: i64,
}

/// A fault to be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The fault.
    pub fault: Fault,
    /// How it is arranged.
    pub case: Case,
    /// What the settings promise.
    pub promised: Vec<Promised>,
    /// The container that falls ill.
    pub subject: String,
    /// How long it takes at most, in microseconds, and how that follows.
    pub takes: Promise,
}

/// Arranges a fault. `boot` is how long a slow start takes, in microseconds.
///
/// # Errors
///
/// If a generated part is none, which is a fault of ours.
pub fn trial(stand: &Stand, fault: Fault, boot: i64) -> Result<Trial, String> {
    let mut scene = Scene::new(stand, fault);
    match fault {
        Fault::Calm => scene.calm(),
        Fault::SlowStart => scene.slow_start(boot),
        Fault::Hang | Fault::Errors | Fault::DependencyLoss => scene.outage(),
        Fault::Flapping => scene.flapping(),
        Fault::Overload => scene.overload(),
        Fault::SlowShutdown => scene.slow_shutdown(),
    }
    scene.done()
}

/// A trial in the making.
struct Scene<'s> {
    stand: &'s Stand,
    fault: Fault,
    pods: Vec<(&'static str, Value)>,
    steps: Vec<Value>,
    promised: Vec<Promised>,
    /// What the trial takes, part by part.
    parts: Vec<(String, i64)>,
    /// How the client calls.
    client: Value,
}

impl<'s> Scene<'s> {
    fn new(stand: &'s Stand, fault: Fault) -> Self {
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

    fn probe(&self, kind: ProbeKind) -> Option<&'s ProbeSpec> {
        self.stand.probe(kind)
    }

    fn pre_stop(&self) -> i64 {
        self.stand.pre_stop.unwrap_or(0).min(self.stand.grace)
    }

    fn ready(&self, boot: i64) -> Promise {
        let startup = self.probe(ProbeKind::Startup);
        let mut ready = promise::ready(startup, self.probe(ProbeKind::Readiness), boot);
        // The kubelet looks at a container only after its postStart hook.
        if self.stand.post_start > 0 {
            ready.span.hi += self.stand.post_start;
            ready.formula += ", after the postStart hook";
        }
        ready
    }

    fn expect(&mut self, quantity: Quantity, expected: Expected) {
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

    fn step(&mut self, step: Value) {
        self.steps.push(step);
    }

    fn watch(&mut self, why: &str, us: i64) {
        self.parts.push((why.to_owned(), us));
        self.step(json!({ "watch": span(us) }));
    }

    /// Waits until the pod is ready, and until every probe is due.
    fn begin(&mut self) {
        let ready = self.ready(0);
        let within = ready.span.hi + 40 * SECOND;
        let keys: Vec<&str> = self.pods.iter().map(|(key, _)| *key).collect();
        for key in keys {
            self.step(json!({ "wait": { "pod": key, "ready": true, "within": span(within) } }));
        }
        self.parts.push(("ready".to_owned(), ready.span.hi + SPARE));
        let delay = self.stand.probes.iter().map(|probe| probe.initial_delay).max().unwrap_or(0);
        if delay > 0 {
            self.watch("the longest initialDelaySeconds", delay);
        }
    }

    /// Lets the client call through the Service.
    fn call(&mut self) {
        let serving = json!({ "service": "web", "ready": true });
        self.step(json!({ "wait": { "pod": "app", "serving": serving, "within": "20s" } }));
        self.step(json!({ "create": { "pod": "client" } }));
        self.watch("calls before", BEFORE);
    }

    fn change(&mut self, to: Value) {
        self.step(json!({ "change": { "pod": "app", "container": self.stand.subject, "to": to } }));
    }

    fn reset(&mut self) {
        self.step(json!({ "reset": { "pod": "app", "container": self.stand.subject } }));
    }

    fn ready_again(&mut self, within: i64) {
        self.parts.push(("ready again".to_owned(), within));
        self.step(json!({ "wait": { "pod": "app", "ready": true, "within": span(within + 20 * SECOND) } }));
    }

    fn calm(&mut self) {
        self.begin();
        self.call();
        let longest = self.stand.probes.iter().map(|probe| probe.period + probe.timeout).max().unwrap_or(0);
        self.watch("each probe twice", (2 * longest).max(6 * SECOND));
        self.expect(Quantity::Ready, Expected::Within(self.ready(0)));
        for quantity in [Quantity::Unready, Quantity::Killed] {
            self.expect(quantity, Expected::Never("all answers are good".to_owned()));
        }
        self.expect(Quantity::Restarts, Expected::Times(0, "nothing fails".to_owned()));
        self.expect(Quantity::Downtime, Expected::Never("nothing fails".to_owned()));
        self.expect(Quantity::Lost, Expected::Times(0, "nothing fails".to_owned()));
    }

    fn slow_start(&mut self, boot: i64) {
        let late = span(boot);
        let subject = self.stand.subject.as_str();
        let plan = &mut self.pods[0].1["target"][subject];
        for listener in plan["listeners"].as_object_mut().into_iter().flatten() {
            listener.1["listen"] = json!([{ "answer": "closed", "for": late }, { "answer": "open" }]);
        }
        for (name, command) in plan["exec"].as_object_mut().into_iter().flatten() {
            if !hook(name) {
                *command = json!([{ "answer": "fail", "for": late }, { "answer": "succeed" }]);
            }
        }
        let killer = self.probe(ProbeKind::Startup).or(self.probe(ProbeKind::Liveness));
        let patience = killer.map(promise::patience);
        let ready = self.ready(boot);
        let boots = tenths(crate::Interval::point(boot));
        match patience {
            Some(patience) if boot >= patience.span.hi => {
                let killed = patience.then(&Promise::new(self.pre_stop(), self.pre_stop(), ""));
                self.expect(
                    Quantity::Ready,
                    Expected::Never(format!("it is killed before its {boots} are over")),
                );
                let wait = killed.span.hi;
                self.expect(Quantity::Killed, Expected::Within(killed));
                self.step(json!({ "wait": { "pod": "app", "container": subject, "signal": "SIGTERM",
                    "within": span(wait + 40 * SECOND) } }));
                self.parts.push(("until it is killed".to_owned(), wait + SPARE));
                self.watch("afterwards", 3 * SECOND);
            }
            Some(patience) if boot > patience.span.lo => {
                let why = format!(
                    "its start of {boots} lies within the patience of {}: the phase of the probe decides",
                    patience.in_words()
                );
                self.expect(Quantity::Ready, Expected::Unsaid(why.clone()));
                self.expect(Quantity::Killed, Expected::Unsaid(why));
                self.watch("its start", ready.span.hi + SPARE);
            }
            patience => {
                let why = match patience {
                    Some(patience) => format!("it may take {} = {}", patience.in_words(), patience.formula),
                    None => "no probe limits its start".to_owned(),
                };
                self.expect(Quantity::Killed, Expected::Never(why));
                self.step(json!({ "wait": { "pod": "app", "ready": true,
                    "within": span(ready.span.hi.max(boot) + 40 * SECOND) } }));
                self.parts.push(("ready".to_owned(), ready.span.hi.max(boot) + SPARE));
                self.watch("afterwards", 2 * SECOND);
                self.expect(Quantity::Ready, Expected::Within(ready));
            }
        }
        self.expect(Quantity::Restarts, Expected::Unsaid("one for each kill".to_owned()));
    }

    /// How a probe notices the fault, if it does.
    fn notices(&self, kind: ProbeKind) -> Option<Failing> {
        let probe = self.probe(kind)?;
        if matches!(probe.handler, Handler::Tcp { .. }) {
            return None;
        }
        match self.fault {
            Fault::Hang => Some(Failing::ByTimeout),
            Fault::Errors | Fault::Flapping => Some(Failing::AtOnce),
            Fault::DependencyLoss => {
                let touched = kind == ProbeKind::Readiness || self.stand.share(kind, ProbeKind::Readiness);
                touched.then_some(Failing::AtOnce)
            }
            _ => None,
        }
    }

    fn noticed(&self, kind: ProbeKind) -> Option<Promise> {
        let mut promise = promise::failures(self.probe(kind)?, self.notices(kind)?);
        promise.formula = format!("{} ({})", promise.formula, kind.word());
        Some(promise)
    }

    /// Why a probe does not notice.
    fn blind(&self, kind: ProbeKind) -> String {
        let word = kind.word();
        match self.probe(kind).map(|probe| &probe.handler) {
            None => format!("there is no {word} probe"),
            Some(Handler::Tcp { .. }) => format!("the {word} probe only connects, and the port is open"),
            Some(_) => format!("the {word} probe asks something else, which answers well"),
        }
    }

    /// A fault that lasts until a restart cures it, or until it ends by itself.
    fn outage(&mut self) {
        self.begin();
        self.call();
        let unready = self.noticed(ProbeKind::Readiness);
        let hook = Promise::new(
            self.pre_stop(),
            self.pre_stop(),
            match self.pre_stop() {
                0 => String::new(),
                us => format!("the preStop hook of {} s", us / SECOND),
            },
        );
        let killed = self.noticed(ProbeKind::Liveness).map(|promise| promise.then(&hook));
        let restarts = killed.is_some() && self.stand.policy != "Never";
        self.change(self.ill());
        let seen = [&unready, &killed].into_iter().flatten().map(|promise| promise.span.hi).max();
        self.watch("until every probe has noticed", seen.unwrap_or(8 * SECOND) + SPARE);
        let out = match (&unready, &killed) {
            (Some(unready), Some(killed)) => Some(unready.or_sooner(killed)),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let again = self.ready(0);
        self.expect(
            Quantity::Unready,
            match &out {
                Some(promise) => Expected::Within(promise.clone()),
                None => Expected::Never(self.blind(ProbeKind::Readiness)),
            },
        );
        self.expect(
            Quantity::Killed,
            match &killed {
                Some(promise) => Expected::Within(promise.clone()),
                None => Expected::Never(self.blind(ProbeKind::Liveness)),
            },
        );
        let why = match (restarts, &killed) {
            (true, _) => "a restart cures it",
            (false, Some(_)) => "restartPolicy is Never",
            (false, None) => "nothing kills it",
        };
        self.expect(Quantity::Restarts, Expected::Times(i64::from(restarts), why.to_owned()));
        if restarts {
            self.ready_again(again.span.hi);
        }
        if killed.is_none() {
            self.reset();
            let recovery = self.probe(ProbeKind::Readiness).map(promise::successes);
            if let (Some(_), Some(recovery)) = (&unready, recovery) {
                self.ready_again(recovery.span.hi);
                let formula = format!("{} (readiness), from the end of the fault", recovery.formula);
                self.expect(Quantity::ReadyAgain, Expected::Within(Promise { formula, ..recovery }));
            }
        } else if restarts {
            let formula = format!("{}, from the new start", again.formula);
            self.expect(Quantity::ReadyAgain, Expected::Within(Promise { formula, ..again.clone() }));
        } else {
            self.expect(Quantity::ReadyAgain, Expected::Never("nobody starts it again".to_owned()));
        }
        self.watch("afterwards", 2 * SECOND);
        self.expect(
            Quantity::Downtime,
            match &killed {
                Some(killed) if restarts => {
                    let formula = format!(
                        "until it is told to stop ({}), and {} until it is ready again",
                        killed.in_words(),
                        again.in_words()
                    );
                    Expected::Within(Promise::new(killed.span.lo, killed.span.hi + again.span.hi, formula))
                }
                _ => Expected::Unsaid("as long as the fault: no setting ends it".to_owned()),
            },
        );
        self.expect(Quantity::Lost, Expected::Unsaid("about ten for each second of it".to_owned()));
    }

    /// The subject's plan while the fault lasts.
    fn ill(&self) -> Value {
        let (http, grpc, exec) = match self.fault {
            Fault::Hang => (json!("hang"), json!("hang"), json!("hang")),
            Fault::DependencyLoss => (json!(503), json!("not-serving"), json!("fail")),
            _ => (json!(500), json!("not-serving"), json!("fail")),
        };
        let plan = serde_json::to_value(self.stand.plan()).unwrap_or_default();
        let mut to = json!({ "listeners": {} });
        if self.fault == Fault::DependencyLoss {
            // The application's own requests fail for want of it, too.
            to["listeners"][self.stand.traffic.listener.as_str()]["paths"]["*"] = http.clone();
            let readiness = self.probe(ProbeKind::Readiness).map(|probe| &probe.handler);
            let place = readiness.and_then(Handler::port).map(listener_at).unwrap_or_default();
            match readiness {
                Some(Handler::Http { path, .. }) => {
                    to["listeners"][place.as_str()]["paths"][plain_path(path)] = http;
                }
                Some(Handler::Grpc { service, .. }) => {
                    to["listeners"][place.as_str()]["services"][service.as_str()] = grpc;
                }
                Some(Handler::Exec { command }) => {
                    to["exec"] = json!({ command.get(2).map_or("", String::as_str): exec });
                }
                Some(Handler::Tcp { .. }) | None => {}
            }
            return to;
        }
        for (name, listener) in plan["listeners"].as_object().into_iter().flatten() {
            for (kind, answer) in [("paths", &http), ("services", &grpc)] {
                for of in listener[kind].as_object().into_iter().flatten() {
                    to["listeners"][name.as_str()][kind][of.0.as_str()] = answer.clone();
                }
            }
        }
        for (name, _) in plan["exec"].as_object().into_iter().flatten().filter(|(name, _)| !hook(name)) {
            to["exec"][name.as_str()] = exec.clone();
        }
        to
    }

    /// Two outages that give no probe the failures in a row that it waits for.
    fn flapping(&mut self) {
        self.begin();
        self.call();
        let kinds = [ProbeKind::Readiness, ProbeKind::Liveness];
        let noticing: Vec<&ProbeSpec> = kinds
            .iter()
            .filter(|kind| self.notices(**kind).is_some())
            .filter_map(|kind| self.probe(*kind))
            .collect();
        let tolerant = noticing.iter().filter(|probe| probe.failures > 1);
        let outage = tolerant.map(|probe| (probe.failures - 1) * probe.period * 4 / 5).min();
        let outage =
            outage.or_else(|| noticing.iter().map(|probe| probe.period * 4 / 5).min()).unwrap_or(4 * SECOND);
        let pause =
            noticing.iter().map(|probe| probe.period * 13 / 10 + probe.timeout).max().unwrap_or(2 * SECOND);
        for _ in 0..2 {
            self.change(self.ill());
            self.watch("an outage", outage);
            self.reset();
            self.watch("a pause", pause);
        }
        let lasts = tenths(crate::Interval::point(outage));
        for (kind, quantity) in
            [(ProbeKind::Readiness, Quantity::Unready), (ProbeKind::Liveness, Quantity::Killed)]
        {
            let fragile = |kind| {
                self.notices(kind).is_some() && self.probe(kind).is_some_and(|probe| probe.failures == 1)
            };
            let expected = if fragile(kind) || fragile(ProbeKind::Liveness) {
                Expected::Unsaid(format!(
                    "failureThreshold is 1, so one bad answer is enough; an outage lasts {lasts}"
                ))
            } else if self.notices(kind).is_none() {
                Expected::Never(self.blind(kind))
            } else {
                Expected::Never(format!("{lasts} are less than (failureThreshold - 1) × periodSeconds"))
            };
            self.expect(quantity, expected);
        }
        let quiet = self.promised.iter().all(|one| matches!(one.expected, Expected::Never(_)));
        let restarts = if quiet {
            Expected::Times(0, "nothing kills it".to_owned())
        } else {
            Expected::Unsaid("one for each kill".to_owned())
        };
        self.expect(Quantity::Restarts, restarts);
        self.expect(
            Quantity::Downtime,
            Expected::Unsaid(format!("two outages of {lasts}: nothing takes it out of service")),
        );
        self.expect(Quantity::Lost, Expected::Unsaid("about ten for each second of it".to_owned()));
    }

    /// Whether a probe waits behind the requests of an overload, longer than it has patience.
    fn starved(&self, kind: ProbeKind) -> bool {
        self.probe(kind).is_some_and(|probe| {
            matches!(probe.handler, Handler::Http { .. })
                && probe.handler.port() == Some(self.stand.traffic.port)
                && probe.timeout < WAITING * SERVICE * 3 / 4
        })
    }

    fn overload(&mut self) {
        let (subject, listener) = (self.stand.subject.as_str(), self.stand.traffic.listener.as_str());
        let web = &mut self.pods[0].1["target"][subject]["listeners"][listener];
        web["workers"] = json!({ "count": 1 });
        web["paths"]["*"] = json!({ "delay": span(SERVICE) });
        self.client["timeout"] = json!("10s");
        self.begin();
        let hit = |scene: &Self, kind: ProbeKind| {
            let probe = scene.probe(kind).filter(|_| scene.starved(kind))?;
            let mut promise = promise::failures(probe, Failing::ByTimeout);
            promise.span.hi += RAMP;
            promise.formula = format!(
                "{} ({}), {} s later at most while the queue grows",
                promise.formula,
                kind.word(),
                RAMP / SECOND
            );
            Some(promise)
        };
        let unready = hit(self, ProbeKind::Readiness);
        let killed = hit(self, ProbeKind::Liveness);
        let longest = [&unready, &killed].into_iter().flatten().map(|promise| promise.span.hi).max();
        let lasts = longest.unwrap_or(8 * SECOND) + self.pre_stop() + SPARE;
        let serving = json!({ "service": "web", "ready": true });
        self.step(json!({ "wait": { "pod": "app", "serving": serving, "within": "20s" } }));
        self.step(json!({ "create": { "pod": "client" } }));
        self.watch("overload", lasts);
        let spared = |scene: &Self, kind: ProbeKind| match scene.probe(kind) {
            None => scene.blind(kind),
            Some(_) => {
                format!("the {} probe does not wait behind the requests, or waits long enough", kind.word())
            }
        };
        self.expect(
            Quantity::Unready,
            match (&unready, &killed) {
                (Some(unready), Some(killed)) => Expected::Within(unready.or_sooner(killed)),
                (Some(only), None) | (None, Some(only)) => Expected::Within(only.clone()),
                (None, None) => Expected::Never(spared(self, ProbeKind::Readiness)),
            },
        );
        let relieved = "the readiness probe may take the load away first".to_owned();
        match (&killed, &unready) {
            (None, _) => {
                self.expect(Quantity::Killed, Expected::Never(spared(self, ProbeKind::Liveness)));
                self.expect(Quantity::Restarts, Expected::Times(0, "nothing kills it".to_owned()));
            }
            (Some(killed), Some(unready)) if unready.span.lo < killed.span.hi => {
                self.expect(Quantity::Killed, Expected::Unsaid(relieved.clone()));
                self.expect(Quantity::Restarts, Expected::Unsaid(relieved));
            }
            (Some(killed), _) => {
                let hook = Promise::new(self.pre_stop(), self.pre_stop(), "");
                self.expect(Quantity::Killed, Expected::Within(killed.then(&hook)));
                self.expect(Quantity::Restarts, Expected::Unsaid("a restart cures no overload".to_owned()));
            }
        }
        self.expect(
            Quantity::Downtime,
            Expected::Unsaid("slow answers are no downtime, refused ones are".to_owned()),
        );
        self.expect(
            Quantity::Lost,
            Expected::Unsaid("two to three of ten a second can be answered".to_owned()),
        );
    }

    fn slow_shutdown(&mut self) {
        let subject = self.stand.subject.as_str();
        self.pods[0].1["target"][subject]["process"]["on-stop"] =
            json!({ "after": span(STOPPING), "serving": "stop" });
        let other = self.pods[0].1.clone();
        self.pods.push(("other", other));
        self.begin();
        let serving = json!({ "service": "web", "ready": true });
        self.step(json!({ "wait": { "pod": "other", "serving": serving, "within": "20s" } }));
        self.call();
        self.step(json!({ "delete": { "pod": "app" } }));
        let (hook, grace) = (self.stand.pre_stop.unwrap_or(0), self.stand.grace);
        let stopped = if hook + STOPPING <= grace {
            Promise::new(hook + STOPPING, hook + STOPPING, "the preStop hook, and the application's own time")
        } else {
            Promise::new(grace, grace, "terminationGracePeriodSeconds: it is killed before it is done")
        };
        let within = stopped.span.hi;
        self.parts.push(("until it is gone".to_owned(), within + SPARE));
        self.step(json!({ "wait": { "pod": "app", "gone": true, "within": span(within + 30 * SECOND) } }));
        self.watch("afterwards", 2 * SECOND);
        self.expect(Quantity::Stopped, Expected::Within(stopped));
        let enough = hook >= 3 * SECOND;
        for quantity in [Quantity::Downtime, Quantity::Lost] {
            let expected = match (enough, quantity) {
                (true, Quantity::Lost) => Expected::Times(
                    0,
                    "the preStop hook keeps it serving while the Service forgets it".to_owned(),
                ),
                (true, _) => Expected::Never(
                    "the preStop hook keeps it serving while the Service forgets it".to_owned(),
                ),
                (false, _) => Expected::Unsaid(
                    "without a preStop hook that waits, SIGTERM comes while the Service still sends requests"
                        .to_owned(),
                ),
            };
            self.expect(quantity, expected);
        }
    }

    /// The case as it stands.
    fn done(self) -> Result<Trial, String> {
        let fault = |error: serde_json::Error| {
            format!("the trial `{}` cannot be arranged: {error}", self.fault.word())
        };
        let total: i64 = self.parts.iter().map(|(_, us)| us).sum();
        let mut pods: BTreeMap<String, CasePod> = BTreeMap::new();
        for (key, pod) in &self.pods {
            pods.insert((*key).to_owned(), serde_json::from_value(pod.clone()).map_err(fault)?);
        }
        let mut objects = Vec::new();
        if self.steps.iter().any(|step| step.get("create").is_some()) {
            let mut client = self.client.clone();
            client["name"] = json!("load");
            client["url"] = json!("http://{service-ip:web}:80/");
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
                "spec": { "selector": { LABEL.0: LABEL.1 },
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
                name: CaseName(format!("try/{}", self.fault.word())),
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
fn hook(name: &str) -> bool {
    name.starts_with("pre-stop-") || name.starts_with("post-start-")
}

fn span(us: i64) -> String {
    Span::from_micros(us.unsigned_abs()).to_string()
}
