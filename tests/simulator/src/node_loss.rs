//! A node without a network: its containers keep running, its kubelet neither receives nor sends anything, and the
//! cluster acts without the kubelet.

use probity_composer::NODE;
use probity_model::history::{Did, Happening};
use serde_json::json;

use crate::Defect;
use crate::conditions::entry;
use crate::world::{Act, MS, SECOND, World};

/// How long the node controller waits for a heartbeat of a node.
const UNHEARD: i64 = 46 * SECOND;
/// How long a pod tolerates an unreachable node by default.
const TOLERATED: i64 = 300;

/// Everything that waits for the network.
#[derive(Default)]
pub(crate) struct Held {
    /// What the targets sent.
    pub(crate) news: Vec<Happening>,
    /// The kubelet's actions that need the API.
    pub(crate) acts: Vec<Act>,
}

impl World<'_> {
    /// The network of the node is cut, or the node loses its power: in both cases, nothing is received from it.
    pub(crate) fn cut(&mut self, verb: &str) {
        self.held = Some(Held::default());
        self.did(Did::verb(NODE, verb, Some(0), None));
        self.later(UNHEARD, Act::Lose);
        if self.has(Defect::SweepsWithoutTaint) {
            self.later(UNHEARD, Act::Sweep);
        }
    }

    /// The network is back: everything that waited is delivered.
    pub(crate) fn heal(&mut self) {
        self.did(Did::verb(NODE, "heal", Some(0), None));
        let Held { news, acts } = self.held.take().unwrap_or_default();
        for told in news {
            self.hear_witness(told);
        }
        for act in acts {
            let goes = |pod: usize| self.pods[pod].deleted.is_some();
            match act {
                Act::Create(pod) if goes(pod) => self.later(200 * MS, Act::Drop(pod)),
                act => self.later(100 * MS, act),
            }
        }
        for pod in 0..self.pods.len() {
            if self.pods[pod].deleted.is_some() && !self.pods[pod].gone {
                self.stop_pod(pod);
            } else {
                self.touch(pod);
            }
        }
    }

    /// The node controller has received nothing for too long: the node's pods become not ready.
    pub(crate) fn lose(&mut self) {
        if self.held.is_none() {
            return;
        }
        self.lost = true;
        let undated = self.has(Defect::LostReadyKeepsTime);
        for pod in 0..self.pods.len() {
            let now = self.timestamp(self.now);
            let status = &mut self.pods[pod].object["status"];
            if let Some(ready) = entry(&mut status["conditions"], "Ready") {
                ready["status"] = json!("False");
                if !undated {
                    ready["lastTransitionTime"] = json!(now);
                }
            }
            if self.has(Defect::LostPodsPending) {
                self.pods[pod].object["status"]["phase"] = json!("Pending");
            }
            self.show_again(pod);
            self.tolerate(pod);
        }
    }

    /// Plans the deletion of a pod on a lost node, at the end of the time for which the pod tolerates the loss.
    pub(crate) fn tolerate(&mut self, pod: usize) {
        if !self.lost || self.held.is_none() || self.has(Defect::LostPodsKept) {
            return;
        }
        let list = self.pods[pod].object["spec"]["tolerations"].as_array();
        let mut list = list.into_iter().flatten();
        let of =
            list.find(|one| one["key"] == "node.kubernetes.io/unreachable" && one["effect"] == "NoExecute");
        let Some(seconds) = of.map_or(Some(TOLERATED), |one| one["tolerationSeconds"].as_i64()) else {
            return;
        };
        let seconds = if self.has(Defect::LostPodsDeletedAtOnce) { 1 } else { seconds };
        self.later(seconds * SECOND, Act::Untolerated(pod));
    }

    /// The pod is deleted, but its kubelet is not notified.
    pub(crate) fn delete_on_lost_node(&mut self, pod: usize) {
        if self.held.is_some() && self.pods[pod].deleted.is_none() {
            self.write_deadline(pod, self.now, self.pods[pod].grace() / SECOND);
        }
    }

    /// Holds what a target sends, and the kubelet's actions that need the API, while the node has no network. Returns
    /// any other action.
    pub(crate) fn hold(&mut self, act: Act) -> Option<Act> {
        let defective = self.has(Defect::DeadNodeStartsPods);
        match (&mut self.held, act) {
            (Some(held), act @ (Act::Publish(_) | Act::Create(_))) if !defective => {
                held.acts.push(act);
                None
            }
            (_, act) => Some(act),
        }
    }
}
