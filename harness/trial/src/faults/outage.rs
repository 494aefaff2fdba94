//! Outages: of everything, of what readiness speaks of, and such that are too short to matter.

use serde_json::{Value, json};

use super::scene::{SECOND, SPARE, Scene, UNSEEN_KILL, hook};
use super::{Expected, Fault, Quantity};
use crate::pod::{listener_at, plain_path};
use crate::promise::{self, Failing, Promise, tenths};
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};

impl Scene<'_> {
    /// How a probe notices the fault, if it does.
    pub(super) fn notices(&self, kind: ProbeKind) -> Option<Failing> {
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

    pub(super) fn noticed(&self, kind: ProbeKind) -> Option<Promise> {
        let mut promise = promise::failures(self.probe(kind)?, self.notices(kind)?);
        promise.formula = format!("{} ({})", promise.formula, kind.word());
        Some(promise)
    }

    /// Why a probe does not notice.
    pub(super) fn blind(&self, kind: ProbeKind) -> String {
        let word = kind.word();
        match self.probe(kind).map(|probe| &probe.handler) {
            None => format!("there is no {word} probe"),
            Some(Handler::Tcp { .. }) => format!("the {word} probe only connects, and the port is open"),
            Some(_) => format!("the {word} probe asks something else, which answers well"),
        }
    }

    /// A fault that lasts until a restart cures it, or until it ends by itself.
    pub(super) fn outage(&mut self) {
        self.begin();
        self.call();
        let unready = self.noticed(ProbeKind::Readiness);
        let hook = self.pre_stop(ProbeKind::Liveness);
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
                Some(_) if !self.shows_kills() => Expected::Unsaid(UNSEEN_KILL.to_owned()),
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
        } else if restarts && !self.shows_kills() {
            self.expect(Quantity::ReadyAgain, Expected::Unsaid(UNSEEN_KILL.to_owned()));
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

    /// The subject's plan while the fault lasts. What its hooks alone ask stays well: a hook that meets the fault would
    /// take until the end of the grace, and tell nothing of the probes.
    pub(super) fn ill(&self) -> Value {
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
                    if kind == "paths" && self.stand.hooks_alone_ask(name, of.0) {
                        continue;
                    }
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
    pub(super) fn flapping(&mut self) {
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
        let lasts = tenths(probity_model::Interval::point(outage));
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
}
