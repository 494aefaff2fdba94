//! How probes of one kind follow each other: every period, never later while a container is not ready, and never two at
//! a time.

use probity_model::measure::{Bound, Measurement, seconds};
use probity_model::timeline::{Probe, ProbeKind};
use probity_model::{Clause, Seen, Timeline};

use super::course::{Course, courses, distribution};
use crate::reading::tolerance::{NEAR, Outcome, resulted};

type Pair<'t, 'h> = (&'t Probe<'h>, &'t Probe<'h>);

/// Liveness and startup probes come every period, neither earlier nor later, and the schedule does not drift.
pub(super) fn is_kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for course in courses(run, kind).iter().filter(|course| !course.is_command()) {
            seen.applies();
            let pairs = course.neighbours(run);
            judge_worst(run, clause, course, &pairs, seen);
            judge_drift(run, clause, course, &pairs, seen);
            let spans = pairs.iter().map(|(a, b)| b.at.at.lo - a.at.at.hi).collect();
            let events = pairs.iter().map(|(a, _)| a.id).collect();
            let what = format!("between neighbours of {}", course.words());
            if let Some(measured) = distribution(&what, spans, events) {
                seen.note(measured);
            }
        }
    }
}

/// The shortest and the longest distance, each against its own end of the bound.
fn judge_worst(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    pairs: &[Pair<'_, '_>],
    seen: &mut Seen,
) {
    let (period, slack) = (course.spec.period, clause.slack_us());
    let span = |(a, b): &&Pair<'_, '_>| b.at.at.lo - a.at.at.hi;
    if let Some(longest) = pairs.iter().max_by_key(span) {
        let bound = Bound::at_most(period + slack, format!("periodSeconds + {}", seconds(slack)));
        seen_some(measured(run, course, "the longest time", longest, bound), seen);
    }
    if let Some(shortest) = pairs.iter().min_by_key(span) {
        let bound = Bound::at_least(period - slack, format!("periodSeconds - {}", seconds(slack)));
        seen_some(measured(run, course, "the shortest time", shortest, bound), seen);
    }
}

fn seen_some(measured: Option<Measurement>, seen: &mut Seen) {
    if let Some(measured) = measured {
        seen.measure(measured);
    }
}

fn measured(
    run: &Timeline<'_>,
    course: &Course<'_, '_>,
    what: &str,
    (a, b): &Pair<'_, '_>,
    bound: Bound,
) -> Option<Measurement> {
    let quantity = format!("{what} between neighbours of {}", course.words());
    run.measure(quantity, &course.attempt.node, (a.id, &a.at), (b.id, &b.at), bound)
}

/// Over all neighbours in a row, the time is that of so many periods.
fn judge_drift(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    pairs: &[Pair<'_, '_>],
    seen: &mut Seen,
) {
    let chains = pairs.chunk_by(|(_, b), (next, _)| b.id == next.id);
    let Some(longest) = chains.max_by_key(|chain| chain.len()) else { return };
    let (Some(first), Some(last)) = (longest.first(), longest.last()) else { return };
    let Ok(count) = i64::try_from(longest.len()) else { return };
    let whole = (first.0, last.1);
    let (slack, periods) = (clause.slack_us(), count * course.spec.period);
    let words = seconds(slack);
    let bound = Bound::at_most(periods + slack, format!("{count} × periodSeconds + {words}"))
        .and_at_least(periods - slack, format!("{count} × periodSeconds - {words}"));
    seen_some(measured(run, course, "the whole time", &whole, bound), seen);
}

/// While a container is not ready its readiness probe may come early, and never later than after a period.
pub(super) fn readiness_is_not_forgotten(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    for course in courses(run, ProbeKind::Readiness).iter().filter(|course| !course.is_command()) {
        let pairs = course.neighbours(run);
        // What was sent by the life before is followed by nothing until the new life's turn has come.
        let failed = pairs
            .iter()
            .filter(|(a, _)| course.outcome(a) == Outcome::Failed && !course.is_straggler(run, a));
        let failed: Vec<&Pair<'_, '_>> = failed.collect();
        let early = failed.iter().filter(|(a, b)| b.at.at.hi - a.at.at.lo < course.spec.period / 2).count();
        let Some(longest) = failed.into_iter().max_by_key(|(a, b)| b.at.at.lo - a.at.at.hi) else { continue };
        let bound = Bound::at_most(
            course.spec.period + slack,
            format!("periodSeconds + {}; {early} came early", seconds(slack)),
        );
        seen_some(measured(run, course, "the longest time", longest, bound), seen);
    }
}

/// Where a probe takes longer than its period, the next one waits for it, and then comes at once.
pub(super) fn one_at_a_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind)) {
        let spec = course.spec;
        if spec.timeout <= spec.period {
            continue;
        }
        let pairs = course.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        for (a, b) in pairs.filter(|(a, b)| course.watched(run, &a.at, &b.at)) {
            let ended = resulted(spec, a);
            if ended.at.lo - a.at.at.hi < spec.period + NEAR {
                continue;
            }
            let id = a.settled.as_ref().map_or(a.id, |(id, _)| *id);
            let slack = clause.slack_us();
            let bound = Bound::at_most(slack, "the clause's slack")
                .and_at_least(-NEAR, "not before the end of the one before it, as near as can be told");
            let quantity = format!("from the end of a slow probe to the next of {}", course.words());
            let ends = ((id, &ended), (b.id, &b.at));
            seen_some(run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound), seen);
        }
    }
}
