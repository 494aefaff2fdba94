//! The habits of Go programs that manifests and test scripts rely on: how a log line looks, how a flag is spelled, how
//! a duration is printed, and how `net/http` answers. All drop-ins use this module, so that each drop-in contains only
//! its own behavior.
//!
//! This is not a port of Go's library: it contains only what agnhost's own output shows.

pub(crate) mod flags;
pub(crate) mod http;
pub(crate) mod klog;
pub(crate) mod listen;
pub(crate) mod resolve;
pub(crate) mod sctp;
pub(crate) mod signals;
pub(crate) mod text;
pub(crate) mod tls;
