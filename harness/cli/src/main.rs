//! The program `probity` tests whether a cluster keeps the promises of Kubernetes about probes and pods.
//!
//! This file reads a command line, hands it to its verb in `commands`, and reports a failure on standard error.
//! `pipeline` implements a run; `exit_status` documents the exit statuses.

mod arguments;
mod cases;
mod clause_facts;
mod clause_pages;
mod commands;
mod comparisons;
mod exit_status;
mod input_files;
mod markdown;
mod output;
mod output_folder;
mod pipeline;
mod provenance;
mod report_files;
mod reproductions;
mod run_folder;
mod trials;
mod verdicts;
mod verifying;

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

use arguments::{BookArgs, CommandLine, Verb};
use exit_status::{Exit, Failure};

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|word| word == "book") {
        return ended("book", commands::book::run(&BookArgs::parse_from(env::args_os().skip(1))));
    }
    let matches = called_as(env::args_os().next().as_deref()).get_matches();
    let verb = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).verb;
    let done = match verb {
        Verb::Run(args) => commands::run::run(&args),
        Verb::Try(args) => commands::try_pod::run(&args),
        Verb::Reproduce(args) => commands::reproduce::run(&args),
        Verb::List(args) => commands::list::run(&args),
        Verb::Explain(args) => commands::explain::run(&args),
        Verb::Lint(args) => commands::lint::run(&args),
        Verb::Judge(args) => commands::judge::run(&args),
        Verb::Report(args) => commands::report::run(&args),
        Verb::Verify(args) => commands::verify::run(&args),
        Verb::Merge(args) => commands::merge::run(&args),
        Verb::Diff(args) => commands::diff::run(&args),
        Verb::Matrix(args) => commands::matrix::run(&args),
        Verb::Image(args) => commands::image::run(&args),
        Verb::Manifest(args) => commands::manifest::run(&args),
        Verb::Fetch(args) => commands::fetch::run(&args),
        Verb::Rbac(args) => commands::rbac::run(&args),
        Verb::Gc(args) => commands::gc::run(&args),
        Verb::Schema(args) => commands::schema::run(args),
        Verb::Completions(args) => commands::completions::run(args),
        Verb::Manual(args) => commands::manual::run(&args),
    };
    ended(matches.subcommand_name().unwrap_or_default(), done)
}

/// The exit status of a command. If it failed, also reports why.
fn ended(name: &str, done: Result<Exit, Failure>) -> ExitCode {
    match done {
        Ok(exit) => exit.code().into(),
        Err(failure) => {
            output::err(&format!("probity {name}: {failure}\n"));
            failure.exit.code().into()
        }
    }
}

/// The command line under the name that the user typed. kubectl runs a plugin as `kubectl-probity`.
fn called_as(program: Option<&OsStr>) -> Command {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or_default();
    let command = CommandLine::command();
    if name == "kubectl-probity" { command.bin_name("kubectl probity") } else { command }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_shows_the_name_that_was_typed() {
        for (program, usage) in [
            ("/usr/bin/probity", "Usage: probity <COMMAND>"),
            ("/root/.krew/bin/kubectl-probity", "Usage: kubectl probity <COMMAND>"),
        ] {
            let said = called_as(Some(OsStr::new(program)))
                .try_get_matches_from([program, "--help"])
                .map_or_else(|help| help.to_string(), |_| String::new());
            assert!(said.contains(usage), "{said}");
        }
    }
}
