//! What the API shows users about a pod: the events that its kubelet records, and the fields of its status. Both are
//! compared with the records of the containers themselves. Everything that happened is reported, and everything that is
//! reported happened.

mod about;
mod addresses;
mod asked;
mod back_off;
mod causes;
mod cgroups;
mod counts;
mod excess;
mod failures;
mod generations;
mod hooks;
mod ids;
mod images;
mod messages;
mod mounts;
mod optional;
mod pull_times;
mod pulls;
mod references;
mod restarts;
mod settings;
mod shares;
mod starts;
mod stops;
mod tally;

use probity_model::Judge;
use probity_model::timeline::{KubeEvent, PodLife};

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "report.event.object", judge: about::names_its_pod },
        Judge { clause: "report.event.source", judge: about::names_its_kubelet },
        Judge { clause: "report.event.field-path", judge: about::names_its_container },
        Judge { clause: "report.event.type", judge: about::has_its_type },
        Judge { clause: "report.event.count", judge: counts::counts_up },
        Judge { clause: "report.event.unhealthy", judge: failures::each_failure },
        Judge { clause: "report.event.unhealthy-names-probe", judge: failures::names_a_probe },
        Judge { clause: "report.event.killing-cause", judge: causes::names_the_cause },
        Judge { clause: "report.event.killing-only-stopped", judge: stops::only_what_is_stopped },
        Judge { clause: "report.event.started-each-time", judge: starts::each_instance },
        Judge { clause: "report.event.created-before-started", judge: starts::in_order },
        Judge { clause: "report.event.back-off", judge: back_off::each_wait },
        Judge { clause: "report.event.failed-hook", judge: hooks::failed_ones_only },
        Judge { clause: "report.status.container-id", judge: ids::of_each_instance },
        Judge { clause: "report.status.image", judge: ids::of_its_image },
        Judge { clause: "report.status.restart-count", judge: restarts::each_restart },
        Judge { clause: "report.status.addresses", judge: addresses::as_connections_show },
        Judge { clause: "report.status.start-time", judge: addresses::before_its_containers },
        Judge { clause: "report.status.qos-class", judge: generations::class_of_resources },
        Judge { clause: "report.status.observed-generation", judge: generations::never_ahead },
        Judge { clause: "report.event.pulled-each-time", judge: starts::each_image },
        Judge { clause: "report.event.image-missing", judge: images::reported },
        Judge { clause: "report.status.image-missing", judge: images::waits },
        Judge { clause: "report.status.image-always", judge: asked::even_if_on_node },
        Judge { clause: "report.event.pull-back-off", judge: pulls::wait_longer },
        Judge { clause: "report.event.settings-missing", judge: settings::reported },
        Judge { clause: "report.status.settings-missing", judge: settings::waits },
        Judge { clause: "report.status.settings-supplied", judge: settings::starts_then },
        Judge { clause: "report.status.termination-message", judge: messages::of_its_file },
        Judge { clause: "report.status.termination-message-limit", judge: messages::cut_at_limit },
        Judge { clause: "report.status.termination-message-log", judge: messages::of_its_log },
        Judge { clause: "report.status.allocated-resources", judge: shares::allocated },
        Judge { clause: "report.status.pod-allocated-resources", judge: shares::allocated_for_pod },
        Judge { clause: "report.status.resources", judge: shares::enacted },
        Judge { clause: "report.status.volume-mounts", judge: mounts::mounted },
        Judge { clause: "report.status.user", judge: shares::user },
        Judge { clause: "report.status.one-per-container", judge: shares::one_for_each },
    ]
}

/// The component name under which kubelets record events, according to the Kubernetes API reference.
const KUBELET: &str = "kubelet";
/// The type of events about normal operation, according to the Kubernetes API reference.
const NORMAL: &str = "Normal";
/// The type of events about problems, according to the Kubernetes API reference.
const WARNING: &str = "Warning";

/// The type of a kubelet's event about a container, by its reason. None for other events.
fn kind_of(event: &KubeEvent<'_>) -> Option<&'static str> {
    match event.reason {
        _ if !is_like_a_kubelets(event) => None,
        "Pulling" | "Pulled" | "Created" | "Started" | "Killing" => Some(NORMAL),
        "Unhealthy" | "ProbeWarning" | "FailedPostStartHook" | "FailedPreStopHook" => Some(WARNING),
        "BackOff" if is_of_restart(event) => Some(WARNING),
        // Other components also use these reasons.
        "BackOff" if is_of_kubelet(event) => Some(NORMAL),
        "InspectFailed" | "ErrImageNeverPull" if is_of_kubelet(event) => Some(WARNING),
        // A kubelet also uses this reason if it cannot create the directories of a pod.
        "Failed" if is_of_kubelet(event) && event.container.is_some() => Some(WARNING),
        _ => None,
    }
}

/// Whether an event is a kubelet's, or may be a kubelet's that names a wrong component: it is about a container, or it names
/// a node. Controllers of workloads also record events about pods, such as `Started`.
fn is_like_a_kubelets(event: &KubeEvent<'_>) -> bool {
    is_of_kubelet(event) || event.container.is_some() || event.text("/source/host").is_some()
}

fn is_of_kubelet(event: &KubeEvent<'_>) -> bool {
    event.text("/source/component") == Some(KUBELET)
}

/// A short name for what an event about a container reports. It distinguishes the back-off of an image pull from the
/// back-off of a restart.
fn word<'h>(event: &KubeEvent<'h>) -> &'h str {
    let of_pull = event.reason == "BackOff" && !is_of_restart(event);
    if of_pull { "BackOff of a pull" } else { event.reason }
}

/// Whether the event is about the back-off of a restart: image pulls also have a back-off.
fn is_of_restart(event: &KubeEvent<'_>) -> bool {
    event.reason == "BackOff" && event.message.contains("restarting")
}

/// The events of a pod that its kubelet records for a container.
fn of_containers<'p, 'h>(pod: &'p PodLife<'h>) -> impl Iterator<Item = &'p KubeEvent<'h>> {
    pod.events.iter().filter(|event| kind_of(event).is_some())
}

#[cfg(test)]
mod tests;
