//! Probes that come at the wrong time, too often, or not at all.

use probity_model::timeline::{Probe, ProbeKind};
use probity_model::{History, Timeline};

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated("a probe comes one and a half periods late", &["probe.timing.period"], late),
    violated("probes are left out for two seconds and more", &["probe.timing.period"], left_out),
    violated("a probe comes once more, half a period after its turn", &["probe.timing.period"], once_more),
    violated("each probe is sent twice", &["probe.timing.period"], sent_twice),
    violated("the schedule drifts by a third of a period each time", &["probe.timing.period"], drift),
    violated(
        "the first probe does not wait for its delay",
        &["probe.timing.initial-delay-honoured"],
        impatient,
    ),
    violated("the first probes are left out", &["probe.timing.first-probe-phase"], no_first),
    violated(
        "readiness probes stop halfway through a life",
        &["probe.readiness.runs-for-life"],
        readiness_stops,
    ),
    violated(
        "readiness probes of a container that is not ready pause",
        &["probe.timing.readiness-period-is-upper-bound"],
        pause_while_unready,
    ),
    violated(
        "a failed readiness probe is the last of its life",
        &["probe.failure-threshold.readiness-keeps-running"],
        last_of_its_life,
    ),
];

/// The period with the least noise of a liveness or startup probe whose period is at least this long. A kubelet that the case
/// restarts does not keep a schedule.
fn steady(
    run: &Timeline<'_>,
    period: i64,
    count: impl Fn(i64) -> usize,
    make: impl Fn(&Course<'_, '_>, &[&Probe<'_>]) -> Option<History>,
) -> Option<History> {
    let courses: Vec<_> = courses(run)
        .filter(|_| !run.node_was_touched())
        .filter(|course| course.spec.kind != ProbeKind::Readiness && !course.is_command())
        .filter(|course| course.spec.period >= period)
        .collect();
    let stretch = |course| {
        let course: &Course<'_, '_> = course;
        course.steady(run, count(course.spec.period)).map(|(noise, probes)| (noise, course, probes))
    };
    let (_, course, probes) = courses.iter().filter_map(stretch).min_by_key(|(noise, ..)| *noise)?;
    make(course, probes)
}

fn late(run: &Timeline<'_>) -> Option<History> {
    steady(
        run,
        2 * SECOND,
        |_| 5,
        |course, probes| Copy::of(run).moved(course.exchange(probes[2]), course.spec.period * 3 / 2).done(),
    )
}

fn left_out(run: &Timeline<'_>) -> Option<History> {
    let many = |period| usize::try_from(2 * SECOND / period).unwrap_or(0) + 1;
    steady(
        run,
        0,
        |period| many(period) + 2,
        |course, probes| Copy::of(run).without(course.exchanges(&probes[1..probes.len() - 1])).done(),
    )
}

fn once_more(run: &Timeline<'_>) -> Option<History> {
    steady(
        run,
        3 * SECOND,
        |_| 3,
        |course, probes| Copy::of(run).doubled(course.exchange(probes[1]), course.spec.period / 2).done(),
    )
}

fn sent_twice(run: &Timeline<'_>) -> Option<History> {
    steady(
        run,
        0,
        |_| 6,
        |course, probes| {
            let twice =
                |copy: Copy, probe: &&Probe<'_>| copy.doubled(course.exchange(probe), course.spec.period / 2);
            probes.iter().fold(Copy::of(run), twice).done()
        },
    )
}

fn drift(run: &Timeline<'_>) -> Option<History> {
    steady(
        run,
        0,
        |_| 6,
        |course, probes| {
            let from = probes[0].at.at.lo;
            let later = course.probes.iter().filter(|probe| probe.at.at.lo > from);
            let end = course.attempt.last_line().map_or(0, |line| line.at.at.lo);
            let mut copy = Copy::of(run);
            for (at, probe) in (1..).zip(later) {
                let by = at * course.spec.period / 3;
                let ids = course.exchange(probe);
                copy = if probe.at.at.lo + by < end { copy.moved(ids, by) } else { copy.without(ids) };
            }
            copy.done()
        },
    )
}

fn impatient(run: &Timeline<'_>) -> Option<History> {
    let course = courses(run)
        .find(|course| course.spec.initial_delay > 0 && !course.is_command() && !course.probes.is_empty())?;
    let first = course.probes.first()?;
    let early = (first.at.at.lo - course.attempt.began.at.hi) / 2;
    Copy::of(run).moved(course.exchange(first), -early).done()
}

fn no_first(run: &Timeline<'_>) -> Option<History> {
    let course = courses(run).find(|course| {
        let kept = course.spec.kind != ProbeKind::Readiness && !course.is_gated();
        kept && course.spec.initial_delay == 0
            && course.attempt.number == 0
            && left(course).is_some()
            && lasts(run, course)
    })?;
    Copy::of(run).without(course.exchanges(left(&course)?)).done()
}

/// Whether an instance kept running for a while after its first probes.
fn lasts(run: &Timeline<'_>, course: &Course<'_, '_>) -> bool {
    course.opened().is_some_and(|opened| course.goes_on(run, opened, course.spec.period + 8 * SECOND))
}

/// The first probes of a course, during one period and four seconds, if the next probe passes.
fn left<'c, 'h>(course: &'c Course<'_, 'h>) -> Option<&'c [&'c Probe<'h>]> {
    let until = course.opened()? + course.spec.period + 4 * SECOND;
    let many = course.probes.iter().take_while(|probe| probe.at.at.lo < until).count();
    let next = course.probes.get(many)?;
    let told_apart = course.probes.iter().all(|probe| probe.is(course.spec.kind)) && course.always_open();
    (many > 0 && next.passed == Some(true) && told_apart).then(|| &course.probes[..many])
}

fn readiness_stops(run: &Timeline<'_>) -> Option<History> {
    let long = |course: &Course<'_, '_>| {
        let many = course.probes.len();
        let pace = course.spec.period.max(course.spec.timeout);
        many >= 12 && course.gap(course.probes[many / 2], course.probes[many - 1]) > 4 * SECOND + 2 * pace
    };
    // If a closed port hides probes, or another probe uses the same endpoint, the end of the probes is not visible.
    let told_apart = |course: &Course<'_, '_>| {
        let readiness = course.probes.iter().all(|probe| probe.is(ProbeKind::Readiness));
        let plain = course.attempt.requests.iter().all(|asked| !asked.followed());
        let known = course.probes.iter().all(|probe| probe.passed.is_some());
        readiness && course.always_open() && course.is_quick() && plain && known
    };
    let course = of_kind(run, ProbeKind::Readiness).find(|course| long(course) && told_apart(course))?;
    Copy::of(run).without(course.exchanges(&course.probes[course.probes.len() / 2..])).done()
}

fn pause_while_unready(run: &Timeline<'_>) -> Option<History> {
    let failing = |course: &Course<'_, '_>| {
        course.probes.windows(6).position(|window| {
            let failed = window.iter().all(|probe| probe.passed == Some(false));
            failed && course.gap(window[0], window[5]) > course.spec.period + 2 * SECOND
        })
    };
    let course = of_kind(run, ProbeKind::Readiness)
        .find(|course| !course.is_command() && failing(course).is_some())?;
    let at = failing(&course)?;
    Copy::of(run).without(course.exchanges(&course.probes[at + 1..at + 5])).done()
}

fn last_of_its_life(run: &Timeline<'_>) -> Option<History> {
    let course = of_kind(run, ProbeKind::Readiness).find(|course| {
        course.probes.len() > 8 && course.probes.iter().all(|probe| probe.passed == Some(false))
    })?;
    let tolerance = usize::try_from(course.spec.failures).ok()?;
    Copy::of(run).without(course.exchanges(course.probes.get(tolerance..)?)).done()
}
