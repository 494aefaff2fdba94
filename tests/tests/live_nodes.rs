//! The harness on a real cluster of two nodes, one of which it disconnects.
//!
//! These need the second cluster that `ci/live` creates, and run one after another.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use probity_tests::cluster::{Cluster, signal};
use serde_json::Value;

/// The command that runs the case that cuts off the network of a node.
fn lose_a_node(cluster: &Cluster, out: &Path) -> Command {
    let verbs = format!("{} node", cluster.root().join("ci/cluster").display());
    cluster.run(out, &["--profile", "cluster", "--node-command", &verbs, "pod_phase/node-loss"])
}

/// Whether all nodes are Ready, and their status.
fn status(cluster: &Cluster) -> Output {
    Command::new(cluster.root().join("ci/cluster")).arg("status").output().unwrap()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn what_a_cluster_does_with_the_pods_of_a_lost_node_is_judged() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = lose_a_node(&cluster, &out).output().unwrap();
    let report: Value =
        serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap_or_default()).unwrap();
    let of = |id: &str| {
        let clauses = report["clauses"].as_array().unwrap();
        clauses.iter().find(|clause| clause["id"] == id).unwrap()["verdict"].clone()
    };
    let violated: Vec<&Value> = report["clauses"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|clause| clause["verdict"] == "violated")
        .collect();
    assert!(violated.is_empty(), "{violated:?}");
    assert_eq!(of("pod.lifecycle.node-failure-deletes"), "holds", "{}", words(&output));
    assert_eq!(of("pod.lifecycle.never-started-on-dead-node"), "holds", "{}", words(&output));
    assert_eq!(of("pod.phase.unknown"), "diverges", "{}", words(&output));
    assert_eq!(of("pod.phase.node-loss-failed"), "diverges", "{}", words(&output));
    let nodes = status(&cluster);
    assert!(nodes.status.success(), "{}", words(&nodes));
    assert_eq!(cluster.remains(), Vec::<String>::new());
}

/// Sends a signal to a run that has just lost a node, and waits until the run ends.
fn ends_by(sent: Signal, cluster: &Cluster, out: &Path) -> ExitStatus {
    let mut command = lose_a_node(cluster, out);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while status(cluster).status.success() {
        assert!(began.elapsed() < Duration::from_secs(150), "no node was lost");
        std::thread::sleep(Duration::from_secs(1));
    }
    signal(&child, sent);
    child.wait().unwrap()
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn an_interrupt_brings_a_lost_node_back() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let ended = ends_by(Signal::SIGINT, &cluster, &folder.path().join("run"));
    assert_eq!(ended.code(), Some(5), "interrupted");
    let nodes = status(&cluster);
    assert!(nodes.status.success(), "{}", words(&nodes));
    assert_eq!(cluster.remains(), Vec::<String>::new());
}
