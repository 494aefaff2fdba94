//! Static pods: a kubelet runs them by itself, shows each as a mirror pod, probes them like any other pod, and
//! terminates them when their manifests are removed.

mod managed;
mod mirror;
mod probed;
mod removed;

use probity_model::timeline::PodLife;
use probity_model::{Judge, Timeline};

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "static.kubelet-managed", judge: managed::runs_and_restarts },
        Judge { clause: "static.mirror", judge: mirror::is_only_shown },
        Judge { clause: "static.probes-work", judge: probed::like_any_other },
        Judge { clause: "static.removed", judge: removed::ends_gracefully },
    ]
}

/// The static pods of a history. There are none if something else was done to a node in this history.
fn static_pods<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    run.pods.iter().filter(|pod| pod.is_static && !run.node_was_touched())
}

#[cfg(test)]
mod tests;
