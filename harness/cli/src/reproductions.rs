//! `probity reproduce`: a case made of a pasted manifest, and the text for an issue about what it showed.

pub(crate) mod case_file;
pub(crate) mod issue;
pub(crate) mod plain_plan;
