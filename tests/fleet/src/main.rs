//! Fake nodes on a real API server: see docs/fleet.md for what they do and what they leave out.
//!
//! One process plays the kubelets of all fake nodes, and the metronomes on them. It registers the nodes and renews their
//! leases, reports the pods on them as started and ready, answers port-forwards with the clock of this machine, and
//! sends the recorder the lines that the metronomes of an idle node send. It starts no container.

mod api;
mod kubelet;
mod node;
mod pod;
mod pods;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use crate::api::Api;

/// Plays the kubelets of many nodes until it is killed. The nodes remain; delete them by their label.
#[derive(Parser)]
struct Arguments {
    /// The kubeconfig of an administrator
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The number of nodes
    #[arg(long)]
    nodes: usize,
    /// The address at which the API server reaches this process, and the port to listen on
    #[arg(long)]
    address: std::net::SocketAddr,
    /// The certificate to show the API server
    #[arg(long)]
    certificate: PathBuf,
    /// Its key
    #[arg(long)]
    key: PathBuf,
    /// Do not send the lines of metronomes to the recorder
    #[arg(long)]
    no_lines: bool,
}

/// What every part of this program may fail with.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
#[expect(clippy::print_stderr, reason = "it is a program for a script")]
async fn main() -> ExitCode {
    match play(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fake-nodes: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn play(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { kubeconfig, nodes, address, certificate, key, no_lines } = arguments;
    let api = Arc::new(Api::connect(&kubeconfig).await?);
    let acceptor = kubelet::acceptor(&certificate, &key)?;
    let serving = tokio::spawn(kubelet::serve(address, acceptor));
    let watching = tokio::spawn(pods::play_all(Arc::clone(&api), address.ip().to_string(), !no_lines));
    let renewing = tokio::spawn(node::play_all(api, nodes, address));
    // None of them ends unless something is wrong.
    tokio::select! {
        ended = serving => ended?,
        ended = watching => ended?,
        ended = renewing => ended?,
    }
}
