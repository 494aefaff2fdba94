//! Scenarios: how probe settings affect an application in trouble. Articles warn of these effects.
//!
//! The other chapters check whether a kubelet keeps its promises; this one shows the consequences for several
//! containers, pods and Services together. A judge reports a violation only if the cluster did not do what the results
//! of its own probes, as recorded by the targets, require. A case demonstrates an effect that is bad for the user;
//! such an effect is never a violation.

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
