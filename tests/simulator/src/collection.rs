//! The garbage collection of terminated pods, which begins when there are more of them than the controller manager
//! allows.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::{Act, MS, SECOND, World};

/// The interval at which the garbage collector runs.
const LOOKS: i64 = 20 * SECOND;

impl World<'_> {
    /// The controller manager runs with other flags.
    pub(crate) fn configure_controllers(&mut self, of: &NodeStep) {
        let threshold = of.input.as_ref().and_then(|input| input["terminated-pod-gc-threshold"].as_u64());
        let flags = of.input.as_ref().and_then(Value::as_object).into_iter().flatten();
        let arguments: Vec<String> = flags.map(|(flag, value)| format!("--{flag}={value}")).collect();
        let output = Some(json!({ "running": true, "arguments": arguments }));
        let (node, verb, input) = (NODE.to_owned(), of.verb.clone(), of.input.clone());
        self.did(Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output, proof: None });
        self.node.threshold = threshold.and_then(|of| usize::try_from(of).ok());
        let delay = self.between(500 * MS, LOOKS);
        self.later(delay, Act::CollectSurplus);
    }

    /// The garbage collector counts the terminated pods.
    pub(crate) fn collect_surplus(&mut self) {
        let Some(threshold) = self.node.threshold.filter(|_| !self.has(Defect::GcThresholdIgnored)) else {
            return;
        };
        let threshold = if self.has(Defect::GcKeepsOneMore) { threshold + 1 } else { threshold };
        let over = |pod: &&usize| {
            let of = &self.pods[**pod];
            let phase = of.object["status"]["phase"].as_str();
            !of.gone && matches!(phase, Some("Succeeded" | "Failed"))
        };
        let all: Vec<usize> = (0..self.pods.len()).collect();
        let mut over: Vec<usize> = all.iter().filter(over).copied().collect();
        if self.has(Defect::GcNewestFirst) {
            over.reverse();
        }
        let surplus = over.len().saturating_sub(threshold);
        for pod in over.into_iter().take(surplus) {
            let delay = self.between(5 * MS, 300 * MS);
            self.later(delay, Act::Drop(pod));
        }
        self.later(LOOKS, Act::CollectSurplus);
    }
}
