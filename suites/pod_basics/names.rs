//! The names of pods, and the operating systems in their specs.

use probity_model::timeline::State;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::rejections::{for_another_reason, is_because_of};

/// The longest name, according to RFC 1123 as Kubernetes applies it.
const LONGEST: usize = 253;
/// The longest label of a name, according to RFC 1123.
const LONGEST_LABEL: usize = 63;
/// The operating systems that a pod can name, according to the Kubernetes documentation.
const SYSTEMS: [&str; 2] = ["linux", "windows"];
/// The field at the start of a rejection because of the name. Rejections for other reasons may also mention it, as one
/// of the supported fields.
const NAME_FIELD: &str = "metadata.name: ";
/// The field that is named in a rejection because of the operating system.
const FIELD: &str = "spec.os";
/// The operating system of the target, and of every node on which the target runs.
const OURS: &str = "linux";
/// A word in the operating system's image of each Windows node, as the status of the node shows it.
const THEIR_IMAGE: &str = "Windows";

/// The kind of a name that is a valid DNS subdomain, or else what is wrong with it.
fn kind_of(name: &str) -> Result<&'static str, &'static str> {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label = |label: &str| {
        label.starts_with(edge) && label.ends_with(edge) && label.chars().all(|c| edge(c) || c == '-')
    };
    match () {
        () if name.len() > LONGEST => Err("too-long"),
        () if !name.split('.').all(label) => Err("characters"),
        () if name.len() == LONGEST => Ok("longest"),
        () if name.contains('.') || name.len() > LONGEST_LABEL => Ok("subdomain"),
        () => Ok("label"),
    }
}

/// A pod name is accepted if and only if it is a DNS subdomain.
pub(super) fn are_subdomains(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let name = tried.manifest.pointer("/metadata/name").and_then(Value::as_str);
        let (Some(name), Some("Pod")) = (name, tried.manifest.get("kind").and_then(Value::as_str)) else {
            continue;
        };
        let kind = kind_of(name);
        match (kind, tried.code) {
            (Ok(kind), ..300) => {
                seen.fine([*id]);
                seen.facet("accepted", kind);
            }
            (Err(kind), 422) if is_because_of(tried, NAME_FIELD) => {
                seen.fine([*id]);
                seen.facet("rejected", kind);
            }
            (Ok(_), 422) if is_because_of(tried, NAME_FIELD) => {
                seen.violated(format!("the name `{name}` was rejected: {}", tried.message), [*id]);
            }
            (Err(_), ..300) => seen.violated(format!("the name `{name}` was accepted"), [*id]),
            // Other clauses judge other errors in the pod.
            (Ok(_), _) => {}
            (Err(_), _) => for_another_reason((*id, tried), seen),
        }
    }
}

/// The name of the operating system in a pod's spec.
fn system(spec: &Value) -> Option<&str> {
    spec.get("os")?.get("name")?.as_str()
}

/// Whether a node is known to run our operating system: a target ran there, or the node shows an image of an operating
/// system other than Windows.
pub(super) fn is_ours(run: &Timeline<'_>, node: &str) -> bool {
    let mut attempts = run.containers().flat_map(|(_, of)| &of.attempts);
    let facts = run.history.header.nodes.get(node);
    attempts.any(|attempt| attempt.node == node && !attempt.lines.is_empty())
        || facts.is_some_and(|facts| !facts.os_image.contains(THEIR_IMAGE))
}

/// A pod can name one of two operating systems, and a kubelet on the other operating system rejects the pod.
pub(super) fn systems(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let Some(named) = tried.manifest.get("spec").and_then(system) else { continue };
        match (SYSTEMS.contains(&named), tried.code) {
            (true, ..300) => {
                seen.fine([*id]);
                seen.facet("named", named);
            }
            (false, 422) if is_because_of(tried, FIELD) => {
                seen.fine([*id]);
                seen.facet("named", "another");
            }
            (true, 422) if is_because_of(tried, FIELD) => {
                seen.violated(
                    format!("the operating system `{named}` was rejected: {}", tried.message),
                    [*id],
                );
            }
            (false, ..300) => seen.violated(format!("the operating system `{named}` was accepted"), [*id]),
            _ => for_another_reason((*id, tried), seen),
        }
    }
    for pod in run.pods.iter().filter(|pod| system(pod.spec).is_some_and(|named| named != OURS)) {
        let Some(bound) = pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string())
        else {
            continue;
        };
        if !is_ours(run, &pod.node) {
            let why = format!("{} was bound to a node that may run the operating system it names", pod.key);
            seen.doubt(Doubt::Ambiguous, why, [bound.id]);
            continue;
        }
        let ran = pod.revisions.iter().find(|shown| {
            pod.containers.iter().any(|of| {
                shown.container(&of.name).is_some_and(|seen| matches!(seen.state, State::Running { .. }))
            })
        });
        let failed = pod.revisions.iter().find(|shown| shown.phase() == "Failed");
        if let Some(ran) = ran {
            let finding =
                format!("{} is for another operating system, but one of its containers ran", pod.key);
            seen.violated(finding, [bound.id, ran.id]);
        } else if let Some(failed) = failed {
            seen.fine([bound.id, failed.id]);
            seen.facet("kubelet", "refuses");
        } else if run.watched_for(pod, &bound.at, clause.slack_us()) {
            let finding =
                format!("{} is for another operating system, but its kubelet did not reject it", pod.key);
            seen.violated(finding, run.to_the_end([bound.id]));
        }
    }
}
