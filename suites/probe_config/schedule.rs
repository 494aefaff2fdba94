//! The schedule of a probe: when its record begins, which consecutive probes only the schedule separates, and how
//! readiness was shown.
//!
//! Probes leave no record while a port is closed. Such periods are left out: they are not evidence in either direction.

use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::{Blur, Bound, Fit, Interval, Measurement, Unit, seconds, whole_seconds};
use probity_model::mechanisms::{OPENED_AT_ONCE, QUICK};
use probity_model::timeline::{
    At, Handler, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision, State, Through,
};
use probity_model::{EventId, Seen, Timeline};

use crate::reading::ports::listening;

/// Every instance of every container with a probe of this kind, if all of its probes were recorded and nothing else can
/// be mistaken for them.
pub(super) fn countable<'t, 'h>(run: &'t Timeline<'h>, kind: ProbeKind) -> Vec<ProbedLife<'t, 'h>> {
    run.lives().of(kind).countable().into_iter().collect()
}

/// Every such instance for probes of all three kinds.
pub(super) fn countable_of_all<'t, 'h>(run: &'t Timeline<'h>) -> Vec<ProbedLife<'t, 'h>> {
    run.lives().of_each(&ProbeKind::ALL).countable().into_iter().collect()
}

/// The time from which every probe of an instance must leave a record: its port was opened as soon as the process
/// started, or the probe runs a command.
pub(super) fn open(life: &ProbedLife<'_, '_>) -> Option<At> {
    if matches!(life.spec.handler, Handler::Exec { .. }) {
        return Some(life.began.clone());
    }
    let (state, line) = listening(life).next()?;
    let at_once = line.at.at.lo - life.began.at.hi <= OPENED_AT_ONCE;
    (state == "open" && at_once).then(|| At::of(line))
}

/// Whether a probe between these two times would have been recorded: the port did not change, no connection arrived
/// without a request, and the pod was not being deleted.
pub(super) fn watched(life: &ProbedLife<'_, '_>, from: &Stamp, to: &Stamp) -> bool {
    let between = |at: &Stamp| at.at.lo > from.at.lo && at.at.lo < to.at.lo;
    let port = life.spec.handler.port();
    let bare = matches!(life.spec.handler, Handler::Http { .. } | Handler::Grpc { .. })
        && life.connections.iter().any(|connection| {
            connection.port() == port && connection.requests == 0 && between(&connection.at)
        });
    let turned = listening(life).any(|(_, line)| between(&line.at));
    !bare && !turned && life.before_deletion(to)
}

/// Consecutive probes that only the schedule separates: they were recorded without a gap, and neither the first of them
/// nor the two probes before it took long enough to delay the next. After a slow probe, a waiting probe may follow at
/// once, and then the next scheduled probe.
pub(super) fn neighbors<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<(&'t Probe<'h>, &'t Probe<'h>)> {
    let is_quick = |probe: &&'t Probe<'h>| {
        let took = life.result(probe).took();
        // If a connection breaks, the client itself may repeat the request, outside of any schedule.
        let clear = life.outcome(probe) != ProbeOutcome::Unclear;
        clear && took.is_some_and(|took| took.hi < QUICK.of(life.spec.period))
    };
    let on_schedule = |at: usize| life.probes.iter().take(at + 1).rev().take(3).all(&is_quick);
    let pairs = life.probes.windows(2).enumerate().filter(|(at, _)| on_schedule(*at));
    let pairs = pairs.filter_map(|(_, pair)| Some((*pair.first()?, *pair.get(1)?)));
    pairs.filter(|pair| is_followed(life, *pair)).collect()
}

/// Whether nothing happened between two probes that may have hidden another probe, or closed the gate.
pub(super) fn is_followed(life: &ProbedLife<'_, '_>, (a, b): (&Probe<'_>, &Probe<'_>)) -> bool {
    watched(life, &a.at, &b.at) && has_started(life, a)
}

/// Whether no startup probe arrived after this probe: a later startup probe means that the gate was closed again, so
/// that the schedule has a gap.
fn has_started(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let startup =
        |other: &&Probe<'_>| life.spec.kind != ProbeKind::Startup && other.can_be(ProbeKind::Startup);
    life.attempt.probes.iter().filter(startup).all(|other| other.at.at.lo <= probe.at.at.lo)
}

/// Whether a probe runs a command, which takes time before the target records it.
pub(super) fn is_command(life: &ProbedLife<'_, '_>) -> bool {
    matches!(life.spec.handler, Handler::Exec { .. })
        || life.probes.iter().any(|probe| matches!(probe.through, Through::Command(_)))
}

/// The revisions that show this instance as running, at each change of `ready`.
pub(super) fn shown_ready<'t, 'h>(life: &Life<'t, 'h>) -> Vec<(&'t Revision<'h>, bool)> {
    let running = life.revisions().filter(|(_, status)| status.is_running());
    let mut turns: Vec<_> = running.map(|(revision, status)| (revision, status.ready)).collect();
    turns.dedup_by_key(|(_, ready)| *ready);
    turns
}

/// The second in which this instance started, with the revision that shows it.
pub(super) fn started_at(life: &Life<'_, '_>) -> Option<At> {
    life.pod.revisions.iter().find_map(|revision| {
        let status = revision.container(&life.container.name)?;
        let State::Running { started: Some(second) } = status.state else { return None };
        let at = Interval::point(whole_seconds(second));
        let clock = Clock::Wall(life.pod.node.clone());
        (status.restarts == life.number).then(|| At::new(revision.id, Stamp { clock, at }))
    })
}

/// Judges many measurements of one kind. Each miss is a violation, and the tightest of the other measurements
/// represents them in the report. Measurements affected by noise are ignored if there are clear measurements; otherwise
/// the result is a doubt.
pub(super) fn judge_each(seen: &mut Seen, all: Vec<Measurement>) {
    let (missed, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.fit() == Fit::Missed);
    let (met, doubtful): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| one.fit() == Fit::Met);
    let clear = !met.is_empty() || !missed.is_empty();
    missed.into_iter().for_each(|one| seen.measure(one));
    met.iter().for_each(|one| seen.fine(one.events.iter().copied()));
    let tightest = if clear { met } else { doubtful }.into_iter().min_by_key(Measurement::room);
    tightest.into_iter().for_each(|one| seen.measure(one));
}

/// The intervals of a schedule as a note for the report: minimum, maximum and, in words, the median.
pub(super) fn distribution(what: &str, mut spans: Vec<i64>, events: Vec<EventId>) -> Option<Measurement> {
    spans.sort_unstable();
    let (least, most) = (*spans.first()?, *spans.last()?);
    let median = middle(&spans)?;
    Some(Measurement {
        quantity: format!("{what}, {} of them, median {}", spans.len(), seconds(median)),
        unit: Unit::Us,
        observed: Interval::new(least, most),
        bound: Bound::default(),
        noise: 0,
        blur: Blur::default(),
        events,
    })
}

/// The middle one of sorted spans.
fn middle(spans: &[i64]) -> Option<i64> {
    spans.get(spans.len() / 2).copied()
}

/// The median of spans.
pub(super) fn median(mut spans: Vec<i64>) -> Option<i64> {
    spans.sort_unstable();
    middle(&spans)
}
