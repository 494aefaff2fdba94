//! Runs the program as a user does.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The output of the program and its exit status.
pub(crate) struct ProgramOutput {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `probity` with these arguments.
pub(crate) fn probity<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> ProgramOutput {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    ProgramOutput {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Lints a case file with this text. The folder of the file is left out of the output.
#[allow(dead_code, reason = "not every test file lints")]
pub(crate) fn lint_text(text: &str) -> ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "case.yaml", text);
    let mut said = probity(&["lint", path.to_str().unwrap()]);
    said.err = said.err.replace(&format!("{}/", folder.path().display()), "");
    said
}

/// Writes a file into a folder.
#[allow(dead_code, reason = "not every test file writes files")]
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
