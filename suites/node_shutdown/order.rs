//! The two phases of a shutdown: pods that are not critical end first, and critical pods after them. In each pod, sidecars end
//! last.

use probity_model::measure::seconds;
use probity_model::mechanisms::NEAR;
use probity_model::timeline::{ContainerKind, Life, Line};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::critical::is_critical;
use crate::reading::node_shutdowns::{NodeShutdown, node_shutdowns, outlives};

/// The containers of critical pods get their stop signals only when all other pods have ended, or their time is over.
pub(super) fn critical_pods_wait(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for shutdown in node_shutdowns(run, seen) {
        let (critical, regular): (Vec<_>, Vec<_>) = shutdown.pods.iter().partition(|pod| is_critical(pod));
        let lives = |pods: &[&_]| -> Vec<Life<'_, '_>> {
            pods.iter().flat_map(|pod| shutdown.lives(run, pod)).collect()
        };
        let regular = lives(&regular);
        if regular.is_empty() {
            continue;
        }
        for life in lives(&critical) {
            if let Some(stop) = life.stop() {
                judge(run, (&shutdown, &regular), (&life, stop), seen);
            }
        }
    }
}

fn judge(
    run: &Timeline<'_>,
    (shutdown, regular): (&NodeShutdown<'_, '_>, &[Life<'_, '_>]),
    (critical, stop): (&Life<'_, '_>, &Line<'_>),
    seen: &mut Seen,
) {
    let left = outlives(run, regular.iter().copied(), &stop.at);
    // The time is over at the earliest this long after the first possible instant of the announcement.
    let most = run.clocks.between(&shutdown.at, &stop.at).map(|passed| passed.hi);
    match (left, most) {
        (Some((name, last)), Some(most)) if most < shutdown.for_regular - NEAR => {
            let finding = format!(
                "{} is critical, but got its stop signal within {} of the announcement, while {name} was still running",
                critical.name(),
                seconds(most)
            );
            seen.violated(finding, [shutdown.at.id, stop.id, last.id]);
        }
        (_, Some(_)) => seen.fine([shutdown.at.id, stop.id]),
        _ => {}
    }
}

/// The sidecars of a pod get their stop signals only when its main containers have ended, or when its grace period is over.
/// A sidecar with probes is left out, because a failed probe may have stopped it.
pub(super) fn sidecars_wait(run: &Timeline<'_>, shutdown: &NodeShutdown<'_, '_>, seen: &mut Seen) {
    for pod in &shutdown.pods {
        let lives = shutdown.lives(run, pod);
        let of = |kind: ContainerKind| lives.iter().copied().filter(move |life| life.container.kind == kind);
        for sidecar in of(ContainerKind::Sidecar).filter(|life| life.container.probes.is_empty()) {
            let Some(stop) = sidecar.stop() else { continue };
            let left = outlives(run, of(ContainerKind::Main), &stop.at);
            // The grace period begins with the announcement at the earliest.
            let most = run.clocks.between(&shutdown.at, &stop.at).map(|passed| passed.hi);
            match (left, most) {
                (Some((name, last)), Some(most)) if most < shutdown.grace(pod) - NEAR => {
                    let finding = format!(
                        "{} is a sidecar, but got its stop signal within {} of the announcement, while {name} was still \
                         running",
                        sidecar.name(),
                        seconds(most)
                    );
                    seen.violated(finding, [shutdown.at.id, stop.id, last.id]);
                }
                (None, Some(_)) => seen.fine([shutdown.at.id, stop.id]),
                _ => {}
            }
        }
    }
}
