//! Applies verbs to nodes with the user's command, and undoes their effects, however the case ends.

use std::time::Duration;

use probity_case::NodeStep;
use probity_case::manifest::Setting;
use probity_model::history::{Did, KubeletSigns, NodeProof, NodeVerb};

use crate::run::director::Director;
use crate::run::progress::Progress;
use crate::run::steps::StepError;
use crate::setup::node_command::{Order, act};
use crate::setup::undo;

/// The maximum time until a restart is visible. A kubelet records its start after it has registered, and may send the
/// event with a delay.
const PROVEN_WITHIN: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The time in which probes resume after a restart. After its start, a kubelet sends the first probe of each container
/// within one period, and the metronome's period is one second. The next case on the node would mistake that pause for
/// late probes.
const PROBES_AGAIN_WITHIN: Duration = Duration::from_secs(3);

impl Director<'_> {
    /// Applies a verb to the node of a pod.
    pub(super) async fn node_step(&mut self, of: &NodeStep) -> Result<Did, StepError> {
        let (node, uid) = self.place_of(&of.pod)?;
        let uid = Some(uid.as_str()).filter(|_| NodeVerb::of(&of.verb).about_pod);
        let (verb, input) = (of.verb.as_str(), of.input.as_ref());
        self.do_to_node(Order { verb, node: &node, pod: uid, input }).await
    }

    /// Applies a verb to a node. Before that, it records the verb that undoes the effect.
    pub(super) async fn do_to_node(&mut self, order: Order<'_>) -> Result<Did, StepError> {
        let Order { verb, node, pod, input } = order;
        let known = NodeVerb::of(verb);
        let before =
            if known.restarts_kubelet { Some(self.run.cluster.kubelet_signs(node).await) } else { None };
        // The record comes before the command, because an interruption may stop the command after it has already
        // changed the node.
        if let Some(undo) = known.undo {
            let Setting { namespace, run, .. } = &self.setting;
            undo::record(&self.run.cluster, namespace, run, (node, undo)).await?;
            let entry = (node.to_owned(), undo);
            if !self.to_undo.contains(&entry) {
                self.to_undo.push(entry);
            }
        }
        let outcome = act(self.run.node_command.as_deref(), order).await?;
        let ended_us = self.run.clock.us();
        if let Some(why) = outcome.failure() {
            let _ = self.run.out.send(Progress::Warning(format!("`{verb}` on the node {node}: {why}")));
        }
        let of_this = |(of, undo): &(String, &'static str)| of == node && *undo == verb;
        if outcome.status.success() && self.to_undo.iter().any(of_this) {
            self.erase_record(node, verb).await;
            self.to_undo.retain(|entry| !of_this(entry));
        }
        let (node, verb) = (node.to_owned(), verb.to_owned());
        let (exit, output) = (outcome.status.code(), outcome.output);
        let (uid, input) = (pod.map(str::to_owned), input.cloned());
        let did = Did::NodeVerb { node, verb, uid, input, exit, output, proof: None };
        Ok(match before {
            // A kubelet that is not running shows no restart.
            Some(before) if !did.kubelet_refused() => self.proven(did, ended_us, before).await,
            _ => did,
        })
    }

    /// Deletes the record of a verb that was undone. A record that cannot be deleted is removed with the namespace.
    /// Until then, `gc` would undo the verb again.
    async fn erase_record(&self, node: &str, verb: &str) {
        let _ = undo::erase(&self.run.cluster, &self.setting.namespace, (node, verb)).await;
    }

    /// Undoes the changes that steps made to nodes, in reverse order, and reports the changes that it could not undo.
    pub(super) async fn undo_verbs(&mut self) {
        let mut restarted = false;
        for (node, verb) in std::mem::take(&mut self.to_undo).into_iter().rev() {
            restarted |= NodeVerb::of(verb).restarts_kubelet;
            self.report(format!("runs `{verb}` on the node {node}"));
            let order = Order { verb, node: &node, pod: None, input: None };
            let outcome = act(self.run.node_command.as_deref(), order).await;
            let Some(why) = outcome.map_or_else(|error| Some(error.to_string()), |outcome| outcome.failure())
            else {
                self.erase_record(&node, verb).await;
                continue;
            };
            let what = format!("the node {node}, which a step changed (`{verb}` undoes the change)");
            let _ = self.run.out.send(Progress::Leftover { what, why });
        }
        if restarted {
            let _ = tokio::time::timeout(PROBES_AGAIN_WITHIN, self.run.stop.cancelled()).await;
        }
    }

    /// The deed, with the signs that the node shows after the restart of its kubelet. Waits until the node shows the
    /// restart.
    async fn proven(&self, did: Did, ended_us: i64, before: KubeletSigns) -> Did {
        let Did::NodeVerb { node, verb, uid, input, exit, output, .. } = did else { return did };
        let deadline = tokio::time::Instant::now() + PROVEN_WITHIN;
        let proof = loop {
            let after = self.run.cluster.kubelet_signs(&node).await;
            let proof = NodeProof { ended_us, before, after };
            // Without permission to read any sign, there is nothing to wait for.
            let unreadable = before == KubeletSigns::default();
            if proof.restarted() == Some(true) || unreadable || tokio::time::Instant::now() >= deadline {
                break proof;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        };
        Did::NodeVerb { node, verb, uid, input, exit, output, proof: Some(proof) }
    }
}
