//! The program `probity`: what Kubernetes promises about probes and pods, tested on a cluster.
//!
//! This file reads a command line, hands it to its verb in `commands`, and reports a failure on standard error. How a run
//! goes is in `pipeline`; what the exit statuses mean is in `exit_status`.

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
mod pipeline;
mod provenance;
mod report_files;
mod reproductions;
mod run_folder;
mod trials;
mod verdicts;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::{CommandLine, Verb};

fn main() -> ExitCode {
    let matches = CommandLine::command().get_matches();
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
        Verb::Merge(args) => commands::merge::run(&args),
        Verb::Diff(args) => commands::diff::run(&args),
        Verb::Matrix(args) => commands::matrix::run(&args),
        Verb::Image(args) => commands::image::run(&args),
        Verb::Manifest(args) => commands::manifest::run(&args),
        Verb::Fetch(args) => commands::fetch::run(&args),
        Verb::Rbac(args) => commands::rbac::run(&args),
        Verb::Gc(args) => commands::gc::run(&args),
        Verb::Book(args) => commands::book::run(&args),
        Verb::Schema(args) => commands::schema::run(args),
        Verb::Completions(args) => commands::completions::run(args),
    };
    match done {
        Ok(exit) => exit.code().into(),
        Err(failure) => {
            let name = matches.subcommand_name().unwrap_or_default();
            output::err(&format!("probity {name}: {failure}\n"));
            failure.exit.code().into()
        }
    }
}
