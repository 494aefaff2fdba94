//! The hands of the harness: everything that touches a cluster.
//!
//! It arranges what a case says, writes down what happens, and cleans up. It asserts nothing: what follows from a
//! history is the model's business.

mod ask;
pub mod books;
pub mod clocks;
pub mod connect;
pub mod director;
pub mod error;
pub mod forward;
pub mod gc;
pub mod incoming;
mod inside;
pub mod kinds;
pub mod logs;
mod metrics;
pub mod metronome;
pub mod namespace;
pub mod nodes;
pub mod progress;
pub mod ready;
pub mod recorder;
pub mod rights;
pub mod run;
pub mod schedule;
pub mod send;
mod steady;
mod steps;
pub mod ticker;
pub mod turns;
pub mod usage;
pub mod watch;
pub mod zero;

pub use connect::{Access, Ground, connect};
pub use error::{ClusterError, Refusal, SendError};
pub use forward::Door;
pub use incoming::Incoming;
pub use metronome::Metronome;
pub use namespace::{Leftover, Namespace};
pub use progress::Progress;
pub use recorder::Recorder;
pub use rights::Rights;
pub use run::{RefusedPod, RunError, RunOptions, conduct, rehearse};
pub use send::Listing;
pub use ticker::Ticker;
pub use zero::Zero;
