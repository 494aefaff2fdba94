//! The condition that shows why a pod is about to terminate, and the revision that shows its termination.

use probity_model::timeline::{PodLife, Revision};
use serde_json::Value;

/// The condition's type: Kubernetes documentation, Disruptions.
pub(crate) const TARGET: &str = "DisruptionTarget";
/// Its reason if a kubelet evicts the pod because of a resource shortage on the node: Kubernetes documentation,
/// Disruptions.
pub(crate) const BY_KUBELET: &str = "TerminationByKubelet";

/// The reason of the condition, whatever its status.
pub(crate) fn reason<'h>(shown: &Revision<'h>) -> Option<&'h str> {
    shown.condition(TARGET)?.get("reason").and_then(Value::as_str)
}

/// Whether a revision shows that the pod terminates, with this reason.
pub(crate) fn says(shown: &Revision<'_>, wanted: &str) -> bool {
    shown.is(TARGET) == Some(true) && reason(shown) == Some(wanted)
}

/// The condition in a revision, in words.
pub(crate) fn in_words(shown: &Revision<'_>) -> String {
    match shown.is(TARGET) {
        None => format!("it has no condition {TARGET}"),
        Some(holds) => {
            let word = if holds { "True" } else { "False" };
            format!("its condition {TARGET} is {word} (reason: {})", reason(shown).unwrap_or("none"))
        }
    }
}

/// The first revision that shows a pod terminating.
pub(crate) fn going<'t, 'h>(pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
    pod.revisions.iter().find(|shown| shown.terminating() || shown.gone)
}
