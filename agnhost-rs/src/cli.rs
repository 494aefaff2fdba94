//! The command line: this program's own commands, agnhost's commands, and `pause` by default.
//!
//! This module parses the flags and reports all errors in them. It does not bind or start anything. `main` executes the
//! command.

use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use agnhost_dropin::{Dropin, KlogFlags};
use clap::{Args, Parser, Subcommand, ValueEnum};
use probity_script::{Plan, schema};

use crate::bind::{BACKLOG, bind};
use crate::exec::ExecArgs;
use crate::lifecycle::{CaughtSignal, ChildArgs, DumpArgs, TrialArgs};
use crate::plan_source::{PlanError, PlanSource};
use crate::plan_summary;
use crate::recorder::RecorderArgs;
use crate::token::Token;

/// The exit status for errors that the user can fix.
pub const WRONG_USE: u8 = 2;

const STATUSES: &str = "Exit statuses:
    0  success, or exit after a stop signal
    1  a failure that no flag can fix
    2  invalid flags, an invalid plan, or an unavailable address
   78  an environment variable that the plan requires is missing
  125  exec: there is no serving process in this container
  126  exec: the plan does not have this command
A plan can define other exit statuses. The replacements for agnhost's commands exit as agnhost does.";

/// A server that misbehaves on schedule and records what it observes
#[derive(Debug, Parser)]
#[command(name = "agnhost-rs", version, args_override_self = true, after_help = STATUSES)]
pub struct CommandLine {
    #[command(flatten)]
    klog: KlogFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

impl CommandLine {
    /// The command; `pause` by default, as a sandbox image requires.
    #[must_use]
    pub fn chosen(self) -> Command {
        self.command.unwrap_or(Command::Dropin(Dropin::Pause))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answers requests as a plan defines, and records what it observes
    Serve(ServeArgs),
    /// Prints the JSON Schema of a document
    Schema(SchemaArgs),
    /// Receives the witness lines of all targets, and offers them as one stream
    Recorder(RecorderArgs),
    /// Acts as the command of a probe or a hook, as defined by NAME under the plan's `exec` or by the flags
    Exec(ExecArgs),
    /// Runs as a child process of the server, as configured in the plan's `children`
    Child(ChildArgs),
    /// Prints what a process sees from inside the container
    Dump(DumpArgs),
    /// Tries something that a limit should prevent, and reports the result
    Trial(TrialArgs),
    /// One of agnhost's commands
    #[command(flatten)]
    Dropin(Dropin),
}

/// Prints the JSON Schema of a document
#[derive(Args, Clone, Copy, Debug)]
pub struct SchemaArgs {
    /// The document whose schema to print
    document: Document,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// The plan that `serve` reads
    Plan,
    /// The change that `POST /v1/change` of the control port reads
    Change,
    /// A witness line that `serve` writes
    Witness,
}

impl SchemaArgs {
    /// The schema, as indented JSON.
    #[must_use]
    pub fn text(self) -> String {
        let schema = match self.document {
            Document::Plan => schema::plan(),
            Document::Change => schema::change(),
            Document::Witness => schema::witness(),
        };
        format!("{:#}", schema.as_value())
    }

    /// Prints it.
    #[must_use]
    pub fn run(self) -> ExitCode {
        print(&[self.text()])
    }
}

/// Serves a plan
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// The file that holds the plan, in YAML or JSON; - is standard input
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// The plan itself [env: AGNHOST_PLAN, if no flag names a plan]
    #[arg(long, value_name = "TEXT")]
    plan_inline: Option<String>,
    /// A folder that survives restarts of the container, for a journal of witness lines and the count of attempts
    #[arg(long, env = "AGNHOST_JOURNAL", value_name = "DIR")]
    journal: Option<PathBuf>,
    /// A recorder that also receives the witness lines
    #[arg(long, env = "AGNHOST_RECORDER", value_name = "HOST:PORT", value_parser = recorder_address)]
    recorder: Option<String>,
    /// The control port; without an address, it listens on all addresses
    #[arg(long, env = "AGNHOST_CONTROL", value_name = "[ADDRESS:]PORT")]
    control: Option<ControlAddress>,
    /// The token that every control request must contain, and that the recorder requires
    #[arg(long, env = "AGNHOST_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
    /// A signal to use as a stop signal, instead of SIGTERM and SIGINT; may be repeated
    #[arg(long, env = "AGNHOST_STOP_SIGNAL", value_name = "SIGNAL", value_delimiter = ',')]
    stop_signal: Vec<CaughtSignal>,
    /// Record when all processors of the node are busy; one target on each node is enough
    #[arg(long, env = "AGNHOST_WATCH_NODE")]
    watch_node: bool,
    /// Write no witness lines to standard output
    #[arg(long)]
    quiet: bool,
    /// Only check the plan: print a summary, one line for each listener and script
    #[arg(long)]
    check: bool,
}

/// The validated arguments of `serve`.
#[derive(Debug)]
pub struct ServeOrder {
    /// The plan.
    pub plan: Plan,
    /// Where the journal and the count of attempts are kept.
    pub journal: Option<PathBuf>,
    /// The recorder's address, `host:port`, and its token.
    pub recorder: Option<(String, Token)>,
    /// The control port and its token.
    pub control: Option<(ControlAddress, Token)>,
    /// The stop signals. If the list is empty, the default signals apply.
    pub stop_signals: Vec<CaughtSignal>,
    /// Whether to record when the node is saturated.
    pub watch_node: bool,
    /// Whether to write no witness lines to standard output.
    pub quiet: bool,
}

/// Why `serve` does not start. All of these end with status 2.
#[derive(Debug, thiserror::Error)]
pub enum ServeRefusal {
    /// There is no usable plan.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// The control port would be open to all, or the recorder would close the connection.
    #[error(
        "{of} needs a token: set AGNHOST_TOKEN or --token (printable ASCII, no spaces), or omit {option}"
    )]
    Token {
        /// What needs the token.
        of: &'static str,
        /// The option that requires it.
        option: &'static str,
    },
}

impl ServeRefusal {
    /// Prints it on standard error. Returns the exit status.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        // If this cannot be printed, the exit status still shows the failure.
        let _ = writeln!(io::stderr().lock(), "agnhost-rs serve: {self}");
        ExitCode::from(WRONG_USE)
    }
}

impl ServeArgs {
    /// Reads the plan and checks everything that can be checked without binding anything.
    /// `environment` is the text of AGNHOST_PLAN: see [`crate::plan_source::environment`].
    ///
    /// # Errors
    ///
    /// If there is no plan, the plan is invalid, or the control port or the recorder has no token.
    pub fn order(self, environment: Option<String>) -> Result<ServeOrder, ServeRefusal> {
        let plan = PlanSource::choose(self.plan, self.plan_inline, environment)?.read()?;
        let token = self.token.as_deref().and_then(|text| Token::new(text).ok());
        let for_use = |of, option| token.clone().ok_or(ServeRefusal::Token { of, option });
        let control = match self.control {
            Some(address) => Some((address, for_use("the control port", "--control")?)),
            None => None,
        };
        let recorder = match self.recorder {
            Some(address) => Some((address, for_use("the recorder", "--recorder")?)),
            None => None,
        };
        let Self { journal, stop_signal: stop_signals, watch_node, quiet, .. } = self;
        Ok(ServeOrder { plan, journal, recorder, control, stop_signals, watch_node, quiet })
    }

    /// Runs `serve`: with `--check` prints a summary of the plan, or else starts the server.
    pub fn run(self, serve: impl FnOnce(ServeOrder) -> ExitCode) -> ExitCode {
        let only_check = self.check;
        let order =
            crate::plan_source::environment().map_err(ServeRefusal::from).and_then(|text| self.order(text));
        match order {
            Ok(order) if only_check => print(&plan_summary::lines(&order.plan)),
            Ok(order) => serve(order),
            Err(refusal) => refusal.report(),
        }
    }
}

fn print(lines: &[String]) -> ExitCode {
    let mut out = io::stdout().lock();
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where the control port listens: an address and a port, or a port of all addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlAddress {
    address: Option<IpAddr>,
    port: u16,
}

impl ControlAddress {
    /// Opens the port. Without an address it serves both families, or only IPv4 on a node without IPv6.
    ///
    /// # Errors
    ///
    /// If the port cannot be bound.
    pub fn bind(self) -> io::Result<TcpListener> {
        bind(self.address, self.port, BACKLOG).map(Into::into)
    }
}

impl FromStr for ControlAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not [ADDRESS:]PORT, such as 9000, 127.0.0.1:9000 or [::1]:9000");
        if let Ok(port) = text.trim_start_matches(':').parse() {
            return Ok(Self { address: None, port });
        }
        let address: std::net::SocketAddr = text.parse().map_err(|_| wrong())?;
        Ok(Self { address: Some(address.ip()), port: address.port() })
    }
}

impl fmt::Display for ControlAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{}", std::net::SocketAddr::new(address, self.port)),
            None => write!(f, "{}", self.port),
        }
    }
}

/// Checks the form of a recorder's address: host and port. Whether the recorder exists is only known later.
fn recorder_address(text: &str) -> Result<String, String> {
    let fits =
        text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if fits { Ok(text.to_owned()) } else { Err("write it as HOST:PORT, such as recorder:7070".to_owned()) }
}

#[cfg(test)]
#[path = "cli/tests.rs"]
mod tests;
