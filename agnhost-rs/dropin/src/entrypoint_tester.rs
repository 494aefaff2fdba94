//! `entrypoint-tester`: prints all arguments of the process, with its own name first, and exits.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

/// Arguments of `entrypoint-tester`: anything.
#[derive(Args, Debug)]
pub struct EntrypointTesterFlags {
    /// What to print
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<std::ffi::OsString>,
}

/// Prints `[name entrypoint-tester argument …]`.
pub(super) fn run(_: &EntrypointTesterFlags) -> ExitCode {
    let all: Vec<_> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    match writeln!(io::stdout().lock(), "[{}]", all.join(" ")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
