//! A deleted pod reaches a terminal phase before it is removed, even if a finalizer delays its removal.

use probity_model::measure::Fit;
use probity_model::timeline::{At, ContainerKind, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::alive::is_forced;
use crate::reading::ends::{End, shows_an_earlier_instance};
use crate::reading::mains::{are_recorded, ended, later, lives_of, mains};

/// The last revision of a deleted pod is Succeeded or Failed, depending on the exit status of its containers.
pub(super) fn terminal_first(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !run.node_was_touched() && !is_forced(run, pod)) {
        let Some(gone) = pod.revisions.iter().find(|revision| revision.gone) else {
            judge_held(run, clause, pod, seen);
            continue;
        };
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
        let Some((well, ends)) = how_all_ended(run, pod) else { continue };
        let events = ends.iter().map(|end| end.id);
        let right = if well { "Succeeded" } else { "Failed" };
        let outside = pod.was_ended_from_outside();
        if phase != right && !outside {
            let finding = format!(
                "{} was removed in the phase {phase}, but its containers' exit codes make it {right}",
                pod.key
            );
            accuse(pod, finding, events.chain([gone.id]), seen);
        } else if !outside {
            seen.fine(events.chain([gone.id]));
            seen.facet("phase", phase);
        }
    }
}

/// Reports a wrong phase, unless the status shows the exit status of an earlier instance.
fn accuse(pod: &PodLife<'_>, finding: String, events: impl IntoIterator<Item = EventId>, seen: &mut Seen) {
    if shows_an_earlier_instance(pod) {
        let why = format!("{finding}; the status shows an earlier instance of a container");
        seen.doubt(Doubt::Ambiguous, why, events);
    } else {
        seen.violated(finding, events);
    }
}

/// Whether a finalizer prevents the removal of a deleted pod, and only the kubelet terminates its containers. Pods with
/// hooks are left out, because the kubelet waits for hooks after the process has ended.
fn is_held(pod: &PodLife<'_>) -> bool {
    let list = |last: &Value| last["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    let hooked = pod.containers.iter().any(|of| of.spec.get("lifecycle").is_some());
    let plain = !hooked && pod.ephemeral.is_empty() && !pod.had_deadline();
    let of_kubelet = !pod.is_static && !pod.node.is_empty() && !pod.was_ended_from_outside();
    plain && of_kubelet && pod.last().is_some_and(|last| list(last.object))
}

/// If a finalizer prevents the removal of a deleted pod, the pod becomes Succeeded or Failed soon after its containers
/// have ended.
fn judge_held(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let deleted = pod.revisions.iter().find(|shown| shown.terminating()).filter(|_| is_held(pod));
    let Some(deleted) = deleted else { return };
    let Some((well, ends)) = how_all_ended(run, pod) else { return };
    let Some(helpers) = ends_of_sidecars(run, pod) else { return };
    let events: Vec<EventId> = ends.iter().map(|end| end.id).collect();
    let mut ends = ends.into_iter().chain(helpers);
    let from = ends.try_fold(At::of(deleted), |last, end| later(run, Some(last), end));
    let Some(from) = from else { return };
    let right = if well { "Succeeded" } else { "Failed" };
    let over = pod.revisions.iter().find(|shown| matches!(shown.phase(), "Succeeded" | "Failed"));
    let Some(over) = over else { return judge_unended(run, clause, (pod, right), &from, seen) };
    if over.phase() != right {
        let is = over.phase();
        let finding = format!("{} became {is}, but its containers' exit codes make it {right}", pod.key);
        return accuse(pod, finding, events.into_iter().chain([over.id]), seen);
    }
    let quantity = format!("from the exit of the last container in {} to its phase {right}", pod.key);
    if seen.within(run, &pod.node, quantity, (&from, over), clause.in_time()) == Some(Fit::Met) {
        seen.facet("phase", right);
    }
}

/// Reports a deleted pod whose containers have ended but that has no terminal phase, if the history continues for long
/// enough.
fn judge_unended(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, right): (&PodLife<'_>, &str),
    from: &At,
    seen: &mut Seen,
) {
    let Some(end) = run.end_event() else { return };
    if run.misses(&pod.node, (from, &end), clause.in_time()) {
        let finding = format!("{} was deleted and has terminated, but it is not {right}", pod.key);
        seen.violated(finding, [from.id, end.id]);
    }
}

/// When the last instance of each sidecar had ended. `None` if this is not known for one of the sidecars.
fn ends_of_sidecars(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<Vec<At>> {
    let sidecars = pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
    sidecars.map(|of| End::of(&lives_of(run, pod, of).next_back()?)?.latest).collect()
}

/// Whether the last instance of each main container exited with status 0, and when each of these instances had ended.
fn how_all_ended(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<(bool, Vec<At>)> {
    if !are_recorded(pod) {
        return None;
    }
    let (mut well, mut ends) = (true, Vec::new());
    for container in mains(pod) {
        let last = lives_of(run, pod, container).next_back()?;
        let (at, code) = ended(&last)?;
        well &= code == 0;
        ends.push(at);
    }
    Some((well, ends))
}
