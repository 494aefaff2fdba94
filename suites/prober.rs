//! The kubelet's prober: one worker for each probe, what starts, stops and resets it, and what it counts. Besides, what
//! the API server refuses about probes and hooks that no other chapter speaks of.

mod counters;
mod ending;
mod execution;
mod kubelet_restart;
mod lives;
mod refusals;
mod results;
mod workers;

use probity_model::Judge;

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
