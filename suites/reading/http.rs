//! HTTP probes as they were exchanged: what was asked, what was answered, where a redirect led, and what came of it.

pub(crate) mod course;
pub(crate) mod exchange;
pub(crate) mod location;
pub(crate) mod said;
#[cfg(test)]
pub(crate) mod scene;
pub(crate) mod taken;
