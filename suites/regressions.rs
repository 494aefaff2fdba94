//! Cases that reproduce publicly reported bugs, one case for each bug. Users run them by name.
//!
//! These cases belong to no chapter. Each case states what it expects, as in a user's own reproduction, and a run
//! includes a case only if its profile or its name is requested. `docs/regressions.md` is generated from these cases.

use include_dir::{Dir, include_dir};
use probity_script::problem::Problem;

use crate::{CaseFile, case_files};

static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/regressions");

/// The cases, in the order of their files.
///
/// # Errors
///
/// If a file is not a valid case, which cannot happen in a build that passes its tests.
pub fn regressions() -> Result<Vec<CaseFile>, Box<Problem>> {
    case_files(&FOLDER, "regressions")
}

#[cfg(test)]
mod tests;
