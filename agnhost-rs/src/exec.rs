//! `agnhost-rs exec`: the command that a probe or a hook runs inside the container, in a new process each time.
//!
//! The command asks the serving process of its container what to do, does it, and reports its exit. If a command is
//! killed, its broken connection shows the time of the kill. In this way, the plan controls commands in the same way as
//! requests, and the witness has both in one order.
//!
//! Flags override the plan and do not need an entry in it. A command with only flags works without a server. A command
//! with a NAME needs a server. Without a server, the exit status is 125. If the plan does not have the NAME, the exit
//! status is 126.

mod command;
mod orders;
pub(crate) mod protocol;
mod run;
mod serve;

pub use orders::ExecFlags;
pub use serve::serve;

use std::process::ExitCode;

use clap::Args;

/// Acts as the command of a probe or a hook, as defined by NAME under the plan's `exec` or by the flags.
#[derive(Args, Clone, Debug)]
pub struct ExecArgs {
    /// The entry of the plan's `exec` to use; without it, only the flags apply
    name: Option<String>,
    #[command(flatten)]
    flags: ExecFlags,
    /// With --fork, let the child keep standard output and error open, as with `sleep 10 & exit 1` in a shell
    #[arg(long)]
    fork_keeps_output: bool,
    /// Any text, only recorded; includes the rest of the command line
    #[arg(long, num_args = 1.., allow_hyphen_values = true)]
    note: Vec<String>,
}

impl ExecArgs {
    /// Does what was requested, and exits with the requested status.
    #[must_use]
    pub fn run(self) -> ExitCode {
        run::run(self)
    }
}
