//! Startup, liveness and readiness probes: when each of them runs, and what it causes.

mod endpoints;
mod liveness;
pub(crate) mod readiness;
mod scope;
mod startup;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [startup::JUDGES, liveness::JUDGES, readiness::JUDGES, endpoints::JUDGES, scope::JUDGES].concat()
}
