//! Requests: to the API server, and through it to containers, ports of pods, and kubelets.

pub(crate) mod client;
mod containers;
pub(crate) mod kinds;
mod kubelet_settings;
mod kubelet_signs;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod port_forward;
pub(crate) mod probe_counts;
mod proxy;
mod retry;
