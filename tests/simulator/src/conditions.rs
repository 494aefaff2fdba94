//! The actions of components other than the kubelet on pods: the scheduler, clients that set conditions, and the pod
//! garbage collector.

use probity_case::manifest::pod_name;
use probity_case::{ONLY, PatchStep};
use probity_composer::NODE;
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::{Act, MS, SECOND, World};

/// How long a pod is on a node that does not exist before it is removed: the node is first in quarantine, and the
/// garbage collector runs at intervals.
const COLLECTED: (i64, i64) = (40 * SECOND, 80 * SECOND);
/// The interval at which the garbage collector runs.
const COLLECTOR_LOOKS: i64 = 20 * SECOND;
/// How soon a defective collector removes pods that have failed.
const REMOVED: i64 = 5 * SECOND;
/// Why a pod with scheduling gates has no node.
const GATED: &str = "SchedulingGated";

/// The entry with this type in a list of conditions. If there is no such entry, it is added.
pub(crate) fn entry<'v>(conditions: &'v mut Value, kind: &str) -> Option<&'v mut Value> {
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let list = conditions.as_array_mut()?;
    let at = list.iter().position(|condition| condition["type"] == kind).unwrap_or_else(|| {
        list.push(json!({ "type": kind }));
        list.len() - 1
    });
    list.get_mut(at)
}

impl World<'_> {
    /// Passes on a new pod: to no component while it has scheduling gates, to the garbage collector if its node does
    /// not exist, and otherwise to the scheduler.
    pub(crate) fn schedule(&mut self, pod: usize) {
        let spec = &self.pods[pod].object["spec"];
        let gated = spec["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        let lost = spec["nodeName"].as_str().is_some_and(|node| node != NODE);
        let picky = self.suits_no_node(spec);
        match () {
            () if gated && !self.has(Defect::SchedulingGatesIgnored) => {}
            () if lost => {
                let delay = self.between(COLLECTED.0, COLLECTED.1);
                self.later(delay, Act::Collect(pod));
            }
            () if picky => {
                let delay = self.between(20 * MS, 120 * MS);
                self.later(delay, Act::Unschedulable(pod));
            }
            () if self.awaits_place(pod) => {}
            () => {
                let delay = self.between(20 * MS, 120 * MS);
                self.later(delay, Act::Bind(pod));
            }
        }
    }

    /// Whether the scheduler finds no node for a pod with this spec.
    pub(crate) fn suits_no_node(&self, spec: &Value) -> bool {
        spec["nodeSelector"].is_object() || self.fits_nowhere(spec)
    }

    /// Whether a pod requests a resource that the node does not have.
    fn fits_nowhere(&self, spec: &Value) -> bool {
        let list = |field: &str| spec[field].as_array().into_iter().flatten();
        let inits = list("initContainers").filter(|of| match of["restartPolicy"] == "Always" {
            true => !self.has(Defect::SchedulerIgnoresSidecars),
            false => !self.has(Defect::SchedulerIgnoresInits),
        });
        let strange = |of: &Value| {
            let requests = of["resources"]["requests"].as_object();
            requests.is_some_and(|requests| {
                requests.keys().any(|name| name.contains('/') && !self.advertised.contains_key(name))
            })
        };
        inits.chain(list("containers")).any(strange)
    }

    /// The conditions of a pod that was just created.
    pub(crate) fn conditions_of_new(&self, spec: &Value) -> Value {
        let gated = spec["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        let bound = spec["nodeName"].is_string();
        match () {
            () if self.has(Defect::ScheduledBeforeBinding) && !bound => {
                json!([{ "type": "PodScheduled", "status": "True", "lastTransitionTime": self.timestamp(self.now) }])
            }
            () if gated && !self.has(Defect::UnscheduledUnsaid) => json!([{
                "type": "PodScheduled", "status": "False", "reason": GATED,
                "lastProbeTime": null, "lastTransitionTime": self.timestamp(self.now),
            }]),
            () => Value::Null,
        }
    }

    /// The scheduler finds no node for a pod.
    pub(crate) fn find_no_node(&mut self, pod: usize) {
        if self.pods[pod].gone || self.has(Defect::UnscheduledUnsaid) {
            return;
        }
        let scheduled = if self.has(Defect::ScheduledBeforeBinding) { "True" } else { "False" };
        let before = self.shown_as_scheduled(pod);
        let gated = before["reason"] == GATED && self.has(Defect::GatedReasonStays);
        let reason = if gated { GATED } else { "Unschedulable" };
        let now = json!(self.timestamp(self.now));
        let since = if before["status"] == scheduled { before["lastTransitionTime"].clone() } else { now };
        self.pods[pod].object["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": scheduled, "reason": reason,
            "lastProbeTime": null, "lastTransitionTime": since,
        }]);
        self.show_again(pod);
    }

    /// The condition that shows whether a pod has a node.
    fn shown_as_scheduled(&self, pod: usize) -> Value {
        let conditions = self.pods[pod].object["status"]["conditions"].as_array();
        let shown = conditions.into_iter().flatten().find(|condition| condition["type"] == "PodScheduled");
        shown.cloned().unwrap_or_default()
    }

    /// The lastTransitionTime of `PodScheduled` if the pod gets a node now.
    pub(crate) fn scheduled_since(&self, pod: usize) -> Value {
        let before = self.shown_as_scheduled(pod);
        let kept = before["status"] == "False" && self.has(Defect::ScheduledKeepsTimeOfWait);
        if kept { before["lastTransitionTime"].clone() } else { json!(self.timestamp(self.now)) }
    }

    /// A client patches a pod with a status, which has an effect only on the subresource.
    pub(crate) fn patch_status(&mut self, of: &PatchStep) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let subresource = of.subresource.clone().unwrap_or_default();
        let of_status = subresource == "status";
        let counts = match subresource.as_str() {
            "status" => !self.has(Defect::ApiStatusPatchIgnored),
            _ => self.has(Defect::ApiPatchSetsStatus),
        };
        let (kind, patch) = ("Pod".to_owned(), of.patch.clone());
        self.did(Did::Patched { kind, name: name.clone(), patch, subresource });
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let all = of.patch["status"]["conditions"].as_array().into_iter().flatten();
        let taken: Vec<&Value> =
            all.filter(|wanted| counts || (!of_status && self.sets_missing_gate(pod, wanted))).collect();
        if !counts && taken.is_empty() {
            return;
        }
        for wanted in taken {
            let kind = wanted["type"].as_str().unwrap_or_default();
            if wanted["$patch"] == "delete" {
                let conditions = self.pods[pod].object["status"]["conditions"].as_array_mut();
                if let Some(conditions) = conditions {
                    conditions.retain(|of| of["type"] != kind);
                }
                continue;
            }
            let Some(condition) = entry(&mut self.pods[pod].object["status"]["conditions"], kind) else {
                continue;
            };
            for (field, value) in wanted.as_object().into_iter().flatten() {
                condition[field] = value.clone();
            }
        }
        if let Some(phase) = of.patch["status"]["phase"].as_str().filter(|_| counts) {
            self.pods[pod].object["status"]["phase"] = json!(phase);
        }
        self.show_again(pod);
        if !self.is_lost(pod) && !self.has(Defect::GateChangeUnnoticed) {
            self.touch(pod);
        }
    }

    /// Whether a patch of the pod itself sets a condition that a readiness gate names and that does not exist yet.
    fn sets_missing_gate(&self, pod: usize, wanted: &Value) -> bool {
        let object = &self.pods[pod].object;
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let gates = list(&object["spec"]["readinessGates"]);
        let known = list(&object["status"]["conditions"]);
        gates.iter().any(|gate| gate["conditionType"] == wanted["type"])
            && !known.iter().any(|condition| condition["type"] == wanted["type"])
            && self.has(Defect::ApiPatchSetsMissingGate)
    }

    /// The collector removes a pod whose node does not exist.
    pub(crate) fn collect(&mut self, pod: usize) {
        if self.pods[pod].gone {
            return;
        }
        if self.pods[pod].object["spec"]["nodeName"].is_null() {
            self.collect_unscheduled(pod);
            return;
        }
        let deleted = self.pods[pod].deleted.is_some();
        if self.has(Defect::OrphansKept) || (deleted && self.has(Defect::TerminatingOrphansKept)) {
            return;
        }
        let over = matches!(self.pods[pod].object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if over && !self.has(Defect::FinishedOrphansFail) {
            return self.ask_to_go(pod, 0);
        }
        if !self.has(Defect::OrphansUnexplained) {
            self.pods[pod].object["status"]["conditions"] = json!([{
                "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists", "lastProbeTime": null,
                "lastTransitionTime": self.timestamp(self.now),
            }]);
        }
        if !self.has(Defect::OrphansStayPending) {
            self.pods[pod].object["status"]["phase"] = json!("Failed");
        }
        self.show_again(pod);
        self.ask_to_go(pod, 0);
    }

    /// The garbage collector marks a pod that is being deleted and has no node as Failed.
    fn collect_unscheduled(&mut self, pod: usize) {
        let gates = self.pods[pod].object["spec"]["schedulingGates"].as_array();
        let gated = gates.is_some_and(|gates| !gates.is_empty());
        let overlooked = !gated && self.has(Defect::UngatedTerminatingKept);
        if !overlooked && !self.has(Defect::UnscheduledTerminatingKept) {
            self.pods[pod].object["status"]["phase"] = json!("Failed");
            self.show_again(pod);
        }
    }

    /// Whether a pod is on a node that does not exist.
    pub(crate) fn is_lost(&self, pod: usize) -> bool {
        self.pods[pod].object["spec"]["nodeName"].as_str().is_some_and(|node| node != NODE)
    }

    /// Whether a finalizer keeps a pod that no kubelet has.
    pub(crate) fn is_held(&self, pod: usize) -> bool {
        self.has_finalizers(pod) && self.pods[pod].object["spec"]["nodeName"].is_null()
    }

    /// Whether a pod has finalizers, so that the API server keeps it.
    pub(crate) fn has_finalizers(&self, pod: usize) -> bool {
        let finalizers = self.pods[pod].object["metadata"]["finalizers"].as_array();
        finalizers.is_some_and(|list| !list.is_empty())
    }

    /// The garbage collector finds a pod when it next runs.
    pub(crate) fn await_collector(&mut self, pod: usize) {
        let delay = self.between(0, COLLECTOR_LOOKS);
        self.later(delay, Act::Collect(pod));
    }

    /// A defective collector removes each pod that has failed.
    pub(crate) fn remove_failed(&mut self, pod: usize) {
        let failed = self.pods[pod].object["status"]["phase"] == "Failed";
        if failed && self.pods[pod].deleted.is_none() && self.has(Defect::FailedPodsRemoved) {
            self.later(REMOVED, Act::Drop(pod));
        }
    }
}

impl World<'_> {
    /// What is wrong with the readiness gates of a pod's spec.
    pub(crate) fn gate_problems(&self, spec: &Value, of: &str, problems: &mut Vec<String>) {
        for (at, gate) in spec["readinessGates"].as_array().into_iter().flatten().enumerate() {
            let name = gate["conditionType"].as_str().unwrap_or_default();
            let plain = !name.contains('/');
            let refused = match is_label_key(name) {
                true => plain && self.has(Defect::ApiRefusesPlainGate),
                false => !self.has(Defect::ApiAcceptsAnyGate),
            };
            if refused {
                problems.push(format!(
                    "{of}.readinessGates[{at}].conditionType: Invalid value: \"{name}\": name part must consist of \
                     alphanumeric characters"
                ));
            }
        }
    }
}

/// Whether a text has the format of a label's key.
fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let ends_well = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let of_domain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
    let named = name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    prefix.is_none_or(|prefix| ends_well(prefix) && prefix.bytes().all(of_domain))
        && ends_well(name)
        && named
        && name.len() <= 63
}
