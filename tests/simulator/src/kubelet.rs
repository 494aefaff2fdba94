//! The kubelet: workers that probe, what they send, what follows from it for containers, and what is told of them.

mod counters;
mod exec;
mod expand;
mod hooks;
mod http;
mod init;
mod lifecycle;
mod plain;
mod prober;
mod restart;
mod shown;
mod stop;
mod sync;
mod termination;
mod url;
mod worker;
mod wrong;

pub(crate) use http::Leg;
pub(crate) use init::cannot_start;
pub(crate) use prober::{Back, Flight, Run};
