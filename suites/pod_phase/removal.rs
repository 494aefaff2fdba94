//! A deleted pod reaches a terminal phase before it is removed.

use probity_model::timeline::PodLife;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::alive::is_forced;
use crate::reading::mains::{are_told, ended, lives_of, mains};

/// The last revision of a deleted pod is Succeeded or Failed, depending on the exit status of its containers.
pub(super) fn terminal_first(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !run.node_was_touched() && !is_forced(run, pod)) {
        let Some(gone) = pod.revisions.iter().find(|revision| revision.gone) else { continue };
        let began = mains(pod).any(|of| !of.attempts.is_empty());
        if pod.node.is_empty() || !began {
            continue;
        }
        let phase = gone.phase();
        if !matches!(phase, "Succeeded" | "Failed") {
            let finding = format!("{} was removed while its phase was {phase:?}", pod.key);
            seen.violated(finding, [gone.id]);
            continue;
        }
        let Some((well, events)) = how_all_ended(run, pod) else { continue };
        let right = if well { "Succeeded" } else { "Failed" };
        let outside = pod.was_ended_from_outside();
        if phase != right && !outside {
            let finding = format!(
                "{} was removed in the phase {phase}, but its containers' exit codes make it {right}",
                pod.key
            );
            seen.violated(finding, events.into_iter().chain([gone.id]));
        } else if !outside {
            seen.fine(events.into_iter().chain([gone.id]));
            seen.facet("phase", phase);
        }
    }
}

/// Whether the last instance of each main container exited with status 0, and the events that show it.
fn how_all_ended(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<(bool, Vec<probity_model::EventId>)> {
    if !are_told(pod) {
        return None;
    }
    let (mut well, mut events) = (true, Vec::new());
    for container in mains(pod) {
        let last = lives_of(run, pod, container).next_back()?;
        let (at, code) = ended(&last)?;
        well &= code == 0;
        events.push(at.id);
    }
    Some((well, events))
}
