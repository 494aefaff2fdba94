//! Ports of init containers, which Services leave out.

use std::collections::BTreeSet;

use probity_model::history::{Happening, Sighting};
use probity_model::timeline::{ContainerKind, ContainerLife, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};

/// The label with which an `EndpointSlice` names its Service: Kubernetes documentation.
const SERVICE: &str = "kubernetes.io/service-name";

/// The latest revisions of objects of a kind, with their events.
fn sightings<'h>(run: &Timeline<'h>, kind: &'static str) -> impl Iterator<Item = (EventId, &'h Sighting)> {
    run.history.events().filter_map(move |(id, event)| match &event.what {
        Happening::Sighting(seen) if seen.kind == kind => Some((id, seen)),
        _ => None,
    })
}

/// The names of the ports that some containers of a pod declare.
fn ports(pod: &PodLife<'_>, of: impl Fn(&ContainerLife<'_>) -> bool) -> BTreeSet<String> {
    let ports = pod.containers.iter().filter(|container| of(container)).filter_map(|container| {
        let ports = container.spec.get("ports")?.as_array()?;
        Some(ports.iter().filter_map(|port| Some(port["name"].as_str()?.to_owned())))
    });
    ports.flatten().collect()
}

/// No EndpointSlice lists a port that only a regular init container declares.
pub(super) fn ports_left_out(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let others = ports(pod, |of| of.kind != ContainerKind::Init);
        let own = ports(pod, |of| of.kind == ContainerKind::Init);
        for (service, object) in services(run) {
            let asked = object.object["spec"]["ports"].as_array().into_iter().flatten();
            let target = |port: &serde_json::Value| port["targetPort"].as_str().map(str::to_owned);
            let named = |names: &BTreeSet<String>| -> BTreeSet<String> {
                let asked =
                    asked.clone().filter(|port| target(port).is_some_and(|name| names.contains(&name)));
                asked.filter_map(|port| Some(port["name"].as_str()?.to_owned())).collect()
            };
            let alone: BTreeSet<String> = own.difference(&others).cloned().collect();
            let (left_out, there) = (named(&alone), named(&others));
            if !left_out.is_empty() && !there.is_empty() {
                judge_slices(run, (pod, &object.name), service, (&left_out, &there), seen);
            }
        }
    }
}

/// The first revision of each Service.
fn services<'h>(run: &Timeline<'h>) -> Vec<(EventId, &'h Sighting)> {
    let mut names = BTreeSet::new();
    sightings(run, "Service").filter(|(_, seen)| names.insert(seen.name.as_str())).collect()
}

fn judge_slices(
    run: &Timeline<'_>,
    (pod, service): (&PodLife<'_>, &str),
    asked: EventId,
    (left_out, there): (&BTreeSet<String>, &BTreeSet<String>),
    seen: &mut Seen,
) {
    for (id, slice) in sightings(run, "EndpointSlice") {
        let of_service = slice.object["metadata"]["labels"][SERVICE] == service;
        let mut endpoints = slice.object["endpoints"].as_array().into_iter().flatten();
        if !of_service || !endpoints.any(|one| one["targetRef"]["name"] == pod.name.as_str()) {
            continue;
        }
        let ports = slice.object["ports"].as_array().into_iter().flatten();
        let names: BTreeSet<&str> = ports.filter_map(|port| port["name"].as_str()).collect();
        if let Some(name) = left_out.iter().find(|name| names.contains(name.as_str())) {
            let finding = format!(
                "an EndpointSlice of {service} lists the port {name} of {}, which only an init container declares",
                pod.key
            );
            seen.violated(finding, [asked, id]);
        } else if there.iter().any(|name| names.contains(name.as_str())) {
            seen.fine([asked, id]);
        }
    }
}
