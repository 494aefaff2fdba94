//! The program `probity`: what Kubernetes promises of probes and pods, tested on a cluster.
//!
//! Here a command line is read and handed to its verb, and a failure is told on standard error. Each verb has a file in
//! `commands`; what the exit status means is written in `exit` and nowhere else.

mod args;
mod book;
mod commands;
mod desk;
mod english;
mod exit;
mod facts;
mod front;
mod hints;
mod live;
mod pods;
mod say;
mod select;
mod stored;
mod verdicts;

use std::process::ExitCode;

use clap::Parser;

use args::{CommandLine, Verb};

fn main() -> ExitCode {
    let verb = CommandLine::parse().verb;
    let name = verb.name();
    let done = match verb {
        Verb::List(args) => commands::list::run(&args),
        Verb::Explain(args) => commands::explain::run(&args),
        Verb::Lint(args) => commands::lint::run(&args),
        Verb::Judge(args) => commands::judge::run(&args),
        Verb::Schema(args) => commands::schema::run(args),
        Verb::Completions(args) => commands::completions::run(args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say::err(&format!("probity {name}: {failure}\n"));
            failure.exit.into()
        }
    }
}
