//! All parts of the harness that access a cluster.
//!
//! It arranges what a case describes, records what happens, and cleans up. It asserts nothing: the model draws the
//! conclusions from a history. The folders build on each other in this order: `api` (requests to the API server and to
//! pods), `listen` (what is recorded), `setup` (what a run needs before its cases), `run` (the cases).

mod api;
mod error;
mod fields;
mod listen;
mod run;
mod run_clock;
mod setup;
pub mod stored_run;

pub use api::client::{Access, ClusterClient, connect};
pub use api::objects::Listing;
pub use error::{ClusterError, Refusal, RequestFailure};
pub use listen::incoming::Incoming;
pub use listen::watches::watch;
pub use run::drain::Kubectl;
pub use run::options::{RefusedPod, RunError, RunOptions};
pub use run::progress::{Progress, Room};
pub use run::rehearsal::{keeps, rehearse};
pub use run::{conduct, schedule};
pub use run_clock::RunClock;
pub use setup::namespace::{Leftover, Namespace};
pub use setup::permissions::Permissions;
pub use setup::{gc, job, permissions};
