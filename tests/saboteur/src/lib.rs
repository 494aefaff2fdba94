//! The saboteur: it makes a *real* kubelet defective from outside, so that no source is changed and any kubelet can
//! be used. One process runs on each node, between the kubelet and everything with which the kubelet communicates:
//!
//! - [`cri`]: the container runtime, by a gRPC proxy on a unix socket;
//! - [`api`]: the API server, by a TLS proxy;
//! - [`pods`]: the pods, by the node's packet filter;
//! - [`process`]: the kubelet's own process.
//!
//! A [`defect::Defect`] defines what goes wrong, for which pods and when. The [`board`] holds the active defects;
//! [`control`] changes them from outside. A defect is bound to one namespace. Without an active defect, every byte
//! passes unchanged.
//!
//! The [`table`] lists defective kubelets and the clauses of the book that must detect them; the [`runner`] runs them.

pub mod api;
pub mod board;
pub mod call;
pub mod control;
pub mod cri;
pub mod defect;
pub mod keep;
pub mod pods;
pub mod process;
pub mod runner;
pub mod table;
