//! The process: its start, its signal handling, and its end.

mod begin;
mod children;
pub mod clients;
pub mod consume;
pub mod dump;
mod dump_command;
pub mod exit;
mod gate;
mod reap;
mod signal_queue;
pub mod signals;
mod trial;
pub mod wait;

pub use begin::begin;
pub(crate) use children::spawn;
pub use children::{ChildArgs, Children};
pub use dump_command::DumpArgs;
pub use exit::end;
pub use gate::{GateState, GateWatcher, OpenRequest, ShutdownGate};
pub use signal_queue::{CaughtSignal, SignalQueue};
pub use signals::StopSignals;
pub use trial::TrialArgs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit on open descriptors to the maximum, because each connection needs one, and a plan may need
/// thousands.
///
/// If this fails, the limit does not change, and connections beyond it are not accepted.
pub fn take_all_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
