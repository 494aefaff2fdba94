//! HTTP probes as they were exchanged: what was asked, what was answered, where a redirect led, and what came of it.

pub(crate) mod closed_port;
pub(crate) mod exchange;
pub(crate) mod exchanges;
mod excuse;
pub(crate) mod location;
pub(crate) mod reaction;
pub(crate) mod response;
#[cfg(test)]
pub(crate) mod scene;
