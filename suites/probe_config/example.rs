//! The documented example with all three probes: the container has up to five minutes to start, and then a liveness
//! probe detects a hang quickly, beside a readiness probe.

use probity_model::clocks::Order;
use probity_model::measure::whole_seconds;
use probity_model::timeline::{ContainerLife, Line, ProbeKind, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::schedule::{countable, shown_ready};

/// A container with the probes of the example has its whole time to start, and becomes ready only after startup
/// succeeds.
pub(super) fn documented_example(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable(run, ProbeKind::Startup).iter().filter(|life| is_example(life.container)) {
        let passed = life.first_success();
        let budget = life.spec.failures * life.spec.period;
        if let Some(stop) = life.stop()
            && life.number == 0
            && by_startup(life, stop)
            && stop.at.at.hi - life.began.at.lo < budget - life.spec.period
            && passed.is_none()
        {
            let finding = "the container was stopped before its startup time was over";
            seen.violated(finding, [life.began.id, stop.id]);
        }
        let Some(passed) = passed else { continue };
        let Some((ready, _)) = shown_ready(life).into_iter().find(|(_, ready)| *ready) else { continue };
        if run.clocks.order(&ready.at, &passed.at) == Order::Before {
            seen.violated("ready before its startup probe had succeeded", [ready.id, passed.id]);
        } else {
            seen.fine([life.began.id, passed.id, ready.id]);
        }
    }
}

/// Whether only the startup probe can have caused a stop: no liveness probe arrived, and there was no other cause.
fn by_startup(life: &ProbedLife<'_, '_>, stop: &Line<'_>) -> bool {
    let asked = life.attempt.probes.iter().any(|probe| probe.can_be(ProbeKind::Liveness));
    !life.run.was_touched() && !asked && life.before_deletion(&stop.at) && life.pod.over().is_none()
}

fn is_example(container: &ContainerLife<'_>) -> bool {
    let has = |kind, delay: i64, period: i64, failures: i64| {
        container.probe(kind).is_some_and(|probe| {
            probe.initial_delay == whole_seconds(delay)
                && probe.period == whole_seconds(period)
                && probe.failures == failures
        })
    };
    has(ProbeKind::Startup, 0, 10, 30)
        && has(ProbeKind::Liveness, 10, 5, 3)
        && has(ProbeKind::Readiness, 0, 5, 3)
}
