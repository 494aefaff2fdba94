//! Priorities, and the scheduler's preemption if a topology spread constraint leaves no place for a pod.

use serde_json::Value;

use crate::Defect;
use crate::world::{Act, MS, SECOND, World};

/// How soon the scheduler acts.
const SOON: (i64, i64) = (20 * MS, 120 * MS);
/// How long the scheduler waits before it retries a pod.
const AGAIN: i64 = 500 * MS;

/// The number and the labels of the pods that a constraint of a pod admits if all nodes are in one domain.
fn places(spec: &Value) -> Option<(usize, &Value)> {
    let [only] = spec["topologySpreadConstraints"].as_array()?.as_slice() else { return None };
    (only["minDomains"].as_u64()? > 1).then_some(())?;
    Some((usize::try_from(only["maxSkew"].as_u64()?).ok()?, &only["labelSelector"]["matchLabels"]))
}

impl World<'_> {
    /// A PriorityClass is created.
    pub(crate) fn create_priority(&mut self, manifest: &Value) {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.priorities.insert(name, manifest["value"].as_i64().unwrap_or_default());
    }

    fn priority(&self, pod: usize) -> i64 {
        let class = self.pods[pod].object["spec"]["priorityClassName"].as_str();
        class.and_then(|class| self.priorities.get(class)).copied().unwrap_or_default()
    }

    /// The pods that hold the places that a pod wants, if no place is free.
    fn in_the_way(&self, pod: usize) -> Vec<usize> {
        let Some((count, labels)) = places(&self.pods[pod].object["spec"]) else { return Vec::new() };
        let wanted = labels.as_object();
        let holds = |other: &usize| {
            let of = &self.pods[*other];
            let own = &of.object["metadata"]["labels"];
            let same =
                wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| own.get(key) == Some(value)));
            *other != pod
                && !of.gone
                && of.deleted.is_none()
                && of.object["spec"]["nodeName"].is_string()
                && same
        };
        let holders: Vec<usize> = (0..self.pods.len()).filter(holds).collect();
        if holders.len() < count { Vec::new() } else { holders }
    }

    /// Whether a pod wants a place that other pods hold. The scheduler will then handle it.
    pub(crate) fn awaits_place(&mut self, pod: usize) -> bool {
        let waits = !self.in_the_way(pod).is_empty();
        if waits {
            let delay = self.between(SOON.0, SOON.1);
            self.later(delay, Act::Preempt(pod));
        }
        waits
    }

    /// The scheduler handles a pod that found no place: it binds the pod, or preempts another one for it.
    pub(crate) fn preempt(&mut self, pod: usize) {
        if self.pods[pod].gone || self.pods[pod].deleted.is_some() {
            return;
        }
        let holders = self.in_the_way(pod);
        if holders.is_empty() {
            self.bind(pod);
            return;
        }
        if self.pods[pod].object["status"]["conditions"].is_null() {
            self.find_no_node(pod);
        }
        self.later(AGAIN, Act::Preempt(pod));
        if self.has(Defect::NobodyPreempted) {
            return;
        }
        let own = self.priority(pod) + i64::from(self.has(Defect::EqualsPreempted));
        let lower: Vec<usize> = holders.into_iter().filter(|holder| self.priority(*holder) < own).collect();
        let best_effort = |holder: &usize| self.pods[*holder].object["status"]["qosClass"] == "BestEffort";
        let victim = match () {
            () if self.has(Defect::BestEffortPreemptedFirst) => {
                let first = lower.iter().copied().find(best_effort);
                first.or_else(|| lower.first().copied())
            }
            () if self.has(Defect::HighestPreemptedFirst) => {
                lower.into_iter().max_by_key(|holder| self.priority(*holder))
            }
            () => lower.into_iter().min_by_key(|holder| self.priority(*holder)),
        };
        if let Some(victim) = victim {
            self.give_way(victim);
        }
    }

    fn give_way(&mut self, victim: usize) {
        if !self.has(Defect::PreemptionUnexplained) {
            let reason = match self.has(Defect::PreemptionMisexplained) {
                true => "EvictionByEvictionAPI",
                false => "PreemptionByScheduler",
            };
            self.write_target(
                victim,
                reason,
                "default-scheduler: preempting to accommodate a higher priority pod",
            );
        }
        let own = self.pods[victim].grace() / SECOND;
        let grace = if self.has(Defect::PreemptionWithoutGrace) { 1 } else { own };
        self.ask_to_go(victim, grace);
    }
}
