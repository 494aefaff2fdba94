//! The shared state of all proxies: the active defects, and the identities on this node. A board is cheap to clone, and
//! every clone is the same board. It decides nothing about bytes.

mod inventory;

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::defect::{ContainerKind, Defect, Fault, Target};
use inventory::Inventory;
pub use inventory::{KnownContainer, KnownPod};

/// The active defects, and the pods and containers that were seen.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    defects: Mutex<Vec<Active>>,
    inventory: Mutex<Inventory>,
    moments: Moments,
}

/// A moment in the life of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Its sandbox was created.
    Sandbox,
    /// A container was created.
    Created,
    /// A container was started.
    Started,
    /// A command is about to run in a container.
    Exec,
    /// A container is about to be stopped.
    Stopping,
    /// A container was stopped.
    Stopped,
}

/// The listeners that wait for moments. A listener that falls too far behind misses some.
#[derive(Debug)]
struct Moments(broadcast::Sender<(Moment, Target)>);

impl Default for Moments {
    fn default() -> Self {
        Self(broadcast::channel(1024).0)
    }
}

/// An active defect. Clones share their counts.
#[derive(Clone, Debug)]
pub struct Active(Arc<InForce>);

#[derive(Debug)]
struct InForce {
    defect: Defect,
    /// How many occasions each container had.
    occasions: Mutex<HashMap<Target, u32>>,
    struck: AtomicU32,
}

/// A defect and how often it struck, as the control socket lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// The defect's name.
    pub name: String,
    /// The namespace to which the defect is bound.
    pub namespace: String,
    /// How many occasions there were.
    pub occasions: u32,
    /// On how many of the occasions it struck.
    pub strikes: u32,
}

/// A lock that outlives a panic of its holder: one broken connection must not stop the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Active {
    /// Whether the defect strikes `target` on this occasion. Each call counts as one occasion.
    #[must_use]
    pub fn strikes(&self, target: &Target) -> bool {
        let mut occasions = lock(&self.0.occasions);
        let seen = occasions.entry(target.clone()).or_insert(0);
        let strikes = self.0.defect.when.includes(*seen);
        *seen += 1;
        if strikes {
            self.0.struck.fetch_add(1, Ordering::Relaxed);
        }
        strikes
    }

    /// The defect's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.defect.name
    }

    /// The defect itself.
    #[must_use]
    pub fn defect(&self) -> &Defect {
        &self.0.defect
    }

    fn count(&self) -> Count {
        Count {
            name: self.0.defect.name.clone(),
            namespace: self.0.defect.on.namespace.clone(),
            occasions: lock(&self.0.occasions).values().sum(),
            strikes: self.0.struck.load(Ordering::Relaxed),
        }
    }
}

impl Board {
    /// Activates a defect. A defect with the same name is replaced, and its counts start again.
    pub fn put(&self, defect: Defect) {
        let mut defects = lock(&self.0.defects);
        defects.retain(|active| active.0.defect.name != defect.name);
        defects.push(Active(Arc::new(InForce {
            defect,
            occasions: Mutex::default(),
            struck: AtomicU32::new(0),
        })));
    }

    /// Removes the defects for which `goes` returns true, and returns their last counts.
    pub fn remove(&self, goes: impl Fn(&Defect) -> bool) -> Vec<Count> {
        let (gone, kept) = std::mem::take(&mut *lock(&self.0.defects))
            .into_iter()
            .partition(|active: &Active| goes(active.defect()));
        *lock(&self.0.defects) = kept;
        gone.iter().map(Active::count).collect()
    }

    /// The counts of all active defects.
    #[must_use]
    pub fn counts(&self) -> Vec<Count> {
        lock(&self.0.defects).iter().map(Active::count).collect()
    }

    /// Whether the defect with this name is active.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        lock(&self.0.defects).iter().any(|active| active.name() == name)
    }

    /// Announces a moment.
    pub fn happened(&self, moment: Moment, target: &Target) {
        // In a test of a single proxy, nothing waits for moments.
        self.0.moments.0.send((moment, target.clone())).ok();
    }

    /// All moments from now on.
    #[must_use]
    pub fn moments(&self) -> broadcast::Receiver<(Moment, Target)> {
        self.0.moments.0.subscribe()
    }

    /// All active defects for which `pick` finds something, whatever their targets are, with the current number of pods
    /// on the node.
    #[must_use]
    pub fn all<T>(&self, pick: impl Fn(&Fault) -> Option<T>) -> Vec<(Active, T)> {
        let pods = lock(&self.0.inventory).pods();
        let defects = lock(&self.0.defects);
        let in_force =
            defects.iter().filter(|active| active.0.defect.on.crowd.is_none_or(|least| least <= pods));
        in_force.filter_map(|active| Some((active.clone(), pick(&active.0.defect.fault)?))).collect()
    }

    /// The active defects for `target` for which `pick` finds something, in the order of their activation.
    #[must_use]
    pub fn matching<T>(&self, pick: impl Fn(&Fault) -> Option<T>, target: &Target) -> Vec<(Active, T)> {
        let mut found = self.all(pick);
        found.retain(|(active, _)| active.0.defect.on.covers(target));
        found
    }

    /// The first active defect for `target` for which `pick` finds something. It strikes only if [`Active::strikes`]
    /// returns true.
    #[must_use]
    pub fn in_force<T>(&self, pick: impl Fn(&Fault) -> Option<T>, target: &Target) -> Option<(Active, T)> {
        self.matching(pick, target).into_iter().next()
    }

    /// The defects that strike `target` on this occasion, and are counted: all that match and are due.
    #[must_use]
    pub fn strikes<T>(&self, pick: impl Fn(&Fault) -> Option<T>, target: &Target) -> Vec<T> {
        let found = self.matching(pick, target);
        found.into_iter().filter(|(active, _)| active.strikes(target)).map(|(_, picked)| picked).collect()
    }

    /// Remembers a pod. The address and the sandbox are left out if they are not known yet.
    pub fn learn_pod(&self, namespace: &str, name: &str, uid: &str, ip: Option<IpAddr>, sandbox: &str) {
        lock(&self.0.inventory).learn_pod(KnownPod {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            ip,
            sandbox: sandbox.to_owned(),
        });
    }

    /// Remembers the address of a sandbox.
    pub fn learn_address(&self, sandbox: &str, ip: IpAddr) {
        lock(&self.0.inventory).learn_address(sandbox, ip);
    }

    /// Remembers a container instance.
    pub fn learn_container(&self, id: &str, sandbox: &str, name: &str, attempt: u32) {
        lock(&self.0.inventory).learn_container(
            id,
            KnownContainer { sandbox: sandbox.to_owned(), name: name.to_owned(), attempt },
        );
    }

    /// Remembers the kind of a container. Only the pod's specification contains it, so the API proxy reports it.
    pub fn learn_kind(&self, namespace: &str, pod: &str, container: &str, kind: ContainerKind) {
        lock(&self.0.inventory).learn_kind(namespace, pod, container, kind);
    }

    /// Forgets a container that was removed.
    pub fn forget_container(&self, id: &str) {
        lock(&self.0.inventory).forget_container(id);
    }

    /// Forgets a sandbox that was removed, and its address.
    pub fn forget_sandbox(&self, sandbox: &str) {
        lock(&self.0.inventory).forget_sandbox(sandbox);
    }

    /// The pod that has this address.
    #[must_use]
    pub fn pod_of_ip(&self, ip: IpAddr) -> Option<KnownPod> {
        lock(&self.0.inventory).pod_of_ip(ip)
    }

    /// The pod of a sandbox.
    #[must_use]
    pub fn pod_of_sandbox(&self, sandbox: &str) -> Option<KnownPod> {
        lock(&self.0.inventory).pod_of_sandbox(sandbox)
    }

    /// The container instance with this id.
    #[must_use]
    pub fn container(&self, id: &str) -> Option<KnownContainer> {
        lock(&self.0.inventory).container(id)
    }

    /// A container instance as a target of defects.
    #[must_use]
    pub fn target_of_container(&self, id: &str) -> Option<Target> {
        lock(&self.0.inventory).target_of_container(id)
    }

    /// A container of a pod as a target of defects, with its kind if that is known.
    #[must_use]
    pub fn target_of_name(&self, namespace: &str, pod: &str, container: &str) -> Target {
        let kind = self.kind(namespace, pod, container);
        Target { container: Some(container.to_owned()), kind, ..Target::pod(namespace, pod) }
    }

    /// The kind of a container, if it is known.
    #[must_use]
    pub fn kind(&self, namespace: &str, pod: &str, container: &str) -> Option<ContainerKind> {
        lock(&self.0.inventory).kind(namespace, pod, container)
    }
}

#[cfg(test)]
mod tests;
