//! The state of a container before the first probe: not ready, live and not started.

use probity_model::clocks::Order;
use probity_model::timeline::{Probe, ProbeKind, ProbedLife};
use probity_model::{Clause, Seen, Stamp, Timeline};

/// A container is not ready before its first readiness probe, not started before its first startup probe, and not
/// killed because of its liveness probe before the first such probe.
pub(super) fn first_results(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let delayed =
        |life: &ProbedLife<'_, '_>| life.spec.initial_delay > 0 && life.spec.handler.host().is_none();
    // Until its next sync, a kubelet may show a new instance as started because the previous one was.
    let inherits = |life: &ProbedLife<'_, '_>| life.spec.kind == ProbeKind::Startup && life.number > 0;
    let known = |life: &ProbedLife<'_, '_>| delayed(life) && !inherits(life);
    for life in run.lives().of_each(&ProbeKind::ALL).whole().only(known) {
        let Some(first) = life.probes.first() else { continue };
        match life.spec.kind {
            ProbeKind::Liveness => is_spared(&life, first, seen),
            ProbeKind::Readiness => is_unproven(&life, first, "ready", seen),
            ProbeKind::Startup => is_unproven(&life, first, "started", seen),
        }
    }
}

fn before(life: &ProbedLife<'_, '_>, at: &Stamp, first: &Probe<'_>) -> bool {
    life.run.clocks.order(at, &first.at) == Order::Before
}

/// Until the first probe of this kind, the container is not shown as ready or started, respectively.
fn is_unproven(life: &ProbedLife<'_, '_>, first: &Probe<'_>, word: &str, seen: &mut Seen) {
    let shown = life.revisions().take_while(|(revision, _)| before(life, &revision.at, first));
    for (revision, status) in shown.filter(|(_, status)| status.is_running()) {
        let proven = match life.spec.kind {
            ProbeKind::Readiness => Some(status.ready),
            _ => status.started,
        };
        if proven == Some(true) {
            let (of, kind) = (life.name(), life.spec.kind.word());
            let finding = format!("the status showed {of} as {word} before the first {kind} probe");
            seen.violated(finding, [revision.id, first.id]);
        } else if proven == Some(false) {
            seen.fine([revision.id, first.id]);
        }
    }
}

/// Until the first liveness probe, no event reports that the container was killed because of its liveness probe.
fn is_spared(life: &ProbedLife<'_, '_>, first: &Probe<'_>, seen: &mut Seen) {
    let mut killings = life.pod.events.iter().filter(|event| event.is_of(&life.container.name, "Killing"));
    let killing = killings
        .find(|event| event.message.contains("failed liveness probe") && before(life, &event.at, first));
    if let Some(killing) = killing.filter(|_| life.number == 0) {
        let finding = format!(
            "{} was killed because of its liveness probe before the first liveness probe arrived",
            life.name()
        );
        seen.violated(finding, [killing.id, first.id]);
    } else if before(life, &life.began, first) {
        seen.fine([life.began.id, first.id]);
    }
}

#[cfg(test)]
mod tests;
