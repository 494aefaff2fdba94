//! The verbs: one file each, one function `run` in each.

pub(crate) mod book;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod fetch;
pub(crate) mod gc;
pub(crate) mod image;
pub(crate) mod judge;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod manifest;
pub(crate) mod manual;
pub(crate) mod matrix;
pub(crate) mod merge;
pub(crate) mod rbac;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod try_pod;
pub(crate) mod verify;
