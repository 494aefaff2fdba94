//! Readiness probing never ends before the container does, also not while its pod terminates.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::timeline::{Attempt, Connection, Handler, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::follows::{comes_up, falls, goes_down, rises};
use crate::reading::evidence::{Life, end, lives, pace, running};
use crate::reading::services::{Entry, services};

/// Fewer periods than this say nothing about a whole life.
const PERIODS: i64 = 10;
/// Fewer periods than this say nothing about a termination.
const LAST_PERIODS: i64 = 3;
/// How long lines of a target may be under way when a case ends.
const UNDER_WAY: i64 = 2_000_000;

/// Readiness probes come for the whole life of a container, at their period.
pub(super) fn runs_for_life(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut longest: Option<(i64, EventId)> = None;
    for life in lives(run).iter().filter(|life| countable(life)) {
        let (Some(first), pace) = (life.said.first(), pace(life.spec, &life.said)) else { continue };
        seen.applies();
        let last = last_sign(run, life);
        let Some((end, at)) = life.attempt.stop_signal().map(|(id, at)| (id, at.clone())).or(last) else {
            continue;
        };
        let window = run.clocks.between(&first.probe.at, &at).map_or(0, |span| span.lo);
        if window < PERIODS * pace {
            longest = longest.max(Some((window / pace, first.probe.id)));
            continue;
        }
        let probes: Vec<Point<'_>> = life
            .said
            .iter()
            .map(|said| (said.probe.id, &said.probe.at))
            .filter(|(_, probe)| run.clocks.between(probe, &at).is_none_or(|left| left.hi >= 0))
            .collect();
        keeps_pace(run, clause, seen, life, &probes, pace);
        longest_pause(run, clause, seen, life, &[&probes[..], &[(end, &at)]].concat(), pace);
    }
    if let (Some((periods, id)), 0) = (longest, seen.count_fine()) {
        let why = format!("only {periods} periods of readiness probing were seen, {PERIODS} are needed");
        seen.doubt(Doubt::TooShort, why, [id]);
    }
}

/// An event and its instant.
type Point<'t> = (EventId, &'t Stamp);

/// Whether each of its probes can be seen and counted: none is of another kind, none is turned away unseen.
fn countable(life: &Life<'_, '_>) -> bool {
    let own = life.said.iter().all(|said| said.probe.is(ProbeKind::Readiness));
    own && always_open(life.attempt, &life.spec.handler)
}

/// Whether whoever knocked until the stop signal was let in and heard. Commands that the runtime fails to start leave no
/// trace, so of them nothing can be said.
fn always_open(attempt: &Attempt<'_>, handler: &Handler) -> bool {
    let Some(port) = handler.port() else { return false };
    let stop = attempt.stop_signal().map_or(i64::MAX, |(_, at)| at.at.lo);
    let closed = attempt
        .lines
        .iter()
        .filter(|line| line.at.at.lo < stop)
        .any(|line| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open"));
    let unheard = |connection: &Connection<'_>| {
        connection.at.at.lo < stop && connection.port() == Some(port) && connection.requests == 0
    };
    let bare = matches!(handler, Handler::Tcp { .. });
    !closed && (bare || !attempt.connections.iter().any(unheard))
}

/// The last moment at which this life should still have been heard of: its end, or that of the case.
fn last_sign(run: &Timeline<'_>, life: &Life<'_, '_>) -> Option<(EventId, Stamp)> {
    if let Some((id, at)) = end(life.attempt) {
        return Some((id, at.clone()));
    }
    let mut events = run.history.events();
    let (id, event) = events.rfind(|(_, event)| event.us <= run.ended_us - UNDER_WAY)?;
    Some((id, Stamp::harness(event.us)))
}

/// Many probes together are no more than two periods late.
fn keeps_pace(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    probes: &[Point<'_>],
    pace: i64,
) {
    let (Some(first), Some(last), Ok(count)) = (probes.first(), probes.last(), i64::try_from(probes.len()))
    else {
        return;
    };
    let most = (count - 1) * pace + 2 * pace + clause.slack_us();
    let bound = Bound::at_most(most, format!("{} × {} + 2 periods + slack", count - 1, seconds(pace)));
    let quantity = format!("from the first to the last of {count} readiness probes");
    if let Some(measured) = run.measure(quantity, &life.attempt.node, *first, *last, bound) {
        seen.measure(measured);
    }
}

/// The longest pause between any two moments in a row is a period, give or take the slack.
fn longest_pause(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    points: &[Point<'_>],
    pace: i64,
) {
    let pauses = points.windows(2).filter_map(|pair| {
        let bound = Bound::at_most(pace + clause.slack_us(), "periodSeconds + slack");
        let (from, to) = (*pair.first()?, *pair.get(1)?);
        run.measure("the longest pause of readiness probing", &life.attempt.node, from, to, bound)
    });
    let weight = |pause: &Measurement| match pause.fit() {
        Fit::Met => 0,
        Fit::Undecided => 1,
        Fit::Missed => 2,
    };
    if let Some(longest) = pauses.max_by_key(|pause| (weight(pause), pause.observed.lo)) {
        seen.measure(longest);
    }
}

/// Readiness probes go on while a pod terminates, and what they say is still shown.
pub(super) fn continues_while_terminating(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in &lives(run) {
        let terminating = life.pod.revisions.iter().find(|revision| revision.terminating());
        let (Some(terminating), Some((_, told))) = (terminating, life.attempt.stop_signal()) else {
            continue;
        };
        let Some((last, at)) = last_sign(run, life) else { continue };
        let pace = pace(life.spec, &life.said);
        let left = run.clocks.between(told, &at).map_or(0, |span| span.lo);
        if !keeps_serving(life.attempt) || life.spec.handler.port().is_none() || left < LAST_PERIODS * pace {
            continue;
        }
        let after = |stamp: &Stamp| stamp.at.lo > told.at.lo;
        let probes = life.said.iter().map(|said| (said.probe.id, &said.probe.at));
        let (later, before): (Vec<Point<'_>>, Vec<_>) = probes.partition(|(_, probe)| after(probe));
        // What had not begun does not go on: the container may not have counted as started yet.
        let Some(before) = before.last() else { continue };
        let points = [&[*before], &later[..], &[(last, &at)]].concat();
        longest_pause(run, clause, seen, life, &points, pace);
        for turn in falls(run, life).iter().filter(|turn| after(&turn.first.at)) {
            if let Some(revision) = goes_down(run, clause, seen, life, turn) {
                slices_follow(run, clause, seen, life, revision.id);
            }
        }
        for turn in rises(run, life).iter().filter(|turn| after(&turn.first.at)) {
            comes_up(run, clause, seen, life, turn);
        }
        seen.fine([terminating.id]);
    }
}

/// Whether the target said on the stop signal that its ports stay open, and they did.
fn keeps_serving(attempt: &Attempt<'_>) -> bool {
    let said = attempt
        .signals()
        .next()
        .is_some_and(|(_, _, signal)| signal.answer == "ignore" || signal.answer.starts_with("serve"));
    let closed = attempt
        .lines
        .iter()
        .any(|line| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open"));
    said && !closed
}

/// The endpoint of a pod that is no longer ready does not serve, as far as its container lived to see it.
fn slices_follow(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, life: &Life<'_, '_>, down: EventId) {
    let Some(down) = life.pod.revisions.iter().find(|revision| revision.id == down) else { return };
    if !down.container(&life.container.name).is_some_and(|seen| running(&seen)) {
        return;
    }
    let around = |entry: &Entry<'_, '_>| entry.at.at.lo >= down.at.at.lo - UNDER_WAY;
    for service in services(run).iter().filter(|service| service.selects(life.pod)) {
        let entries = service.entries(life.pod);
        let then = entries.iter().rfind(|entry| entry.at.at.lo <= down.at.at.lo);
        if let Some(then) = then.filter(|entry| !entry.serving()) {
            seen.fine([down.id, then.id]);
            continue;
        }
        let Some(entry) = entries.into_iter().find(|entry| around(entry) && !entry.serving()) else {
            continue;
        };
        let bound = Bound::at_most(clause.slack_us() + 1_000_000, "slack + 1 s for EndpointSlices");
        let quantity = format!("from Ready=False to serving=false in `{}`", service.name);
        let (from, to) = ((down.id, &down.at), (entry.id, entry.at));
        if let Some(measured) = run.measure(quantity, &life.attempt.node, from, to, bound) {
            seen.measure(measured);
        }
    }
}
