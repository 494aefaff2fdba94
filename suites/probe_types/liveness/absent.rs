//! Without a liveness probe, a container counts as live, whatever it answers.

use probity_model::clocks::Stamp;
use probity_model::timeline::{ContainerLife, Life, PodLife, ProbeKind, ProbeOutcome};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::silent::{judge_silent_ends, silent_end};

/// A container that has no liveness probe is not killed because it answers with errors.
pub(super) fn unprobed_lives_on(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers().filter(|(pod, container)| left_alone(run, pod, container)) {
        let accused = pod.event_of(&container.name, "Killing", "failed liveness probe");
        let message = accused.and_then(|id| pod.events.iter().find(|event| event.id == id));
        if let Some(event) = message {
            let finding = format!(
                "a container was killed because of a liveness probe that it does not have: {}",
                event.message
            );
            seen.violated(finding, [event.id]);
        }
    }
    let lives = run.lives().only(|life| left_alone(run, life.pod, life.container));
    let silent = lives.into_iter().filter_map(|life| {
        let from = safe_from(&life)?;
        silent_end(&life).filter(|end| run.before(&from, &end.ended))
    });
    judge_silent_ends(&silent.collect::<Vec<_>>(), seen);
    for life in run.lives().only(|life| left_alone(run, life.pod, life.container)) {
        if let Some(stop) = life.stop() {
            let safe = safe_from(&life).is_some_and(|from| run.before(&from, &stop.at));
            if safe && life.before_deletion(&stop.at) && life.pod.over().is_none() {
                let finding =
                    "a container received a stop signal although it has no probe that could cause it";
                seen.violated(finding, [stop.id]);
            }
            continue;
        }
        let Some(readiness) = life.probed(ProbeKind::Readiness) else { continue };
        let bad: Vec<_> = life
            .attempt
            .probes_of(ProbeKind::Readiness)
            .filter(|probe| readiness.outcome(probe) == ProbeOutcome::Failure)
            .collect();
        if bad.len() >= clause.tolerance_times("bad-answers") {
            seen.fine(bad.iter().map(|probe| probe.id));
        }
    }
}

/// The time from which no probe can stop an instance without a liveness probe: its start, or the success of its startup
/// probe. `None` if the kubelet may have missed the success.
fn safe_from(life: &Life<'_, '_>) -> Option<Stamp> {
    let Some(startup) = life.probed(ProbeKind::Startup) else { return Some(life.began.stamp.clone()) };
    let success = startup.first_success().filter(|success| {
        startup.surely(success) == ProbeOutcome::Success && success.at.at.lo >= life.known_from()
    })?;
    let again = startup.probes.iter().any(|probe| probe.at.at.lo > success.at.at.lo);
    (!again).then(|| success.at.clone())
}

/// Whether neither the pod's spec nor the deeds of the case give another reason to stop the container.
fn left_alone(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let rules = |container: &ContainerLife<'_>| container.spec.get("restartPolicyRules").is_some();
    container.stays()
        && !pod.work_is_done(container)
        && container.probe(ProbeKind::Liveness).is_none()
        && !pod.had_deadline()
        && !pod.containers.iter().any(rules)
        && container.lifecycle("postStart").is_none()
        && !run.was_touched()
}
