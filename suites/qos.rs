//! Quality of Service classes, what resource limits do to containers, and which pods a kubelet evicts.

mod classes;
mod eviction;
mod exclusive;
mod limits;
mod oom;
mod preemption;
mod processors;
mod sums;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "qos.three-classes", judge: classes::one_of_three },
        Judge { clause: "qos.guaranteed", judge: classes::guaranteed },
        Judge { clause: "qos.burstable", judge: classes::burstable },
        Judge { clause: "qos.besteffort", judge: classes::best_effort },
        Judge { clause: "qos.oom-score", judge: oom::score_follows_class },
        Judge { clause: "qos.guaranteed-protection", judge: limits::of_guaranteed },
        Judge { clause: "qos.burstable-limit-default", judge: limits::none_without_a_limit },
        Judge { clause: "qos.limit-exceeded-kills-container-only", judge: limits::exceeded },
        Judge { clause: "qos.eviction-order", judge: eviction::by_class },
        Judge { clause: "qos.eviction-priority", judge: eviction::by_priority },
        Judge { clause: "qos.request-exceeded-candidate", judge: eviction::of_those_above },
        Judge { clause: "qos.static-cpu", judge: exclusive::of_whole_requests },
        Judge { clause: "qos.preemption-ignores", judge: preemption::is_not_about_classes },
        Judge { clause: "qos.pod-sums", judge: sums::as_a_quota_counts },
    ]
}

#[cfg(test)]
mod tests;
