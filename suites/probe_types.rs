//! Startup, liveness and readiness probes: which of them runs when, and what follows from it.

mod endpoints;
mod liveness;
mod readiness;
mod scope;
mod startup;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [startup::JUDGES, liveness::JUDGES, readiness::JUDGES, endpoints::JUDGES, scope::JUDGES].concat()
}
