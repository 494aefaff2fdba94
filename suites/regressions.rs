//! Publicly reported bugs, one case for each, which a user runs by name.
//!
//! They belong to no chapter: each case states what it expects, as in a user's own reproduction, and a run includes them
//! only if their profile or their name is requested. `docs/regressions.md` is generated from them.

use include_dir::{Dir, include_dir};
use probity_case::Case;
use probity_script::problem::Problem;

use crate::CaseFile;

static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/regressions");

/// The cases, in the order of their files.
///
/// # Errors
///
/// If a file is not a valid case, which cannot happen in a build that passes its tests.
pub fn regressions() -> Result<Vec<CaseFile>, Box<Problem>> {
    let yaml = FOLDER.files().filter(|file| file.path().extension().is_some_and(|end| end == "yaml"));
    yaml.map(|file| {
        let source = format!("suites/regressions/{}", file.path().display());
        let text = file.contents_utf8().unwrap_or_default();
        let cases = Case::read(&source, text)?;
        Ok(CaseFile { source, text, cases })
    })
    .collect()
}

#[cfg(test)]
mod tests;
