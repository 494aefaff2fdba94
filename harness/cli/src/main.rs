//! The program `probity`: what Kubernetes promises of probes and pods, tested on a cluster.
//!
//! Here a command line is read and handed to its verb, and a failure is told on standard error. Each verb has a file in
//! `commands`; what the exit status means is written in `exit` and nowhere else.

mod args;
mod book;
mod commands;
mod desk;
mod dossier;
mod english;
mod exit;
mod facts;
mod files;
mod found;
mod front;
mod hints;
mod live;
mod manifests;
mod pages;
mod pods;
mod refusal;
mod roster;
mod say;
mod select;
mod signals;
mod stored;
mod summary;
mod trial_report;
mod verdicts;

use std::process::ExitCode;

use clap::Parser;

use args::{CommandLine, SuiteArgs, Verb};
use book::Book;
use commands::report::ReportArgs;
use exit::{Exit, Failure};
use files::Github;

fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let book = Book::open(&SuiteArgs::default())?;
    let done = commands::report::run(args, &book.registry, &facts::suite(&book), &Github::of_environment())?;
    said(done)
}

/// What a verb has to say, and how it ends.
fn said((exit, text): (Exit, String)) -> Result<Exit, Failure> {
    say::out(&text)?;
    Ok(exit)
}

fn main() -> ExitCode {
    let verb = CommandLine::parse().verb;
    let name = verb.name();
    let done = match verb {
        Verb::Run(args) => commands::run::run(&args),
        Verb::Try(args) => commands::try_pod::run(&args),
        Verb::List(args) => commands::list::run(&args),
        Verb::Explain(args) => commands::explain::run(&args),
        Verb::Lint(args) => commands::lint::run(&args),
        Verb::Judge(args) => commands::judge::run(&args),
        Verb::Report(args) => report(&args),
        Verb::Diff(args) => commands::diff::run(&args).map_err(Failure::from).and_then(said),
        Verb::Image(args) => commands::image::run(&args),
        Verb::Rbac(args) => commands::rbac::run(&args),
        Verb::Gc(args) => commands::gc::run(&args),
        Verb::Book(args) => commands::book::run(&args),
        Verb::Schema(args) => commands::schema::run(args),
        Verb::Completions(args) => commands::completions::run(args),
    };
    match done {
        Ok(exit) => exit.code().into(),
        Err(failure) => {
            say::err(&format!("probity {name}: {failure}\n"));
            failure.exit.code().into()
        }
    }
}
