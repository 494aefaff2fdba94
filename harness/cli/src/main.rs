//! The program `probity`, as far as it makes and compares reports.

mod files;

mod commands {
    pub(crate) mod diff;
    pub(crate) mod report;
}

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use probity_model::run_log::Suite;

/// What can be done.
#[derive(Debug, Parser)]
#[command(name = "probity", version)]
enum Verb {
    Report(commands::report::ReportArgs),
    Diff(commands::diff::DiffArgs),
}

fn main() -> ExitCode {
    let done = match Verb::parse() {
        Verb::Report(args) => {
            probity_suites::registry().map_err(files::Trouble::failed).and_then(|registry| {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let suite = Suite { name: "probity".to_owned(), version, ..Suite::default() };
                commands::report::run(&args, &registry, &suite, &files::Github::of_environment())
            })
        }
        Verb::Diff(args) => commands::diff::run(&args),
    };
    let (exit, text) = match done {
        Ok(done) => done,
        Err(trouble) => (trouble.exit, format!("probity: {trouble}\n")),
    };
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_ok() { ExitCode::from(exit.code()) } else { ExitCode::FAILURE }
}
