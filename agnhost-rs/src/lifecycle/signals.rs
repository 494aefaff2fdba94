//! How the process handles signals: it records each, and the plan determines the reaction to a stop signal.
//!
//! Signals are read on a separate thread, so a busy runtime does not delay the line. Every signal is also an event that
//! scripts can refer to by its name in lower case (`sigusr1`). A stop signal is also the event `sigterm`, whatever its
//! own name is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use probity_script::answer::{Serving, TerminationAnswer, TerminationSettings};
use probity_script::witness::{NOTED, SignalSeen};
use probity_script::{Choice, Fact};
use tokio::runtime::Handle;

use super::signal_queue::{CaughtSignal, SignalQueue};
use super::{Children, GateState, ShutdownGate, end};
use crate::stage::{PROCESS, ProbedEndpoint, STOP_EVENT, Stage};

/// The signals that mean "stop".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopSignals(BTreeSet<CaughtSignal>);

impl Default for StopSignals {
    /// SIGTERM, which container runtimes send, and SIGINT, which a terminal sends.
    fn default() -> Self {
        use nix::sys::signal::Signal::{SIGINT, SIGTERM};
        Self([SIGTERM.into(), SIGINT.into()].into())
    }
}

impl FromIterator<CaughtSignal> for StopSignals {
    /// Only these signals. If there are none, the default signals.
    fn from_iter<I: IntoIterator<Item = CaughtSignal>>(signals: I) -> Self {
        let signals: BTreeSet<_> = signals.into_iter().collect();
        if signals.is_empty() { Self::default() } else { Self(signals) }
    }
}

/// Everything that reacts to a signal.
struct Watch {
    stage: Stage,
    gate: ShutdownGate,
    children: Arc<Children>,
    stop: StopSignals,
    runtime: Handle,
}

/// Reads the queue from now on, on its own thread. Call it inside the runtime.
pub fn watch(
    queue: SignalQueue,
    stage: &Stage,
    gate: &ShutdownGate,
    children: &Arc<Children>,
    stop: StopSignals,
) {
    let (stage, gate, children) = (stage.clone(), gate.clone(), Arc::clone(children));
    let witness = stage.witness().clone();
    let watch = Watch { stage, gate, children, stop, runtime: Handle::current() };
    let body = move || {
        // The signal of a child that ended before the queue was read may be lost.
        watch.children.sweep();
        loop {
            match queue.next(None) {
                Ok(Some(caught)) => watch.answer(caught),
                Ok(None) => {}
                Err(error) => {
                    let doing = "failed to wait for signals; later signals are ignored";
                    return watch.stage.witness().trouble(doing, &error);
                }
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("signals".to_owned()).stack_size(128 * 1024).spawn(body) {
        witness.trouble("starting the thread that reads signals", &error);
    }
}

impl Watch {
    fn answer(&self, caught: CaughtSignal) {
        if caught.is_of_a_child() {
            return self.children.sweep();
        }
        let name = caught.to_string();
        let arrived = Instant::now();
        let answer = if self.stop.0.contains(&caught) { Some(self.choose(&name)) } else { None };
        if answer.is_none() {
            self.note(&name, NOTED.to_owned());
        }
        let event = name.to_ascii_lowercase();
        self.stage.mark(&event, &name);
        if let Some(chosen) = answer {
            if event != STOP_EVENT {
                self.stage.mark(STOP_EVENT, &name);
            }
            if let Some(mark) = &chosen.mark {
                self.stage.mark(mark, "stop");
            }
            self.act(chosen.answer.settings(), arrived);
        }
    }

    fn note(&self, signal: &str, answer: String) {
        let seen = SignalSeen { signal: signal.to_owned(), child: None, answer };
        self.stage.witness().arrival(&Fact::Signal(seen));
    }

    /// Chooses the answer to a stop signal and records both.
    fn choose(&self, signal: &str) -> Choice<TerminationAnswer> {
        let probe = self.stage.count(PROCESS, "stop");
        self.stage.with_plan(|plan| {
            let asked = ProbedEndpoint { name: "stop", probe, host: None };
            let choice = self.stage.choose(&plan.process.on_stop, asked);
            self.note(signal, choice.answer.to_string());
            choice
        })
    }

    fn act(&self, settings: Option<TerminationSettings>, arrived: Instant) {
        let Some(TerminationSettings { exit, after, serving }) = settings else { return };
        let gate = match serving {
            Serving::Keep => None,
            Serving::Stop => Some(GateState::Shut),
            Serving::Drain => Some(GateState::Draining),
        };
        if let Some(gate) = gate {
            self.gate.set(gate);
        }
        if after.is_none() && serving != Serving::Drain {
            end(self.stage.witness(), exit, "stop");
        }
        let (witness, gate) = (self.stage.witness().clone(), self.gate.clone());
        let deadline = after.map(|after| tokio::time::Instant::from_std(arrived + after.0));
        self.runtime.spawn(async move {
            let why = time_to_go(&gate, serving, deadline).await;
            end(&witness, exit, why)
        });
    }
}

/// Waits until the process must end, and returns why.
async fn time_to_go(
    gate: &ShutdownGate,
    serving: Serving,
    deadline: Option<tokio::time::Instant>,
) -> &'static str {
    let late = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let drains = serving == Serving::Drain;
    tokio::select! {
        () = gate.empty(), if drains => "stop: drained",
        () = late => if drains { "stop: not drained in time" } else { "stop" },
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn draining_ends_with_the_last_request_or_in_time() {
        let gate = ShutdownGate::default();
        let soon = || Some(tokio::time::Instant::now() + std::time::Duration::from_millis(30));
        let open_request = gate.enter();
        assert_eq!(time_to_go(&gate, Serving::Drain, soon()).await, "stop: not drained in time");
        let leaving = async {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            drop(open_request);
        };
        let (why, ()) = tokio::join!(time_to_go(&gate, Serving::Drain, None), leaving);
        assert_eq!(why, "stop: drained");
        assert_eq!(time_to_go(&gate, Serving::Keep, soon()).await, "stop");
    }

    #[test]
    fn without_a_choice_the_usual_signals_stop() {
        let none: StopSignals = [].into_iter().collect();
        assert_eq!(none, StopSignals::default());
        let quit: StopSignals = ["QUIT".parse::<CaughtSignal>().unwrap()].into_iter().collect();
        assert_ne!(quit, StopSignals::default());
    }
}
