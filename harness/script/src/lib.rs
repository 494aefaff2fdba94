//! The words that the harness and the target share.
//!
//! Two documents are exchanged between them, and both are defined only in this crate:
//!
//! * the [`Plan`], which is sent with the pod and defines how the target answers, and
//! * the [`WitnessLine`], one fact that the target saw, with the time at which it saw it.
//!
//! The crate is pure: it turns text into values, a [`Moment`] into the answer that is due, and an answer into the bytes
//! on the [`wire`]. It never reads a clock, a file or the environment, so the same plan gives the same answers in the
//! target, in the harness and in a simulator.

pub mod answer;
pub mod change;
pub mod endpoint;
mod file_text;
mod listener;
mod plan;
pub mod problem;
mod process;
mod range;
#[cfg(feature = "schema")]
pub mod schema;
mod steps;
mod units;
pub mod wire;
pub mod witness;
mod words;

pub use change::{Change, Changed};
pub use endpoint::Endpoint;
pub use file_text::{FILE_BLOCK, file_text};
pub use listener::{Certificate, ClientCertificate, Listener, Protocol, Tls, TlsVersion, Workers};
pub use plan::Plan;
pub use process::{Child, Client, Consumer, Dependency, ExitFrom, ExitPlan, ExitWay, PlannedTrial, Process};
pub use range::{Counts, Times};
pub use steps::{Choice, Due, Moment, Script, Step, When};
pub use units::{Size, Span};
pub use witness::{Fact, WitnessLine};
