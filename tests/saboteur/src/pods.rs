//! The proxy between kubelet and pods.

pub mod fault;
pub mod probes;

use crate::board::Board;

/// Where the proxy listens and what it forwards to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PodsOptions {}

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen.
pub async fn serve(_options: PodsOptions, _board: Board) -> std::io::Result<()> {
    std::future::pending().await
}
