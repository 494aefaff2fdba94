//! The start and the end of a container: the faults calm, slow-start and slow-shutdown.

use probity_model::measure::Interval;
use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use super::Quantity;
use super::builder::{SPARE, TrialBuilder, is_hook, span};
use crate::promise::{Promise, SECOND, tenths};

/// How long an application needs to stop.
const STOPPING: i64 = 5 * SECOND;

impl TrialBuilder<'_> {
    pub(super) fn calm(&mut self) {
        self.begin();
        self.call();
        self.watch("each probe twice", (2 * self.longest_probe()).max(6 * SECOND));
        self.expect(Quantity::Ready, self.ready(0));
        for quantity in [Quantity::Unready, Quantity::Killed] {
            self.expect(quantity, Promise::never("all answers are successes"));
        }
        self.expect(Quantity::Restarts, Promise::exactly(0, "nothing fails"));
        self.expect(Quantity::Downtime, Promise::never("nothing fails"));
        self.expect(Quantity::Lost, Promise::exactly(0, "nothing fails"));
    }

    pub(super) fn slow_start(&mut self, boot: i64) {
        self.open_late(boot);
        if self.pod.post_start_asks() {
            return self.greeted_too_early(boot);
        }
        let killer = [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find_map(|kind| self.probe(kind));
        match killer.map(|probe| (probe.kind, self.pod.patience(probe))) {
            Some((killer, patience)) if boot >= patience.span.hi => self.never_up(boot, killer, &patience),
            Some((_, patience)) if boot > patience.span.lo => self.perhaps_up(boot, &patience),
            patient => self.up_at_last(boot, patient.map(|(_, patience)| patience)),
        }
    }

    /// All ports of the subject stay closed until `boot` is over, and its commands fail.
    fn open_late(&mut self, boot: i64) {
        let late = span(boot);
        let plan = self.plan();
        for (_, listener) in plan.get_mut("listeners").and_then(Value::as_object_mut).into_iter().flatten() {
            listener["listen"] = json!([{ "answer": "closed", "for": late }, { "answer": "open" }]);
        }
        for (name, command) in plan.get_mut("exec").and_then(Value::as_object_mut).into_iter().flatten() {
            if !is_hook(name) {
                *command = json!([{ "answer": "fail", "for": late }, { "answer": "succeed" }]);
            }
        }
    }

    /// The postStart hook runs while the ports are closed, so it fails. The kubelet then kills the container, whatever
    /// the probes report.
    fn greeted_too_early(&mut self, boot: i64) {
        let why = "the postStart hook requests a port that is still closed; when the hook fails, the container is killed";
        for quantity in [Quantity::Ready, Quantity::Killed, Quantity::Restarts] {
            self.expect(quantity, Promise::open(why));
        }
        self.watch("its start", boot + SPARE);
    }

    /// The application takes longer to start than its probe allows.
    fn never_up(&mut self, boot: i64, killer: ProbeKind, patience: &Promise) {
        let killed = patience.then(&self.pre_stop(killer));
        let ready = match self.has_any([ProbeKind::Startup, ProbeKind::Readiness]) {
            true => Promise::never(format!("it is killed before its start of {} is complete", spoken(boot))),
            false => self.ready(boot),
        };
        let most = killed.span.hi + self.pod.slower;
        self.expect(Quantity::Ready, ready);
        self.expect(Quantity::Killed, killed);
        let signal = json!({ "container": self.pod.subject, "signal": "SIGTERM" });
        self.wait("until it is killed", signal, most, 40 * SECOND);
        self.watch("afterwards", 3 * SECOND);
        self.expect(Quantity::Restarts, Promise::open("one for each kill"));
    }

    /// The application takes about as long to start as its probe allows.
    fn perhaps_up(&mut self, boot: i64, patience: &Promise) {
        let why = format!(
            "its start of {} is close to the limit of {}, so the time of the next probe decides",
            spoken(boot),
            patience.in_words()
        );
        for quantity in [Quantity::Ready, Quantity::Killed] {
            self.expect(quantity, Promise::open(why.as_str()));
        }
        self.watch("its start", self.ready(boot).span.hi.max(boot + self.longest_probe()) + SPARE);
        self.expect(Quantity::Restarts, Promise::open("one for each kill"));
    }

    /// The application starts before any probe kills the container.
    fn up_at_last(&mut self, boot: i64, patience: Option<Promise>) {
        let ready = self.ready(boot);
        let why = match patience {
            Some(patience) => format!("it may take {} = {}", patience.in_words(), patience.formula),
            None => "no probe limits its start".to_owned(),
        };
        self.expect(Quantity::Killed, Promise::never(why));
        let most = ready.span.hi.max(boot) + self.pod.slower;
        self.wait("ready", json!({ "ready": true }), most, 40 * SECOND);
        if self.has_any([ProbeKind::Startup, ProbeKind::Readiness]) {
            self.watch("afterwards", 2 * SECOND);
        } else {
            // Nothing delays the container's readiness, so readiness does not show when the start is complete.
            self.watch("its start, and each probe once", boot + self.longest_probe());
        }
        self.expect(Quantity::Ready, ready);
        self.expect(Quantity::Restarts, Promise::exactly(0, "no probe kills it"));
    }

    /// The maximum time until any probe has run once.
    fn longest_probe(&self) -> i64 {
        self.pod.probes.iter().map(|probe| probe.period + probe.timeout).max().unwrap_or(0)
    }

    pub(super) fn slow_shutdown(&mut self) {
        self.plan()["process"]["on-stop"] = json!({ "after": span(STOPPING), "serving": "stop" });
        self.second_replica();
        self.begin();
        self.wait_serving("other");
        self.call();
        self.step(json!({ "delete": { "pod": "app" } }));
        let (hook, grace) = (self.pod.pre_stop.unwrap_or(0), self.pod.grace);
        let stopped = if hook + STOPPING <= grace {
            Promise::exactly(hook + STOPPING, "the preStop hook and the application's own shutdown time")
        } else {
            Promise::exactly(grace, "terminationGracePeriodSeconds: it is killed before it finishes")
        };
        self.wait("until it has terminated", json!({ "gone": true }), stopped.span.hi, 30 * SECOND);
        self.watch("afterwards", 2 * SECOND);
        self.expect(Quantity::Stopped, stopped);
        // A hook that the grace period cuts off does not keep the container serving.
        let (downtime, lost) = if self.pod.pre_stop_within(grace) >= 3 * SECOND {
            let why = "the preStop hook keeps it serving until the Service no longer sends requests";
            (Promise::never(why), Promise::exactly(0, why))
        } else {
            let why =
                "without a preStop hook that waits, SIGTERM arrives while the Service still sends requests";
            (Promise::open(why), Promise::open(why))
        };
        self.expect(Quantity::Downtime, downtime);
        self.expect(Quantity::Lost, lost);
    }
}

/// A span for users.
fn spoken(us: i64) -> String {
    tenths(Interval::point(us))
}
