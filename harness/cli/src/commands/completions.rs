//! `probity completions`: what a shell needs to complete our command line.

use clap::CommandFactory;

use crate::args::{CommandLine, CompletionsArgs};
use crate::exit::{Exit, Failure};
use crate::say;

/// Prints the completions of a shell.
pub(crate) fn run(args: CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "probity", &mut script);
    say::out(&String::from_utf8_lossy(&script))
}
