//! A node that is short of memory: which pods the kubelet evicts, one after another, until enough is free.

use probity_composer::NODE;
use probity_script::Consumer;
use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::node_facts::ALLOCATABLE;
use crate::pod::{Container, Kind, micros};
use crate::pressure::Cause;
use crate::world::{Act, MS, SECOND, World};

/// The interval at which the kubelet checks the memory of its node.
const LOOKS_EVERY: i64 = 10 * SECOND;
/// How long the kubelet waits after an eviction until the pod is cleaned up.
const CLEANED_UP: i64 = 4 * SECOND;
/// The memory that the program of a container needs in addition to its planned memory, in bytes.
const PROGRAM: i64 = 5 << 20;

impl World<'_> {
    /// Records how much memory a kubelet with these settings must keep free.
    pub(crate) fn keeps_free(&mut self, settings: &Value) {
        let least = settings.pointer("/evictionSoft/memory.available").and_then(Value::as_str);
        self.node.kept_free =
            least.and_then(|least| Some(least.strip_suffix("Ti")?.parse::<i64>().ok()? << 40));
        if self.node.kept_free.is_some() {
            let delay = LOOKS_EVERY + self.between(200 * MS, 2000 * MS);
            self.later(delay, Act::LookAtMemory);
        }
    }

    /// The kubelet checks the memory of its node, and evicts a pod if too little is free.
    pub(crate) fn look_at_memory(&mut self) {
        let Some(kept_free) = self.node.kept_free else { return };
        if !self.is_short_of_memory(kept_free) || self.has(Defect::ShortageIgnored) {
            return self.later(LOOKS_EVERY, Act::LookAtMemory);
        }
        let here = |pod: &usize| {
            let of = &self.pods[*pod];
            let runs = of.containers.iter().any(Container::is_running);
            of.object["spec"]["nodeName"] == NODE && runs && !of.terminal && of.deleted.is_none()
        };
        if let Some(pod) = (0..self.pods.len()).filter(here).min_by_key(|pod| self.eviction_place(*pod)) {
            self.end_by_eviction(pod, Cause::Memory);
        }
        self.later(CLEANED_UP, Act::LookAtMemory);
    }

    fn is_short_of_memory(&self, kept_free: i64) -> bool {
        let [_, (_, all)] = ALLOCATABLE;
        let all = thousandths(&json!(all)).unwrap_or_default() / 1000;
        let used: i64 = (0..self.pods.len()).map(|pod| self.memory_of(pod)).sum();
        all - used < kept_free
    }

    /// The memory that a pod uses, in bytes.
    fn memory_of(&self, pod: usize) -> i64 {
        self.pods[pod].containers.iter().map(|container| self.memory_of_container(container)).sum()
    }

    fn memory_of_container(&self, container: &Container) -> i64 {
        let Some(life) = container.life.as_ref().filter(|_| container.is_running()) else { return 0 };
        let taken = life.plan.process.consume.iter().filter_map(|consumer| match consumer {
            Consumer::Memory { bytes, step, every, after } => {
                let (bytes, step) = (bytes.0, step.map_or(bytes.0, |step| step.0.max(1)));
                let since = self.now - life.began - after.map_or(0, micros);
                let steps = u64::try_from(since / (every.map_or(0, micros) + MS) + 1).unwrap_or(0);
                let taken = if since < 0 { 0 } else { steps.saturating_mul(step).min(bytes) };
                i64::try_from(taken).ok()
            }
            _ => None,
        });
        PROGRAM + taken.sum::<i64>()
    }

    /// The place of a pod in the order of evictions: pods above their requests come first, then those with a low priority,
    /// then those that exceed their requests the most.
    fn eviction_place(&self, pod: usize) -> (i64, bool, i64, i64) {
        let of = &self.pods[pod];
        let asked = |container: &Container| {
            let amount = |list: &str| thousandths(&container.spec["resources"][list]["memory"]);
            amount("requests").or_else(|| amount("limits")).unwrap_or_default() / 1000
        };
        let counts = |container: &&Container| {
            container.kind != Kind::Sidecar || !self.has(Defect::ShortageForgetsSidecarRequests)
        };
        let above = self.memory_of(pod) - of.containers.iter().filter(counts).map(asked).sum::<i64>();
        let class = match of.object["status"]["qosClass"].as_str() {
            _ if !self.has(Defect::ShortageEvictsGuaranteedFirst) => 0,
            Some("Guaranteed") => 0,
            Some("Burstable") => 1,
            _ => 2,
        };
        let amount = if self.has(Defect::ShortageEvictsLeastFirst) { above } else { -above };
        let within = above <= 0 && !self.has(Defect::ShortageForgetsRequests);
        let amount = if self.has(Defect::ShortageForgetsRequests) { self.memory_of(pod) } else { amount };
        let priority = of.object["spec"]["priority"].as_i64();
        let priority = priority.filter(|_| !self.has(Defect::ShortageIgnoresPriority));
        (class, within, priority.unwrap_or_default(), amount)
    }

    /// The condition that shows that a pod was evicted because its node lacks memory.
    pub(crate) fn told_eviction(&self, pod: usize, phase: &str) -> Option<Value> {
        let evicted = self.pods[pod].evicted == Some(Cause::Memory);
        if !evicted || self.has(Defect::ShortageUnexplained) {
            return None;
        }
        let over = matches!(phase, "Succeeded" | "Failed") || self.has(Defect::ShortageExplainedEarly);
        let misexplained = self.has(Defect::ShortageMisexplained);
        let reason = if misexplained { "EvictionByEvictionAPI" } else { "TerminationByKubelet" };
        let generation = &self.pods[pod].object["metadata"]["generation"];
        let about = (!self.has(Defect::EvictionWithoutGeneration)).then_some(generation);
        let dated = (!self.has(Defect::EvictionUndated)).then(|| self.timestamp(self.now));
        over.then(|| {
            json!({
                "type": "DisruptionTarget", "status": "True", "reason": reason, "message": Cause::Memory.says(),
                "lastProbeTime": null, "lastTransitionTime": dated, "observedGeneration": about,
            })
        })
    }
}
