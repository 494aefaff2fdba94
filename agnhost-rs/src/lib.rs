//! A fault-injection target for Kubernetes. So far: the drop-ins for agnhost.

pub mod dropin;
