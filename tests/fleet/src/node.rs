//! The nodes: each is registered once, and its lease is renewed as often as a kubelet renews it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Failure;
use crate::api::{Api, now, now_exactly};

/// The beginning of the names of fake nodes. A number follows it.
const PREFIX: &str = "fake-";
/// The label of fake nodes, by which a script deletes them.
const LABEL: &str = "probity.dev/fake-node";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/// A kubelet renews its lease this often, and the lease lasts four times as long.
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// Whether a node is played by this process.
pub(crate) fn is_fake(node: &str) -> bool {
    node.starts_with(PREFIX)
}

/// Registers this many nodes, and renews their leases forever.
#[expect(clippy::print_stderr, reason = "it is a program for a script")]
pub(crate) async fn play_all(api: Arc<Api>, nodes: usize, address: SocketAddr) -> Result<(), Failure> {
    let version = api.get("/version").await?["gitVersion"].as_str().unwrap_or_default().to_owned();
    for number in 0..nodes {
        let (api, name) = (Arc::clone(&api), format!("{PREFIX}{number:04}"));
        let object = node(&name, &version, address);
        tokio::spawn(async move {
            for (path, object) in [("/api/v1/nodes", object), (LEASES, lease(&name))] {
                if let Err(error) = api.create(path, &object).await {
                    eprintln!("fake-nodes: {name}: {error}");
                }
            }
            // Like kubelets that did not start at the same time.
            tokio::time::sleep(RENEW_EVERY.mul_f64(fastrand::f64())).await;
            loop {
                let _ = api.patch(&format!("{LEASES}/{name}"), &lease(&name)).await;
                tokio::time::sleep(RENEW_EVERY).await;
            }
        });
    }
    std::future::pending().await
}

fn lease(node: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": node, "namespace": "kube-node-lease" },
        "spec": { "holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now_exactly() },
    })
}

/// A node that is ready. Its taint makes the scheduler prefer a real node for a pod that may run anywhere, such as the
/// recorder.
fn node(name: &str, version: &str, address: SocketAddr) -> Value {
    let amounts = json!({ "cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110" });
    let condition = |kind: &str, status: &str| {
        let at = now();
        json!({
            "type": kind, "status": status, "reason": "Fake", "message": "played by fake-nodes",
            "lastHeartbeatTime": at, "lastTransitionTime": at,
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": {
            LABEL: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        } },
        "spec": { "taints": [{ "key": LABEL, "effect": "PreferNoSchedule" }] },
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [
                condition("MemoryPressure", "False"), condition("DiskPressure", "False"),
                condition("PIDPressure", "False"), condition("Ready", "True"),
            ],
            "addresses": [
                { "type": "InternalIP", "address": address.ip().to_string() },
                { "type": "Hostname", "address": name },
            ],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": address.port() } },
            "nodeInfo": {
                "machineID": name, "systemUUID": name, "bootID": name, "kernelVersion": "fake",
                "osImage": "fake", "containerRuntimeVersion": "fake://1", "kubeletVersion": version,
                "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}
