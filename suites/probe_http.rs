//! HTTP probes: where they go, what they send, and what their answers mean.

mod address;
mod bodies;
mod headers;
mod redirects;
mod tls;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    [address::JUDGES, headers::JUDGES, tls::JUDGES, redirects::JUDGES, bodies::JUDGES].concat()
}
