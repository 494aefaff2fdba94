//! `probity reproduce`: a case from a pasted manifest, and the text of an issue with its result.

pub(crate) mod case_file;
pub(crate) mod issue;
pub(crate) mod plain_plan;
