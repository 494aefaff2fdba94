//! The cases: reading their files, selecting and explaining them.

pub(crate) mod book;
pub(crate) mod case_filter;
pub(crate) mod case_text;
pub(crate) mod hints;
pub(crate) mod pods;
pub(crate) mod rejected_pods;
pub(crate) mod shards;
