//! The statuses of containers in a revision of their pod, field by field.

use probity_model::timeline::Revision;
use serde_json::Value;

/// The reason of a container that waits for its back-off, by the Kubernetes documentation.
pub(crate) const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The lists of a pod's status that hold those of its containers.
const LISTS: [&str; 3] = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// Each container's name and status.
pub(crate) fn statuses<'h>(revision: &Revision<'h>) -> impl Iterator<Item = (&'h str, &'h Value)> + use<'h> {
    let status = revision.object.get("status");
    let lists = LISTS.into_iter().filter_map(move |list| status?.get(list)?.as_array());
    lists.flatten().filter_map(|of| Some((of.get("name")?.as_str()?, of)))
}
