//! The effects of single results: a success and an error have no effect.

use std::ops::Range;

use probity_model::mechanisms::{ONE_MISSED, PERIODS_TO_COME};
use probity_model::timeline::{At, Handler, KubeEvent, ProbeAnswer, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};

use crate::reading::answers::{Answers, of_http, of_others};
use crate::reading::event_queue::is_recorded_by;
use crate::reading::http::exchange::{Exchange, HttpOutcome};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};
use crate::reading::unreachable::{has_no_command, judge_unreachable};

/// Probes that pass change nothing: no event reports a failure, and the container is not killed because of one.
pub(super) fn success_changes_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_http(run).into_iter().chain(of_others(run)) {
        answers.judge(clause, seen, |exchange| {
            passed(&answers, exchange).then(|| (CountsAs::Success, "passed".to_owned()))
        });
        let course = &answers.course;
        for (_, range) in course.runs(|exchange| passed(&answers, exchange).then_some(())) {
            no_failure_is_recorded(clause, course, &range, seen);
        }
    }
}

fn passed(answers: &Answers<'_, '_>, exchange: &Exchange<'_, '_>) -> bool {
    match answers.answer(exchange) {
        Some(ProbeAnswer::Exited(_)) => answers.exit(exchange) == Some((0, Some(false))),
        Some(ProbeAnswer::Connected(how)) => how == "serve",
        Some(ProbeAnswer::Checked { serving, .. }) => serving,
        Some(ProbeAnswer::TooLate) => false,
        None => exchange.hops.len() == 1 && exchange.outcome() == HttpOutcome::Good,
    }
}

/// While probes pass without a pause, no event reports a failure: an event that comes later than the clause's slack
/// after the first of these probes can only be about these probes.
fn no_failure_is_recorded(
    clause: &Clause,
    course: &Exchanges<'_, '_>,
    range: &Range<usize>,
    seen: &mut Seen,
) {
    let exchanges = &course.exchanges[range.clone()];
    let Some((first, last)) = exchanges.first().zip(exchanges.last()) else { return };
    let clocks = &course.run.clocks;
    let Some((from, until)) = clocks.on_harness(&first.at).zip(clocks.on_harness(&last.at)) else { return };
    let passing = from.hi.saturating_add(clause.slack_us())..=until.lo;
    let (kind, name) = (course.spec.kind.word(), course.container.name.as_str());
    let says = format!("{kind} probe ");
    let fits = |event: &&KubeEvent<'_>| {
        event.is_of(name, "Unhealthy")
            && event.message.to_lowercase().starts_with(&says)
            && passing.contains(&event.at.at.lo)
    };
    let Some(event) = course.pod.events.iter().find(fits) else { return };
    let finding =
        format!("every {kind} probe of {name} passed, but an event says otherwise: {}", event.message);
    let events = [first.id, event.id, last.id];
    // The target does not see a probe that times out before it arrives.
    let reaction = Reaction::new(course.run, clause, course);
    let busy = range.clone().any(|at| reaction.is_excused(at, CountsAs::Success));
    // The event may be about a probe before these ones, and may have arrived late.
    let old = is_recorded_by(course.run, &course.pod.node, event, &first.at);
    if old || busy || exchanges.windows(2).any(|pair| missed_one(pair, course.spec.period)) {
        seen.doubt(Doubt::Ambiguous, finding, events);
    } else {
        seen.violated(finding, events);
    }
}

/// Whether the gap between two probes is so long that a probe in between may have been lost.
fn missed_one(pair: &[Exchange<'_, '_>], period: i64) -> bool {
    let [one, next] = pair else { return false };
    next.at.at.hi - one.at.at.lo > ONE_MISSED.of(period)
}

/// A check that the kubelet cannot perform changes nothing.
pub(super) fn unknown_changes_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    seen.in_facet("error", "missing-command", |seen| {
        judge_unreachable(run, clause, seen, ("whose command is missing", CountsAs::Nothing), has_no_command);
    });
    let why = ("whose port has an unknown name", CountsAs::Nothing);
    seen.in_facet("error", "unknown-port", |seen| {
        judge_unreachable(run, clause, seen, why, |probe| match &probe.spec.handler {
            Handler::Http { port, .. } | Handler::Tcp { port, .. } => {
                port.number.is_none() && !port.written.is_empty()
            }
            _ => false,
        });
    });
    seen.in_facet("error", "incomplete-body", |seen| {
        for answers in of_http(run) {
            let short = |exchange: &Exchange<'_, '_>| exchange.outcome() == HttpOutcome::Short;
            for (_, range) in answers.course.runs(|exchange| short(exchange).then_some(())) {
                keeps_the_state(clause, &answers.course, &range, seen);
            }
        }
    });
    for answers in of_http(run) {
        judge_between(clause, &answers.course, seen);
        judge_rise_between(clause, &answers.course, seen);
        judge_going_on(clause, &answers.course, seen);
    }
}

/// After an error, the kubelet continues to probe for as long as the container runs.
fn judge_going_on(clause: &Clause, course: &Exchanges<'_, '_>, seen: &mut Seen) {
    let Some(last) = course.exchanges.last() else { return };
    if last.outcome() != HttpOutcome::Short || course.run.node_was_touched() || !course.holes.is_empty() {
        return;
    }
    let reaction = Reaction::new(course.run, clause, course);
    let Some((done, end)) = last.done.as_ref().zip(reaction.end_of_life(None)) else { return };
    let most = PERIODS_TO_COME.of(course.pace()) + clause.slack_us();
    let settled = reaction.settled(course.exchanges.len() - 1);
    if settled && course.run.longer_than(course.pod, (done, &end), most) {
        let finding = format!("{} ended in an error, and no other probe followed", course.words());
        seen.violated(finding, course.run.to_the_end([last.id]));
    }
}

/// Failures before and after an error are failures in a row: once they reach the threshold, the container is stopped or,
/// for a readiness probe, shown as not ready.
fn judge_between(clause: &Clause, course: &Exchanges<'_, '_>, seen: &mut Seen) {
    let Ok(threshold) = usize::try_from(course.spec.failures) else { return };
    let (mut row, mut errors): (Vec<&Exchange<'_, '_>>, usize) = (Vec::new(), 0);
    for exchange in course.exchanges.iter().filter(|of| course.before_deletion(&of.at)) {
        match exchange.outcome() {
            HttpOutcome::Bad if !exchange.late => row.push(exchange),
            HttpOutcome::Short if !row.is_empty() => errors += 1,
            HttpOutcome::Short => {}
            _ => (row, errors) = (Vec::new(), 0),
        }
        // Without an error in between, the container is not ready from now on.
        if row.len() >= threshold && errors == 0 && course.spec.kind == ProbeKind::Readiness {
            return;
        }
        if row.len() < threshold || errors == 0 || course.run.node_was_touched() {
            continue;
        }
        let Some((first, done)) = row.first().copied().zip(exchange.done.as_ref()) else { return };
        let due = At::new(exchange.id, done.clone());
        match course.spec.kind {
            ProbeKind::Readiness => {
                judge_unready_after(clause, course, (first, &due), (threshold, errors), seen);
            }
            ProbeKind::Startup | ProbeKind::Liveness => {
                judge_stop_after(clause, course, (&due, threshold, errors), seen);
            }
        }
        return;
    }
}

/// Successes before and after an error are successes in a row: once they reach the threshold, the container is shown as ready.
fn judge_rise_between(clause: &Clause, course: &Exchanges<'_, '_>, seen: &mut Seen) {
    let Ok(threshold) = usize::try_from(course.spec.successes) else { return };
    if course.spec.kind != ProbeKind::Readiness || threshold < 2 || course.run.node_was_touched() {
        return;
    }
    let (mut successes, mut errors) = (0, 0);
    for exchange in course.exchanges.iter().filter(|of| course.before_deletion(&of.at)) {
        match exchange.outcome() {
            HttpOutcome::Good if !exchange.late => successes += 1,
            HttpOutcome::Short if successes > 0 => errors += 1,
            HttpOutcome::Short => {}
            _ => (successes, errors) = (0, 0),
        }
        if successes < threshold {
            continue;
        }
        let due = exchange.done.clone().map(|done| At::new(exchange.id, done));
        if let Some(due) = due.filter(|due| errors > 0 && course.showed_ready(due, false)) {
            judge_shown_after(clause, course, (&due.stamp, &due, true), (threshold, errors), seen);
        }
        return;
    }
}

/// A container is shown as ready, or as not ready, after this number of readiness results with errors in between.
fn judge_shown_after(
    clause: &Clause,
    course: &Exchanges<'_, '_>,
    (from, due, ready): (&Stamp, &At, bool),
    (count, errors): (usize, usize),
    seen: &mut Seen,
) {
    let (results, came, facet, stayed) = if ready {
        ("successes", "succeeded", "between-successes", "unready")
    } else {
        ("failures", "failed", "between-failures", "ready")
    };
    let words = course.words();
    match course.first_shown(from, |_, status| status.ready == ready) {
        Some(shown) => {
            let quantity = format!("from the last of {count} {results} to ready={ready}: {words}");
            course.within(seen, quantity, (due, shown), clause.in_time());
            seen.facet("error", facet);
        }
        None if course.lives_on() && course.watched_for(&due.stamp, clause.slack_us()) => {
            let finding = format!(
                "{words} {came} {count} times, with {errors} errors in between, but its container stayed {stayed}"
            );
            seen.violated(finding, course.run.to_the_end([due.id]));
        }
        None => {}
    }
}

/// An instance is stopped after this number of failures with errors in between, unless something else ended it or
/// delays its end.
fn judge_stop_after(
    clause: &Clause,
    course: &Exchanges<'_, '_>,
    (due, failures, errors): (&At, usize, usize),
    seen: &mut Seen,
) {
    let delayed = course.container.spec.get("lifecycle").is_some() || !course.only_probes_stop_it();
    let words = course.words();
    match course.stop() {
        _ if delayed || course.exited_by_itself().is_some() => {}
        Some(stop) if course.run.before(&stop.at, &due.stamp) || !course.before_deletion(&stop.at) => {}
        Some(stop) => {
            let quantity = format!("from the last of {failures} failures to the stop signal: {words}");
            course.within(seen, quantity, (due, stop), clause.in_time());
            seen.facet("error", "between-failures");
        }
        None if course.ended.is_none() && course.watched_for(&due.stamp, clause.slack_us()) => {
            let finding = format!(
                "{words} failed {failures} times, with {errors} errors in between, but its container was not stopped"
            );
            seen.violated(finding, course.run.to_the_end([due.id]));
        }
        None => {}
    }
}

/// A container that was shown as ready is shown as not ready after this number of readiness failures with errors in
/// between. If a later probe had another result, it may have become ready again before its status was written.
fn judge_unready_after(
    clause: &Clause,
    course: &Exchanges<'_, '_>,
    (first, due): (&Exchange<'_, '_>, &At),
    (failures, errors): (usize, usize),
    seen: &mut Seen,
) {
    let recovers = |later: &Exchange<'_, '_>| {
        later.at.at.lo > due.at.hi && !matches!(later.outcome(), HttpOutcome::Bad | HttpOutcome::Short)
    };
    if !course.showed_ready(&first.at, true) || course.exchanges.iter().any(recovers) {
        return;
    }
    judge_shown_after(clause, course, (&first.at, due, false), (failures, errors), seen);
}

/// Truncated bodies are errors: the state does not change, and probes continue.
fn keeps_the_state(clause: &Clause, course: &Exchanges<'_, '_>, range: &Range<usize>, seen: &mut Seen) {
    let reaction = Reaction::new(course.run, clause, course);
    let Some(taken) = reaction.taken(range, seen) else { return };
    let events: Vec<EventId> = course.events(range).into_iter().chain(taken.events.iter().copied()).collect();
    let of = format!("{} {} probes of {}", range.len(), course.spec.kind.word(), course.container.name);
    if !taken.nothing {
        let untouched = Some(range).filter(|_| !course.run.node_was_touched());
        if let Some((_, taken)) = untouched.and_then(|of| reaction.without_excuse(of, CountsAs::Nothing)) {
            let word = if taken.failure { "failures" } else { "successes" };
            seen.violated(
                format!("{of} were interrupted by truncated bodies, and counted as {word}"),
                events,
            );
        } else {
            seen.doubt(
                Doubt::Ambiguous,
                format!("{of} were interrupted by truncated bodies, but the node was busy at the time"),
                events,
            );
        }
    } else if !taken.failure || outlives(course.spec, range.len()) {
        seen.fine(events);
    }
}

/// Whether enough probes arrived that, if they were failures, would have had their effect.
fn outlives(probe: &ProbeSpec, probes: usize) -> bool {
    let many = i64::try_from(probes).unwrap_or(i64::MAX);
    probe.kind != ProbeKind::Readiness && many > probe.failures
}

#[cfg(test)]
mod tests;
