//! Nodes that a step took away, and the command that brings them back.
//!
//! A run that is killed cannot bring a node back. So before it takes one away, it writes down in its namespace which one,
//! and with which verb it comes back; `gc` does the rest.

use std::process::{ExitStatus, Stdio};

use probity_case::manifest::RUN;
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// The label of the objects that record a node which a step took away.
pub(crate) const AWAY: &str = "probity.dev/away";

/// Why a command did not do what it was asked to do to a node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeCommandError {
    /// There is none.
    #[error("there is no command that acts on nodes: give one with --node-command")]
    Missing,
    /// It could not be run.
    #[error("failed to run `{program}`: {error}")]
    Unusable {
        /// The program.
        program: String,
        /// What the system says.
        error: std::io::Error,
    },
}

/// Runs the user's command with the verb and the node as its last two arguments, followed by the UID of a pod if the verb
/// concerns one.
pub(crate) async fn act(
    command: Option<&[String]>,
    (verb, node): (&str, &str),
    pod: Option<&str>,
) -> Result<ExitStatus, NodeCommandError> {
    let (program, arguments) = command.and_then(<[String]>::split_first).ok_or(NodeCommandError::Missing)?;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).args([verb, node]).args(pod).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.kill_on_drop(true).status().await;
    status.map_err(|error| NodeCommandError::Unusable { program: program.clone(), error })
}

fn object_name(node: &str) -> String {
    format!("probity-away-{node}")
}

/// Writes down that a node is about to be taken away, and the verb that brings it back. A node may be taken away again.
pub(crate) async fn record(
    cluster: &ClusterClient,
    namespace: &str,
    run: &str,
    (node, verb): (&str, &str),
) -> Result<(), ClusterError> {
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": object_name(node),
            "labels": { RUN: run, AWAY: "true", "app.kubernetes.io/managed-by": "probity" },
        },
        "data": { "node": node, "verb": verb },
    });
    match cluster.create(namespace, &manifest, false).await {
        Err(error) if error.code() != 409 => Err(error),
        _ => Ok(()),
    }
}

/// The node is back.
pub(crate) async fn erase(cluster: &ClusterClient, namespace: &str, node: &str) -> Result<(), ClusterError> {
    match cluster.delete(namespace, "ConfigMap", &object_name(node), None).await {
        Err(error) if error.code() != 404 => Err(error),
        _ => Ok(()),
    }
}

/// Whether an object records a node that is away.
pub(super) fn is_record(object: &Value) -> bool {
    object["metadata"]["labels"][AWAY] == "true"
}

/// Brings the node of a record back. Returns its name and verb in words, and how that went.
pub(super) async fn bring_back(record: &Value, command: Option<&[String]>) -> (String, Result<(), String>) {
    let (node, verb) = (record.text("/data/node"), record.text("/data/verb"));
    let done = match act(command, (verb, node), None).await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(error) => Err(error.to_string()),
    };
    (format!("the record of node {node}, which a run took away and `{verb}` brings back"), done)
}
