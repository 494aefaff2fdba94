//! The program `saboteur`: serves on a node, or sends a request to the saboteur that serves there.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use probity_saboteur::{
    api::{self, ApiOptions, Client},
    board::Board,
    control::{self, Acknowledgement, Instruction},
    cri::{self, CriOptions},
    defect::Defect,
    keep,
    pods::{self, PodsOptions},
    process,
};

/// Makes a kubelet defective from outside.
#[derive(Parser)]
struct Arguments {
    /// The control socket.
    #[arg(long, global = true, default_value = control::SOCKET)]
    control: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct Proxies {
    #[command(flatten)]
    cri: CriOptions,
    #[command(flatten)]
    api: ApiOptions,
    #[command(flatten)]
    pods: PodsOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Stand between the kubelet of this node and its surroundings, until killed.
    Serve(Box<Proxies>),
    /// Stand between the controller manager and the API server, until killed.
    ServeControllers(Box<ApiOptions>),
    /// Run the kubelet, and restart it whenever it ends unexpectedly.
    Keep {
        /// The kubelet's command line.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// Run a command whose time of day is wrong.
    #[cfg(target_arch = "x86_64")]
    WithClock {
        /// How far its clock is ahead, in microseconds; negative if it is behind.
        #[arg(long, allow_hyphen_values = true)]
        ahead_us: i64,
        /// The command line.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// The process that `with-clock` traces until it becomes the command.
    #[cfg(target_arch = "x86_64")]
    #[command(hide = true)]
    Traced {
        /// The command line.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// Activate defects: YAML or JSON, one defect or a list, from a file or standard input.
    Set {
        /// The file; standard input if none is named.
        file: Option<PathBuf>,
    },
    /// Deactivate defects, and print how often they struck.
    Clear {
        /// The defect of this name.
        name: Option<String>,
        /// All defects of this namespace.
        #[arg(long, conflicts_with = "name")]
        namespace: Option<String>,
        /// All defects.
        #[arg(long, conflicts_with_all = ["name", "namespace"])]
        all: bool,
    },
    /// Print the active defects and how often they struck.
    List,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        // A tracer and the process that it traces have a single thread.
        #[cfg(target_arch = "x86_64")]
        Command::WithClock { ahead_us, command } => {
            process::clock::run(ahead_us, &command).unwrap_or_else(|error| failed(&error))
        }
        #[cfg(target_arch = "x86_64")]
        Command::Traced { command } => match process::clock::become_traced(&command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
        command => work(&arguments.control, command),
    }
}

fn failed(error: &io::Error) -> ExitCode {
    // If standard error is closed, there is nowhere left to report this.
    writeln!(io::stderr(), "saboteur: {error}").ok();
    ExitCode::FAILURE
}

#[tokio::main]
async fn work(control: &Path, command: Command) -> ExitCode {
    let done = match command {
        #[cfg(target_arch = "x86_64")]
        Command::WithClock { .. } | Command::Traced { .. } => Ok(()),
        Command::Serve(proxies) => serve(control, *proxies).await,
        Command::ServeControllers(api) => serve_controllers(control, *api).await,
        Command::Keep { command } => keep::keep(&command).await,
        Command::Set { file } => set(control, file.as_deref()).await,
        Command::Clear { name, namespace, all } => match (name, namespace, all) {
            (Some(name), _, _) => request(control, Instruction::Clear(name)).await,
            (_, Some(namespace), _) => request(control, Instruction::ClearNamespace(namespace)).await,
            (_, _, true) => request(control, Instruction::ClearAll).await,
            _ => Err(io::Error::other("give a name, --namespace or --all")),
        },
        Command::List => request(control, Instruction::List).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// If any part ends, the process ends: a node with half a saboteur would prove nothing.
async fn serve(control: &Path, Proxies { cri, api, pods }: Proxies) -> io::Result<()> {
    let board = Board::default();
    let part = |name: &'static str| move |error: io::Error| io::Error::other(format!("{name}: {error}"));
    tokio::select! {
        ended = control::serve(control, board.clone()) => ended.map_err(part("control socket")),
        ended = cri::serve(cri, board.clone()) => ended.map_err(part("CRI proxy")),
        ended = api::serve(api, board.clone(), Client::Kubelet) => ended.map_err(part("API proxy")),
        ended = pods::serve(pods, board.clone()) => ended.map_err(part("pods proxy")),
        ended = process::serve(board) => ended.map_err(part("process")),
    }
}

async fn serve_controllers(control: &Path, api: ApiOptions) -> io::Result<()> {
    let board = Board::default();
    tokio::select! {
        ended = control::serve(control, board.clone()) => ended,
        ended = api::serve(api, board, Client::Controllers) => ended,
    }
}

async fn set(control: &Path, file: Option<&Path>) -> io::Result<()> {
    let mut text = String::new();
    match file {
        Some(file) => text = std::fs::read_to_string(file)?,
        None => {
            io::stdin().read_to_string(&mut text)?;
        }
    }
    // A list is tried first. If the text is not a list, errors are reported for a single defect.
    let defects = match serde_saphyr::from_str::<Vec<Defect>>(&text) {
        Ok(defects) => defects,
        Err(_) if !text.trim_start().starts_with(['-', '[']) => {
            vec![serde_saphyr::from_str(&text).map_err(io::Error::other)?]
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    request(control, Instruction::Set(defects)).await
}

async fn request(control: &Path, request: Instruction) -> io::Result<()> {
    match control::ask(control, &request).await? {
        Acknowledgement::Refused(reason) => Err(io::Error::other(reason)),
        Acknowledgement::Counts(counts) => {
            let mut out = io::stdout().lock();
            for count in counts {
                serde_json::to_writer(&mut out, &count)?;
                writeln!(out)?;
            }
            Ok(())
        }
    }
}
