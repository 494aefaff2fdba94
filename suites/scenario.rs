//! Scenarios: what probe settings do to an application in trouble, as articles warn about it.
//!
//! The other chapters ask whether a kubelet keeps its promises; this one shows the consequences for several containers,
//! pods and services at once. A judge accuses a cluster only where it did not do what its own probes, as the targets saw
//! them, ask for. An effect that is bad for the user is what the case shows, and never a violation.

mod budget;
mod course;
mod defaults;
mod dependency;
mod downtime;
mod management;
mod overload;
mod rollout;
mod warming;
mod zombies;

#[cfg(test)]
mod tests;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [
        rollout::JUDGES,
        defaults::JUDGES,
        management::JUDGES,
        warming::JUDGES,
        dependency::JUDGES,
        overload::JUDGES,
        downtime::JUDGES,
        zombies::JUDGES,
        budget::JUDGES,
    ]
    .concat()
}
