//! HTTP probes as exchanges: the request, the answer, the redirects, and the result.

pub(crate) mod closed_port;
pub(crate) mod exchange;
pub(crate) mod exchanges;
mod excuse;
pub(crate) mod location;
pub(crate) mod reaction;
pub(crate) mod response;
#[cfg(test)]
pub(crate) mod scene;
