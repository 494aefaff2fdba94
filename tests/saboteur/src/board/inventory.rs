//! The identities on this node: pods by sandbox and address, and container instances by id. The proxies learn them by
//! observing the traffic.

use std::{collections::HashMap, net::IpAddr};

use crate::defect::{ContainerKind, Target};

/// A pod of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its address, once it has one.
    pub ip: Option<IpAddr>,
    /// The runtime's id of its sandbox.
    pub sandbox: String,
}

/// A container instance of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownContainer {
    /// The sandbox that it runs in.
    pub sandbox: String,
    /// Its name in the pod.
    pub name: String,
    /// How many instances there were before it.
    pub attempt: u32,
}

#[derive(Debug, Default)]
pub(super) struct Inventory {
    pods: HashMap<String, KnownPod>,
    sandboxes: HashMap<IpAddr, String>,
    containers: HashMap<String, KnownContainer>,
    kinds: HashMap<(String, String, String), ContainerKind>,
}

impl Inventory {
    pub(super) fn learn_pod(&mut self, mut pod: KnownPod) {
        if pod.ip.is_none() {
            pod.ip = self.pods.get(&pod.sandbox).and_then(|known| known.ip);
        }
        if let Some(ip) = pod.ip {
            self.sandboxes.insert(ip, pod.sandbox.clone());
        }
        self.pods.insert(pod.sandbox.clone(), pod);
    }

    pub(super) fn pods(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn learn_address(&mut self, sandbox: &str, ip: IpAddr) {
        if let Some(pod) = self.pods.get_mut(sandbox) {
            pod.ip = Some(ip);
            self.sandboxes.insert(ip, sandbox.to_owned());
        }
    }

    pub(super) fn learn_container(&mut self, id: &str, container: KnownContainer) {
        self.containers.insert(id.to_owned(), container);
    }

    pub(super) fn learn_kind(&mut self, namespace: &str, pod: &str, container: &str, kind: ContainerKind) {
        self.kinds.insert((namespace.to_owned(), pod.to_owned(), container.to_owned()), kind);
    }

    pub(super) fn forget_container(&mut self, id: &str) {
        self.containers.remove(id);
    }

    pub(super) fn forget_sandbox(&mut self, sandbox: &str) {
        let Some(pod) = self.pods.remove(sandbox) else { return };
        self.sandboxes.retain(|_, of| of != sandbox);
        // The pod may have a new sandbox in the meantime; then its kinds are still needed.
        if !self.pods.values().any(|other| other.uid == pod.uid) {
            self.kinds.retain(|(namespace, name, _), _| *namespace != pod.namespace || *name != pod.name);
        }
    }

    pub(super) fn pod_of_ip(&self, ip: IpAddr) -> Option<KnownPod> {
        self.pods.get(self.sandboxes.get(&ip)?).cloned()
    }

    pub(super) fn pod_of_sandbox(&self, sandbox: &str) -> Option<KnownPod> {
        self.pods.get(sandbox).cloned()
    }

    pub(super) fn container(&self, id: &str) -> Option<KnownContainer> {
        self.containers.get(id).cloned()
    }

    pub(super) fn target_of_container(&self, id: &str) -> Option<Target> {
        let container = self.containers.get(id)?;
        let pod = self.pods.get(&container.sandbox)?;
        Some(Target {
            kind: self.kind(&pod.namespace, &pod.name, &container.name),
            container: Some(container.name.clone()),
            attempt: Some(container.attempt),
            ..Target::pod(&pod.namespace, &pod.name)
        })
    }

    pub(super) fn kind(&self, namespace: &str, pod: &str, container: &str) -> Option<ContainerKind> {
        self.kinds.get(&(namespace.to_owned(), pod.to_owned(), container.to_owned())).copied()
    }
}
