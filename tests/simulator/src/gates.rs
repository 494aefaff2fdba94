//! The time before a pod is scheduled and after it is deleted: its scheduling gates, which can be removed one after the
//! other but not added, and a defective cluster that creates the pod again.

use probity_case::manifest::{self, pod_name};
use probity_case::{ONLY, PatchStep, Step};
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::{Act, MS, World};

/// How long the scheduler takes, at least and at most.
const SCHEDULED: (i64, i64) = (20 * MS, 120 * MS);

impl World<'_> {
    /// A pod that was deleted is created again.
    pub(crate) fn bring_back(&mut self, pod: usize) {
        let key = self.pods[pod].key.clone();
        let again = self.pods[pod].deleted.is_some() && self.has(Defect::BarePodsComeBack);
        if let Some(of) = self.case.pods.get(&key).filter(|_| again) {
            let manifest = manifest::pod(self.case, &key, of, &self.setting);
            self.admit(&key, manifest);
        }
    }

    /// A client patches the scheduling gates of a pod.
    pub(crate) fn patch_gates(&mut self, of: &PatchStep, step: &Step) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let entries = of.patch["spec"]["schedulingGates"].as_array().cloned().unwrap_or_default();
        let (removed, added): (Vec<Value>, Vec<Value>) =
            entries.into_iter().partition(|entry| entry["$patch"] == "delete");
        let swaps = added.len() <= removed.len() && self.has(Defect::ApiSwapsSchedulingGates);
        if !added.is_empty() && !swaps && !self.has(Defect::ApiAddsSchedulingGates) {
            let why = format!(
                "failed to patch Pod {name}: the API server answered 422 Invalid: Pod \"{name}\" is invalid: \
                 spec.schedulingGates: Forbidden: a gate cannot be added"
            );
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        }
        let (kind, patch) = ("Pod".to_owned(), of.patch.clone());
        self.did(Did::Patched { kind, name: name.clone(), patch, subresource: String::new() });
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let mut gates =
            self.pods[pod].object["spec"]["schedulingGates"].as_array().cloned().unwrap_or_default();
        gates.retain(|gate| !removed.iter().any(|entry| entry["name"] == gate["name"]));
        gates.extend(added);
        let open = gates.is_empty() || (!removed.is_empty() && self.has(Defect::OneSchedulingGateIsEnough));
        let spec = &mut self.pods[pod].object["spec"];
        spec["schedulingGates"] = json!(gates);
        // The API server does not show an empty list.
        if gates.is_empty()
            && let Some(fields) = spec.as_object_mut()
        {
            fields.remove("schedulingGates");
        }
        self.count_change(pod);
        self.show_again(pod);
        let bound = self.pods[pod].object["spec"]["nodeName"].is_string();
        if open && !bound && !self.has(Defect::SchedulingGateRemovalUnnoticed) {
            let delay = self.between(SCHEDULED.0, SCHEDULED.1);
            let picky = self.suits_no_node(&self.pods[pod].object["spec"]);
            self.later(delay, if picky { Act::Unschedulable(pod) } else { Act::Bind(pod) });
        }
    }
}
