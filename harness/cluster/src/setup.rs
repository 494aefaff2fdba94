//! What a run needs before its cases, and how it is removed: permissions, a namespace, the recorder, the echo pod,
//! the metronomes.

pub(crate) mod echo_pod;
pub mod gc;
pub mod job;
pub(crate) mod metronome;
pub(crate) mod namespace;
pub(crate) mod node_changes;
pub(crate) mod node_command;
mod own_pod;
pub mod permissions;
pub(crate) mod recorder;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod wide_objects;
