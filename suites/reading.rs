//! What judges of several chapters read from a history: what a probe came to, what the kubelet did then, who was reached.
//!
//! A reading says what a history shows, and what it leaves open; it promises nothing. What is promised is in the
//! chapters, and nothing here calls a clause kept or broken by itself except in the name of the judge that asks.

pub(crate) mod absence;
pub(crate) mod answers;
pub(crate) mod arrivals;
pub(crate) mod began;
pub(crate) mod endpoints;
pub(crate) mod ends;
pub(crate) mod health;
pub(crate) mod hooks;
pub(crate) mod http;
pub(crate) mod inits;
pub(crate) mod kinds;
pub(crate) mod mains;
pub(crate) mod origin;
pub(crate) mod readiness;
#[cfg(test)]
pub(crate) mod scene;
pub(crate) mod services;
pub(crate) mod statuses;
pub(crate) mod termination;
pub(crate) mod unreachable;
pub(crate) mod unvisited;
pub(crate) mod wrong_protocol;
