//! The kubelet's prober: one worker for each probe; what starts, stops and resets it, and what it counts.

mod after_restart;
mod counters;
mod ending;
mod execution;
mod kubelet_restart;
mod lives;
mod outlived;
mod results;
mod workers;

use probity_model::Judge;

use crate::refusals;

/// How many times the kubelet tries a probe that returns an error: `maxProbeRetries` in
/// pkg/kubelet/prober/prober.go of Kubernetes.
const TRIES: i64 = 3;

const TEMPLATES: Judge = Judge { clause: "validation.template-level", judge: refusals::judge_templates };

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [
        workers::JUDGES,
        lives::JUDGES,
        ending::JUDGES,
        results::JUDGES,
        execution::JUDGES,
        kubelet_restart::JUDGES,
        after_restart::JUDGES,
        counters::JUDGES,
        &[TEMPLATES],
    ]
    .concat()
}

#[cfg(test)]
mod tests;
