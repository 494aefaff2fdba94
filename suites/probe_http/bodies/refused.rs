//! Probes that got no answer at all: the connection was refused, broken off, or spoke no HTTP.

use probity_model::timeline::ProbeKind;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use probity_script::Fact;

use crate::reading::http::exchange::{HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// Connection refused, reset before headers or malformed answers are probe failures.
pub(super) fn is_a_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let jury = Reaction::new(run, clause, &course);
        for (_, range) in course.runs(|exchange| (exchange.outcome() == HttpOutcome::Nothing).then_some(())) {
            seen.applies();
            jury.decide(&range, CountsAs::Failure, "got no answer that is HTTP", seen);
        }
        for closed in closed_times(&course) {
            refused(run, &jury, &closed, seen);
        }
    }
}

/// A time in which the probed port was closed.
pub(crate) struct Closed {
    from: (EventId, Stamp),
    until: Option<(EventId, Stamp)>,
}

/// The times in which the port of a probe was closed that had come to it before.
pub(crate) fn closed_times(course: &Exchanges<'_, '_>) -> Vec<Closed> {
    let Some(first) = course.exchanges.first() else { return Vec::new() };
    let Some(plan) = course.container.plan() else { return Vec::new() };
    let port = course.spec.handler.port();
    let Some((name, _)) = plan.listeners.iter().find(|(_, listener)| Some(listener.port) == port) else {
        return Vec::new();
    };
    let mut times: Vec<Closed> = Vec::new();
    for line in course.attempt.lines.iter().filter(|line| line.at.at.lo > first.at.at.lo) {
        let Fact::Listening(seen) = &line.line.fact else { continue };
        if seen.listener != *name {
            continue;
        }
        let here = (line.id, line.at.clone());
        match times.last_mut().filter(|closed| closed.until.is_none()) {
            Some(open) if seen.state != "closed" => open.until = Some(here),
            None if seen.state == "closed" => times.push(Closed { from: here, until: None }),
            _ => {}
        }
    }
    times
}

/// Judges such a time by its length: so many probes must have been refused in it that something follows.
pub(crate) fn refused(run: &Timeline<'_>, jury: &Reaction<'_, '_, '_>, closed: &Closed, seen: &mut Seen) {
    let course = jury.course;
    let probe = course.spec;
    let (closed_id, closed_at) = &closed.from;
    let mut last = closed_at.clone();
    let wait = probe.failures.saturating_mul(probe.period).saturating_add(probe.timeout);
    last.at.lo = last.at.lo.saturating_add(wait);
    last.at.hi = last.at.hi.saturating_add(wait);
    let of = format!("the {} probe of {}", probe.kind.word(), course.container.name);
    if probe.kind == ProbeKind::Liveness
        && let Some((id, at)) = course.attempt.stop_signal()
        && at.at.lo > closed_at.at.hi
        && course.pod.deleted.is_none()
    {
        return seen.fine([*closed_id, id]);
    }
    let Some(until) = jury.end_of_life(closed.until.as_ref().map(|(_, at)| at.clone())) else { return };
    let Some(window) = jury.window(&last, &until) else { return };
    if jury.hidden(closed_at, &until) {
        return seen.doubt(Doubt::Gap, format!("what became of {of} may have been missed"), [*closed_id]);
    }
    let reopened = closed.until.as_ref().map(|(id, _)| *id);
    match probe.kind {
        ProbeKind::Liveness => {
            seen.violated(
                format!("{of} was refused, and the container lives on"),
                reopened.into_iter().chain([*closed_id]),
            );
        }
        ProbeKind::Readiness => {
            let shown = jury.shown_ready();
            let began = run.clocks.on_harness(closed_at).map_or(i64::MIN, |at| at.lo);
            let before = shown.iter().rfind(|(_, at, _)| *at <= began);
            let Some((id, _, ready)) = shown.iter().rfind(|(_, at, _)| *at <= window.hi) else { return };
            let events = [*closed_id, *id].into_iter().chain(before.map(|(id, ..)| *id)).chain(reopened);
            if *ready {
                seen.violated(format!("{of} was refused, and the container stays ready"), events);
            } else if before.is_some_and(|(_, _, ready)| *ready) {
                seen.fine(events);
            }
        }
        ProbeKind::Startup => {}
    }
}
