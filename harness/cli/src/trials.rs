//! The trials of `probity try`: the manifest under test, the report on what happened to its pod, and the promises for the
//! page of the run.

pub(crate) mod json;
pub(crate) mod manifests;
pub(crate) mod shown_promises;
pub(crate) mod stored_promises;
pub(crate) mod text;
pub(crate) mod trial_report;
