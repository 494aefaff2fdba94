//! The resources and the user that a container got, according to its status.

use std::collections::BTreeSet;

use probity_model::timeline::{ContainerLife, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use super::cgroups::judge_cgroups;
use crate::reading::mains::lives_of;
use crate::reading::patches::{container_in, is_resizing, last_resize};
use crate::reading::qos::total_request;
use crate::reading::quantities::{is_same, thousandths};
use crate::reading::statuses::{is_crash_loop, of_kubelet, statuses};

/// Each container of a pod in each status that its kubelet wrote.
pub(super) fn shown<'p, 'h>(
    pod: &'p PodLife<'h>,
) -> impl Iterator<Item = (&'p Revision<'h>, &'p ContainerLife<'h>, &'h Value)> {
    let of_each = move |shown: &'p Revision<'h>| {
        statuses(shown).filter_map(move |(name, status)| Some((shown, pod.container(name)?, status)))
    };
    of_kubelet(pod).flat_map(of_each)
}

pub(super) fn runs(status: &Value) -> bool {
    status.get("state").is_some_and(|state| state.get("running").is_some())
}

/// The running containers whose status must match the resources in the spec of the same revision. Either the pod was
/// never resized, or the instance started after the last resize and the kubelet reports that the resize is complete.
fn settled<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
) -> impl Iterator<Item = (&'t Revision<'h>, &'t ContainerLife<'h>, &'h Value)> {
    let resized = last_resize(run, pod);
    let running = shown(pod).filter(|(_, _, status)| runs(status));
    running.filter(move |(shown, container, status)| {
        resized.is_none_or(|id| {
            let before = pod.revisions.iter().take_while(|earlier| earlier.id < id).last();
            let known = before.and_then(|before| Some(before.container(&container.name)?.restarts));
            known.is_some() && known < status["restartCount"].as_u64() && knows_its_spec(shown)
        })
    })
}

/// Whether the kubelet reports that the newest spec is in force. A status without an observed generation does not report
/// this. (In `init/cgroups.rs`, such a status counts as up to date, because enough time has passed since the resize.)
fn knows_its_spec(shown: &Revision<'_>) -> bool {
    let (spec, seen) =
        (&shown.object["metadata"]["generation"], &shown.object["status"]["observedGeneration"]);
    spec == seen && !is_resizing(shown)
}

/// The resources that the spec in a revision asks for in one of its lists, `requests` or `limits`.
fn asked<'h>(
    shown: &Revision<'h>,
    container: &ContainerLife<'_>,
    list: &str,
) -> impl Iterator<Item = (&'h str, &'h Value)> + use<'h> {
    let own = container_in(shown.object, &container.name);
    let of = own.and_then(|own| own["resources"][list].as_object());
    of.into_iter().flatten().map(|(resource, amount)| (resource.as_str(), amount))
}

/// The resources that every kubelet knows. Others may be added by a device plugin or by an admission controller.
const KNOWN: [&str; 2] = ["cpu", "memory"];

/// The first resource in a list of a status that the spec does not ask for, with its amount.
fn surplus<'h>(
    shown: &Revision<'h>,
    container: &ContainerLife<'_>,
    list: &str,
    has: Option<&'h Value>,
) -> Option<(&'h str, &'h Value)> {
    let entries = has?.as_object()?.iter().filter(|(resource, _)| KNOWN.contains(&resource.as_str()));
    let unasked = |resource: &str| asked(shown, container, list).all(|(asked, _)| asked != resource);
    entries.map(|(resource, amount)| (resource.as_str(), amount)).find(|(resource, _)| unasked(resource))
}

/// The containers of a pod that was never resized that wait for their restart. They have the status of an instance, which
/// the kubelet read from the runtime.
fn waiting<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
) -> impl Iterator<Item = (&'t Revision<'h>, &'t ContainerLife<'h>, &'h Value)> {
    let resized = last_resize(run, pod).is_some();
    let waits = |shown: &Revision<'_>, container: &ContainerLife<'_>| {
        let seen = shown.container(&container.name);
        seen.is_some_and(|seen| is_crash_loop(&seen.state) && !seen.id.is_empty())
    };
    shown(pod).filter(move |(shown, container, _)| !resized && waits(shown, container))
}

/// A container that runs or waits for its restart has its requests allocated on the node.
pub(super) fn allocated(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut said = BTreeSet::new();
        for (shown, container, status) in settled(run, pod).chain(waiting(run, pod)) {
            let more = surplus(shown, container, "requests", status.get("allocatedResources"));
            if let Some((resource, amount)) = more {
                let finding = format!(
                    "{}/{} requests no {resource}, but {amount} is allocated",
                    pod.key, container.name
                );
                seen.violated(finding, [shown.id]);
            }
            for (resource, amount) in asked(shown, container, "requests") {
                let is = status.get("allocatedResources").and_then(|all| all.get(resource));
                if !is.is_some_and(|is| is_same(is, amount)) {
                    let finding = format!(
                        "{}/{} requests {amount} of {resource}, but {} is allocated",
                        pod.key,
                        container.name,
                        is.map_or("nothing".to_owned(), Value::to_string)
                    );
                    seen.violated(finding, [shown.id]);
                } else if said.insert((container.kind.word(), resource)) {
                    seen.fine([shown.id]);
                    seen.facet("resource", resource);
                    seen.facet("container", container.kind.word());
                }
            }
        }
    }
}

/// The requests that are allocated for a whole pod are the total requests of its containers. A resize, pod-level
/// resources or an overhead lead to other amounts.
pub(super) fn allocated_for_pod(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let is_plain = |pod: &&PodLife<'_>| {
        let more = ["resources", "overhead"].iter().any(|field| pod.spec.get(field).is_some());
        !more && last_resize(run, pod).is_none()
    };
    for pod in run.pods.iter().filter(is_plain) {
        let mut said = BTreeSet::new();
        for shown in of_kubelet(pod) {
            let Some(all) = shown.object.pointer("/status/allocatedResources") else { continue };
            for resource in KNOWN {
                let amount =
                    all.get(resource).map_or(Some(0), |amount| amount.as_str().and_then(thousandths));
                let (Some(amount), Some(total)) = (amount, total_request(&shown.object["spec"], resource))
                else {
                    continue;
                };
                if amount != total {
                    let finding = format!(
                        "the containers of {} request {total} thousandths of {resource} in total, but {amount} are allocated",
                        pod.key
                    );
                    seen.violated(finding, [shown.id]);
                } else if total > 0 && said.insert(resource) {
                    seen.fine([shown.id]);
                    seen.facet("resource", resource);
                    for container in &pod.containers {
                        if asked(shown, container, "requests").any(|(of, _)| of == resource) {
                            seen.facet("counted", container.kind.word());
                        }
                    }
                }
            }
        }
    }
}

/// A running container has the resources of its spec.
pub(super) fn enacted(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_cgroups(run, seen);
    for pod in &run.pods {
        let mut said = BTreeSet::new();
        for (shown, container, status) in settled(run, pod) {
            for list in ["requests", "limits"] {
                let has = status.get("resources").and_then(|of| of.get(list));
                if let Some((resource, amount)) = surplus(shown, container, list, has) {
                    let finding = format!(
                        "{}/{} has no {resource} in its {list}, but its status has {amount}",
                        pod.key, container.name
                    );
                    seen.violated(finding, [shown.id]);
                }
                for (resource, amount) in asked(shown, container, list) {
                    let all = status.get("resources").and_then(|of| of.get(list));
                    let is = all.and_then(|all| all.get(resource));
                    if !is.is_some_and(|is| is_same(is, amount)) {
                        let finding = format!(
                            "{}/{} has {amount} of {resource} in its {list}, but its status has {}",
                            pod.key,
                            container.name,
                            is.map_or("nothing".to_owned(), Value::to_string)
                        );
                        seen.violated(finding, [shown.id]);
                    } else if said.insert((list, resource)) {
                        seen.fine([shown.id]);
                        seen.facet("list", list);
                        seen.facet("resource", resource);
                    }
                }
            }
        }
    }
}

/// The user in the status of a container, if there is one.
fn user_in(status: &Value) -> Option<&Value> {
    status.get("user")?.get("linux").filter(|user| user.is_object())
}

/// If the status of a running container has a user, its node can show users. Then the status of each running container
/// of the pod has one.
fn judge_missing_users(pod: &PodLife<'_>, seen: &mut Seen) {
    let all = || shown(pod).filter(|(_, _, status)| runs(status));
    let Some((one, with, _)) = all().find(|(_, _, status)| user_in(status).is_some()) else { return };
    if let Some((other, without, _)) = all().find(|(_, _, status)| user_in(status).is_none()) {
        let finding = format!(
            "the status of {0}/{1} has no user, but the status of {0}/{2} has one",
            pod.key, without.name, with.name
        );
        seen.violated(finding, [one.id, other.id]);
    }
}

/// The user in a status is the user that the process itself recorded.
pub(super) fn user(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    run.pods.iter().for_each(|pod| judge_missing_users(pod, seen));
    for life in run.pods.iter().flat_map(|pod| pod.containers.iter().flat_map(|of| lives_of(run, pod, of))) {
        let seen_by_itself = life.lines.iter().find_map(|line| match &line.line.fact {
            Fact::Dump(dump) => Some((line.id, dump.ids.as_slice())),
            _ => None,
        });
        let Some((line, [uid, gid, groups @ ..])) = seen_by_itself.filter(|_| life.is_numbered()) else {
            continue;
        };
        let (name, mut said) = (life.name(), false);
        for (shown, _, status) in shown(life.pod).filter(|(_, of, _)| of.name == life.container.name) {
            let same = status.get("restartCount").and_then(Value::as_u64) == Some(life.number);
            let Some(user) = user_in(status).filter(|_| same && runs(status)) else { continue };
            let number = |of: &Value| of.as_u64().and_then(|of| u32::try_from(of).ok());
            let all = user.get("supplementalGroups").and_then(Value::as_array).into_iter().flatten();
            // Some runtimes list the user's group among the supplemental groups, and some do not.
            let with_own = |of: &mut dyn Iterator<Item = u32>| of.chain([*gid]).collect::<BTreeSet<u32>>();
            let wrong = match () {
                () if user.get("uid").and_then(number) != Some(*uid) => Some("user"),
                () if user.get("gid").and_then(number) != Some(*gid) => Some("group"),
                () if with_own(&mut all.filter_map(number)) != with_own(&mut groups.iter().copied()) => {
                    Some("groups")
                }
                () => None,
            };
            match wrong {
                Some(wrong) => {
                    seen.violated(
                        format!("{name} runs with a different {wrong} than its status shows"),
                        [line, shown.id],
                    );
                }
                None if !std::mem::replace(&mut said, true) => {
                    seen.fine([line, shown.id]);
                    let groups = pod_has_groups(life.pod);
                    seen.facet("groups", if groups { "given" } else { "of-the-user" });
                }
                None => {}
            }
        }
    }
}

/// Whether the spec of a pod gives its processes supplemental groups.
fn pod_has_groups(pod: &PodLife<'_>) -> bool {
    let context = pod.spec.get("securityContext");
    let given = |field: &str| context.is_some_and(|of| of.get(field).is_some());
    given("supplementalGroups") || given("fsGroup")
}

/// A list of statuses has at most one status for each container, and none for a container that the pod does not have.
pub(super) fn one_for_each(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut said = BTreeSet::new();
        for shown in of_kubelet(pod) {
            for (list, of_spec) in LISTS {
                let named = |of: Option<&'_ Value>| -> Vec<String> {
                    let all = of.and_then(Value::as_array).into_iter().flatten();
                    all.filter_map(|of| of.get("name")?.as_str().map(str::to_owned)).collect()
                };
                let names = named(shown.object.pointer(&format!("/status/{list}")));
                let known = named(shown.object.pointer(&format!("/spec/{of_spec}")));
                let mut once = BTreeSet::new();
                let wrong = names.iter().find_map(|name| match () {
                    () if !once.insert(name) => Some(format!("has two statuses for {name}")),
                    () if !known.contains(name) => {
                        Some(format!("has a status for {name} in {list}, which is not in {of_spec}"))
                    }
                    () => None,
                });
                match wrong {
                    Some(wrong) => seen.violated(format!("{} {wrong}", pod.key), [shown.id]),
                    None if !names.is_empty() && said.insert(list) => {
                        seen.fine([shown.id]);
                        seen.facet("list", list);
                    }
                    None => {}
                }
            }
        }
    }
}

/// The lists of a status, each with the matching list of the spec.
const LISTS: [(&str, &str); 3] = [
    ("initContainerStatuses", "initContainers"),
    ("containerStatuses", "containers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];
