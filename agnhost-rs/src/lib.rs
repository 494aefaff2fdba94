//! `agnhost-rs`: a server that misbehaves on schedule and writes down what it saw.

pub mod client;
pub mod clock;
pub mod document;
mod hold;
pub mod identity;
pub mod lifecycle;
pub mod plan_source;
pub mod stage;
pub mod witness;
