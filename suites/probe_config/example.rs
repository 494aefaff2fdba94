//! The documented example of the three probes together: a boot of up to five minutes, then a liveness probe that is
//! quick to see a hang, and a readiness probe.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::timeline::{ContainerLife, ProbeKind};
use probity_model::{Clause, Seen, Timeline};

use super::course::{Course, SECOND, courses};
use crate::reading::kill::{before_deletion, over};
use crate::reading::tolerance::Outcome;

/// A container with the probes of the example is given its time to start, and is ready after that.
pub(super) fn documented_example(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in courses(run, ProbeKind::Startup) {
        if !is_example(course.container) {
            continue;
        }
        seen.applies();
        let passed = course.probes.iter().find(|probe| course.outcome(probe) == Outcome::Passed);
        let budget = course.spec.failures * course.spec.period;
        let began = &course.attempt.began;
        if let Some((id, stop)) = course.attempt.stop_signal()
            && course.attempt.number == 0
            && by_startup(run, &course, stop)
            && stop.at.hi - began.1.at.lo < budget - course.spec.period
            && passed.is_none()
        {
            seen.violated("the container was stopped before its time to start was over", [began.0, id]);
        }
        let Some(passed) = passed else { continue };
        let ready = course.shown_ready().into_iter().find(|(_, ready)| *ready);
        let Some((ready, _)) = ready else { continue };
        if run.clocks.order(&ready.at, &passed.at) == Order::Before {
            seen.violated("ready before its startup probe had succeeded", [ready.id, passed.id]);
        } else {
            seen.fine([began.0, passed.id, ready.id]);
        }
    }
}

/// Before startup succeeds no liveness probe comes, so only the startup probe can have stopped it, unless someone else did.
fn by_startup(run: &Timeline<'_>, course: &Course<'_, '_>, stop: &Stamp) -> bool {
    let meddled = run.deeds.iter().any(|(_, deed)| {
        matches!(deed.did, Did::Patched { .. } | Did::Evicted { .. } | Did::Executed { .. })
    });
    let asked = course.attempt.probes.iter().any(|probe| probe.can_be(ProbeKind::Liveness));
    !meddled && !asked && before_deletion(run, course.pod, stop) && over(course.pod).is_none()
}

fn is_example(container: &ContainerLife<'_>) -> bool {
    let has = |kind, delay: i64, period: i64, failures: i64| {
        container.probe(kind).is_some_and(|probe| {
            probe.initial_delay == delay * SECOND
                && probe.period == period * SECOND
                && probe.failures == failures
        })
    };
    has(ProbeKind::Startup, 0, 10, 30)
        && has(ProbeKind::Liveness, 10, 5, 3)
        && has(ProbeKind::Readiness, 0, 5, 3)
}
