//! What a run listens to: watches, the stream of the recorder, the clocks of nodes, and the harness's own stalls.

pub(crate) mod echo;
pub(crate) mod incoming;
pub(crate) mod logs;
pub(crate) mod node_clocks;
pub(crate) mod recorder_stream;
pub(crate) mod stalls;
pub(crate) mod watches;
