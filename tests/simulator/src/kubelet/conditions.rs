//! The conditions of pods: what the kubelet writes, and which conditions of others it keeps.

use serde_json::{Value, json};

use super::careless::shown_status;
use crate::Defect;
use crate::pod::{Container, Kind, Pod, State};
use crate::resize::IN_PROGRESS;
use crate::world::{Act, MS, SECOND, World};

/// The conditions that the kubelet owns, in the order in which it writes them.
const OWNED: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
/// The condition of pods that have rules for the restart of all containers.
const RESTARTING: &str = "AllContainersRestarting";
/// How soon the kubelet shows that a pod has its sandbox. It does not wait for other changes.
const SHOWN: i64 = 20 * MS;

/// The content of a condition.
struct Says<'s> {
    kind: &'s str,
    holds: bool,
    reason: &'s str,
    message: &'s str,
}

fn is_true(conditions: &Value, kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition["status"] == "True")
}

fn find<'v>(conditions: &'v Value, kind: &str) -> Option<&'v Value> {
    conditions.as_array().into_iter().flatten().find(|condition| condition["type"] == kind)
}

/// Whether an init container has succeeded or a sidecar has started.
fn is_done(container: &Container) -> bool {
    match (container.kind, &container.view.state) {
        (Kind::Sidecar, state) => container.view.started && matches!(state, State::Running(_)),
        (_, State::Ended(ended)) => ended.code == 0,
        _ => false,
    }
}

impl World<'_> {
    /// The conditions of a pod: first the conditions that the kubelet does not own, then the conditions that it writes.
    pub(crate) fn conditions(&self, pod: usize, phase: &str, old: &Value) -> Value {
        let over = matches!(phase, "Succeeded" | "Failed");
        let foreign = |condition: &&Value| {
            let dropped =
                over && condition["type"] == "DisruptionTarget" && self.has(Defect::TargetDroppedAtEnd);
            let owned = OWNED.iter().chain([&RESTARTING]).any(|kind| condition["type"] == *kind);
            let restarted = self.pods[pod].containers.iter().any(|of| of.starts > 1);
            let lost = restarted && self.has(Defect::CustomConditionsLostOnRestart);
            let done = condition["type"] == IN_PROGRESS
                && !self.has(Defect::ResizeNeverCompletes)
                && !self.is_resizing(pod);
            !owned && !lost && !dropped && !done && !self.has(Defect::CustomConditionsDropped)
        };
        let mut all: Vec<Value> = old.as_array().into_iter().flatten().filter(foreign).cloned().collect();
        if self.has(Defect::GenerationInForeignConditions) {
            let generation = &self.pods[pod].object["metadata"]["generation"];
            all.iter_mut().for_each(|condition| condition["observedGeneration"] = generation.clone());
        }
        self.misdate_others(pod, over, &mut all);
        let (of_containers, of_pod) = self.readiness(pod, phase, old);
        let (reason, message) = self.why_unready(pod, phase);
        let (gate_reason, gate_message) = match of_containers {
            true => ("ReadinessGatesNotReady", self.closed_gates(&self.pods[pod], old)),
            false => (reason, message.clone()),
        };
        let gate_reason = if self.has(Defect::ReadyHasAnotherReason) { "NotReadyYet" } else { gate_reason };
        let initialized = self.is_initialized(pod);
        let uninitialized =
            if self.has(Defect::UninitializedWithoutReason) { "" } else { "ContainersNotInitialized" };
        let incomplete = self.why_uninitialized(pod);
        let says = |kind, holds, reason, message| Says { kind, holds, reason, message };
        let owned = [
            says(OWNED[0], self.shown_sandbox(pod, phase), "", ""),
            says(OWNED[1], initialized, uninitialized, &incomplete),
            says(OWNED[2], of_pod, gate_reason, &gate_message),
            says(OWNED[3], of_containers, reason, &message),
            says(OWNED[4], true, "", ""),
        ];
        for says in owned {
            let left_out = match says.kind {
                "PodReadyToStartContainers" => self.has(Defect::ReadyToStartUnsaid),
                "PodScheduled" => self.has(Defect::ScheduledLeftOut),
                _ => false,
            };
            if !left_out {
                let mut condition = self.condition(&says, old);
                if !self.has(Defect::GenerationOfConditionsUnsaid) {
                    condition["observedGeneration"] = self.pods[pod].object["metadata"]["generation"].clone();
                }
                let was = find(old, says.kind).filter(|was| was["status"] == condition["status"]);
                if was.is_none() {
                    self.date_too_early(&mut condition);
                }
                let stays = self.has(Defect::GenerationOfConditionsStays)
                    || (says.kind == "PodScheduled" && self.has(Defect::GenerationOfScheduledStays));
                if let Some(was) = was.filter(|_| stays) {
                    condition["observedGeneration"] = was["observedGeneration"].clone();
                }
                if was.is_some_and(|was| self.is_redated(pod, was, &condition)) {
                    condition["lastTransitionTime"] = json!(self.timestamp(self.now));
                }
                all.push(condition);
            }
        }
        all.extend(self.restarting_all(pod, phase, old));
        let told = self.told_eviction(pod, phase).or_else(|| self.told_critical(pod, phase));
        let told = told.or_else(|| self.told_shutdown(pod, phase));
        all.extend(told.filter(|told| !all.iter().any(|condition| condition["type"] == told["type"])));
        Value::Array(all)
    }

    /// The condition of pods whose containers a rule can restart all together.
    fn restarting_all(&self, pod: usize, phase: &str, old: &Value) -> Option<Value> {
        let of = &self.pods[pod];
        let rules = |of: &Container| of.spec["restartPolicyRules"].as_array().cloned().unwrap_or_default();
        let mut rules = of.containers.iter().flat_map(rules);
        rules.find(|rule| rule["action"] == "RestartAllContainers")?;
        let over = matches!(phase, "Succeeded" | "Failed");
        let is_again = of.containers.iter().any(|of| of.attempt() > 0);
        let holds = match () {
            () if self.has(Defect::RestartAllUnannounced) => false,
            () if self.has(Defect::RestartAllAnnouncedForEver) => of.resetting || is_again,
            () if self.has(Defect::RestartAllAnnouncedEarly) => !is_again,
            () => of.resetting,
        };
        let says = Says { kind: RESTARTING, holds: holds && !over, reason: "", message: "" };
        let mut condition = self.condition(&says, old);
        if self.has(Defect::RestartAllUndated) {
            condition["lastTransitionTime"] = Value::Null;
        }
        Some(condition)
    }

    /// Applies defects to the times of conditions that the kubelet does not own.
    fn misdate_others(&self, pod: usize, over: bool, all: &mut [Value]) {
        let was_over =
            matches!(self.pods[pod].object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        for condition in all {
            let custom = condition["type"].as_str().is_some_and(|kind| kind.contains('/'));
            let target = over && !was_over && condition["type"] == "DisruptionTarget";
            let resize = condition["type"].as_str().is_some_and(|kind| kind.starts_with("PodResize"));
            if (custom && self.has(Defect::CustomConditionsRedated))
                || (resize && self.has(Defect::ResizeConditionsRedated))
                || (target && self.has(Defect::TargetRedatedAtEnd))
            {
                condition["lastTransitionTime"] = json!(self.timestamp(self.now));
            }
        }
    }

    /// Whether a defective kubelet renews the time of a condition whose status stays the same.
    fn is_redated(&self, pod: usize, was: &Value, condition: &Value) -> bool {
        let of = &self.pods[pod];
        let again = |container: &Container| {
            let shown = shown_status(&of.object, &container.name)["restartCount"].as_u64();
            shown.is_some_and(|shown| container.view.restarts > shown)
        };
        match condition["type"].as_str() {
            _ if condition["status"] != "True" => false,
            Some("Ready") => {
                was["observedGeneration"] != condition["observedGeneration"]
                    && self.has(Defect::ReadyRedatedByGeneration)
            }
            Some("PodReadyToStartContainers") => {
                of.containers.iter().any(again) && self.has(Defect::NetworkRedatedByRestart)
            }
            _ => false,
        }
    }

    fn condition(&self, says: &Says<'_>, old: &Value) -> Value {
        let word = if says.holds { "True" } else { "False" };
        let was = find(old, says.kind);
        let kept = match self.has(Defect::TransitionTimeOfFirst) {
            true => was,
            false => was.filter(|was| {
                let since = was["lastTransitionTime"].as_str().unwrap_or_default();
                let young = !says.holds && since > self.timestamp(self.now - 5 * SECOND).as_str();
                let same = was["status"] == word || (young && self.has(Defect::TransitionTimeDebounced));
                let by_containers = ["Ready", "ContainersReady"].contains(&says.kind);
                let reworded = by_containers
                    && was["message"].as_str().is_some_and(|old| !says.holds && old != says.message);
                same && !self.has(Defect::TransitionTimeOfEachWrite)
                    && !(reworded && self.has(Defect::TransitionTimeOfMessage))
            }),
        };
        let since =
            kept.map_or_else(|| json!(self.timestamp(self.now)), |was| was["lastTransitionTime"].clone());
        let mut condition =
            json!({ "type": says.kind, "status": word, "lastProbeTime": null, "lastTransitionTime": since });
        if self.has(Defect::ConditionWithoutTime) {
            condition["lastTransitionTime"] = Value::Null;
        }
        if !says.holds && !says.reason.is_empty() {
            let spoken = self.has(Defect::ConditionReasonIsSentence);
            condition["reason"] = json!(if spoken { "not all is ready yet" } else { says.reason });
        }
        let kept = was.and_then(|was| was.get("reason")).filter(|_| says.holds);
        if let Some(reason) = kept.filter(|_| self.has(Defect::ReasonOutlivesStatus)) {
            condition["reason"] = reason.clone();
        }
        if !says.holds && !says.message.is_empty() {
            condition["message"] = json!(says.message);
        }
        let told = was.and_then(|was| was.get("message")).filter(|_| says.holds);
        if let Some(message) = told.filter(|_| self.has(Defect::MessageOutlivesStatus)) {
            condition["message"] = message.clone();
        }
        condition
    }

    /// Whether the containers of a pod are shown as ready, and whether the pod is.
    fn readiness(&self, pod: usize, phase: &str, old: &Value) -> (bool, bool) {
        let of = &self.pods[pod];
        let unready = self.unready(of).len();
        let counted = of.containers.iter().filter(|container| container.kind != Kind::Init).count();
        let ready =
            if self.has(Defect::OneReadyContainerIsEnough) { unready < counted } else { unready == 0 };
        let finished = matches!(phase, "Succeeded" | "Failed");
        let ready = (ready || self.is_ready_early(pod)) && !finished;
        let gated = self.passes_gates(of, old);
        let mut of_containers = ready && (gated || !self.has(Defect::GatesCountForContainers));
        let mut of_pod = ready && gated;
        if self.has(Defect::GatesHideSidecars) && of.object["spec"]["readinessGates"].is_array() {
            let main =
                |name: &&str| of.containers.iter().any(|one| one.name == *name && one.kind == Kind::Main);
            of_pod |= gated && !finished && !self.unready(of).iter().any(main);
        }
        if self.has(Defect::PodStaysReady) {
            let was = is_true(old, "Ready");
            of_containers |= was && !finished;
            of_pod |= was && !finished;
        }
        let expired = of.expired && self.has(Defect::ExpiredStaysReady);
        if (expired || self.has(Defect::TerminalStaysReady)) && finished {
            (of_containers, of_pod) = (is_true(old, "ContainersReady"), true);
        }
        if self.has(Defect::PodNeverReady) && counted > 1 {
            (of_containers, of_pod) = (false, false);
        }
        if let Some((since, _)) = of.deleted.filter(|_| self.has(Defect::ReadyAgainOnDelete)) {
            of_pod &= self.now - since > 2_000 * MS;
        }
        (of_containers, of_pod)
    }

    /// Whether the readiness gates of a pod allow it to be ready.
    fn passes_gates(&self, of: &Pod, conditions: &Value) -> bool {
        let gates = of.object["spec"]["readinessGates"].as_array();
        let mut gates = gates.into_iter().flatten().filter_map(|gate| gate["conditionType"].as_str());
        let passes = |gate: &str| match find(conditions, gate) {
            Some(condition) if condition["status"] == "Unknown" => self.has(Defect::UnknownGateIsTrue),
            Some(condition) => condition["status"] == "True",
            None => self.has(Defect::MissingGateIsTrue),
        };
        match () {
            () if self.has(Defect::GatesIgnored) => true,
            () if of.deleted.is_some() && self.has(Defect::GatesOpenInTermination) => true,
            () if self.forgets_gates(of) => false,
            () if self.has(Defect::GatesForgottenAfterRestart)
                && of.containers.iter().any(|container| container.attempt() > 0) =>
            {
                true
            }
            () if self.has(Defect::OneGateIsEnough) => {
                let all: Vec<&str> = gates.collect();
                all.is_empty() || all.into_iter().any(passes)
            }
            () => gates.all(passes),
        }
    }

    fn closed_gates(&self, of: &Pod, conditions: &Value) -> String {
        let gates = of.object["spec"]["readinessGates"].as_array();
        let gates = gates.into_iter().flatten().filter_map(|gate| gate["conditionType"].as_str());
        let closed: Vec<&str> = gates.filter(|gate| !is_true(conditions, gate)).collect();
        match self.has(Defect::GateNotNamed) {
            true => "a readiness gate is not True".to_owned(),
            false => format!("these readiness gates are not True: {}", closed.join(", ")),
        }
    }

    fn why_uninitialized(&self, pod: usize) -> String {
        let helpers = self.pods[pod].containers.iter().filter(|container| container.kind != Kind::Main);
        let incomplete: Vec<&str> = helpers
            .filter(|container| !is_done(container) || self.has(Defect::DoneInitStillNamed))
            .map(|container| container.name.as_str())
            .chain(self.named_mains(pod))
            .collect();
        match self.has(Defect::UninitializedNotNamed) {
            true => String::new(),
            false => format!("containers with incomplete status: [{}]", incomplete.join(" ")),
        }
    }

    fn unready<'p>(&self, of: &'p Pod) -> Vec<&'p str> {
        let counts = |container: &&Container| self.counts_for_readiness(container) && !container.view.ready;
        of.containers.iter().filter(counts).map(|container| container.name.as_str()).collect()
    }

    /// The containers that the message names: those that are not ready.
    fn named_unready<'p>(&self, of: &'p Pod) -> Vec<&'p str> {
        let unready = self.unready(of);
        if unready.is_empty() || !self.has(Defect::ReadyAgainStillNamed) {
            return unready;
        }
        let old = find(&of.object["status"]["conditions"], "ContainersReady");
        let old = old.and_then(|of| of["message"].as_str()).unwrap_or_default();
        let was = |name: &str| old.split(['[', ' ', ']']).any(|word| word == name);
        let names = of.containers.iter().map(|container| container.name.as_str());
        names.filter(|name| unready.contains(name) || was(name)).collect()
    }

    fn why_unready(&self, pod: usize, phase: &str) -> (&'static str, String) {
        let unready = self.named_unready(&self.pods[pod]).join(" ");
        let named = format!("containers with unready status: [{unready}]");
        match phase {
            "Succeeded" if !self.has(Defect::TerminalWithoutReason) => ("PodCompleted", String::new()),
            "Failed" if !self.has(Defect::TerminalWithoutReason) => ("PodFailed", String::new()),
            _ if self.has(Defect::UnreadyNotNamed) => ("ContainersNotReady", String::new()),
            _ => ("ContainersNotReady", named),
        }
    }

    pub(super) fn is_initialized(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let mains_began =
            of.containers.iter().any(|container| container.kind == Kind::Main && container.starts > 0);
        let helped = of.containers.iter().filter(|container| container.kind != Kind::Main).all(is_done);
        let shown = self.shown_initialized(mains_began || helped);
        shown && (of.sandbox || !self.has(Defect::InitializedAfterSandbox))
    }

    /// Whether the pod is shown with its network.
    fn shown_sandbox(&self, pod: usize, phase: &str) -> bool {
        let of = &self.pods[pod];
        let finished = matches!(phase, "Succeeded" | "Failed");
        let begun = of.containers.iter().any(|container| container.starts > 0);
        let idle = !of.containers.iter().any(Container::is_running);
        match () {
            () if self.has(Defect::ReadyToStartWhenBound) => !finished,
            () if self.has(Defect::ReadyToStartAfterStart) => begun && !finished,
            () if self.has(Defect::ReadyToStartForEver) => of.sandbox,
            () if begun && idle && self.has(Defect::NetworkLostInBackOff) => false,
            () => of.sandbox && !finished,
        }
    }

    /// The kubelet creates the pod's sandbox with its network, once its volumes exist; returns whether the sandbox exists.
    pub(super) fn make_sandbox(&mut self, pod: usize) -> bool {
        if !self.pods[pod].sandbox && self.mounts_volumes(pod) {
            self.pods[pod].sandbox = true;
            self.later(SHOWN, Act::Publish(pod));
        }
        self.pods[pod].sandbox
    }
}
