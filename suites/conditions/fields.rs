//! The conditions that a kubelet shows, and the fields of each.

use std::collections::BTreeSet;

use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::lasting::wrong_for_long;
use super::{KUBELETS, NETWORK, RESTARTING, TARGET, text};
use crate::reading::patches::{IN_PROGRESS, PENDING};
use crate::reading::statuses::of_kubelet;
use crate::reading::targets::{self, BY_KUBELET};

/// The statuses of a condition, according to the Kubernetes documentation.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
/// The reasons that the reference implementation of Kubernetes gives for a condition that is not True. A condition that is
/// True may have another vendor's reason, but none of these.
const OF_UNTRUE: [&str; 7] = [
    "ContainersNotReady",
    "ContainersNotInitialized",
    "ReadinessGatesNotReady",
    "UnknownContainerStatuses",
    "PodFailed",
    "SchedulingGated",
    "Unschedulable",
];
/// The beginnings of the messages with which the reference implementation of Kubernetes explains such a condition.
const COMPLAINTS: [&str; 5] = [
    "containers with unknown status",
    "containers with unready status",
    "containers with incomplete status",
    "the status of pod readiness gate",
    "corresponding condition of pod readiness gate",
];
/// The conditions that a kubelet adds only to some pods.
const SOMETIMES: [&str; 3] = [RESTARTING, PENDING, IN_PROGRESS];

/// Every status that a kubelet writes has the five conditions, and a pod that is ready has each of them True.
pub(super) fn set_of_five(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        judge_all_true(run, clause, pod, seen);
        let mut shown_true = BTreeSet::new();
        for shown in of_kubelet(pod) {
            let missing: Vec<&str> =
                KUBELETS.into_iter().filter(|kind| shown.condition(kind).is_none()).collect();
            if !missing.is_empty() {
                let finding = format!("the status of {} lacks {}", pod.key, missing.join(" and "));
                seen.violated(finding, [shown.id]);
            } else if all_ready(pod, shown) {
                for kind in KUBELETS.into_iter().filter(|kind| shown.is(kind) == Some(true)) {
                    if shown_true.insert(kind) {
                        seen.fine([shown.id]);
                        seen.facet("condition", kind);
                    }
                }
            }
        }
    }
}

/// Once all containers are ready, no condition stays False. The exceptions are readiness gates, which may keep `Ready` from
/// being True, and a kubelet that ends a pod: it first sets `Ready` to False.
fn judge_all_true(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    if run.node_was_touched() || pod.had_deadline() {
        return;
    }
    let gated = pod.spec.get("readinessGates").is_some();
    let untrue = |shown: &Revision<'_>| {
        let lives = shown.phase() == "Running" && !shown.terminating() && all_ready(pod, shown);
        let mut owned = KUBELETS.into_iter().filter(|kind| !(gated && *kind == "Ready"));
        owned.find(|kind| lives && shown.is(kind) == Some(false))
    };
    let found = wrong_for_long(run, clause, pod, |shown| untrue(shown).is_some());
    if let Some((shown, events)) = found {
        let kind = untrue(shown).unwrap_or_default();
        seen.violated(format!("all containers of {} are ready, but {kind} is not True", pod.key), events);
    }
}

/// Whether a revision shows every container that keeps running as ready.
pub(super) fn all_ready(pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    let mut stays = pod.containers.iter().filter(|container| container.kind != ContainerKind::Init);
    stays.all(|of| shown.container(&of.name).is_some_and(|status| status.ready))
}

/// Each condition that a kubelet writes has one of the three statuses and a time. Its reason is machine-readable, and its
/// reason and its message explain this status, not the previous one.
pub(super) fn well_formed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut kinds = BTreeSet::new();
        for shown in of_kubelet(pod) {
            // Other components also write this condition, with other reasons.
            let evicted = (targets::reason(shown) == Some(BY_KUBELET)).then_some(TARGET);
            let written = KUBELETS.into_iter().chain(SOMETIMES).chain(evicted);
            for kind in written.filter(|kind| shown.condition(kind).is_some()) {
                let status = text(shown, kind, "status").unwrap_or_default();
                if let Some(wrong) = wrong(shown, kind) {
                    seen.violated(format!("{kind} of {} {wrong}", pod.key), [shown.id]);
                } else if kinds.insert((kind, status)) {
                    seen.fine([shown.id]);
                    seen.facet("value", status);
                    if text(shown, kind, "reason").is_some() {
                        seen.facet("reason", "given");
                    }
                }
            }
        }
    }
}

/// The first mistake in one condition, judged without the rest of the status.
fn wrong(shown: &Revision<'_>, kind: &str) -> Option<String> {
    let status = text(shown, kind, "status").unwrap_or_default();
    let reason = shown.condition(kind)?.get("reason").and_then(Value::as_str).filter(|of| !of.is_empty());
    let message = text(shown, kind, "message").unwrap_or_default();
    match reason {
        _ if !STATUSES.contains(&status) => Some(format!("has the status {status:?}")),
        Some(reason) if !is_camel_case(reason) => Some(format!("has the reason {reason:?}")),
        Some(reason) if status == "True" && OF_UNTRUE.contains(&reason) => {
            Some(format!("is True, but has the reason {reason}"))
        }
        _ if status == "True" && COMPLAINTS.iter().any(|complaint| message.starts_with(complaint)) => {
            Some(format!("is True, but has the message {message:?}"))
        }
        _ if shown.turned(kind).is_none() => Some("has no lastTransitionTime".to_owned()),
        _ => None,
    }
}

fn is_camel_case(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.bytes().all(|c| c.is_ascii_alphanumeric())
}

/// Every status that a kubelet writes has the condition for the network.
pub(super) fn network_told(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut phases = BTreeSet::new();
        for shown in of_kubelet(pod) {
            if shown.condition(NETWORK).is_none() {
                seen.violated(format!("the status of {} has no condition {NETWORK}", pod.key), [shown.id]);
            } else if phases.insert(shown.phase()) {
                seen.fine([shown.id]);
                seen.facet("phase", shown.phase());
            }
        }
    }
}
