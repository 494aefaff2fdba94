//! The command line of agnhost-rs: agnhost's commands, and `pause` when none is given.

use std::process::ExitCode;

use agnhost_rs::dropin::{Dropin, KlogFlags};
use clap::Parser;

#[derive(Parser)]
#[command(name = "agnhost-rs", version, args_override_self = true)]
struct CommandLine {
    #[command(flatten)]
    klog: KlogFlags,
    #[command(subcommand)]
    command: Option<Dropin>,
}

fn main() -> ExitCode {
    CommandLine::parse().command.unwrap_or(Dropin::Pause).run()
}
