//! Truncated bodies that are shorter than the limit. According to the documentation the status decides; upstream treats
//! such an answer as an error: the kubelet makes three attempts without a pause, and then discards the result.

use std::ops::Range;

use probity_model::timeline::{ProbeKind, ProbeOutcome};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// How many attempts the upstream kubelet makes before it gives up (`maxProbeRetries` of the kubelet's prober).
const TRIES: usize = 3;

/// The result of a probe depends only on the status code in the headers.
pub(super) fn the_status_decides(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let runs = course.runs(|exchange| {
            let status = exchange.last()?.said.status()?;
            (exchange.outcome() == HttpOutcome::Short).then_some(status)
        });
        for (status, range) in runs {
            judge(&Reaction::new(run, clause, &course), status, &range, seen);
        }
    }
}

fn judge(reaction: &Reaction<'_, '_, '_>, status: u16, range: &Range<usize>, seen: &mut Seen) {
    let Some(promise) = CountsAs::by(ProbeOutcome::of_status(status)) else { return };
    let Some(bursts) = bursts(reaction, range) else { return };
    let course = reaction.course;
    let Some(taken) = reaction.taken(range, seen) else { return };
    // A container that is not ready may get extra probes. The requests of several probes then follow one another, and
    // their number proves nothing.
    let settled = course.spec.kind != ProbeKind::Readiness || (taken.success && taken.nothing);
    // A probe that took longer than its period is followed by the next probe at once, and a kubelet that restarts
    // begins a new schedule.
    let regular = course.spec.timeout <= course.spec.period && !course.run.node_was_touched();
    let in_turn = settled && regular;
    let each = |count: usize| bursts.iter().all(|tries| *tries == count);
    let (discarded, by_status) = if in_turn {
        (taken.nothing && each(TRIES), taken.allows(promise) && each(1))
    } else {
        (taken.nothing && !taken.allows(promise), taken.allows(promise) && !taken.nothing)
    };
    let events = course.events(range).into_iter().chain(taken.events.iter().copied());
    let counts = bursts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let facts = format!(
        "{} probes of {} were answered with {status} and a truncated body; requests per probe: {counts}",
        course.spec.kind.word(),
        course.container.name
    );
    if !in_turn && taken.nothing && taken.allows(promise) {
        // A failed result cannot be told from a discarded one.
    } else if discarded {
        seen.diverges(format!("{facts}; the kubelet discarded their results"), events);
    } else if by_status {
        if taken.denies(promise) {
            seen.fine(events);
        }
    } else if reaction.is_held_up(range) || (taken.failure && may_have_timed_out(reaction, range)) {
        seen.doubt(Doubt::Ambiguous, format!("{facts}; the node was stalled at the time"), events);
    } else {
        let word = match (taken.success, taken.failure) {
            (true, _) => "success",
            (_, true) => "failure",
            _ => "no single result",
        };
        seen.violated(format!("{facts}; the kubelet counted them as {word}"), events);
    }
}

/// Whether enough probes of a run for a failed result may have timed out because the node was stalled.
fn may_have_timed_out(reaction: &Reaction<'_, '_, '_>, range: &Range<usize>) -> bool {
    let excused = range.clone().filter(|at| reaction.is_excused(*at, CountsAs::Success)).count();
    i64::try_from(excused).is_ok_and(|excused| excused >= reaction.course.spec.failures)
}

/// How many requests each probe of the sequence made, without the last probe if its requests may be incomplete, and without
/// probes whose requests a stall of the node may have separated, or merged with those of the next probe. `None` if probes follow one another so closely
/// that they cannot be told apart.
fn bursts(reaction: &Reaction<'_, '_, '_>, range: &Range<usize>) -> Option<Vec<usize>> {
    let course = reaction.course;
    if !apart(course, range) {
        return None;
    }
    let mut bursts = Vec::new();
    let mut first = range.start;
    for at in range.clone() {
        // If the next attempt got a different answer, the number of attempts of this probe is not known.
        if !again(course, at) {
            let calm = (first..=at).all(|of| !reaction.is_excused(of, CountsAs::Success));
            if calm && reaction.settled(at) && begins(course, first) && !course.is_off_beat(at) {
                bursts.push(at + 1 - first);
            }
            first = at + 1;
        }
    }
    (!bursts.is_empty()).then_some(bursts)
}

/// Whether a probe starts on schedule at this index: it neither follows attempts with other answers, nor a probe that
/// lasted into the next period.
fn begins(course: &Exchanges<'_, '_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    let long = course.spec.period - gaps(course);
    course.exchanges.get(before).and_then(lasted).is_some_and(|lasted| lasted < long)
        && !again(course, before)
        && !course.is_off_beat(before)
}

/// Whether the next request is another attempt of the same probe: it arrives long before the next probe is due.
fn again(course: &Exchanges<'_, '_>, at: usize) -> bool {
    course.pause_after(at).is_some_and(|pause| pause < course.closeness())
}

fn lasted(exchange: &Exchange<'_, '_>) -> Option<i64> {
    Some(exchange.done.as_ref()?.at.hi - exchange.at.at.lo)
}

/// The minimum time that is needed to tell apart probes with several attempts: the longest time before another attempt,
/// plus as much again before the next probe.
fn gaps(course: &Exchanges<'_, '_>) -> i64 {
    course.closeness() + course.closeness()
}

/// Whether three attempts leave enough time before the next probe to tell the two probes apart.
fn apart(course: &Exchanges<'_, '_>, range: &Range<usize>) -> bool {
    let tries = i64::try_from(TRIES).unwrap_or(i64::MAX);
    let longest = course.exchanges[range.clone()].iter().filter_map(lasted).max();
    longest.is_some_and(|longest| {
        longest.saturating_mul(tries).saturating_add(gaps(course)) <= course.spec.period
    })
}
