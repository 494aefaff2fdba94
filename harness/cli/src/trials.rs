//! The trials of `probity try`: the manifest that is tried, and the report on what happened to it.

pub(crate) mod json;
pub(crate) mod manifests;
pub(crate) mod text;
pub(crate) mod trial_report;
