//! `agnhost-rs`: a server that misbehaves on schedule and records what it observes.

use std::io::Write;
use std::process::ExitCode;

use agnhost_rs::cli::{Command, CommandLine, ServeOrder};
use agnhost_rs::clock::Clock;
use agnhost_rs::lifecycle::SignalQueue;
use agnhost_rs::{recorder, run};
use clap::Parser;

fn main() -> ExitCode {
    // This must be first: times are measured from here, and signals are kept from here on.
    let clock = Clock::start();
    let queue = match SignalQueue::open() {
        Ok(queue) => queue,
        Err(error) => return complain("failed to take over signal handling", &error, 1),
    };
    let command = CommandLine::parse().chosen();
    if let Command::Serve(args) = command {
        return args.run(|order| serve(order, clock, queue));
    }
    queue.release();
    match command {
        Command::Schema(args) => args.run(),
        Command::Recorder(args) => recorder::run(&args, clock),
        Command::Exec(args) => args.run(),
        Command::Child(args) => args.run(),
        Command::Dump(args) => args.run(),
        Command::Trial(args) => args.run(),
        Command::Dropin(dropin) => dropin.run(),
        Command::Serve(_) => ExitCode::FAILURE,
    }
}

fn serve(order: ServeOrder, clock: Clock, queue: SignalQueue) -> ExitCode {
    run::run(order, clock, queue).unwrap_or_else(|error| complain("serve", &error, error.status()))
}

fn complain(doing: &str, error: &dyn std::error::Error, status: u8) -> ExitCode {
    // If this cannot be printed, the exit status still shows the failure.
    let _ = writeln!(std::io::stderr().lock(), "agnhost-rs {doing}: {error}");
    ExitCode::from(status)
}
