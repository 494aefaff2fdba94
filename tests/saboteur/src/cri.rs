//! The proxy between kubelet and container runtime.

pub mod fault;

use std::path::PathBuf;

use crate::board::Board;

/// Where the proxy listens and what it forwards to.
#[derive(Clone, Debug, clap::Args)]
pub struct CriOptions {
    /// Listen here for the kubelet.
    #[arg(long, default_value = "/run/saboteur/cri.sock")]
    pub cri_listen: PathBuf,
    /// Forward to this socket of the container runtime.
    #[arg(long, default_value = "/run/containerd/containerd.sock")]
    pub cri_forward: PathBuf,
}

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen.
pub async fn serve(_options: CriOptions, _board: Board) -> std::io::Result<()> {
    std::future::pending().await
}
