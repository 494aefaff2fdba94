//! The proxy between kubelet and pods: it takes over connections that the node itself opens to pod addresses.

pub mod fault;

use crate::board::Board;

/// How the packet filter is used.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PodsOptions {}

/// Serves until it fails.
///
/// # Errors
///
/// When the packet filter refuses.
pub async fn serve(_options: PodsOptions, _board: Board) -> std::io::Result<()> {
    std::future::pending().await
}
