//! The kubelet's prober: one worker for each probe, what starts, stops and resets it, and what it counts. And what the API
//! server refuses about probes and hooks that no other chapter covers.

mod counters;
mod ending;
mod execution;
mod kubelet_restart;
mod lives;
mod refusals;
mod results;
mod workers;

use probity_model::Judge;

/// How often the kubelet tries a probe that ends in an error: `maxProbeRetries` in pkg/kubelet/prober/prober.go of
/// Kubernetes.
const TRIES: i64 = 3;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [
        workers::JUDGES,
        lives::JUDGES,
        ending::JUDGES,
        results::JUDGES,
        execution::JUDGES,
        kubelet_restart::JUDGES,
        counters::JUDGES,
        refusals::JUDGES,
    ]
    .concat()
}

#[cfg(test)]
mod tests;
