//! `agnhost-rs`: a server that misbehaves on schedule and writes down what it saw.

pub mod client;
pub mod clock;
pub mod dropin;
pub mod exec;
mod hold;
pub mod identity;
pub mod lifecycle;
pub mod recorder;
pub mod serve;
pub mod stage;
pub mod witness;
