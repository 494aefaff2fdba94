//! Extended resources that a step advertises, and critical pods, for which the kubelet ends other pods if they hold such a
//! resource.

use probity_case::AdvertiseStep;
use probity_composer::NODE;
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::Defect;
use crate::pod::Container;
use crate::pressure::Cause;
use crate::resize::requested;
use crate::world::{Act, MS, SECOND, World};

/// The priority class of the pods that their node needs most, and its value.
pub(crate) const CRITICAL: (&str, i64) = ("system-node-critical", 2_000_001_000);
/// The other priority class of critical pods, and its value, which is the lowest priority of critical pods.
pub(crate) const CLUSTER_CRITICAL: (&str, i64) = ("system-cluster-critical", 2_000_000_000);
/// How soon the kubelet looks again whether the pods that it ended are gone.
const LOOKS_AGAIN: i64 = 100 * MS;
/// One unit of a resource, in thousandths.
const UNIT: i64 = 1000;

impl World<'_> {
    /// A client advertises a resource for the node.
    pub(crate) fn advertise(&mut self, of: &AdvertiseStep) {
        let AdvertiseStep { resource, amount, .. } = of.clone();
        self.advertised.insert(resource.clone(), i64::from(amount) * UNIT);
        self.did(Did::Advertised { node: NODE.to_owned(), resource, amount });
    }

    /// The pods on the node that hold a resource that a new pod lacks, and the name of this resource.
    fn in_the_way_of(&self, pod: usize) -> Option<(String, Vec<usize>)> {
        let holds = |resource: &str, other: usize| {
            let of = &self.pods[other];
            let ended = of.terminal && !of.containers.iter().any(Container::is_running);
            let here = of.object["spec"]["nodeName"] == NODE && !of.gone && !ended;
            if here { requested(of, resource) } else { 0 }
        };
        self.advertised.iter().find_map(|(resource, all)| {
            let others: Vec<usize> =
                (0..self.pods.len()).filter(|other| *other != pod && holds(resource, *other) > 0).collect();
            let held: i64 = others.iter().map(|other| holds(resource, *other)).sum();
            let wanted = requested(&self.pods[pod], resource);
            (wanted > 0 && held + wanted > *all).then(|| (resource.clone(), others))
        })
    }

    /// The kubelet has no room for a new pod: it rejects the pod, or ends others if the new pod is critical. Returns
    /// whether the pod cannot start yet.
    pub(crate) fn lacks_room(&mut self, pod: usize, created: i64) -> bool {
        let Some((resource, holders)) = self.in_the_way_of(pod) else { return false };
        let critical = self.pods[pod].object["spec"]["priorityClassName"] == CRITICAL.0;
        if !critical || self.has(Defect::CriticalPodsRejected) {
            let message = format!("Pod was rejected: Node didn't have enough resource: {resource}");
            self.reject(pod, &format!("OutOf{resource}"), &message);
            return true;
        }
        let victims = match self.has(Defect::RoomMadeByOthers) {
            true => (0..self.pods.len()).filter(|of| *of != pod && !holders.contains(of)).collect(),
            false => holders,
        };
        for victim in victims {
            self.end_by_eviction(victim, Cause::Critical);
        }
        self.later(LOOKS_AGAIN, Act::Accept(pod, created));
        true
    }

    /// The kubelet does not admit a pod.
    pub(crate) fn reject(&mut self, pod: usize, reason: &str, message: &str) {
        self.pods[pod].terminal = true;
        let status = &mut self.pods[pod].object["status"];
        status["phase"] = json!("Failed");
        status["reason"] = json!(reason);
        status["message"] = json!(message);
        let (name, object) = (self.pods[pod].name.clone(), self.pods[pod].object.clone());
        self.show("Pod", &name, Change::Modified, &object);
    }

    /// The time that the containers of a pod get to stop if the pod is ended because of this.
    pub(crate) fn grace_of_end(&self, pod: usize, cause: Cause) -> i64 {
        match cause {
            Cause::Storage | Cause::Memory => 2 * SECOND,
            Cause::Critical => self.pods[pod].grace(),
            Cause::Shutdown => self.grace_of_shutdown(pod),
        }
    }

    /// The condition that shows that the kubelet ended a pod for a critical one.
    pub(crate) fn told_critical(&self, pod: usize, phase: &str) -> Option<Value> {
        let ended = self.pods[pod].evicted == Some(Cause::Critical);
        let over = matches!(phase, "Succeeded" | "Failed") || self.has(Defect::CriticalExplainedEarly);
        if !ended || !over || self.has(Defect::CriticalUnexplained) {
            return None;
        }
        let misexplained = self.has(Defect::CriticalMisexplained);
        let reason = if misexplained { "PreemptionByScheduler" } else { "TerminationByKubelet" };
        Some(self.target_condition(pod, reason, Cause::Critical))
    }

    /// The condition of a pod that the kubelet has ended.
    pub(crate) fn target_condition(&self, pod: usize, reason: &str, cause: Cause) -> Value {
        json!({
            "type": "DisruptionTarget", "status": "True", "reason": reason,
            "message": cause.says(), "lastProbeTime": null,
            "lastTransitionTime": self.timestamp(self.now),
            "observedGeneration": self.pods[pod].object["metadata"]["generation"],
        })
    }
}
