//! Outages of the whole application, outages of a dependency that readiness reports, and outages that are too short to
//! matter.

use probity_model::measure::Interval;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use serde_json::{Value, json};

use super::builder::{SPARE, TrialBuilder, UNSEEN_KILL, is_hook};
use super::{Fault, Quantity};
use crate::pod::{listener_at, plain_path};
use crate::promise::{self, Failing, NEVER, Promise, SECOND, tenths};

/// The requests that an outage loses.
const LOST: &str = "about ten for each second of downtime";

impl TrialBuilder<'_> {
    /// How a probe detects the fault, if it detects it.
    fn notices(&self, kind: ProbeKind) -> Option<Failing> {
        let probe = self.probe(kind)?;
        if matches!(probe.handler, Handler::Tcp { .. }) {
            return None;
        }
        match self.fault {
            Fault::Hang => Some(Failing::ByTimeout),
            Fault::Errors | Fault::Flapping => Some(Failing::AtOnce),
            Fault::DependencyLoss => {
                let touched = kind == ProbeKind::Readiness || self.pod.share(kind, ProbeKind::Readiness);
                touched.then_some(Failing::AtOnce)
            }
            _ => None,
        }
    }

    fn noticed(&self, kind: ProbeKind) -> Option<Promise> {
        let promise = promise::failures(self.probe(kind)?, self.notices(kind)?);
        Some(promise.or_later(0, format!(" ({})", kind.word())))
    }

    /// Why a probe does not detect the fault.
    pub(super) fn blind(&self, kind: ProbeKind) -> String {
        let word = kind.word();
        match self.probe(kind).map(|probe| &probe.handler) {
            None => format!("there is no {word} probe"),
            Some(Handler::Tcp { .. }) => format!("the {word} probe only connects, and the port is open"),
            Some(_) => format!("the {word} probe requests another endpoint, which stays healthy"),
        }
    }

    /// A fault that lasts until a restart ends it, or until it ends by itself.
    pub(super) fn outage(&mut self) {
        self.begin();
        self.call();
        let unready = self.noticed(ProbeKind::Readiness);
        let hook = self.pre_stop(ProbeKind::Liveness);
        let killed = self.noticed(ProbeKind::Liveness).map(|promise| promise.then(&hook));
        let restarts = killed.is_some() && self.pod.policy != "Never";
        self.change(self.ill());
        let seen = [&unready, &killed].into_iter().flatten().map(|promise| promise.span.hi).max();
        self.watch("until every probe has detected it", seen.unwrap_or(8 * SECOND) + SPARE);
        let out = match (&unready, &killed) {
            (None, None) => Promise::never(self.blind(ProbeKind::Readiness)),
            _ if !self.shows_kills() => Promise::open(UNSEEN_KILL),
            (Some(unready), Some(killed)) => unready.or_sooner(killed),
            (Some(only), None) | (None, Some(only)) => only.clone(),
        };
        self.expect(Quantity::Unready, out);
        let spared = || Promise::never(self.blind(ProbeKind::Liveness));
        self.expect(Quantity::Killed, killed.clone().unwrap_or_else(spared));
        let why = match (restarts, &killed) {
            (true, _) => "a restart ends the fault",
            (false, Some(_)) => "restartPolicy is Never",
            (false, None) => "no probe kills it",
        };
        self.expect(Quantity::Restarts, Promise::exactly(i64::from(restarts), why));
        let again = self.recovery(unready.is_some(), killed.is_some(), restarts);
        self.watch("afterwards", 2 * SECOND);
        let downtime = match killed {
            Some(killed) if restarts => Promise::new(
                killed.span.lo,
                killed.span.hi + again.span.hi,
                format!(
                    "until its stop signal ({}), and {} until it is ready again",
                    killed.in_words(),
                    again.in_words()
                ),
            ),
            _ => Promise::open("lasts as long as the fault: no setting ends it"),
        };
        self.expect(Quantity::Downtime, downtime);
        self.expect(Quantity::Lost, Promise::open(LOST));
    }

    /// How the pod becomes ready again: by a restart, or once the fault is over. Returns the duration of a restart.
    fn recovery(&mut self, unready: bool, killed: bool, restarts: bool) -> Promise {
        let again = self.ready(0);
        if restarts {
            self.ready_again(again.span.hi);
            let ready = match self.shows_kills() {
                true => again.clone().or_later(0, ", counted from the restart"),
                false => Promise::open(UNSEEN_KILL),
            };
            self.expect(Quantity::ReadyAgain, ready);
        } else if killed {
            self.expect(Quantity::ReadyAgain, Promise::never("it is not restarted"));
        } else {
            self.reset();
            let recovery = self.probe(ProbeKind::Readiness).filter(|_| unready).map(promise::successes);
            if let Some(recovery) = recovery {
                self.ready_again(recovery.span.hi);
                let recovery = recovery.or_later(0, " (readiness), from the end of the fault");
                self.expect(Quantity::ReadyAgain, recovery);
            }
        }
        again
    }

    /// The change of the subject's plan while the fault lasts. Paths that only hooks use stay healthy: a hook that is
    /// affected by the fault would take until the end of the grace period, and show nothing about the probes.
    fn ill(&self) -> Value {
        if self.fault == Fault::DependencyLoss {
            return self.ill_by_dependency();
        }
        let (http, grpc, exec) = match self.fault {
            Fault::Hang => (json!("hang"), json!("hang"), json!("hang")),
            _ => (json!(500), json!("not-serving"), json!("fail")),
        };
        let plan = serde_json::to_value(self.pod.plan()).unwrap_or_default();
        let mut to = json!({ "listeners": {} });
        for (name, listener) in plan["listeners"].as_object().into_iter().flatten() {
            for (kind, answer) in [("paths", &http), ("services", &grpc)] {
                for (of, _) in listener[kind].as_object().into_iter().flatten() {
                    if kind != "paths" || !self.pod.hooks_alone_ask(name, of) {
                        to["listeners"][name][kind][of] = answer.clone();
                    }
                }
            }
        }
        for (name, _) in plan["exec"].as_object().into_iter().flatten().filter(|(name, _)| !is_hook(name)) {
            to["exec"][name] = exec.clone();
        }
        to
    }

    /// The change of the plan for a dependency that is down. Readiness reports it, and requests to the application fail.
    fn ill_by_dependency(&self) -> Value {
        let mut to = json!({ "listeners": { &self.pod.traffic.listener: { "paths": { "*": 503 } } } });
        let Some(probe) = self.probe(ProbeKind::Readiness) else { return to };
        let listener = probe.handler.port().map(listener_at).unwrap_or_default();
        match &probe.handler {
            Handler::Http { path, .. } => to["listeners"][listener]["paths"][plain_path(path)] = json!(503),
            Handler::Grpc { service, .. } => {
                to["listeners"][listener]["services"][service] = json!("not-serving");
            }
            Handler::Exec { command } => {
                to["exec"] = json!({ command.get(2).map_or("", String::as_str): "fail" });
            }
            Handler::Tcp { .. } => {}
        }
        to
    }

    /// Two outages that are too short for any probe to reach its failureThreshold.
    pub(super) fn flapping(&mut self) {
        self.begin();
        self.call();
        let kinds = [ProbeKind::Readiness, ProbeKind::Liveness];
        let noticing = kinds.iter().filter(|kind| self.notices(**kind).is_some());
        let noticing: Vec<&ProbeSpec> = noticing.filter_map(|kind| self.probe(*kind)).collect();
        let tolerant = noticing.iter().filter(|probe| probe.failures > 1);
        let outage = tolerant.map(|probe| (probe.failures - 1) * probe.period * 4 / 5).min();
        let outage = outage.or_else(|| noticing.iter().map(|probe| probe.period * 4 / 5).min());
        let outage = outage.unwrap_or(4 * SECOND);
        let pause = noticing.iter().map(|probe| probe.period * 13 / 10 + probe.timeout).max();
        let pause = pause.unwrap_or(2 * SECOND);
        let fragile = |kind| noticing.iter().any(|probe| probe.kind == kind && probe.failures == 1);
        let lasts = tenths(Interval::point(outage));
        let expected = kinds.map(|kind| {
            if fragile(kind) || fragile(ProbeKind::Liveness) {
                let why = "failureThreshold is 1, so one failure is enough; an outage lasts";
                Promise::open(format!("{why} {lasts}"))
            } else if self.notices(kind).is_none() {
                Promise::never(self.blind(kind))
            } else {
                Promise::never(format!("{lasts} are less than (failureThreshold - 1) × periodSeconds"))
            }
        });
        for _ in 0..2 {
            self.change(self.ill());
            self.watch("an outage", outage);
            self.reset();
            self.watch("a pause", pause);
        }
        let restarts = match expected.iter().all(|promise| promise.span == NEVER) {
            true => Promise::exactly(0, "no probe kills it"),
            false => Promise::open("one for each kill"),
        };
        let [unready, killed] = expected;
        self.expect(Quantity::Unready, unready);
        self.expect(Quantity::Killed, killed);
        self.expect(Quantity::Restarts, restarts);
        let downtime = format!("two outages of {lasts}: it stays ready");
        self.expect(Quantity::Downtime, Promise::open(downtime));
        self.expect(Quantity::Lost, Promise::open(LOST));
    }
}
