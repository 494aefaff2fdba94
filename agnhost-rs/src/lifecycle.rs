//! The process: how it starts, what it is told by signals, and how it ends.

mod begin;
mod children;
pub mod clients;
pub mod consume;
mod descriptors;
mod doors;
pub mod dump;
mod dump_command;
mod end;
pub mod exits;
mod mailbox;
mod reap;
pub mod signals;
mod trial;
pub mod wait;

pub use begin::begin;
pub(crate) use children::spawn;
pub use children::{ChildArgs, Family};
pub use descriptors::take_all_descriptors;
pub use doors::{Door, DoorWatch, Doors, Visit};
pub use dump_command::DumpArgs;
pub use end::end;
pub use mailbox::{Caught, Mailbox};
pub use signals::StopSignals;
pub use trial::TrialArgs;
