//! The trials of `probity try`: the manifest under test, and the report on what happened to its pod.

pub(crate) mod json;
pub(crate) mod manifests;
pub(crate) mod text;
pub(crate) mod trial_report;
