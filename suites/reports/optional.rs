//! Pods with optional references to objects that do not exist: the pods do not wait for these objects.

use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::references::{Existence, Reference, existence, of_environment, references, text};
use super::settings::NO_CONFIGURATION;
use crate::reading::statuses::{of_kubelet, status_of};
use crate::reading::volumes::list;

/// The kinds of volumes that a kubelet creates by itself, according to the Kubernetes API reference.
const OWN: [&str; 5] = ["emptyDir", "configMap", "secret", "downwardAPI", "projected"];

/// A container does not wait for optional references in its environment.
pub(super) fn waits_for_nothing_optional(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let optional = of_environment(container.spec).filter(|of| of.optional);
        let names: Vec<&str> = optional.map(|of| of.name).collect();
        let waits = |shown: &Revision<'_>| {
            let status = status_of(shown, &container.name)?;
            let waiting = status.get("state")?.get("waiting")?;
            let message =
                text(waiting, "message").filter(|_| text(waiting, "reason") == Some(NO_CONFIGURATION))?;
            names.iter().find(|name| message.contains(**name)).copied()
        };
        if let Some((shown, name)) = of_kubelet(pod).find_map(|shown| Some((shown, waits(shown)?))) {
            let finding = format!("{}/{} waits for {name}, which is optional", pod.key, container.name);
            seen.violated(finding, [shown.id]);
        }
    }
}

/// The missing objects to which a pod refers, if all these references are optional.
fn missing<'h>(run: &Timeline<'h>, pod: &PodLife<'h>) -> Option<Vec<Reference<'h>>> {
    let (created, _) = pod.created?;
    let mut all = Vec::new();
    for (_, of) in references(pod) {
        match existence(run, &of, created) {
            Existence::Later(None) if of.optional => all.push(of),
            Existence::Always => {}
            // An object that is created later may exist when the kubelet looks for it.
            _ if of.optional => {}
            _ => return None,
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Whether something else may delay the first container of a pod: containers before it, or a volume of another kind.
fn may_wait(pod: &PodLife<'_>) -> bool {
    let slow = |volume: &Value| OWN.iter().all(|kind| volume.get(kind).is_none());
    let target = pod
        .containers
        .first()
        .is_some_and(|first| first.kind == ContainerKind::Main && first.plan().is_some());
    !target || list(pod.spec, "volumes").any(slow) || pod.was_ended_from_outside()
}

/// A pod that lacks only optional objects starts without them.
pub(super) fn starts_anyway(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|_| !run.node_was_touched()) {
        let Some(missing) = missing(run, pod) else { continue };
        let Some((first, shown)) = pod.containers.first().zip(of_kubelet(pod).next()) else { continue };
        if let Some(attempt) = first.attempts.first() {
            seen.fine([attempt.began.id]);
            for of in missing {
                seen.facet("optional", of.usage);
                if of.is_of_a_key() {
                    seen.facet("key-of", of.object);
                }
            }
        } else if !may_wait(pod) && run.watched_for(pod, &shown.at, clause.slack_us()) {
            let names = missing.iter().map(|of| of.name).collect::<Vec<_>>().join(", ");
            let finding = format!("{} does not start without {names}, which is optional", pod.key);
            seen.violated(finding, run.to_the_end([shown.id]));
        }
    }
}
