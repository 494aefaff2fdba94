//! The beginning and the end of a life: in calm, slow to start, slow to stop.

use serde_json::{Value, json};

use super::scene::{SECOND, SPARE, Scene, hook, span};
use super::{Expected, Quantity};
use crate::promise::{self, Promise, tenths};
use crate::timeline::ProbeKind;

/// An application that is told to stop needs so long.
const STOPPING: i64 = 5 * SECOND;

impl Scene<'_> {
    pub(super) fn calm(&mut self) {
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

    pub(super) fn slow_start(&mut self, boot: i64) {
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
}
