//! `agnhost-rs`: a server that misbehaves on schedule and records what it observes.

mod bind;
pub mod cli;
pub mod client;
pub mod clock;
pub mod control;
pub mod exec;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
pub mod lifecycle;
mod locks;
pub mod meters;
pub mod plan_source;
pub mod plan_summary;
mod recent;
pub mod recorder;
pub mod run;
pub mod serve;
pub mod stage;
pub mod token;
pub mod witness;
