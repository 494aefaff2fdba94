//! Faults of the kubelet's own process: it is stopped and continued, starved, killed.

use serde::{Deserialize, Serialize};

/// A fault of the kubelet's process. It strikes everything on the node, so no other run may share the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ProcessFault {}

/// Serves until it fails.
///
/// # Errors
///
/// When the kubelet's process cannot be found.
pub async fn serve(_board: crate::board::Board) -> std::io::Result<()> {
    std::future::pending().await
}
