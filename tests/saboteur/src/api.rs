//! The proxy between kubelet and API server.

pub mod alter;
pub mod fault;
pub mod merge;
pub mod route;

use crate::board::Board;

/// Where the proxy listens and what it forwards to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ApiOptions {}

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen.
pub async fn serve(_options: ApiOptions, _board: Board) -> std::io::Result<()> {
    std::future::pending().await
}
