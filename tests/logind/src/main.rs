//! The program `logind`: stands in for systemd's login manager on a node, or asks the one that serves there to announce a
//! shutdown. The machine never shuts down.
//!
//! A kubelet that shuts its node down gracefully needs the login manager of systemd, which a node of `ci/cluster` does not
//! have: it takes a lock that delays shutdowns, and waits for the signal that a shutdown begins.

mod bus;
mod manager;
mod shutdown;

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

/// How long the program that serves may take for an answer. An announcement waits for a lock first.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Stands in for systemd's login manager, without ever shutting anything down.
#[derive(Parser)]
struct Arguments {
    /// The socket of the bus. A kubelet finds it with the variable DBUS_SYSTEM_BUS_ADDRESS=unix:path=SOCKET.
    #[arg(long, global = true, default_value = "/run/logind/bus.sock")]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve on the socket until killed.
    Serve,
    /// Announce a shutdown as soon as something holds a lock that delays it, at the latest after 20 s. Prints whether
    /// something does.
    Announce,
    /// Cancel the announced shutdown. Prints how long after the announcement the last lock was released.
    Cancel,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Arguments { socket, command } = Arguments::parse();
    let done = match command {
        Command::Serve => bus::serve(&socket).await,
        Command::Announce => ask(&socket, "Announce").await,
        Command::Cancel => ask(&socket, "Cancel").await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "logind: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Calls a method of the program that serves, and prints the answer as JSON.
async fn ask(socket: &Path, method: &str) -> Result<(), Box<dyn Error>> {
    let asked = async {
        let connection = bus::connect(socket).await?;
        let to = (None::<&str>, manager::PATH, Some(manager::CONTROL));
        let answer = connection.call_method(to.0, to.1, to.2, method, &()).await?;
        answer.body().deserialize::<(bool, i64)>()
    };
    let socket = socket.display();
    let answer = tokio::time::timeout(ANSWER_WITHIN, asked).await;
    let (delayed, released_after_us) = answer
        .map_err(|_| format!("no answer on {socket} within {} s", ANSWER_WITHIN.as_secs()))?
        .map_err(|error| format!("cannot ask on {socket}: {error}"))?;
    let released: Option<i64> = Some(released_after_us).filter(|after| *after >= 0);
    let told: Value = match method {
        "Announce" => json!({ "delayed": delayed }),
        _ => json!({ "delayed": delayed, "releasedAfterUs": released }),
    };
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}
