//! `probity completions`: the completions of a shell.

use clap::CommandFactory;

use crate::arguments::{CommandLine, CompletionsArgs};
use crate::exit_status::{Exit, Failure};
use crate::output;

/// Prints the completions of a shell.
pub(crate) fn run(args: CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "probity", &mut script);
    output::out(&String::from_utf8_lossy(&script))
}
