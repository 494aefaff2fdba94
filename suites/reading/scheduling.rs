//! Pods that wait for a node: the condition that says so, and their scheduling gates.

use probity_model::timeline::Revision;
use serde_json::Value;

use super::volumes::list;

/// The list of scheduling gates in a pod's spec.
pub(crate) const GATES: &str = "schedulingGates";
/// The condition which shows whether a pod has a node, and its reason while the pod has gates: Kubernetes documentation.
pub(crate) const SCHEDULED: &str = "PodScheduled";
pub(crate) const GATED: &str = "SchedulingGated";

/// The scheduling gates in the spec of a pod, or in a patch of it.
pub(crate) fn gates(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, GATES)
}

/// How many scheduling gates a pod has.
pub(crate) fn count_gates(shown: &Revision<'_>) -> usize {
    gates(&shown.object["spec"]).count()
}
