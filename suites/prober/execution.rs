//! One execution of a probe: how often it is tried, and what its command looks like when it runs.
//!
//! Tries can be told from turns only where a turn is far away: for probes that are never run out of turn (all but
//! readiness), that were answered at once, on a node that was not held up.

use probity_model::timeline::{ContainerLife, Handler, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.retry.three-on-error", judge: tries },
    Judge { clause: "prober.exec.static-env-expansion", judge: literal_variables_only },
];

/// How often a probe is tried at most.
const TRIES: usize = 3;

/// How an answer counts for the tries of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
}

/// What errs is tried three times at once, and what fails is not tried again.
fn tries(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for course in exchanges(run) {
        if course.spec.kind == ProbeKind::Readiness || !course.attempt.holes.is_empty() {
            continue;
        }
        for burst in bursts(run, &course) {
            judge_burst(run, &course, burst, seen);
        }
    }
}

fn kind(exchange: &Exchange<'_, '_>) -> Option<Kind> {
    match exchange.outcome() {
        HttpOutcome::Bad | HttpOutcome::Nothing => Some(Kind::Failure),
        HttpOutcome::Short => Some(Kind::Error),
        _ => None,
    }
}

/// Requests of one turn: a stretch within which each follows the one before at once, between two that are far away.
fn bursts(run: &Timeline<'_>, course: &Exchanges<'_, '_>) -> Vec<std::ops::Range<usize>> {
    let close = (course.spec.period / 4).min(500_000);
    let all = &course.exchanges;
    let gap = |at: usize| -> Option<i64> {
        let (this, next) = (all.get(at)?, all.get(at + 1)?);
        Some(next.at.at.lo - this.done.as_ref()?.at.hi)
    };
    let (mut bursts, mut first) = (Vec::new(), 0);
    for at in 0..all.len().saturating_sub(1) {
        match gap(at) {
            Some(gap) if gap < close => {}
            Some(_) => {
                bursts.push(first..at + 1);
                first = at + 1;
            }
            None => first = at + 1,
        }
    }
    // The first turn of a life may have begun unseen, and a turn that follows a long one comes at once.
    let quick = |range: &std::ops::Range<usize>| {
        let (Some(first), Some(last)) = (all.get(range.start), all.get(range.end - 1)) else { return false };
        let before = range.start.checked_sub(1).and_then(|before| all.get(before)).unwrap_or(first);
        let Some(done) = last.done.as_ref() else { return false };
        let held_up = run.noise_between(&course.pod.node, &before.at, &last.at);
        let lasted_before = before.done.as_ref().map_or(i64::MAX, |done| done.at.hi - before.at.at.lo);
        range.start > 0
            && held_up < close
            && lasted_before < course.spec.period / 2
            && done.at.hi - first.at.at.lo < course.spec.period / 2
            && run.before_deletion(course.pod, &last.at)
    };
    bursts.into_iter().filter(quick).collect()
}

fn judge_burst(
    run: &Timeline<'_>,
    course: &Exchanges<'_, '_>,
    range: std::ops::Range<usize>,
    seen: &mut Seen,
) {
    let Some(tries) = course.exchanges.get(range.clone()) else { return };
    let Some(kinds) = tries.iter().map(kind).collect::<Option<Vec<_>>>() else { return };
    let Some(first) = kinds.first().copied().filter(|first| kinds.iter().all(|kind| kind == first)) else {
        return;
    };
    let events: Vec<EventId> = course.events(&range);
    let facts = format!(
        "a {} probe was {} {} times at once",
        course.spec.kind.word(),
        if first == Kind::Failure { "failed" } else { "answered with a body that breaks off" },
        tries.len()
    );
    match (first, tries.len()) {
        (Kind::Error, TRIES) | (Kind::Failure, 1) => seen.fine(events),
        // The kubelet may have begun to stop the container between two tries.
        _ if course.attempt.stop_signal().is_some_and(|(_, at)| near(run, course, &range, at)) => {
            seen.doubt(Doubt::Ambiguous, format!("{facts}, shortly before the stop signal"), events);
        }
        _ => seen.violated(facts, events),
    }
}

fn near(
    run: &Timeline<'_>,
    course: &Exchanges<'_, '_>,
    range: &std::ops::Range<usize>,
    stop: &probity_model::Stamp,
) -> bool {
    let last = course.exchanges.get(range.end - 1);
    let span = last.and_then(|last| run.clocks.between(&last.at, stop));
    span.is_some_and(|span| span.lo < course.spec.period)
}

/// Variables in the command of an exec probe are replaced by literal values only.
fn literal_variables_only(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (_, container, spec) in run.probes() {
        let Handler::Exec { command } = &spec.handler else { continue };
        if !command.iter().any(|word| word.contains('$')) {
            continue;
        }
        seen.applies();
        let promised = expand(command, container, |_| None);
        let actual = expand(command, container, |_| Some(String::new()));
        let fixed = command.iter().take_while(|word| !word.contains('$')).count();
        for run in container.attempts.iter().flat_map(|attempt| &attempt.commands) {
            let args = &run.seen.command.args;
            if fixed < 3 || args.get(..fixed) != command.get(..fixed) {
                continue;
            }
            if *args == promised {
                seen.fine([run.id]);
            } else if *args == actual {
                let finding =
                    "variables from other sources were replaced by nothing in the command of a probe";
                seen.diverges(finding, [run.id]);
            } else {
                let finding = format!(
                    "the command of a probe ran as `{}`, not as `{}`",
                    args.join(" "),
                    promised.join(" ")
                );
                seen.violated(finding, [run.id]);
            }
        }
    }
}

/// A command with the variables that the container's env gives, as Kubernetes writes them: `$(NAME)`, and `$$` for a `$`.
/// A name whose value comes from elsewhere is what `sourced` says; none leaves it as it is written.
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
    command.iter().map(|word| expand_word(word, &value)).collect()
}

fn expand_word(word: &str, value: &impl Fn(&str) -> Option<String>) -> String {
    let (mut text, mut rest) = (String::new(), word);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = from.strip_prefix("$$") {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = from.strip_prefix("$(").and_then(|inner| inner.split_once(')')) {
            text.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            text.push('$');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    text + rest
}
