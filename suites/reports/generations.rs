//! Which version of a pod a status is about, and the class of its resources.

use std::collections::BTreeSet;

use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::statuses::of_kubelet;

/// The resources that decide about the class of a pod, by the Kubernetes documentation.
const DECIDING: [&str; 2] = ["cpu", "memory"];

/// The class follows from what the containers request, and stays.
pub(super) fn class_of_resources(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.spec.get("resources").is_none()) {
        let (wanted, mut said) = (class(pod), false);
        for shown in of_kubelet(pod) {
            let is = shown.object.pointer("/status/qosClass").and_then(Value::as_str);
            if is != Some(wanted) {
                let finding = format!("qosClass of {} is {}, not {wanted}", pod.key, is.unwrap_or("missing"));
                seen.violated(finding, [shown.id]);
            } else if !std::mem::replace(&mut said, true) {
                seen.fine([shown.id]);
                seen.facet("class", wanted);
            }
        }
    }
}

/// The class of a pod, as the Kubernetes documentation defines it.
fn class(pod: &PodLife<'_>) -> &'static str {
    let given = |of: &Value, list: &str, resource: &str| -> Option<String> {
        of.get("resources")?.get(list)?.get(resource)?.as_str().map(str::to_owned)
    };
    let guaranteed = |of: &Value| {
        DECIDING.into_iter().all(|resource| {
            let limit = given(of, "limits", resource);
            limit.is_some() && given(of, "requests", resource).is_none_or(|asked| Some(asked) == limit)
        })
    };
    let asks = |of: &Value| {
        let of = |list| DECIDING.into_iter().any(|resource| given(of, list, resource).is_some());
        of("limits") || of("requests")
    };
    let mut specs = pod.containers.iter().map(|container| container.spec);
    match () {
        () if specs.clone().all(guaranteed) => "Guaranteed",
        () if specs.any(asks) => "Burstable",
        () => "BestEffort",
    }
}

/// The generation that a status is about is known, is not one to come, and does not go back.
pub(super) fn never_ahead(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let (mut last, mut said) = (None, BTreeSet::new());
        for shown in of_kubelet(pod) {
            let generation = number(shown, "/metadata/generation").unwrap_or_default();
            let observed = number(shown, "/status/observedGeneration");
            let Some(is) = observed.filter(|is| *is > 0) else {
                seen.violated(format!("the status of {} has no observedGeneration", pod.key), [shown.id]);
                continue;
            };
            if is > generation {
                let finding = format!("the status of {} is about generation {is} of {generation}", pod.key);
                seen.violated(finding, [shown.id]);
            } else if let Some((id, old)) = last.filter(|(_, old)| is < *old) {
                let finding = format!("observedGeneration of {} went from {old} to {is}", pod.key);
                seen.violated(finding, [id, shown.id]);
            } else if said.insert(is > 1) {
                seen.fine([shown.id]);
                seen.facet("generation", if is > 1 { "later" } else { "first" });
            }
            last = Some((shown.id, is));
        }
    }
}

fn number(shown: &Revision<'_>, path: &str) -> Option<i64> {
    shown.object.pointer(path)?.as_i64()
}
