//! The QoS class that the API shows for a pod, compared with the class that follows from the pod's containers.

use std::collections::BTreeSet;

use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::admission::stored_pods;
use crate::reading::qos::{
    BEST_EFFORT, BURSTABLE, DECIDING, GUARANTEED, amount, asks, containers, is_limited,
};

/// All classes.
const CLASSES: [&str; 3] = [GUARANTEED, BURSTABLE, BEST_EFFORT];

/// Each pod has one of the three classes from its creation on, and keeps it.
pub(super) fn one_of_three(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut first: Option<(EventId, &str)> = None;
        let mut said = false;
        for shown in pod.revisions.iter().filter(|shown| !shown.gone) {
            let class = shown.object.pointer("/status/qosClass").and_then(Value::as_str);
            let Some(class) = class.filter(|class| CLASSES.contains(class)) else {
                let is = class.unwrap_or("missing");
                seen.violated(
                    format!(
                        "the QoS class of {} is {is}; it must be Guaranteed, Burstable or BestEffort",
                        pod.key
                    ),
                    [shown.id],
                );
                break;
            };
            let (id, was) = *first.get_or_insert((shown.id, class));
            if class != was {
                seen.violated(format!("the class of {} went from {was} to {class}", pod.key), [id, shown.id]);
                break;
            }
            if shown.condition("Initialized").is_some() && !std::mem::replace(&mut said, true) {
                seen.fine([id, shown.id]);
                seen.facet("class", class);
            }
        }
    }
}

/// Compares the class that is shown with the class that follows from the stored containers. `facets` returns which
/// facets of the clause a pod shows. They follow from the containers as sent, because the API server adds requests that
/// equal a limit. A pod that admission changed does not show what the case tests.
fn judge(
    run: &Timeline<'_>,
    seen: &mut Seen,
    facets: impl Fn(&Value, &str) -> Vec<(&'static str, &'static str)>,
) {
    for pod in stored_pods(run) {
        let (Some(shown), Some(class)) = (pod.class, pod.class_of_containers()) else { continue };
        let kept = pod.keeps_resources();
        let facets = facets(if kept { pod.sent } else { pod.stored }, class);
        if facets.is_empty() {
            continue;
        }
        if shown != class {
            let finding = format!("`{}` is shown as {shown}, but its containers make it {class}", pod.name);
            seen.violated(finding, pod.events);
        } else if kept {
            seen.fine(pod.events);
            facets.into_iter().for_each(|(of, value)| seen.facet(of, value));
        } else {
            pod.doubt(seen);
        }
    }
}

/// A pod is Guaranteed if and only if all its containers have limits and their requests equal the limits.
pub(super) fn guaranteed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |spec, class| {
        let asked =
            |of: &Value| DECIDING.into_iter().all(|resource| amount(of, "requests", resource).is_some());
        let near: BTreeSet<_> = containers(spec).map(is_limited).collect();
        match class {
            GUARANTEED if containers(spec).all(asked) => vec![("limits", "with-requests")],
            GUARANTEED => vec![("limits", "alone")],
            _ if near.len() > 1 => vec![("not", "one-container-without")],
            _ => containers(spec).filter_map(near_miss).map(|how| ("not", how)).collect(),
        }
    });
}

/// The condition of the class Guaranteed that a container with some limits does not meet, as a facet.
fn near_miss(container: &Value) -> Option<&'static str> {
    let limits = DECIDING.map(|resource| amount(container, "limits", resource).is_some());
    match limits {
        [true, true] => Some("requests-below"),
        [true, false] | [false, true] => Some("one-resource"),
        [false, false] => None,
    }
}

/// A pod is Burstable if it is not Guaranteed and requests or limits any CPU or memory.
pub(super) fn burstable(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |spec, class| match class {
        BURSTABLE => only(spec).map(|by| ("by", by)).into_iter().collect(),
        _ => Vec::new(),
    });
}

/// The only setting that makes a pod Burstable, if there is just one.
fn only(spec: &Value) -> Option<&'static str> {
    if containers(spec).filter(|of| asks(of)).count() > 1 {
        return None;
    }
    if spec["initContainers"].as_array().is_some_and(|inits| inits.iter().any(asks)) {
        return Some("init");
    }
    let asking = containers(spec).find(|of| asks(of))?;
    let has = |list: &str| DECIDING.map(|resource| amount(asking, list, resource).is_some());
    match (has("requests"), has("limits")) {
        ([true, false], [false, false]) => Some("cpu-request"),
        ([false, true], [false, false]) => Some("memory-request"),
        ([false, false], [true, false]) => Some("cpu-limit"),
        ([false, false], [false, true]) => Some("memory-limit"),
        _ => None,
    }
}

/// A pod is `BestEffort` if it requests and limits no CPU or memory, whatever else it requests.
pub(super) fn best_effort(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |spec, class| {
        let named = |of: &Value, resource: &str| {
            ["requests", "limits"].iter().any(|list| of["resources"][list].get(resource).is_some())
        };
        let any = |resource: &str| containers(spec).any(|of| named(of, resource));
        match class {
            BEST_EFFORT if any("ephemeral-storage") => vec![("with", "other-resource")],
            BEST_EFFORT if any("cpu") || any("memory") => vec![("with", "zero")],
            BEST_EFFORT => vec![("with", "nothing")],
            _ => Vec::new(),
        }
    });
}
