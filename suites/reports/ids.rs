//! Which container and which image a status names.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::timeline::{ContainerLife, ContainerSeen, PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches::{image_in, of_pods};
use crate::reading::statuses::{EVICTED, ended_id, of_kubelet, status_of, statuses};

/// What distinguishes the instances of a container in its statuses: the restart count, and the second of the start.
type Instance = (u64, Option<i64>);

/// Each instance of a container has its own ID, which the status keeps after the instance has ended.
pub(super) fn of_each_instance(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let mut outdated = Vec::new();
    for pod in &run.pods {
        for container in pod.containers.iter().chain(&pod.ephemeral) {
            outdated.extend(judge(pod, container, seen));
        }
    }
    let finding = "the last state of a container shows an older instance than the last one";
    match outdated.as_slice() {
        [] => {}
        // The kubelet's cleanup, once a minute, may remove the record of the last instance while the next one is being
        // created. The kubelet then keeps the last state that it knew.
        [one] => {
            let why =
                format!("{finding}, but the kubelet's cleanup may have removed the record of the last one");
            seen.doubt(Doubt::Ambiguous, why, *one);
        }
        [..] => seen.violated(format!("{finding}, {} times", outdated.len()), outdated.into_iter().flatten()),
    }
}

/// Judges the statuses of a container. Returns each status whose last state is that of an older instance, once for each
/// instance.
fn judge(pod: &PodLife<'_>, container: &ContainerLife<'_>, seen: &mut Seen) -> Vec<[EventId; 2]> {
    let mut outdated = BTreeMap::new();
    let mut known: BTreeMap<Instance, (&str, EventId)> = BTreeMap::new();
    let mut said = BTreeSet::new();
    let name = format!("{}/{}", pod.key, container.name);
    for shown in of_kubelet(pod) {
        let Some(status) = shown.container(&container.name) else { continue };
        if let Some(wrong) = misidentified(&status, shown, container) {
            seen.violated(format!("the status of {name} {wrong}"), [shown.id]);
            continue;
        }
        judge_ended(&status, shown, (container, &name), &known, seen);
        let State::Running { started } = status.state else { continue };
        let instance = (status.restarts, started);
        let (id, first) = *known.entry(instance).or_insert((status.id, shown.id));
        let differs = |other: &Instance| other.0 != instance.0 && other.1 != started;
        let shared = known.iter().find(|(other, (of, _))| differs(other) && *of == status.id);
        let before = known.iter().rfind(|((restarts, _), _)| restarts + 1 == status.restarts);
        let last = ended_id(shown, &container.name, "lastState");
        if id != status.id {
            seen.violated(format!("the ID of {name} changed while it was running"), [first, shown.id]);
        } else if let Some((_, (_, of))) = shared {
            seen.violated(format!("two instances of {name} have the same ID"), [*of, shown.id]);
        } else if let Some((_, (old, of))) =
            before.filter(|(_, (old, _))| last.is_some_and(|last| last != *old))
        {
            let older = |((restarts, _), (of, _)): (&Instance, &(&str, EventId))| {
                restarts + 1 < status.restarts && last == Some(*of)
            };
            if known.iter().any(older) {
                outdated.entry(status.restarts).or_insert([*of, shown.id]);
                continue;
            }
            let finding = format!(
                "the last instance of {name} had the ID {old}, but its last state shows a different one"
            );
            seen.violated(finding, [*of, shown.id]);
        } else {
            let again = before.is_some() && last.is_some();
            if said.insert(again) {
                seen.fine(before.map(|(_, (_, of))| *of).into_iter().chain([shown.id]));
            }
            if again {
                seen.facet("shown-in", "lastState");
            }
        }
    }
    outdated.into_values().collect()
}

/// An instance that has terminated has the ID that was shown while it ran. If a kubelet does not know what happened to
/// a container, it writes a state without a start time, which is not judged.
fn judge_ended(
    status: &ContainerSeen<'_>,
    shown: &Revision<'_>,
    (container, name): (&ContainerLife<'_>, &str),
    known: &BTreeMap<Instance, (&str, EventId)>,
    seen: &mut Seen,
) {
    let State::Terminated { started: Some(started), .. } = status.state else { return };
    let Some((id, of)) = known.get(&(status.restarts, Some(started))) else { return };
    let own = ended_id(shown, &container.name, "state").unwrap_or_default();
    if let Some(other) = [status.id, own].into_iter().find(|other| other != id) {
        let finding = format!("{name} ran with the ID {id}, but terminated with the ID {other:?}");
        seen.violated(finding, [*of, shown.id]);
    } else {
        seen.fine([*of, shown.id]);
        seen.facet("shown-in", "state");
    }
}

/// What is wrong with the ID of one status.
fn misidentified(
    status: &ContainerSeen<'_>,
    shown: &Revision<'_>,
    container: &ContainerLife<'_>,
) -> Option<String> {
    let runs = status.is_running();
    let ended = ended_id(shown, &container.name, "state");
    match () {
        () if runs && status.id.is_empty() => {
            Some("has no container ID, but the container is running".to_owned())
        }
        () if !status.id.is_empty() && !status.id.contains("://") => {
            Some(format!("has the container ID {:?}, which does not name the runtime", status.id))
        }
        () if ended.is_some_and(|ended| ended != status.id) => {
            Some(format!("has the container ID {:?}, but a different one in its state", status.id))
        }
        () => None,
    }
}

/// A status names the image, and the status of a created container also the image's ID.
pub(super) fn of_its_image(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        judge_uncreated(run, pod, seen);
        let mut said = BTreeSet::new();
        // A kubelet that evicts a pod for its storage removes its containers, and may no longer know their images.
        let evicted = pod.reason() == Some(EVICTED) && pod.has_limited_storage();
        for shown in of_kubelet(pod) {
            for (name, status) in statuses(shown) {
                let state = status.get("state").and_then(Value::as_object);
                let word = state.and_then(|state| state.keys().next()).map_or("", String::as_str);
                let given = |field: &str| {
                    status.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
                };
                // A container that could not start before its pod was deleted is also shown as terminated.
                let lived = || {
                    let mut lives = pod.containers.iter().filter(|of| of.name == *name);
                    lives.any(|of| !of.attempts.is_empty())
                };
                let created = word == "running" || (word == "terminated" && lived() && !evicted);
                let needed: &[&str] = if created { &["image", "imageID"] } else { &["image"] };
                if let Some(lacks) = needed.iter().find(|field| !given(field)) {
                    let finding = format!("{}/{name} is {word}, but its status lacks {lacks}", pod.key);
                    seen.violated(finding, [shown.id]);
                } else if said.insert(word) {
                    seen.fine([shown.id]);
                    seen.facet("state", word);
                }
            }
        }
    }
}

/// As long as a container was never created, the kubelet itself writes its image, as in the spec that it knows. This may be an
/// older spec of the pod. A runtime may show an image under another name, so no other status is compared.
fn judge_uncreated(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    let (patches, written) = (of_pods(run), of_kubelet(pod).map(|shown| shown.id).collect::<BTreeSet<_>>());
    for container in &pod.containers {
        let own = container.spec.get("image").and_then(Value::as_str);
        let of_pod = patches.iter().filter(|patch| patch.pod.uid == pod.uid);
        let asked = of_pod.filter_map(|patch| image_in(&patch.asked, &container.name));
        let mut known: BTreeSet<&str> = own.into_iter().chain(asked).collect();
        for shown in pod.revisions.iter().filter(|shown| !shown.gone) {
            let Some(now) = image_in(shown.object, &container.name) else { continue };
            known.insert(now);
            let image = uncreated_image(shown, &container.name).filter(|_| written.contains(&shown.id));
            if let Some(image) = image.filter(|image| !known.contains(image)) {
                let finding = format!(
                    "{}/{} has not been created, but its status has the image {image}, not {now}",
                    pod.key, container.name
                );
                return seen.violated(finding, [shown.id]);
            }
        }
    }
}

/// The image in the status of a container that was never created.
fn uncreated_image<'h>(shown: &Revision<'h>, name: &str) -> Option<&'h str> {
    let status = status_of(shown, name).filter(|status| status["state"].get("waiting").is_some())?;
    let given = |field: &str| status.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let again = status["restartCount"].as_u64().is_some_and(|count| count > 0);
    let created = again || given("containerID").or_else(|| given("imageID")).is_some();
    given("image").filter(|_| !created)
}
