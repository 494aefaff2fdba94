//! The trials of `probity try`: the manifest that is tried, and the report on what happened to it.

mod json;
pub(crate) mod manifests;
mod text;
pub(crate) mod trial_report;
