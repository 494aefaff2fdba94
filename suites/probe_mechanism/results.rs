//! What results do by themselves: a success nothing, and an error nothing either.

use std::ops::Range;

use probity_model::history::Did;
use probity_model::timeline::{Handler, KubeEvent, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::exec::is_missing;
use crate::probe_grpc::health::is_serving;
use crate::reading::answers::{Answer, Answers, of_http, of_others};
use crate::reading::http::exchange::{Exchange, HttpOutcome};
use crate::reading::http::reaction::CountsAs;
use crate::reading::http::reaction::Reaction;
use crate::reading::unreachable::UnreachableProbe;

/// Probes that pass change nothing: no failure is recorded, and nobody is killed for one.
pub(super) fn success_changes_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_http(run).into_iter().chain(of_others(run)) {
        answers.judge(run, clause, seen, |exchange| {
            passed(&answers, exchange).then(|| (true, "passed".to_owned()))
        });
        let runs = answers.course.runs(|exchange| passed(&answers, exchange).then_some(()));
        for (_, range) in runs {
            unblamed(run, clause, &answers, &range, seen);
        }
    }
}

fn passed(answers: &Answers<'_, '_>, exchange: &Exchange<'_, '_>) -> bool {
    match answers.told(exchange) {
        Some(Answer::Exited { status: 0, leaves_child: Some(false) }) => true,
        Some(Answer::Opened(how)) => how == "serve",
        Some(Answer::Health(word)) => is_serving(word),
        Some(_) => false,
        None => exchange.hops.len() == 1 && exchange.outcome() == HttpOutcome::Good,
    }
}

/// While probes pass without a pause, no failure of theirs is recorded: what is heard after the first of them and the
/// clause's slack can only be about them.
fn unblamed(
    run: &Timeline<'_>,
    clause: &Clause,
    answers: &Answers<'_, '_>,
    range: &Range<usize>,
    seen: &mut Seen,
) {
    let course = &answers.course;
    let exchanges = &course.exchanges[range.clone()];
    let Some((first, last)) = exchanges.first().zip(exchanges.last()) else { return };
    let clocks = &run.clocks;
    let Some((from, until)) = clocks.on_harness(&first.at).zip(clocks.on_harness(&last.at)) else { return };
    let from = from.hi.saturating_add(clause.slack_us());
    let says = format!("{} probe failed", course.spec.kind.word());
    let fits = |event: &&KubeEvent<'_>| {
        event.reason == "Unhealthy"
            && event.container == Some(course.container.name.as_str())
            && event.message.to_lowercase().contains(&says)
            && (from..=until.lo).contains(&event.at.at.lo)
    };
    let jury = Reaction::new(run, clause, course);
    let Some(event) = course.pod.events.iter().find(fits) else { return };
    let events = [first.id, event.id, last.id];
    let finding = format!(
        "every {} probe of {} passed, and one was recorded as failed: {}",
        course.spec.kind.word(),
        course.container.name,
        event.message
    );
    // A probe that timed out on the way was never seen by the target.
    if jury.held_up(range) || exchanges.windows(2).any(|pair| missed_one(pair, course.spec.period)) {
        seen.doubt(Doubt::Ambiguous, finding, events);
    } else {
        seen.violated(finding, events);
    }
}

/// Whether two probes are so far apart that one may have been lost between them.
fn missed_one(pair: &[Exchange<'_, '_>], period: i64) -> bool {
    let [one, next] = pair else { return false };
    (next.at.at.hi - one.at.at.lo).saturating_mul(2) > period.saturating_mul(3)
}

/// A check that cannot be carried out changes nothing.
pub(super) fn unknown_changes_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let undeclared = match &spec.handler {
            Handler::Http { port, .. } | Handler::Tcp { port, .. } => {
                port.number.is_none() && !port.written.is_empty()
            }
            _ => false,
        };
        let missing = container.plan().is_some() && is_missing(spec);
        if undeclared || missing {
            let why = if missing { "whose command is missing" } else { "whose port has an unknown name" };
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Nothing);
        }
    }
    for answers in of_http(run) {
        let runs = answers.course.runs(|exchange| (exchange.outcome() == HttpOutcome::Short).then_some(()));
        for (_, range) in runs {
            kept(run, clause, &answers, &range, seen);
        }
    }
}

/// Bodies that break off are errors: the state that was there stays, and probes go on.
fn kept(
    run: &Timeline<'_>,
    clause: &Clause,
    answers: &Answers<'_, '_>,
    range: &Range<usize>,
    seen: &mut Seen,
) {
    let course = &answers.course;
    let jury = Reaction::new(run, clause, course);
    let Some(taken) = jury.taken(range, seen) else { return };
    let events: Vec<EventId> = course.events(range).into_iter().chain(taken.events.iter().copied()).collect();
    let of = format!("{} {} probes of {}", range.len(), course.spec.kind.word(), course.container.name);
    if !taken.nothing && (jury.held_up(range) || node_was_touched(run)) {
        seen.doubt(Doubt::Ambiguous, format!("{of} broke off, and the node was held up meanwhile"), events);
    } else if !taken.nothing {
        let word = if taken.failure { "failures" } else { "successes" };
        seen.violated(format!("{of} broke off, and were taken for {word}"), events);
    } else if !taken.failure || outlives(course.spec, range.len()) {
        seen.fine(events);
    }
}

/// Whether so many probes came that failures would have had their effect.
fn outlives(probe: &ProbeSpec, probes: usize) -> bool {
    let many = i64::try_from(probes).unwrap_or(i64::MAX);
    probe.kind != ProbeKind::Readiness && many > probe.failures
}

fn node_was_touched(run: &Timeline<'_>) -> bool {
    run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }))
}

#[cfg(test)]
mod tests;
