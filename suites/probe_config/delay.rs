//! When the first probe of a life comes: not before its initial delay, not much more than a period after that, and at
//! once for a readiness probe.
//!
//! A kubelet counts the delay in whole seconds from `startedAt`, which is cut to the second, so that is what the least
//! is counted from. The most is counted from the opening of the port: before, no probe is seen.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{Probe, ProbeKind};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::course::{Course, SECOND, courses, distribution};
use crate::reading::kill::{before_deletion, has_hook};
use crate::reading::tolerance::{Outcome, resulted};

/// Clocks of two programs are not told apart better than this: a probe at the very instant is no early one.
const APART: i64 = 10_000;
/// Only a readiness probe with so long a period shows that its first turn did not wait for it.
const LONG: i64 = 10 * SECOND;

/// No probe comes before its initial delay is over, and one comes within a period after that.
pub(super) fn is_honoured(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in delayed(run) {
        judge_delay(run, clause, &course, seen);
    }
}

/// The same where the period is longer than the delay.
pub(super) fn with_larger_period(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in delayed(run).iter().filter(|course| course.spec.period > course.spec.initial_delay) {
        judge_delay(run, clause, course, seen);
    }
}

/// The same in each life after the first. A kubelet that has not looked at the container since its restart goes on by
/// the life before, whose delay is over.
pub(super) fn in_each_life(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in delayed(run).iter().filter(|course| course.attempt.number > 0) {
        judge_delay(run, clause, course, seen);
        if let Some(straggler) = course.probes.first().filter(|probe| course.is_straggler(run, probe))
            && let Some((id, started)) = course.started_at()
            && let Some(after) = run.clocks.between(&started, &straggler.at)
            && after.hi < course.spec.initial_delay
        {
            let finding = format!(
                "{} came {} after the restart, before the API showed the new life",
                course.words(),
                seconds(after.hi)
            );
            let before =
                course.container.attempts.iter().rfind(|life| life.number + 1 == course.attempt.number);
            let killed = before.is_some_and(|before| before.stop_signal().is_some());
            match course.spec.kind {
                ProbeKind::Readiness if killed => seen.diverges(finding, [id, straggler.id]),
                _ => seen.violated(finding, [id, straggler.id]),
            }
        }
    }
}

fn delayed<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Course<'t, 'h>> {
    let all = ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind));
    all.filter(|course| course.spec.initial_delay > 0).collect()
}

fn judge_delay(run: &Timeline<'_>, clause: &Clause, course: &Course<'_, '_>, seen: &mut Seen) {
    seen.applies();
    let Some(first) = course.probes.iter().find(|probe| !course.is_straggler(run, probe)) else { return };
    let (delay, words) = (course.spec.initial_delay, course.words());
    if let Some((id, started)) = course.started_at() {
        let quantity = format!("from startedAt to the first arrival of {words}");
        let bound = Bound::at_least(delay - APART, "initialDelaySeconds - 10 ms");
        let ends = ((id, &started), (first.id, &first.at));
        if let Some(measured) = run.measure(quantity, &course.pod.node, ends.0, ends.1, bound) {
            seen.measure(measured);
        }
    }
    if let Some(open) = ungated(run, course, first) {
        let most = delay + course.spec.period + clause.slack_us();
        let formula = format!("initialDelaySeconds + periodSeconds + {}", seconds(clause.slack_us()));
        judge_most(run, course, open, first, Bound::at_most(most, formula), seen);
    }
}

/// From when on all of a probe was seen and nothing but its schedule held it back; none if something may have.
fn ungated(run: &Timeline<'_>, course: &Course<'_, '_>, first: &Probe<'_>) -> Option<(EventId, Stamp)> {
    let gated =
        course.spec.kind != ProbeKind::Startup && course.container.probe(ProbeKind::Startup).is_some();
    // A kubelet learns of what runs when it is done with the pod: a hook after the start of any container delays that.
    let hooked = course.pod.containers.iter().any(has_hook);
    let (id, open) = course.open().filter(|_| !gated && !hooked)?;
    // Nor does it before the other containers of a new pod are started as well.
    let others = course.pod.containers.iter().filter_map(|other| other.attempts.first());
    let last = others.map(|other| &other.began).max_by_key(|(_, began)| began.at.hi);
    let later = last.filter(|(_, began)| course.attempt.number == 0 && began.at.hi > open.at.hi);
    let (id, open) = later.cloned().unwrap_or((id, open));
    course.watched(run, &open, &first.at).then_some((id, open))
}

fn judge_most(
    run: &Timeline<'_>,
    course: &Course<'_, '_>,
    (id, open): (EventId, Stamp),
    first: &Probe<'_>,
    bound: Bound,
    seen: &mut Seen,
) {
    let quantity = format!("from the opening of its port to the first arrival of {}", course.words());
    let ends = ((id, &open), (first.id, &first.at));
    if let Some(measured) = run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

/// With a startup probe, the delays of the others should count from its success. Kubelets count them from the start of
/// the container all the same.
pub(super) fn after_startup(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let startups = courses(run, ProbeKind::Startup);
    for kind in [ProbeKind::Liveness, ProbeKind::Readiness] {
        for course in courses(run, kind).iter().filter(|course| course.spec.initial_delay > 0) {
            let same = |startup: &&Course<'_, '_>| {
                startup.pod.uid == course.pod.uid
                    && startup.pod.name == course.pod.name
                    && startup.container.name == course.container.name
                    && startup.attempt.boot == course.attempt.boot
            };
            if let Some(startup) = startups.iter().find(same) {
                seen.applies();
                judge_origin(run, clause, course, startup, seen);
            }
        }
    }
}

fn judge_origin(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    startup: &Course<'_, '_>,
    seen: &mut Seen,
) {
    let passed = startup.probes.iter().find(|probe| startup.outcome(probe) == Outcome::Passed);
    let (Some(passed), Some(first)) = (passed, course.probes.first()) else { return };
    let (Some((id, started)), delay) = (course.started_at(), course.spec.initial_delay) else { return };
    let success = resulted(startup.spec, passed);
    let spans = (run.clocks.between(&started, &success), run.clocks.between(&started, &first.at));
    let (Some(until_success), Some(until_first)) = spans else { return };
    // Where startup is quick, both ways of counting say about the same.
    let telling = until_success.lo > course.spec.period + clause.slack_us();
    if !telling || run.clocks.order(&first.at, &success) == Order::Before {
        return;
    }
    let waited = first.at.at.lo - success.at.hi;
    let events = [id, passed.id, first.id];
    let words = course.words();
    if waited >= delay - SECOND {
        seen.fine(events);
    } else if until_first.hi >= delay {
        let (waited, total) = (seconds(waited), seconds(until_first.lo));
        let finding = format!("{words} came {waited} after the startup success, {total} after the start");
        seen.diverges(finding, events);
    } else {
        let total = seconds(until_first.hi);
        let finding = format!("{words} came {total} after the start, before any delay was over");
        seen.violated(finding, events);
    }
}

/// Without a delay, the first liveness or startup probe comes within one period, at whatever phase.
pub(super) fn first_within_a_period(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (mut phases, mut events) = (Vec::new(), Vec::new());
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for course in courses(run, kind).iter().filter(|course| course.spec.initial_delay == 0) {
            seen.applies();
            let Some(first) = course.probes.first().filter(|first| !passed_over(course, first)) else {
                continue;
            };
            let Some(open) = ungated(run, course, first) else { continue };
            let most = course.spec.period + clause.slack_us();
            let formula = format!("periodSeconds + {}", seconds(clause.slack_us()));
            phases.push(first.at.at.lo - open.1.at.hi);
            events.extend([open.0, first.id]);
            judge_most(run, course, open, first, Bound::at_most(most, formula), seen);
        }
    }
    if let Some(measured) = distribution("from the opening of a port to the first probe", phases, events) {
        seen.note(measured);
    }
}

/// Whether other probes came before the first startup probe: then the kubelet took the life for one that had started
/// already, which the clauses of the gate judge, and its startup probe waits until it knows better.
fn passed_over(course: &Course<'_, '_>, first: &Probe<'_>) -> bool {
    let before = |probe: &Probe<'_>| probe.at.at.hi < first.at.at.lo && !probe.can_be(ProbeKind::Startup);
    course.spec.kind == ProbeKind::Startup && course.attempt.probes.iter().any(before)
}

/// A readiness probe with a long period comes soon after the start all the same, while the container is not ready.
pub(super) fn readiness_comes_early(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in courses(run, ProbeKind::Readiness) {
        if course.spec.initial_delay > 0 || course.spec.period < LONG {
            continue;
        }
        let refused = course.pod.events.iter().any(|event| {
            event.container == Some(course.container.name.as_str()) && event.reason == "Unhealthy"
        });
        let Some(first) = course.probes.first() else { continue };
        let open = ungated(run, &course, first);
        let since = open.as_ref().and_then(|(_, open)| run.clocks.between(open, &first.at));
        let late = since.is_none_or(|since| since.hi > clause.slack_us());
        // A probe that found the port still closed is not seen, and the next one may take its period.
        let excused = refused && late && course.outcome(first) == Outcome::Passed;
        if excused || !before_deletion(run, course.pod, &first.at) {
            continue;
        }
        seen.applies();
        if let Some(open) = open {
            let bound = Bound::at_most(clause.slack_us(), "the clause's slack");
            judge_most(run, &course, open, first, bound, seen);
        }
    }
}
