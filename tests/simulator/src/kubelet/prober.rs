//! One run of a probe: its handler sends the probe, the probe is repeated after an error, and an event reports the
//! result.

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use super::http::Leg;
use crate::Defect;
use crate::call::{CallResult, ReceivedResponse};
use crate::world::{Act, At, LifeAt, MS, World};

/// How many times a probe that ends in an error is tried.
const TRIES: u32 = 3;
/// The source address of the kubelet's connections.
pub(super) const KUBELET: &str = "10.244.1.1";

/// A run of a probe.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) at: At,
    pub(crate) kind: ProbeKind,
    /// The instance of the container that is probed.
    pub(crate) id: String,
    pub(crate) tries: u32,
    pub(crate) deadline: i64,
    /// The current request of an HTTP probe, after redirects.
    pub(crate) leg: Leg,
}

/// A probe in progress, with its future result and its source.
pub(crate) struct Flight {
    run: Run,
    back: Back,
    reached: Option<LifeAt>,
}

/// The response to a probe.
#[derive(Clone, Debug)]
pub(crate) enum Back {
    Answer(CallResult),
    /// A command ended: its exit status (`None` if it timed out) and its output.
    Command(Option<u8>, String),
    /// It could not be sent.
    Unsent(String),
}

/// The result of a run.
pub(super) enum Outcome {
    Passed,
    /// It passed with a warning.
    Warned(String),
    Failed(String),
    /// It ended in an error: the word for its state, and the reason.
    Erred(&'static str, String),
    /// It continues with another request.
    Led(Box<Leg>),
}

impl World<'_> {
    /// The probe's handler: its name and its settings.
    fn handler(&self, at: At, kind: ProbeKind) -> (&'static str, Value) {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        let of = |handler: &'static str| Some((handler, probe?.get(handler)?.clone()));
        let known = ["exec", "httpGet", "tcpSocket", "grpc"];
        known.into_iter().find_map(of).unwrap_or(("", Value::Null))
    }

    /// Sends a probe, or the next request of a probe.
    pub(crate) fn send_probe(&mut self, mut run: Run) {
        self.reached = None;
        let (handler, settings) = self.handler(run.at, run.kind);
        let (when, back) = match handler {
            "exec" => {
                let words = settings["command"].as_array().into_iter().flatten();
                let command: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
                let command = self.expanded(run.at, run.kind, command);
                self.execute(run.at, &command, run.deadline)
            }
            "httpGet" => self.send_http(&mut run, &settings),
            "tcpSocket" => self.send_tcp(&run, &settings),
            _ => self.send_grpc(&run, &settings),
        };
        let number = self.number();
        let reached = self.reached.take();
        self.flights.insert(number, Flight { run, back, reached });
        self.at(when, Act::Settled(number));
    }

    /// A probe completes.
    pub(crate) fn lands(&mut self, number: u64) {
        if let Some(flight) = self.flights.remove(&number) {
            self.settled(flight.run, flight.back);
        }
    }

    /// A process is gone, and so are the connections of its unanswered probes.
    pub(crate) fn break_flights(&mut self, life: LifeAt) {
        let mut broken = Vec::new();
        for (number, flight) in self.flights.iter_mut().filter(|(_, flight)| flight.reached == Some(life)) {
            flight.back = match std::mem::replace(&mut flight.back, Back::Unsent(String::new())) {
                Back::Answer(CallResult::Response(response)) => {
                    let cut = Some("unexpected EOF".to_owned());
                    Back::Answer(CallResult::Response(Box::new(ReceivedResponse { cut, ..*response })))
                }
                Back::Answer(_) => Back::Answer(CallResult::Broken("EOF".to_owned())),
                Back::Command(..) | Back::Unsent(_) => Back::Command(Some(137), String::new()),
            };
            broken.push(*number);
        }
        for number in broken {
            self.later(MS, Act::Settled(number));
        }
    }

    /// The address from which the kubelet connects to a host.
    pub(super) fn kubelet_address(&self, host: &str) -> String {
        if host.starts_with("127.") { "127.0.0.1".to_owned() } else { KUBELET.to_owned() }
    }

    /// The result is evaluated.
    fn settled(&mut self, mut run: Run, back: Back) {
        let (handler, settings) = self.handler(run.at, run.kind);
        self.heed_refusal(&run, &back);
        let outcome = match back {
            Back::Command(Some(126 | 127), said) if self.discards_shell_error(run.kind) => {
                Outcome::Erred("unknown", said)
            }
            Back::Answer(CallResult::Broken(why)) if self.discards_handshake(&run, &why) => {
                Outcome::Erred("unknown", why)
            }
            back if handler == "exec" => self.judge_command(back),
            Back::Unsent(why) if self.has(Defect::UnresolvablePortFails) => Outcome::Failed(why),
            Back::Unsent(why) => Outcome::Erred("unknown", why),
            Back::Command(..) => Outcome::Failed("EOF".to_owned()),
            Back::Answer(answer) if handler == "httpGet" => self.judge_http(&mut run, answer),
            Back::Answer(answer) if handler == "tcpSocket" => self.judge_tcp(&run, &settings, answer),
            Back::Answer(answer) => self.judge_grpc(&run, &settings, answer),
        };
        match outcome {
            Outcome::Led(leg) => {
                run.leg = *leg;
                if self.has(Defect::TimeoutOfEachHop) {
                    run.deadline = self.now + self.patience(run.at, run.kind);
                }
                self.later(0, Act::Probe(Box::new(run)));
            }
            Outcome::Erred(state, why) if run.tries + 1 < self.tries() => {
                self.report_attempt(&run, state, &why);
                let deadline = self.now + self.patience(run.at, run.kind);
                let next = Run { tries: run.tries + 1, deadline, leg: Leg::default(), ..run };
                self.later(0, Act::Probe(Box::new(next)));
            }
            Outcome::Failed(_) if run.tries == 0 && self.has(Defect::FailuresTriedTwice) => {
                let deadline = self.now + self.timeout(run.at, run.kind);
                self.later(0, Act::Probe(Box::new(Run { tries: 1, deadline, leg: Leg::default(), ..run })));
            }
            outcome => {
                let outcome = self.lose_result(&run, outcome);
                self.finish(&run, outcome);
            }
        }
    }

    fn tries(&self) -> u32 {
        match () {
            () if self.has(Defect::ShortBodyTriedSixTimes) => 2 * TRIES,
            () if self.has(Defect::ErrorsTriedOnce) => 1,
            () => TRIES,
        }
    }

    /// Reports the result of a run, and passes it to the worker.
    fn finish(&mut self, run: &Run, outcome: Outcome) {
        let word = match run.kind {
            ProbeKind::Startup => "Startup",
            ProbeKind::Liveness => "Liveness",
            ProbeKind::Readiness => "Readiness",
        };
        let (pod, container) = (run.at.pod, run.at.container);
        let passed = match outcome {
            Outcome::Passed | Outcome::Led(_) => Some(true),
            Outcome::Warned(text) => {
                if !self.has(Defect::WarningMissing) {
                    let unhealthy = self.has(Defect::WarningAsUnhealthy);
                    let reason = if unhealthy { "Unhealthy" } else { "ProbeWarning" };
                    self.record(pod, container, "Warning", reason, &format!("{word} probe warning: {text}"));
                }
                self.counted_warning(run.kind).filter(|_| !self.ignores_warning(run.at, run.kind))
            }
            Outcome::Failed(why) => {
                let said = if self.has(Defect::FailureReportedAsError) { "errored" } else { "failed" };
                self.report_failure(run, &format!("{word} probe {said}: {}", self.said_of(why)));
                Some(false)
            }
            Outcome::Erred(state, why) => {
                let message = format!("{word} probe errored and resulted in {state} state: {why}");
                if self.has(Defect::ErrorsCountedAsFailures) {
                    self.count_result(run.at, run.kind, false);
                }
                if !self.has(Defect::ErrorsUnreported) {
                    self.record(pod, container, "Warning", "Unhealthy", &message);
                }
                if self.ends_row_by_error(run.kind) {
                    self.forget_row(run.at, run.kind);
                }
                self.spoil_by_error(run.at, run.kind);
                None
            }
        };
        self.report_more(run.at, passed == Some(true), run.kind);
        self.conclude(run.at, run.kind, &run.id, passed);
    }
}
