//! Slots: places for a fixed number of pods, defined by topology spread constraints, and the priorities of the pods
//! that want a slot.
//!
//! With fewer domains than `minDomains`, the scheduler takes 0 for the smallest number of matching pods in a domain. So if
//! all nodes are in one domain, `maxSkew` is the number of matching pods that can be on them, without any change to a node.
//! Pods that are being deleted do not count.

use std::collections::BTreeMap;

use probity_model::Timeline;
use probity_model::history::Did;
use probity_model::timeline::{At, PodLife, Revision};
use serde_json::Value;

/// The label that all Linux nodes have in common.
const ALL_NODES: &str = "kubernetes.io/os";

/// The pods that a new pod found in the slots that it wanted.
pub(crate) struct Contest<'t, 'h> {
    /// The new pod, and its priority.
    pub(crate) wants: (&'t PodLife<'h>, i64),
    /// When it was first shown.
    pub(crate) at: At,
    /// The pods that held the slots at that time, each with its priority.
    pub(crate) holders: Vec<(&'t PodLife<'h>, i64)>,
}

/// The value of each PriorityClass that the case created.
fn priorities<'h>(run: &Timeline<'h>) -> BTreeMap<&'h str, i64> {
    let made = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Created { kind, name, manifest } if kind == "PriorityClass" => {
            Some((name.as_str(), manifest.get("value")?.as_i64()?))
        }
        _ => None,
    });
    made.collect()
}

/// How many slots there are for a pod, and the labels of the pods that can hold one.
fn slots(spec: &Value) -> Option<(usize, &Value)> {
    let [only] = spec.get("topologySpreadConstraints")?.as_array()?.as_slice() else { return None };
    let in_one_domain = only["topologyKey"] == ALL_NODES && only["minDomains"].as_u64() > Some(1);
    if !in_one_domain || only["whenUnsatisfiable"] != "DoNotSchedule" {
        return None;
    }
    let labels = only["labelSelector"].get("matchLabels")?;
    Some((usize::try_from(only["maxSkew"].as_u64()?).ok()?, labels))
}

fn matches(labels: &Value, pod: &PodLife<'_>) -> bool {
    let of_pod = pod.revisions.first().and_then(|first| first.object.get("metadata")?.get("labels"));
    let (Some(wanted), Some(of_pod)) = (labels.as_object(), of_pod) else { return false };
    wanted.iter().all(|(key, value)| of_pod.get(key) == Some(value))
}

/// The contests for slots: pods that were created while all slots that they wanted were held.
pub(crate) fn contests<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Contest<'t, 'h>> {
    let priorities = priorities(run);
    let priority = |pod: &PodLife<'_>| {
        let class =
            pod.created.and_then(|(_, manifest)| manifest.get("spec")?.get("priorityClassName")?.as_str());
        class.map_or(Some(0), |class| priorities.get(class).copied())
    };
    let contest = |pod: &'t PodLife<'h>| {
        let (_, manifest) = pod.created?;
        let (count, labels) = slots(manifest.get("spec")?)?;
        let first = pod.revisions.first()?;
        let at = At::new(first.id, first.at.clone());
        let holds = |other: &&PodLife<'h>| {
            let before = other.revisions.iter().rfind(|shown| shown.id < first.id);
            other.uid != pod.uid && matches(labels, other) && before.is_some_and(is_placed)
        };
        let holders = run.pods.iter().filter(holds).map(|other| Some((other, priority(other)?)));
        let holders: Vec<_> = holders.collect::<Option<_>>()?;
        let full = holders.len() == count && matches(labels, pod);
        full.then_some(Contest { wants: (pod, priority(pod)?), at, holders })
    };
    run.pods.iter().filter_map(contest).collect()
}

/// Whether a pod has a node and has neither ended nor begun to terminate.
fn is_placed(shown: &Revision<'_>) -> bool {
    let over = matches!(shown.phase(), "Succeeded" | "Failed");
    shown.object["spec"]["nodeName"].is_string() && !over && !shown.terminating() && !shown.gone
}

impl<'t, 'h> Contest<'t, 'h> {
    /// The holders that may be preempted: those with a lower priority.
    pub(crate) fn lower(&self) -> Vec<(&'t PodLife<'h>, i64)> {
        self.holders.iter().copied().filter(|(_, priority)| *priority < self.wants.1).collect()
    }

    /// The lowest priority among the holders.
    pub(crate) fn lowest(&self) -> Option<i64> {
        self.holders.iter().map(|(_, priority)| *priority).min()
    }

    /// The holders that began to terminate after the new pod was created, without a request of the harness. Each has
    /// the revision that shows this.
    pub(crate) fn gone(&self, run: &Timeline<'h>) -> Vec<(&'t PodLife<'h>, i64, &'t Revision<'h>)> {
        let went = self.holders.iter().filter(|(pod, _)| pod.deleted.is_none());
        let went = went.filter_map(|(pod, priority)| {
            let going = super::targets::going(pod)?;
            (going.id > self.at.id && going.at.at.lo <= run.ended_us).then_some((*pod, *priority, going))
        });
        went.collect()
    }

    /// The revision that shows the new pod on a node.
    pub(crate) fn placed(&self) -> Option<&'t Revision<'h>> {
        self.wants.0.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string())
    }
}
