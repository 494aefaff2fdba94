//! What a verdict depends on besides the record: the versions and the settings of the kubelets that ran the cited pods.

use std::collections::BTreeSet;

use crate::clause::Clause;
use crate::history::{Did, EventId, Happening, NodeFacts};
use crate::timeline::{PodLife, Timeline};
use crate::verdict::{Doubt, Verdict};

/// The verdict on these kubelets: a promise may be newer than a kubelet, a known deviation may not apply to a
/// kubelet's version, and a kubelet may not have the default settings.
pub(super) fn for_these_kubelets(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    let verdict = unless_older(verdict, clause, timeline);
    let verdict = without_excuse(verdict, clause, timeline);
    unless_configured(verdict, clause, timeline)
}

/// A promise that is newer than a kubelet does not bind this kubelet, even if the API server is new enough.
fn unless_older(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    let (Verdict::Violated { finding, evidence } | Verdict::Diverges { finding, evidence }) = &verdict else {
        return verdict;
    };
    let mut kubelets = kubelets_of(evidence.events(), timeline).into_iter();
    let Some(kubelet) = kubelets.find(|kubelet| !clause.binds_kubelet(kubelet)) else { return verdict };
    let versions = clause.versions().unwrap_or_default();
    let why = format!("not promised for the kubelet {kubelet}, only for {versions}: {finding}");
    Verdict::Inconclusive { doubt: Doubt::OlderKubelet, why, events: evidence.events().to_vec() }
}

/// A known deviation of some kubelet versions is a violation in the other versions.
fn without_excuse(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    let Verdict::Diverges { finding, evidence } = verdict else { return verdict };
    let mut kubelets = kubelets_of(evidence.events(), timeline).into_iter();
    match kubelets.find(|kubelet| !clause.excuses(kubelet)) {
        None => Verdict::Diverges { finding, evidence },
        Some(kubelet) => {
            let known = clause.known().unwrap_or_default();
            let finding = format!("{finding}; the known deviation does not apply to {kubelet}: {known}");
            Verdict::Violated { finding, evidence }
        }
    }
}

/// What violates a promise about the default of a setting may be what the administrator of the node wants. If the
/// settings are not known, the finding says so.
fn unless_configured(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    if clause.unless_configured.is_empty() {
        return verdict;
    }
    let Verdict::Violated { finding, evidence } = verdict else { return verdict };
    let nodes = nodes_of(evidence.events(), timeline);
    let mut changed = nodes.iter().filter_map(|node| node.settings.as_ref()).flatten();
    if let Some((name, value)) = changed.find(|(name, _)| clause.unless_configured.contains(name)) {
        let why = format!(
            "the kubelet is configured with {name}: {value}, on which the promise depends: {finding}"
        );
        return Verdict::Inconclusive { doubt: Doubt::Configured, why, events: evidence.events().to_vec() };
    }
    if !nodes.is_empty() && nodes.iter().all(|node| node.settings.is_some()) {
        return Verdict::Violated { finding, evidence };
    }
    let settings = clause.unless_configured.join(", ");
    let finding = format!(
        "{finding}; the promise is about the default of {settings}, and the settings of the kubelet are not known"
    );
    Verdict::Violated { finding, evidence }
}

/// The versions of the kubelets that ran the pods of these events; the versions on all nodes if they cannot be
/// determined.
fn kubelets_of<'h>(events: &[EventId], timeline: &'h Timeline<'_>) -> Vec<&'h str> {
    let kubelets: Vec<&str> = nodes_of(events, timeline).iter().map(|node| node.kubelet.as_str()).collect();
    if kubelets.iter().all(|kubelet| kubelet.is_empty()) {
        vec![&timeline.history.header.server]
    } else {
        kubelets
    }
}

/// The nodes that ran the pods of these events; all nodes if they cannot be determined.
fn nodes_of<'h>(events: &[EventId], timeline: &'h Timeline<'_>) -> Vec<&'h NodeFacts> {
    let header = &timeline.history.header;
    let named: BTreeSet<&str> = events.iter().filter_map(|id| node_of(*id, timeline)).collect();
    let ran = |name: &str| named.is_empty() || named.contains(name);
    header.nodes.iter().filter(|(name, _)| ran(name)).map(|(_, node)| node).collect()
}

/// The node that an event is about. What Kubernetes recorded for a pod is about the node of the pod, whatever node the
/// event names: the kubelet under test wrote it.
fn node_of<'h>(id: EventId, timeline: &'h Timeline<'_>) -> Option<&'h str> {
    match &timeline.history.get(id)?.what {
        Happening::Witness(heard) => Some(heard.node.as_str()),
        Happening::Sighting(seen) if seen.kind == "Event" => {
            node_of_pod(timeline, |pod| pod.events.iter().any(|event| event.id == id))
        }
        Happening::Sighting(seen) => seen.object.get("spec")?.get("nodeName")?.as_str(),
        Happening::Deed(deed) => match &deed.did {
            Did::NodeVerb { node, .. } | Did::Measured { node, .. } => Some(node.as_str()),
            Did::Executed { pod: of, .. } | Did::Changed { pod: of, .. } | Did::Called { pod: of, .. } => {
                node_of_pod(timeline, |pod| pod.name == *of)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The node of the last pod that matches, if the pod was bound to a node.
fn node_of_pod<'h>(timeline: &'h Timeline<'_>, matches: impl Fn(&PodLife<'_>) -> bool) -> Option<&'h str> {
    let pod = timeline.pods.iter().rfind(|pod| matches(pod))?;
    Some(pod.node.as_str()).filter(|node| !node.is_empty())
}
