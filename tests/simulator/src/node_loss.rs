//! A node without a network: what runs on it runs on, its kubelet hears nothing and is not heard, and the cluster acts alone.

use probity_composer::NODE;
use probity_model::history::{Did, Happening};
use serde_json::json;

use crate::Defect;
use crate::conditions::entry;
use crate::world::{Act, MS, SECOND, World};

/// The node controller does without news for so long.
const UNHEARD: i64 = 46 * SECOND;
/// How long a pod tolerates an unreachable node if it does not say.
const TOLERATED: i64 = 300;

/// What waits for the network.
#[derive(Default)]
pub(crate) struct Held {
    /// What the targets told.
    pub(crate) news: Vec<Happening>,
    /// What the kubelet has to do with the API.
    pub(crate) acts: Vec<Act>,
}

impl World<'_> {
    /// The network of the node is cut, or the node loses its power: nothing is heard of it either way.
    pub(crate) fn cut(&mut self, verb: &str) {
        self.held = Some(Held::default());
        self.did(Did::verb(NODE, verb, Some(0), None));
        self.later(UNHEARD, Act::Lose);
        if self.has(Defect::SweepsWithoutTaint) {
            self.later(UNHEARD, Act::Sweep);
        }
    }

    /// The network is back: everybody hears of everything.
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

    /// The node controller has heard nothing for too long: the node's pods are not ready.
    pub(crate) fn lose(&mut self) {
        if self.held.is_none() {
            return;
        }
        self.lost = true;
        for pod in 0..self.pods.len() {
            let now = self.timestamp(self.now);
            let status = &mut self.pods[pod].object["status"];
            if let Some(ready) = entry(&mut status["conditions"], "Ready") {
                ready["status"] = json!("False");
                ready["lastTransitionTime"] = json!(now);
            }
            if self.has(Defect::LostPodsPending) {
                self.pods[pod].object["status"]["phase"] = json!("Pending");
            }
            self.show_again(pod);
            self.tolerate(pod);
        }
    }

    /// A pod is on a lost node: it is deleted when it no longer tolerates that.
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

    /// The pod is deleted, and its kubelet does not hear of it.
    pub(crate) fn delete_on_lost_node(&mut self, pod: usize) {
        if self.held.is_some() && self.pods[pod].deleted.is_none() {
            self.write_deadline(pod, self.now, self.pods[pod].grace() / SECOND);
        }
    }

    /// What a target tells or a kubelet does with the API while the node has no network waits; gives back what does not.
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
