//! The habits of Go programs that manifests and test scripts lean on: how a log line looks, how a flag is
//! spelled, how a duration is printed, how `net/http` answers. The drop-ins share them here, so that each
//! drop-in contains only its own behavior.
//!
//! Refuses to be a port of Go's library: only what agnhost's own output shows is here.

pub(crate) mod flags;
pub(crate) mod http;
pub(crate) mod klog;
pub(crate) mod listen;
pub(crate) mod resolve;
pub(crate) mod sctp;
pub(crate) mod signals;
pub(crate) mod text;
pub(crate) mod tls;
