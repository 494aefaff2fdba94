//! A single execution of a probe: the number of its attempts, and the text of its command.
//!
//! Attempts can be distinguished from scheduled probes only if the next scheduled probe is far away. So only startup
//! and liveness probes are judged, because they have no extra runs, and only if the answers were quick. If the node was
//! stalled, a wrong number of attempts is a doubt.

use std::ops::Range;

use probity_model::mechanisms::QUICK;
use probity_model::timeline::{ContainerLife, Handler, Line, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};
use serde_json::Value;

use super::TRIES;
use crate::reading::expansion;
use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.retry.three-on-error", judge: tries },
    Judge { clause: "prober.exec.static-env-expansion", judge: literal_variables_only },
];

/// How an answer affects the attempts of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TryResult {
    Failure,
    Error,
}

impl TryResult {
    fn of(exchange: &Exchange<'_, '_>) -> Option<Self> {
        match exchange.outcome() {
            HttpOutcome::Bad | HttpOutcome::Nothing => Some(Self::Failure),
            HttpOutcome::Short => Some(Self::Error),
            _ => None,
        }
    }
}

/// A probe that returns an error is tried three times in a row, and a probe that fails is not retried.
fn tries(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for course in exchanges(run) {
        if course.spec.kind == ProbeKind::Readiness || !course.holes.is_empty() {
            continue;
        }
        for turn in turns(&course).into_iter().filter(|turn| is_clear(&course, turn)) {
            judge_turn(&course, turn, seen);
        }
    }
}

/// The requests of each probe, as a sequence in which each request immediately follows the previous request.
fn turns(course: &Exchanges<'_, '_>) -> Vec<Range<usize>> {
    let (mut turns, mut first) = (Vec::new(), 0);
    for at in 0..course.exchanges.len().saturating_sub(1) {
        match course.pause_after(at) {
            Some(pause) if pause < course.closeness() => {}
            Some(_) => {
                turns.push(first..at + 1);
                first = at + 1;
            }
            None => first = at + 1,
        }
    }
    turns
}

/// Whether these requests can only be those of one probe, and are all its requests. The first probe of an instance may
/// have started without a record, and a probe after a long probe runs immediately, so both are left out. So are requests
/// next to one that is neither close nor on schedule: a busy kubelet may make another attempt late.
fn is_clear(course: &Exchanges<'_, '_>, turn: &Range<usize>) -> bool {
    let all = &course.exchanges;
    let before = turn.start.checked_sub(1).and_then(|before| all.get(before));
    let (Some(before), Some(first), Some(last)) = (before, all.get(turn.start), all.get(turn.end - 1)) else {
        return false;
    };
    let quick = |from: &Exchange<'_, '_>, to: &Exchange<'_, '_>| {
        let done = to.done.as_ref();
        done.is_some_and(|done| done.at.hi - from.at.at.lo < QUICK.of(course.spec.period))
    };
    let alone = !course.is_off_beat(turn.start - 1) && !course.is_off_beat(turn.end - 1);
    alone && quick(before, before) && quick(first, last) && course.before_deletion(&last.at)
}

fn judge_turn(course: &Exchanges<'_, '_>, turn: Range<usize>, seen: &mut Seen) {
    let events = course.events(&turn);
    let Some(tries) = course.exchanges.get(turn.clone()) else { return };
    let Some(results) = tries.iter().map(TryResult::of).collect::<Option<Vec<_>>>() else { return };
    let [first, others @ ..] = results.as_slice() else { return };
    if others.iter().any(|other| other != first) {
        return;
    }
    let facts = format!(
        "a {} probe was {} {} times in a row",
        course.spec.kind.word(),
        if *first == TryResult::Failure { "failed" } else { "answered with a truncated body" },
        tries.len()
    );
    match (first, i64::try_from(tries.len()).unwrap_or(i64::MAX)) {
        (TryResult::Error, TRIES) | (TryResult::Failure, 1) => {
            seen.facet("result", if *first == TryResult::Failure { "failure" } else { "error" });
            seen.fine(events);
        }
        // The kubelet may have begun to stop the container between two attempts.
        _ if course.stop().is_some_and(|stop| is_soon(course, tries, stop)) => {
            seen.doubt(Doubt::Ambiguous, format!("{facts}, shortly before the stop signal"), events);
        }
        _ if is_held_up(course, &turn) => {
            seen.doubt(Doubt::Ambiguous, format!("{facts}, but the node was busy"), events);
        }
        _ => seen.violated(facts, events),
    }
}

/// Whether the node was busy for so long, since the probe before these requests, that another attempt may have come late.
fn is_held_up(course: &Exchanges<'_, '_>, turn: &Range<usize>) -> bool {
    let at = |place: usize| course.exchanges.get(place).map(|exchange| &exchange.at);
    let ends = turn.start.checked_sub(1).and_then(at).zip(at(turn.end - 1));
    ends.is_none_or(|(from, to)| course.run.noise_between(&course.pod.node, from, to) >= course.closeness())
}

/// Whether a stop signal arrived within a period after the last attempt.
fn is_soon(course: &Exchanges<'_, '_>, tries: &[Exchange<'_, '_>], stop: &Line<'_>) -> bool {
    let span = tries.last().and_then(|last| course.run.clocks.between(&last.at, &stop.at));
    span.is_some_and(|span| span.lo < course.spec.period)
}

/// Variables in the command of an exec probe are replaced only if they have literal values.
fn literal_variables_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (_, container, spec) in run.probes() {
        let Handler::Exec { command } = &spec.handler else { continue };
        let fixed = command.iter().take_while(|word| !word.contains('$')).count();
        if fixed == command.len() || fixed < clause.tolerance_times("fixed-words") {
            continue;
        }
        let promised = expand(command, container, |_| None);
        let actual = expand(command, container, |_| Some(String::new()));
        for run in container.attempts.iter().flat_map(|attempt| &attempt.commands) {
            let args = &run.seen.command.args;
            if args.get(..fixed) != command.get(..fixed) {
                continue;
            }
            if *args == promised {
                seen.fine([run.id]);
            } else if *args == actual {
                let finding =
                    "variables from other sources were replaced with an empty string in a probe's command";
                seen.diverges(finding, [run.id]);
            } else {
                let (ran, promised) = (args.join(" "), promised.join(" "));
                let finding = format!("the command of a probe ran as `{ran}`, not as `{promised}`");
                seen.violated(finding, [run.id]);
            }
        }
    }
}

/// A command with the variables that the container's env gives, as Kubernetes writes them: `$(NAME)`, and `$$` for a
/// `$`. `sourced` returns the value of a name from another source. If it returns none, the name stays unchanged.
fn expand(
    command: &[String],
    container: &ContainerLife<'_>,
    sourced: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let env = container.spec.get("env").and_then(Value::as_array);
    let value = |name: &str| -> Option<String> {
        let entry = env?.iter().rfind(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
        match (entry.get("value").and_then(Value::as_str), entry.get("valueFrom")) {
            (Some(value), _) => Some(value.to_owned()),
            (None, Some(_)) => sourced(name),
            (None, None) => Some(String::new()),
        }
    };
    command.iter().map(|word| expansion::expand(word, &value)).collect()
}
