//! The kubelet: its probe workers, the probes that they send, the effects on containers, and the published status.

mod careless;
mod conditions;
mod counters;
mod exec;
mod expand;
mod given;
mod hooks;
mod http;
pub(crate) mod images;
mod init;
mod leaving;
mod lifecycle;
mod messages;
mod plain;
mod prober;
mod rare;
mod reports;
mod requests;
mod reset;
mod restart;
mod rules;
mod shown;
mod stop;
mod subtle;
mod sync;
mod termination;
mod told;
mod unexplained;
mod untimely;
mod url;
mod worker;
mod wrong;

pub(crate) use http::Leg;
pub(crate) use init::cannot_start;
pub(crate) use prober::{Back, Flight, Run};
pub(crate) use rules::rule_problems;
