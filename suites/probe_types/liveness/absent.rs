//! Without a liveness probe a container is live, whatever it answers.

use probity_model::history::Did;
use probity_model::timeline::{ContainerKind, ContainerLife, PodLife, ProbeKind};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::kill::{before_deletion, over};
use crate::reading::kinds::work_is_done;
use crate::reading::tolerance::{Outcome, outcome};

/// So many bad answers in one life show that nobody minds: twice as many as a liveness probe bears by default.
const BAD_ANSWERS: usize = 6;

/// A container that answers badly, but has no liveness probe, is not killed for it.
pub(super) fn unprobed_lives_on(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers().filter(|(pod, container)| left_alone(run, pod, container)) {
        let accused = pod.events.iter().find(|event| {
            event.reason == "Killing"
                && event.container == Some(container.name.as_str())
                && event.message.contains("failed liveness probe")
        });
        if let Some(event) = accused {
            let finding = format!("killed by a liveness probe that it does not have: {}", event.message);
            seen.violated(finding, [event.id]);
        }
        for attempt in &container.attempts {
            if let Some((id, at)) = attempt.stop_signal() {
                if before_deletion(run, pod, at) && over(pod).is_none() {
                    let finding = "a stop signal came to a container without any probe that could ask for it";
                    seen.violated(finding, [id]);
                }
                continue;
            }
            let Some(spec) = container.probe(ProbeKind::Readiness) else { continue };
            let bad: Vec<_> = attempt
                .probes_of(ProbeKind::Readiness)
                .filter(|probe| outcome(attempt, spec, probe) == Outcome::Failed)
                .collect();
            if bad.len() >= BAD_ANSWERS {
                seen.fine(bad.iter().map(|probe| probe.id));
            }
        }
    }
}

/// Whether nothing in the pod's spec and in what was done gives another reason to stop the container.
fn left_alone(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let hooked =
        container.spec.get("lifecycle").is_some_and(|lifecycle| lifecycle.get("postStart").is_some());
    let rules = |container: &ContainerLife<'_>| container.spec.get("restartPolicyRules").is_some();
    let meddled = run.deeds.iter().any(|(_, deed)| {
        matches!(
            deed.did,
            Did::Patched { .. } | Did::NodeVerb { .. } | Did::Evicted { .. } | Did::Executed { .. }
        )
    });
    container.kind != ContainerKind::Init
        && !work_is_done(pod, container)
        && container.probe(ProbeKind::Liveness).is_none()
        && container.probe(ProbeKind::Startup).is_none()
        && pod.spec.get("activeDeadlineSeconds").is_none()
        && !pod.containers.iter().any(rules)
        && !hooked
        && !meddled
}
