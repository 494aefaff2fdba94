//! The verbs: one file each, one function `run` in each.

pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod judge;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod schema;
