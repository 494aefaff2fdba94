//! Taints with the effect `NoExecute`, and the controller that deletes the pods that do not tolerate them; and the garbage
//! collector that removes the pods of a node that is out of service.

use probity_case::wide::OUT_OF_SERVICE;
use probity_case::{TaintStep, UntaintStep};
use probity_composer::NODE;
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::conditions::entry;
use crate::world::{Act, MS, SECOND, World};

/// The effect of the taints that evict pods.
const NO_EXECUTE: &str = "NoExecute";
/// How soon the controller acts on a taint.
const NOTICED: (i64, i64) = (20 * MS, 200 * MS);
/// How much later a defective controller acts.
const LATE: i64 = 15 * SECOND;
/// The interval at which the garbage collector runs.
const COLLECTOR_LOOKS: i64 = 20 * SECOND;

/// How long a list of tolerations tolerates a taint: not at all, for a number of seconds, or forever. If `any` is true, the
/// values are not compared.
fn tolerated(spec: &Value, of: &TaintStep, any: bool) -> Option<Option<i64>> {
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let matches = |one: &&Value| {
        let exists = one["operator"] == "Exists";
        let key = text(one, "key");
        let effect = text(one, "effect");
        (key == of.key || (key.is_empty() && exists))
            && (effect.is_empty() || effect == of.effect)
            && (exists || any || text(one, "value") == of.value)
    };
    let matching: Vec<&Value> =
        spec["tolerations"].as_array().into_iter().flatten().filter(matches).collect();
    (!matching.is_empty()).then(|| matching.iter().filter_map(|one| one["tolerationSeconds"].as_i64()).min())
}

impl World<'_> {
    /// A client taints the node.
    pub(crate) fn taint(&mut self, of: &TaintStep) {
        let TaintStep { key, value, effect, .. } = of.clone();
        self.did(Did::Tainted { node: NODE.to_owned(), key, value, effect });
        self.taints.push(of.clone());
        if of.key == OUT_OF_SERVICE {
            self.later(COLLECTOR_LOOKS / 2, Act::Sweep);
        }
        for pod in 0..self.pods.len() {
            self.heed_taint(pod, of);
        }
    }

    /// A client removes a taint of the node.
    pub(crate) fn untaint(&mut self, of: &UntaintStep) {
        let UntaintStep { key, effect, .. } = of.clone();
        self.taints.retain(|taint| (&taint.key, &taint.effect) != (&key, &effect));
        self.did(Did::Untainted { node: NODE.to_owned(), key, effect });
    }

    /// A pod was bound to the node: the controller looks at the taints that the node has.
    pub(crate) fn heed_taints(&mut self, pod: usize) {
        if !self.has(Defect::NewcomersSpared) {
            for of in self.taints.clone() {
                self.heed_taint(pod, &of);
            }
        }
    }

    /// The controller looks at a pod on the node, and at a taint of the node.
    fn heed_taint(&mut self, pod: usize, of: &TaintStep) {
        let bound = self.pods[pod].object["spec"]["nodeName"].is_string();
        if of.effect != NO_EXECUTE || self.pods[pod].gone || !bound || self.has(Defect::TaintsIgnored) {
            return;
        }
        let noticed = self.between(NOTICED.0, NOTICED.1);
        let any = self.has(Defect::TolerationValueIgnored);
        let time = tolerated(&self.pods[pod].object["spec"], of, any);
        if time.is_some() {
            self.wait_anew(pod);
        }
        match time {
            None if self.has(Defect::TaintsActLate) => self.later(noticed + LATE, Act::EndByTaint(pod)),
            None => self.later(noticed, Act::EndByTaint(pod)),
            Some(Some(seconds)) if !self.has(Defect::TolerationSecondsIgnored) => {
                let span = if self.has(Defect::TolerationSecondsHalved) { seconds / 2 } else { seconds };
                let before = self.pods[pod].tolerance.unwrap_or(i64::MAX);
                self.pods[pod].tolerance = Some(before.min(span * SECOND));
                self.later(noticed + span * SECOND, Act::EndByTaint(pod));
            }
            Some(Some(_)) => self.later(noticed, Act::EndByTaint(pod)),
            Some(None) if self.has(Defect::TolerationsIgnored) => self.later(noticed, Act::EndByTaint(pod)),
            Some(None) => {}
        }
    }

    /// The tolerations of a pod, or the taints that it tolerates, have changed. A defective controller restarts the
    /// tolerationSeconds of an earlier taint.
    pub(crate) fn wait_anew(&mut self, pod: usize) {
        let Some(span) = self.pods[pod].tolerance else { return };
        if self.has(Defect::TolerationSecondsAnew) {
            self.pods[pod].spared_until = self.now + span;
            self.later(span, Act::EndByTaint(pod));
        }
    }

    /// The taint controller deletes a pod.
    pub(crate) fn end_by_taint(&mut self, pod: usize) {
        let of = &self.pods[pod];
        let tainted = self.taints.iter().any(|taint| taint.effect == NO_EXECUTE);
        let meant = tainted || self.has(Defect::RemovedTaintEvicts);
        if of.gone || of.deleted.is_some() || self.now < of.spared_until || !meant {
            return;
        }
        let patient = of.tolerance.is_some() && self.has(Defect::PatientPodUnexplained);
        if !patient && !self.has(Defect::TaintUnexplained) {
            let reason = match self.has(Defect::TaintMisexplained) {
                true => "EvictionByEvictionAPI",
                false => "DeletionByTaintManager",
            };
            self.write_target(pod, reason, "Taint manager: deleting due to NoExecute taint");
        }
        self.ask_to_go(pod, self.pods[pod].grace() / SECOND);
    }

    /// Writes into a pod why it is about to terminate.
    pub(crate) fn write_target(&mut self, pod: usize, reason: &str, message: &str) {
        let now = json!(self.timestamp(self.now));
        if let Some(target) = entry(&mut self.pods[pod].object["status"]["conditions"], "DisruptionTarget") {
            let since = if target["status"] == "True" { target["lastTransitionTime"].clone() } else { now };
            *target = json!({
                "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
                "lastProbeTime": null, "lastTransitionTime": since,
            });
        }
        self.show_again(pod);
    }

    /// The garbage collector handles the pods of a lost node that are being deleted.
    pub(crate) fn sweep(&mut self) {
        self.later(COLLECTOR_LOOKS, Act::Sweep);
        let out_of_service = self.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE);
        let tainted = out_of_service && !self.has(Defect::OutOfServiceIgnored);
        if !self.lost || !(tainted || self.has(Defect::SweepsWithoutTaint)) {
            return;
        }
        for pod in 0..self.pods.len() {
            if self.pods[pod].gone || self.pods[pod].deleted.is_none() {
                continue;
            }
            if !self.has(Defect::SweptWithoutFailing) {
                self.pods[pod].object["status"]["phase"] = json!("Failed");
                self.show_again(pod);
            }
            self.write_deadline(pod, self.now, 0);
        }
    }
}
