//! The beginning and the end of a life: in calm, slow to start, slow to stop.

use serde_json::{Value, json};

use super::scene::{SECOND, SPARE, Scene, hook, span};
use super::{Expected, Quantity};
use crate::promise::{Promise, tenths};
use probity_model::timeline::ProbeKind;

/// An application that is told to stop needs so long.
const STOPPING: i64 = 5 * SECOND;

impl Scene<'_> {
    pub(super) fn calm(&mut self) {
        self.begin();
        self.call();
        self.watch("each probe twice", (2 * self.longest_probe()).max(6 * SECOND));
        self.expect(Quantity::Ready, Expected::Within(self.ready(0)));
        for quantity in [Quantity::Unready, Quantity::Killed] {
            self.expect(quantity, Expected::Never("all answers are good".to_owned()));
        }
        self.expect(Quantity::Restarts, Expected::Times(0, "nothing fails".to_owned()));
        self.expect(Quantity::Downtime, Expected::Never("nothing fails".to_owned()));
        self.expect(Quantity::Lost, Expected::Times(0, "nothing fails".to_owned()));
    }

    pub(super) fn slow_start(&mut self, boot: i64) {
        self.open_late(boot);
        let killer =
            [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find(|kind| self.probe(*kind).is_some());
        let patience = killer.and_then(|kind| self.patience(kind));
        if self.stand.post_start_asks() {
            return self.greeted_too_early(boot);
        }
        match (killer, patience) {
            (Some(killer), Some(patience)) if boot >= patience.span.hi => {
                self.never_up(boot, killer, &patience);
            }
            (_, Some(patience)) if boot > patience.span.lo => self.perhaps_up(boot, &patience),
            (_, patience) => self.up_at_last(boot, patience.as_ref()),
        }
    }

    /// All ports of the subject stay closed for so long, and its commands fail.
    fn open_late(&mut self, boot: i64) {
        let late = span(boot);
        let subject = self.stand.subject.as_str();
        let plan = &mut self.pods[0].1["target"][subject];
        for listener in plan.get_mut("listeners").and_then(Value::as_object_mut).into_iter().flatten() {
            listener.1["listen"] = json!([{ "answer": "closed", "for": late }, { "answer": "open" }]);
        }
        for (name, command) in plan.get_mut("exec").and_then(Value::as_object_mut).into_iter().flatten() {
            if !hook(name) {
                *command = json!([{ "answer": "fail", "for": late }, { "answer": "succeed" }]);
            }
        }
    }

    /// Its postStart hook asks while the ports are closed: that kills it, whatever its probes say.
    fn greeted_too_early(&mut self, boot: i64) {
        let why =
            "the postStart hook asks a port that is still closed, and when it fails the container is killed";
        for quantity in [Quantity::Ready, Quantity::Killed, Quantity::Restarts] {
            self.expect(quantity, Expected::Unsaid(why.to_owned()));
        }
        self.watch("its start", boot + SPARE);
    }

    /// It takes longer than its probe has patience.
    fn never_up(&mut self, boot: i64, killer: ProbeKind, patience: &Promise) {
        let killed = patience.then(&self.pre_stop(killer));
        let held_back =
            [ProbeKind::Startup, ProbeKind::Readiness].into_iter().any(|kind| self.probe(kind).is_some());
        let ready = match held_back {
            true => Expected::Never(format!("it is killed before its {} are over", spoken(boot))),
            false => Expected::Within(self.ready(boot)),
        };
        self.expect(Quantity::Ready, ready);
        let wait = self.whole_pod(killed.span.hi);
        self.expect(Quantity::Killed, Expected::Within(killed));
        self.step(json!({ "wait": { "pod": "app", "container": self.stand.subject, "signal": "SIGTERM",
            "within": span(wait + 40 * SECOND) } }));
        self.parts.push(("until it is killed".to_owned(), wait + SPARE));
        self.watch("afterwards", 3 * SECOND);
        self.expect(Quantity::Restarts, Expected::Unsaid("one for each kill".to_owned()));
    }

    /// It takes about as long as its probe has patience.
    fn perhaps_up(&mut self, boot: i64, patience: &Promise) {
        let why = format!(
            "its start of {} lies within the patience of {}: the phase of the probe decides",
            spoken(boot),
            patience.in_words()
        );
        for quantity in [Quantity::Ready, Quantity::Killed] {
            self.expect(quantity, Expected::Unsaid(why.clone()));
        }
        self.watch("its start", self.ready(boot).span.hi.max(boot + self.longest_probe()) + SPARE);
        self.expect(Quantity::Restarts, Expected::Unsaid("one for each kill".to_owned()));
    }

    /// It is up before any probe loses patience.
    fn up_at_last(&mut self, boot: i64, patience: Option<&Promise>) {
        let ready = self.ready(boot);
        let why = match patience {
            Some(patience) => format!("it may take {} = {}", patience.in_words(), patience.formula),
            None => "no probe limits its start".to_owned(),
        };
        self.expect(Quantity::Killed, Expected::Never(why));
        let up = self.whole_pod(ready.span.hi.max(boot));
        self.step(json!({ "wait": { "pod": "app", "ready": true, "within": span(up + 40 * SECOND) } }));
        self.parts.push(("ready".to_owned(), up + SPARE));
        let told =
            [ProbeKind::Startup, ProbeKind::Readiness].into_iter().any(|kind| self.probe(kind).is_some());
        if told {
            self.watch("afterwards", 2 * SECOND);
        } else {
            // Nothing holds its readiness back, so that does not tell when its start is over.
            self.watch("its start, and each probe once", boot + self.longest_probe());
        }
        self.expect(Quantity::Ready, Expected::Within(ready));
        self.expect(Quantity::Restarts, Expected::Times(0, "nothing kills it".to_owned()));
    }

    /// The longest that any probe takes to ask once.
    fn longest_probe(&self) -> i64 {
        self.stand.probes.iter().map(|probe| probe.period + probe.timeout).max().unwrap_or(0)
    }

    pub(super) fn slow_shutdown(&mut self) {
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
        // A hook that the grace period cuts off does not keep it serving.
        let enough = self.stand.pre_stop_within(grace) >= 3 * SECOND;
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
}

/// A span for people.
fn spoken(us: i64) -> String {
    tenths(probity_model::Interval::point(us))
}
