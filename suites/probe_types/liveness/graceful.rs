//! The course of a kill because of a probe: a hang is detected, the preStop hook runs, the stop signal arrives, and
//! the process is killed only after the grace period.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, WHOLE_SECOND};
use probity_model::timeline::{Life, Line, Port, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use crate::reading::hooks::{HookKind, hook_run};
use crate::reading::mains::another_runs;
use crate::reading::stop_signals::accuse_signal;
use crate::reading::termination::{Exhausted, KILLED, Stop, exhausted};

/// A process that accepts connections but does not answer is detected by the timeouts of its liveness probe, and
/// stopped.
pub(super) fn hang_is_noticed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in exhausted(run, ProbeKind::Liveness).iter().filter(|spent| spent.by_timeouts()) {
        let (life, Some(first)) = (&spent.life, spent.failures.first()) else { continue };
        let (allowed, formula) = spent.allowance(clause);
        let steps = (life.spec.failures - 1) * life.pace() + life.spec.timeout;
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let quantity = "from the first unanswered probe to the stop signal";
                let formula = format!("(failureThreshold - 1) × periodSeconds + timeoutSeconds + {formula}");
                let bound = Bound::at_most(steps + allowed, formula);
                if life.within(seen, quantity, (first, stop), bound) == Some(Fit::Met) {
                    seen.fine(spent.events().into_iter().chain([stop.id]));
                }
                seen.fine(life.lives_again());
            }
            Stop::Missing(line) => {
                let finding = format!(
                    "{} probes in a row got no answer, but no stop signal followed within {} of the last timeout",
                    spent.failures.len(),
                    seconds(allowed)
                );
                seen.violated(finding, spent.events().into_iter().chain([line.id]));
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}

/// A container that is killed because of a probe runs its hook, receives the stop signal, and has the grace period to
/// terminate.
pub(super) fn kill_is_graceful(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in ProbeKind::STOPPING {
        let all = exhausted(run, kind).into_iter();
        for spent in all.filter(|spent| spent.life.container.lifecycle("stopSignal").is_none()) {
            match spent.stop(clause) {
                Stop::Came(stop) => {
                    accuse_signal(&spent.life, spent.at.id, stop, seen);
                    judge_hook(&spent, stop, seen);
                    judge_end(clause, &spent, stop, seen);
                }
                Stop::Abrupt(ended) => judge_abrupt_end(&spent, ended.id, seen),
                Stop::Unheard => {
                    let why = "the record is incomplete where the stop signal may have been";
                    seen.doubt(Doubt::WitnessMissing, why, spent.events());
                }
                Stop::Missing(_) | Stop::Moot => {}
            }
        }
    }
}

/// Judges an end without a stop signal, which is a violation if the process was killed, but not if it crashed.
fn judge_abrupt_end(spent: &Exhausted<'_, '_>, ended: EventId, seen: &mut Seen) {
    if let Some((revision, KILLED)) = spent.life.termination() {
        let finding =
            "the container was killed without a stop signal after its probe had failed too many times";
        seen.violated(finding, spent.events().into_iter().chain([ended, revision.id]));
    }
}

/// The hook, if the target can record it, starts after the last failure and finishes before the stop signal.
fn judge_hook(spent: &Exhausted<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
    let life = &spent.life;
    // Without a grace period there is no time for a hook.
    let Some(hook) = life.container.lifecycle("preStop").filter(|_| life.grace() > 0) else { return };
    if let Some(sleep) = hook.get("sleep").and_then(|sleep| sleep.get("seconds")?.as_i64()) {
        let span = whole_seconds(sleep).min(life.grace());
        let bound = Bound::at_least(span, "the seconds of the preStop hook, or the grace period");
        let quantity = "from the last failure to the stop signal, with a hook that sleeps";
        life.within(seen, quantity, (&spent.at, stop), bound);
        return;
    }
    if !is_recorded(life, hook) {
        return;
    }
    let Some(first) = hook_run(life, hook).filter(|run| run.began.at.hi >= spent.at.at.lo) else {
        seen.violated("the stop signal arrived, but the preStop hook did not run", [stop.id]);
        return;
    };
    // The target records its answer only after it has sent it.
    let late = |ended: &Stamp| NEAR + life.run.stalled_at(ended);
    let over = first.ended.as_ref().is_some_and(|ended| ended.at.lo - late(ended) <= stop.at.at.hi);
    let began = &first.began;
    if began.at.lo > stop.at.at.hi {
        seen.violated("the stop signal arrived before the preStop hook ran", [stop.id, began.id]);
    } else if over || stop.at.at.hi - began.at.lo >= life.grace() - WHOLE_SECOND {
        // A hook that takes too long is cut off at the end of the grace period.
        seen.fine([began.id, stop.id]);
        seen.facet("step", "hook");
    } else if first.ended.is_none() && life.run.stalled_at(&stop.at) > 0 {
        // A stalled target may end before it has recorded the end of its hook.
        let why = "the stop signal arrived before the end of the preStop hook was recorded, but the target was stalled";
        seen.doubt(Doubt::WitnessMissing, why, [began.id, stop.id]);
    } else {
        seen.violated(
            "the stop signal arrived while the preStop hook was still running",
            [began.id, stop.id],
        );
    }
}

/// Whether a hook of this instance leaves a record: it is a command of the target, or a plain request to a port on which the
/// instance listens.
fn is_recorded(life: &Life<'_, '_>, hook: &Value) -> bool {
    let known = match HookKind::of(hook) {
        Some(HookKind::Exec) => true,
        Some(HookKind::Http) => {
            let get = &hook["httpGet"];
            let plain = get.get("scheme").is_none_or(|scheme| scheme == "HTTP");
            plain && Port::of(life.container.spec, get).number.is_some_and(|port| listens(life, port))
        }
        Some(HookKind::Sleep(_)) | None => false,
    };
    known && life.holes.is_empty()
}

/// Whether an instance accepted connections on a port, or had it open all the time.
fn listens(life: &Life<'_, '_>, port: u16) -> bool {
    let ending = format!(":{port}");
    let states = || {
        life.lines.iter().filter_map(|line| match &line.line.fact {
            Fact::Listening(listening) if listening.address.ends_with(&ending) => Some(listening),
            _ => None,
        })
    };
    life.holds_port(port) || (states().next().is_some() && states().all(|of| of.state == "open"))
}

/// The process exits by itself, or is killed at the end of the grace period: not before, and not much later.
fn judge_end(clause: &Clause, spent: &Exhausted<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
    let life = &spent.life;
    if let Some(line) = life.attempt.exiting() {
        seen.fine(spent.events().into_iter().chain([stop.id, line.id]));
        seen.facet("step", "stop-signal");
        return;
    }
    let Some(ended) = &life.attempt.ended else { return };
    let killed = matches!(life.termination(), Some((_, KILLED)));
    // If no container is left to run, the whole pod is stopped, and the pod's own grace period counts.
    let whose = life.spec.grace.is_some() && life.policy() == "Never" && !another_runs(life, &stop.at);
    if !killed || whose || !life.holes.is_empty() || !life.before_deletion(ended) {
        return;
    }
    let grace = life.grace();
    let hooked = life.container.lifecycle("preStop").is_some();
    let left = grace - if hooked { stop.at.at.hi - spent.at.at.lo } else { 0 };
    // The kubelet counts the time of a hook in whole seconds.
    let exact = if hooked { WHOLE_SECOND } else { NEAR };
    // The kubelet gives the process at least two seconds, but the documentation promises only the grace period.
    let least = (left - exact).max(LEAST_GRACE.min(grace) - exact);
    let most = (left + exact).max(LEAST_GRACE) + clause.slack_us();
    let (slack, exact) = (seconds(clause.slack_us()), seconds(exact));
    let bound = Bound::at_most(most, format!("the rest of the grace period + {exact} + {slack}"))
        .and_at_least(least, format!("the rest of the grace period - {exact}"));
    if life.within(seen, "from the stop signal to the kill", (stop, ended), bound) == Some(Fit::Met) {
        seen.facet("step", "forced-end");
    }
}
