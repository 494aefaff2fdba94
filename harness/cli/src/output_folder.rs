//! The folders to which a command line tells a command to write. They are checked before anything else is done, so that no
//! work on a cluster is lost because its results cannot be stored.

use std::path::Path;

use crate::exit_status::Failure;
use crate::run_folder::LOG;

/// Fails if the folder cannot be created because something else has its name, or the name of a folder above it. `argument`
/// is the flag, such as `--out`, or the name of a positional argument.
pub(crate) fn check(argument: &str, folder: &Path) -> Result<(), Failure> {
    // A broken link counts as existing: a folder cannot be created in its place.
    let existing = folder.ancestors().find(|path| path.symlink_metadata().is_ok());
    let Some(other) = existing.filter(|path| !path.is_dir()) else { return Ok(()) };
    let other = if other == folder { "this".to_owned() } else { other.display().to_string() };
    Err(refused(argument, folder, &format!("{other} is not a folder")))
}

/// Like [`check`], for the folder of a new run.
pub(crate) fn check_for_run(argument: &str, folder: &Path) -> Result<(), Failure> {
    check(argument, folder)?;
    if folder.join(LOG).exists() {
        return Err(refused(argument, folder, "it already contains a run"));
    }
    Ok(())
}

fn refused(argument: &str, folder: &Path, why: &str) -> Failure {
    let flag = if argument.starts_with('-') { format!("{argument} ") } else { String::new() };
    Failure::wrong_use(format!("{flag}{}: {why}; choose another {argument}", folder.display()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_created_is_refused_and_any_other_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let said = |path: &Path| check("--out", path).err().map(|failure| failure.to_string());
        let shown = file.display();
        assert_eq!(said(&file), Some(format!("--out {shown}: this is not a folder; choose another --out")));
        let below = format!("--out {shown}/a/b: {shown} is not a folder; choose another --out");
        assert_eq!(said(&file.join("a/b")), Some(below));
        for path in [folder.path(), &folder.path().join("new/folder"), Path::new("no-such-folder/new")] {
            assert_eq!(said(path), None, "{}", path.display());
        }
    }

    #[test]
    fn a_second_run_in_one_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_for_run("--out", folder.path()).is_ok());
        fs::write(folder.path().join(LOG), "").unwrap();
        let said = check_for_run("--out", folder.path()).unwrap_err().to_string();
        assert!(said.ends_with("it already contains a run; choose another --out"), "{said}");
    }
}
