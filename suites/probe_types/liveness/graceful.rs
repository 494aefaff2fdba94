//! How a kill by a probe goes: a process that hangs is noticed, its preStop hook runs, the stop signal comes, and only
//! after the grace period it is killed for good.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{Attempt, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use crate::reading::kill::{
    Life, Stop, all_spent, allowance, before_deletion, next_life, policy, stop_after, termination,
};
use crate::reading::tolerance::{Exhausted, NEAR, holds_port, timed_out};

const SECOND: i64 = 1_000_000;
/// A container gets at least so long to end after its hook, whatever is left of its grace period.
const LEAST_GRACE: i64 = 2 * SECOND;
/// The exit status of a process that was killed by SIGKILL.
const KILLED: i64 = 137;

/// A process that accepts connections and answers nothing is noticed by the probe's timeouts, and stopped.
pub(super) fn hang_is_noticed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, spec, spent) in all_spent(run, ProbeKind::Liveness) {
        let (pod, container, attempt) = life;
        if !spent.failures.iter().all(|probe| timed_out(attempt, spec, probe)) {
            continue;
        }
        let Some(first) = spent.failures.first() else { continue };
        seen.applies();
        let (allowed, formula) = allowance(pod, container, clause);
        let steps = (spec.failures - 1) * spec.period.max(spec.timeout) + spec.timeout;
        match stop_after(run, pod, attempt, &spent.at, allowed) {
            Stop::Came(id, at) => {
                let quantity = "from the first probe that got no answer to the stop signal";
                let formula = format!("(failureThreshold - 1) × periodSeconds + timeoutSeconds + {formula}");
                let bound = Bound::at_most(steps + allowed, formula);
                let ends = ((first.id, &first.at), (id, at));
                if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
                    seen.measure(measured);
                }
                seen.fine(next_life(pod, container, attempt.number));
            }
            Stop::Missing(line) => {
                let finding = format!(
                    "{} probes in a row got no answer, and no stop signal came within {} of the last timeout",
                    spent.failures.len(),
                    seconds(allowed)
                );
                seen.violated(finding, spent.events().into_iter().chain([line]));
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}

/// A container that a probe has killed sees its hook, then the stop signal, and has the grace period to end.
pub(super) fn kill_is_graceful(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for (life, spec, spent) in all_spent(run, kind) {
            let (pod, container, attempt) = life;
            if lifecycle(life, "stopSignal").is_some() {
                continue;
            }
            seen.applies();
            let (allowed, _) = allowance(pod, container, clause);
            match stop_after(run, pod, attempt, &spent.at, allowed) {
                Stop::Came(id, at) => {
                    judge_hook(run, life, (spec, &spent), (id, at), seen);
                    judge_end(run, clause, life, (spec, &spent), (id, at), seen);
                }
                Stop::Abrupt(id) => judge_abrupt_end(life, &spent, id, seen),
                Stop::Unheard => {
                    let why = "lines that may tell of the stop signal are missing";
                    seen.doubt(Doubt::WitnessMissing, why, spent.events());
                }
                Stop::Missing(_) | Stop::Moot => {}
            }
        }
    }
}

fn lifecycle<'h>((_, container, _): Life<'_, 'h>, field: &str) -> Option<&'h Value> {
    container.spec.get("lifecycle")?.get(field)
}

/// An end without a stop signal: a violation if the process was killed, not if it crashed.
fn judge_abrupt_end(life: Life<'_, '_>, spent: &Exhausted<'_, '_>, ended: EventId, seen: &mut Seen) {
    let (pod, container, attempt) = life;
    if let Some((revision, KILLED)) = termination(pod, &container.name, attempt.number) {
        let finding =
            "the container was killed without a stop signal after its probe had failed for too long";
        seen.violated(finding, spent.events().into_iter().chain([ended, revision.id]));
    }
}

/// The hook, if there is one that the target can see, runs after the last failure and to its end before the stop signal.
fn judge_hook(
    run: &Timeline<'_>,
    life: Life<'_, '_>,
    (spec, spent): (&ProbeSpec, &Exhausted<'_, '_>),
    (stop_id, stop): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let Some(hook) = lifecycle(life, "preStop") else { return };
    let attempt = life.2;
    if let Some(sleep) = hook.get("sleep").and_then(|sleep| sleep.get("seconds")?.as_i64()) {
        let span = (sleep * SECOND).min(life.0.grace());
        let bound = Bound::at_least(span, "the seconds of the preStop hook");
        let quantity = "from the last failure to the stop signal, with a hook that sleeps";
        let Some(last) = spent.failures.last() else { return };
        let ends = ((last.id, &spent.at), (stop_id, stop));
        if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
            seen.measure(measured);
        }
        return;
    }
    let Some(runs) = hook_runs(attempt, hook) else { return };
    let Some(first) = runs.into_iter().find(|run| run.at.at.hi >= spent.at.at.lo) else {
        seen.violated("the stop signal came and the preStop hook did not", [stop_id]);
        return;
    };
    // A hook that takes too long is cut off at the end of the grace period.
    let grace = spec.grace.map_or(life.0.grace(), |grace| grace.min(life.0.grace()));
    // The target writes down that it has answered after it did.
    let late = |ended: &Stamp| NEAR + run.held_up_at(&attempt.node, ended);
    let over = first.ended.is_some_and(|ended| ended.at.lo - late(ended) <= stop.at.hi);
    if first.at.at.lo > stop.at.hi {
        seen.violated("the stop signal came before the preStop hook", [stop_id, first.id]);
    } else if over || stop.at.hi - first.at.at.lo >= grace - SECOND {
        seen.fine([first.id, stop_id]);
    } else {
        seen.violated("the stop signal came while the preStop hook was still running", [first.id, stop_id]);
    }
}

/// A run of a hook, as the target saw it.
struct HookRun<'t> {
    id: EventId,
    at: &'t Stamp,
    ended: Option<&'t Stamp>,
}

/// When the hook was seen in the target; none if it leaves no trace there.
fn hook_runs<'t>(attempt: &'t Attempt<'_>, hook: &Value) -> Option<Vec<HookRun<'t>>> {
    if !attempt.holes.is_empty() {
        return None;
    }
    if let Some(http) = hook.get("httpGet") {
        let port = u16::try_from(http.get("port")?.as_u64()?).ok()?;
        let path = http.get("path").and_then(Value::as_str).unwrap_or("/");
        let plain = http.get("scheme").is_none_or(|scheme| scheme == "HTTP") && http.get("host").is_none();
        let hits = attempt.requests.iter().filter(|asked| asked.request.target == path);
        return (plain && holds_port(attempt, port)).then(|| {
            hits.map(|asked| HookRun {
                id: asked.id,
                at: &asked.at,
                ended: asked.answer.as_ref().map(|(_, at, _)| at),
            })
            .collect()
        });
    }
    let command: Vec<&str> =
        hook.get("exec")?.get("command")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let hits = attempt.commands.iter().filter(|executed| executed.seen.command.args == command);
    (command.get(1) == Some(&"exec")).then(|| {
        hits.map(|executed| HookRun {
            id: executed.id,
            at: &executed.at,
            ended: executed.ended.as_ref().map(|(_, at, _)| at),
        })
        .collect()
    })
}

/// The process ends by its own will, or is killed when the grace period is over: not before, and not much later.
fn judge_end(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    (spec, spent): (&ProbeSpec, &Exhausted<'_, '_>),
    (stop_id, stop): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let (pod, container, attempt) = life;
    if let Some(line) = attempt.lines.iter().find(|line| matches!(line.line.fact, Fact::Exiting(_))) {
        seen.fine([stop_id, line.id]);
        return;
    }
    let Some((ended_id, ended)) = &attempt.ended else { return };
    let killed = matches!(termination(pod, &container.name, attempt.number), Some((_, KILLED)));
    // With nothing left to run, the whole pod is stopped, and then its own grace period counts.
    let whose = spec.grace.is_some() && policy(pod, container) == "Never";
    if !killed || whose || !attempt.holes.is_empty() || !before_deletion(run, pod, ended) {
        return;
    }
    let grace = spec.grace.unwrap_or_else(|| pod.grace());
    let hooked = if lifecycle(life, "preStop").is_some() { stop.at.hi - spent.at.at.lo } else { 0 };
    // The kubelet takes whole seconds off for the hook, and the signal is seen later than it is sent.
    let least = (grace - hooked - SECOND).max(LEAST_GRACE - SECOND);
    let most = (grace - hooked + SECOND).max(LEAST_GRACE) + clause.slack_us();
    let slack = seconds(clause.slack_us());
    let bound = Bound::at_most(most, format!("what is left of the grace period + 1 s + {slack}"))
        .and_at_least(least, "what is left of the grace period - 1 s");
    let quantity = "from the stop signal to the forced end";
    let ends = ((stop_id, stop), (*ended_id, ended));
    if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}
