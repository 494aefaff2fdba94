//! Sidecars, which are init containers that keep running: when they start, how long they run, and how they affect their
//! pod.

mod alone;
mod course;
mod end;
mod start;

use probity_model::Judge;

/// How each clause of the chapter is judged; `sidecar.policy-values` is judged by the table of rejections.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "sidecar.definition", judge: course::runs_with_its_pod },
        Judge { clause: "sidecar.order-and-started", judge: start::in_its_place },
        Judge { clause: "sidecar.started-with-startup-probe", judge: start::when_started },
        Judge { clause: "sidecar.always-restarted", judge: course::comes_back },
        Judge { clause: "sidecar.probes-allowed", judge: alone::has_probes },
        Judge { clause: "sidecar.readiness-counts", judge: alone::readiness_counts },
        Judge { clause: "sidecar.job-completes", judge: end::lets_its_pod_end },
    ]
}

#[cfg(test)]
mod tests;
