//! Verbs that configure the kubelet, or show what exists on the node for a pod.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_model::history::{
    ANNOUNCE_SHUTDOWN, CANCEL_SHUTDOWN, CONFIGURE_CONTROLLERS, CONFIGURE_KUBELET, DESCRIBE_POD, Did,
    REMOVE_SANDBOX, REMOVE_STATIC_PODS, RESTART_KUBELET,
};
use probity_script::Span;
use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::node_shutdown::Periods;
use crate::pod::{State, micros};
use crate::world::{SECOND, World};

/// How long a sandbox that has ended remains on the node.
const COLLECTED: i64 = 60 * SECOND;

/// The settings of the kubelet that a verb can change.
#[derive(Default)]
pub(crate) struct NodeSettings {
    /// The longest back-off of a container.
    pub(crate) longest_wait: Option<i64>,
    /// How much memory must stay free, in bytes.
    pub(crate) kept_free: Option<i64>,
    /// How long the kubelet may delay a shutdown.
    pub(crate) delays: Option<Periods>,
    /// The time from which containers can get exclusive CPUs.
    pub(crate) gives_processors_since: Option<i64>,
    /// When the kubelet was last restarted.
    pub(crate) restarted: Option<i64>,
    /// How many terminated pods the controller manager keeps.
    pub(crate) threshold: Option<usize>,
}

impl World<'_> {
    /// Applies a verb to the node.
    pub(crate) fn do_to_node(&mut self, of: &NodeStep) -> Result<(), String> {
        match of.verb.as_str() {
            RESTART_KUBELET => self.restart_kubelet(of, None),
            REMOVE_SANDBOX => self.remove_sandbox(of),
            verb @ ("cut" | "kill") => self.cut(verb),
            "heal" => self.heal(),
            CONFIGURE_KUBELET => self.configure_kubelet(of),
            "restore-kubelet" => {
                self.node = NodeSettings::default();
                self.restart_kubelet(of, None);
            }
            DESCRIBE_POD => self.describe_pod(of),
            REMOVE_STATIC_PODS => self.remove_static_pods(of),
            ANNOUNCE_SHUTDOWN => self.announce_shutdown(of),
            CANCEL_SHUTDOWN => self.cancel_shutdown(of),
            CONFIGURE_CONTROLLERS => self.configure_controllers(of),
            _ => return Err("the simulated cluster has no such verb".to_owned()),
        }
        Ok(())
    }

    /// Gives the kubelet new settings. It does not run with invalid settings.
    fn configure_kubelet(&mut self, of: &NodeStep) {
        let setting =
            of.input.as_ref().and_then(|input| input.pointer("/crashLoopBackOff/maxContainerRestartPeriod"));
        let longest = setting.and_then(Value::as_str).and_then(|text| text.parse::<Span>().ok()).map(micros);
        let lowest = if self.has(Defect::BackOffRangeFromZero) { 0 } else { SECOND };
        let highest = if self.has(Defect::BackOffRangeOpen) { i64::MAX } else { 300 * SECOND };
        let lowest = if self.has(Defect::BackOffRangeFromTen) { 10 * SECOND } else { lowest };
        if let Some(longest) = longest.filter(|longest| !(lowest..=highest).contains(longest)) {
            let error = format!("invalid maxContainerRestartPeriod of {} s", longest / SECOND);
            self.verb_done(of, None, Some(json!({ "running": false, "error": error })));
            return;
        }
        self.node.longest_wait = longest.filter(|_| !self.has(Defect::BackOffMaximumIgnored));
        let settings = of.input.as_ref().unwrap_or(&Value::Null);
        self.keeps_free(settings);
        self.delays_shutdowns(settings);
        self.gives_processors(settings);
        self.restart_kubelet(of, Some(json!({ "running": true })));
    }

    /// Records a verb for which the node shows no proof.
    pub(crate) fn verb_done(&mut self, of: &NodeStep, uid: Option<String>, output: Option<Value>) {
        let (node, verb, input) = (NODE.to_owned(), of.verb.clone(), of.input.clone());
        self.did(Did::NodeVerb { node, verb, uid, input, exit: Some(0), output, proof: None });
    }

    /// Describes what exists on the node for a pod.
    fn describe_pod(&mut self, of: &NodeStep) {
        let key = of.pod.as_deref().unwrap_or(probity_case::ONLY);
        let Some(pod) = self.pods.iter().rposition(|pod| pod.key == key) else { return };
        let facts = json!({ "sandboxes": self.sandboxes(pod), "containers": self.records(pod), "cgroup": self.cgroup(pod) });
        self.verb_done(of, Some(self.pods[pod].uid.clone()), Some(facts));
    }

    fn sandboxes(&self, pod: usize) -> Vec<Value> {
        let of = &self.pods[pod];
        if !of.sandbox {
            return Vec::new();
        }
        let left = match of.gone_at {
            None => true,
            Some(_) if self.has(Defect::SandboxKept) => true,
            Some(gone) => self.now - gone < COLLECTED,
        };
        let running = of.gone_at.is_none() || self.has(Defect::SandboxRunsOn);
        let state = if running { "running" } else { "exited" };
        let kept = left || running;
        kept.then(|| json!({ "id": format!("sandbox-{}", of.uid), "state": state })).into_iter().collect()
    }

    /// The values of a pod's cgroup.
    fn cgroup(&self, pod: usize) -> Value {
        let of = &self.pods[pod];
        if of.gone_at.is_some() {
            return Value::Null;
        }
        let sized_for = if self.has(Defect::PodCgroupNotResized) { &of.first } else { &of.object };
        let amount = |kind: &str, resource: &str| {
            let list = |field: &str| sized_for["spec"][field].as_array().into_iter().flatten();
            let own = |container: &Value| thousandths(&container["resources"][kind][resource]);
            let of_cpu = resource == "cpu" && self.has(Defect::CpuOfUnlimitedInitUncounted);
            let uncounted = (of_cpu || self.has(Defect::UnlimitedInitUncounted)).then_some(0);
            let mains: Option<Vec<i64>> = list("containers").map(own).collect();
            let (mut together, mut sidecars, mut inits) = (mains?.iter().sum::<i64>(), 0, 0);
            for container in list("initContainers") {
                match container["restartPolicy"] == "Always" {
                    true => {
                        together += own(container)?;
                        sidecars += own(container)?;
                    }
                    false => inits = inits.max(own(container).or(uncounted)? + sidecars),
                }
            }
            Some(match () {
                () if self.has(Defect::CgroupOfMainsOnly) => together - sidecars,
                () if self.has(Defect::CgroupOfAllTogether) => together + inits,
                () => together.max(inits),
            })
        };
        let unlimited = self.has(Defect::CgroupUnlimited);
        let limit = |resource: &str| amount("limits", resource).filter(|_| !unlimited);
        json!({
            "version": 1, "cpuPeriod": 100_000,
            "cpuQuota": limit("cpu").map(|limit| limit * 100),
            "memoryLimit": limit("memory").map(|limit| limit / 1_000),
            "cpuShares": amount("requests", "cpu").map_or(2, |request| (request * 1_024 / 1_000).max(2)),
        })
    }

    fn records(&self, pod: usize) -> Vec<Value> {
        let of = &self.pods[pod];
        if of.gone_at.is_some() {
            return Vec::new();
        }
        let states = of.containers.iter().filter_map(|container| {
            let state = match container.state {
                State::Running(_) => "running",
                State::Ended(_) => "exited",
                State::Waiting(_) => return None,
            };
            Some(json!({ "id": container.view.id, "name": container.name, "state": state, "cgroup": null }))
        });
        states.collect()
    }
}
