//! Creates the objects, pods and workloads of a case, and waits until they have started.

use std::time::Duration;

use probity_case::CasePod;
use probity_case::manifest::{self, object_name, pod_name};
use probity_case::wait;
use probity_model::History;
use probity_model::history::{Did, Happening, PLACE_STATIC_POD};
use serde_json::Value;

use crate::fields::Fields as _;
use crate::run::director::{Director, EarlyEnd};
use crate::run::start_slots::StartSlot;
use crate::setup::node_command::Order;

/// The maximum time to wait for a pod's address, or for its containers to start. After this time, the case continues
/// without them.
const START_WITHIN: Duration = Duration::from_secs(60);
/// A pod that has not started within this time is waiting for something other than a processor, so other cases need not
/// wait for it.
const SLOT_FOR: Duration = Duration::from_secs(10);

impl Director<'_> {
    /// Creates the objects, the pods except those for later steps, and the workloads.
    pub(super) async fn place_everything(&mut self) -> Result<(), EarlyEnd> {
        self.place_objects().await?;
        for key in self.in_order_of_addresses()? {
            self.place_pod(&key).await?;
        }
        for key in self.case.workloads.keys() {
            self.place_workload(key).await?;
        }
        Ok(())
    }

    async fn place_objects(&mut self) -> Result<(), EarlyEnd> {
        for object in &self.case.objects {
            let stored = self.create(manifest::object(self.case, object, &self.setting)).await?;
            let ip = stored.text("/spec/clusterIP");
            if !ip.is_empty() {
                self.setting.addresses.insert(format!("service-ip:{}", object.name()), ip.to_owned());
            }
        }
        Ok(())
    }

    /// The keys of the pods, ordered so that a pod whose manifest needs the address of another pod comes after that
    /// pod.
    fn in_order_of_addresses(&self) -> Result<Vec<String>, EarlyEnd> {
        let mut left: Vec<(&String, &CasePod)> =
            self.case.pods.iter().filter(|(_, pod)| !pod.later).collect();
        let mut order: Vec<String> = Vec::new();
        while !left.is_empty() {
            let placed = |name: &String| {
                manifest::pod_of_placeholder(name).is_none_or(|key| order.iter().any(|placed| placed == key))
            };
            let ready = left.iter().position(|(_, pod)| manifest::placeholders(pod).iter().all(placed));
            let Some(at) = ready else {
                let why = "its pods need each other's addresses: the dependency is circular".to_owned();
                return Err(EarlyEnd::Broken(why));
            };
            order.push(left.remove(at).0.clone());
        }
        Ok(order)
    }

    /// Waits for slots to start this many more pods, unless the run is interrupted.
    async fn start_slot(&mut self, pods: u64) -> Option<StartSlot> {
        let fresh = !std::mem::replace(&mut self.begun, true);
        let node = self.setting.placement.node.as_deref();
        let slot = self.run.capacity.start(self.case, node, fresh, pods);
        self.run.stop.run_until_cancelled(slot).await.flatten()
    }

    /// Creates a pod, and waits until its containers have started, since starting containers is what loads a node.
    pub(super) async fn place_pod(&mut self, key: &str) -> Result<(), EarlyEnd> {
        let Some(pod) = self.case.pods.get(key) else { return Ok(()) };
        self.learn_addresses(manifest::placeholders(pod)).await?;
        let slot = self.start_slot(1).await;
        let name = pod_name(self.case, key);
        self.history.own_pod(&name);
        let manifest = manifest::pod(self.case, key, pod, &self.setting);
        if pod.is_static {
            self.place_static_pod(pod.node.as_deref(), &manifest).await?;
        } else {
            self.create(manifest).await?;
        }
        if pod.stays_pending {
            return Ok(());
        }
        self.report(format!("waits for pod {name} to start"));
        self.until_started(slot, |history| started(history, &name)).await
    }

    /// Places the manifest of a static pod on its node.
    async fn place_static_pod(&mut self, node: Option<&str>, manifest: &Value) -> Result<(), EarlyEnd> {
        if self.run.stop.is_cancelled() {
            return Err(EarlyEnd::Interrupted);
        }
        let name = manifest.name();
        let Some(node) = node else {
            let why = format!(
                "the static pod {name} needs a node, and you lack permission to list nodes; name one with --node"
            );
            return Err(EarlyEnd::Broken(why));
        };
        let began_us = self.run.clock.us();
        let order = Order { verb: PLACE_STATIC_POD, node, pod: None, input: Some(manifest) };
        let failed = |why: String| EarlyEnd::Broken(format!("failed to place the static pod {name}: {why}"));
        let did = self.do_to_node(order).await.map_err(|error| failed(error.to_string()))?;
        let unproven = did.unproven();
        self.history.deed(began_us, did);
        unproven.map_or(Ok(()), |why| Err(failed(why)))
    }

    /// Waits until something has started, and gives its slot back if that takes too long. If a part of a case has not
    /// started in time, the case does not wait that long again for the rest: a defective kubelet may start none of it.
    async fn until_started(
        &mut self,
        slot: Option<StartSlot>,
        started: impl Fn(&History) -> bool,
    ) -> Result<(), EarlyEnd> {
        let in_time = self.until(SLOT_FOR, &started).await?;
        drop(slot);
        if !in_time && !self.gave_up {
            self.gave_up = !self.until(START_WITHIN - SLOT_FOR, &started).await?;
        }
        Ok(())
    }

    /// Creates a workload, and waits until all its pods have started.
    async fn place_workload(&mut self, key: &str) -> Result<(), EarlyEnd> {
        let case = self.case;
        let Some(workload) = case.workloads.get(key) else { return Ok(()) };
        self.learn_addresses(manifest::placeholders_in(&workload.workload, &workload.target)).await?;
        let slot = self.start_slot(workload.replicas()).await;
        let name = object_name(case, key);
        self.history.expect_pods(&format!("{name}-"));
        self.create(manifest::workload(case, key, workload, &self.setting)).await?;
        self.report(format!("waits for the pods of {name} to start"));
        let wanted = usize::try_from(workload.replicas()).unwrap_or(usize::MAX);
        self.until_started(slot, |history| {
            let pods = wait::pods_of(case, key, history);
            pods.len() >= wanted && pods.iter().all(|pod| started(history, pod))
        })
        .await
    }

    /// Waits for the addresses, UIDs and nodes of the pods that placeholders name, because they must be known before
    /// the manifest can be sent.
    pub(super) async fn learn_addresses(&mut self, placeholders: Vec<String>) -> Result<(), EarlyEnd> {
        for key in placeholders.iter().filter_map(|name| manifest::pod_of_placeholder(name)) {
            let name = pod_name(self.case, key);
            self.report(format!("waits for the address of pod {name}"));
            self.until(START_WITHIN, |history| address(history, &name).is_some()).await?;
            let found = self.history.look(|history| address(history, &name));
            let missing = || EarlyEnd::Broken(format!("pod {name} got no address in {START_WITHIN:?}"));
            self.setting.addresses.insert(format!("ip:{key}"), found.ok_or_else(missing)?);
            let uid = self.history.look(|history| uid(history, &name));
            self.setting.addresses.extend(uid.map(|uid| (format!("uid:{key}"), uid)));
            self.learn_node(key, &name);
        }
        Ok(())
    }

    /// Notes the node of a pod, and how much of its memory `{most-memory:KEY}` stands for.
    fn learn_node(&mut self, key: &str, pod: &str) {
        let Some(node) = self.history.look(|history| node(history, pod)) else { return };
        let memory = self.run.nodes.get(&node).and_then(|facts| facts.allocatable.get("memory"));
        let most = memory.and_then(|memory| manifest::most_memory(memory));
        self.setting.addresses.extend(most.map(|most| (format!("most-memory:{key}"), most)));
        self.setting.addresses.insert(format!("node:{key}"), node);
    }

    /// Creates an object, writes it to the history, and returns the stored object. Nothing is created after an
    /// interruption, even if it was waiting for a slot.
    async fn create(&mut self, manifest: Value) -> Result<Value, EarlyEnd> {
        if self.run.stop.is_cancelled() {
            return Err(EarlyEnd::Interrupted);
        }
        let began_us = self.run.clock.us();
        let (kind, name) = (manifest.text("/kind").to_owned(), manifest.name().to_owned());
        let stored = self.run.cluster.create(&self.setting.namespace, &manifest, false).await;
        let stored =
            stored.map_err(|error| EarlyEnd::Broken(format!("failed to create {kind} {name}: {error}")))?;
        self.history.deed(began_us, Did::Created { kind, name, manifest });
        Ok(stored)
    }
}

/// The newest revision of a pod.
fn newest<'h>(history: &'h History, pod: &str) -> Option<&'h Value> {
    history.events().rev().find_map(|(_, event)| match &event.what {
        Happening::Sighting(seen) if seen.kind == "Pod" && seen.name == pod => Some(&seen.object),
        _ => None,
    })
}

fn uid(history: &History, pod: &str) -> Option<String> {
    newest(history, pod)?.pointer("/metadata/uid")?.as_str().map(str::to_owned)
}

fn node(history: &History, pod: &str) -> Option<String> {
    newest(history, pod)?.pointer("/spec/nodeName")?.as_str().map(str::to_owned)
}

fn address(history: &History, pod: &str) -> Option<String> {
    newest(history, pod)?.pointer("/status/podIP")?.as_str().map(str::to_owned)
}

/// Whether the first container of a pod is running or has run. Starting the other containers costs the node little. A
/// pod with a scheduling gate counts as started, because it must not start.
fn started(history: &History, pod: &str) -> bool {
    let Some(pod) = newest(history, pod) else { return false };
    if pod.items("/spec/schedulingGates").next().is_some() {
        return true;
    }
    let begun = |one: &Value| one["state"].get("waiting").is_none() || one["restartCount"].as_u64() > Some(0);
    matches!(pod.text("/status/phase"), "Running" | "Succeeded" | "Failed")
        || pod.items("/status/initContainerStatuses").any(begun)
}
