//! Steps that change a node for a while: taints, cordons, extended resources, and drains by kubectl.

use probity_case::manifest::{CASE, RUN, Setting};
use probity_case::{DrainStep, Step, UntaintStep};
use probity_model::history::Did;

use crate::run::director::Director;
use crate::run::drain::DrainError;
use crate::run::progress::Progress;
use crate::run::steps::StepError;
use crate::setup::node_changes::NodeChange;

impl Director<'_> {
    /// Taints or cordons the node of a pod, advertises a resource for it, or removes a taint that an earlier step
    /// set; a drain begins with a cordon. Returns `None` for other steps. An interruption must not cancel this function: a request that is still in transit could
    /// reach the node after the change was undone.
    pub(super) async fn change_node(&mut self, step: &Step) -> Option<Result<Option<Did>, StepError>> {
        let (pod, change) = match step {
            Step::Taint(of) => {
                let (key, value, effect) = (of.key.clone(), of.value.clone(), of.effect.clone());
                (&of.pod, NodeChange::Taint { key, value, effect })
            }
            Step::Untaint(of) => return Some(self.untaint(of).await.map(Some)),
            Step::Cordon(of) => (&of.pod, NodeChange::Cordon),
            Step::Drain(of) => (&of.pod, NodeChange::Cordon),
            Step::Advertise(of) => {
                (&of.pod, NodeChange::Resource { name: of.resource.clone(), amount: of.amount })
            }
            _ => return None,
        };
        let made = self.change_node_of(pod, change).await;
        Some(made.map(|(node, change)| match (step, change) {
            (Step::Drain(_), _) => None,
            (_, NodeChange::Taint { key, value, effect }) => Some(Did::Tainted { node, key, value, effect }),
            (_, NodeChange::Cordon) => Some(Did::Cordoned { node }),
            (_, NodeChange::Resource { name, amount }) => {
                Some(Did::Advertised { node, resource: name, amount })
            }
        }))
    }

    async fn change_node_of(
        &mut self,
        pod: &Option<String>,
        change: NodeChange,
    ) -> Result<(String, NodeChange), StepError> {
        let (node, _) = self.place_of(pod)?;
        let made = (node.clone(), change.clone());
        if !self.changes.contains(&made) {
            let Setting { namespace, run, .. } = &self.setting;
            change.record(&self.run.cluster, namespace, run, &node).await?;
            self.changes.push(made.clone());
            change.make(&self.run.cluster, &node).await?;
        }
        Ok(made)
    }

    /// Removes a taint that an earlier step set. If this fails, the taint is removed when the case ends.
    async fn untaint(&mut self, of: &UntaintStep) -> Result<Did, StepError> {
        let (node, _) = self.place_of(&of.pod)?;
        let is_meant = |(on, change): &(String, NodeChange)| {
            *on == node
                && matches!(change, NodeChange::Taint { key, effect, .. } if (key, effect) == (&of.key, &of.effect))
        };
        let Some(at) = self.changes.iter().position(is_meant) else {
            return Err(StepError::NotTainted { node, key: of.key.clone(), effect: of.effect.clone() });
        };
        self.changes[at].1.take_back(&self.run.cluster, &self.setting.namespace, &node).await?;
        self.changes.remove(at);
        Ok(Did::Untainted { node, key: of.key.clone(), effect: of.effect.clone() })
    }

    /// Runs `kubectl drain` for the node of a pod, which is cordoned already.
    pub(super) async fn drain(&self, of: &DrainStep) -> Result<Did, StepError> {
        let (node, _) = self.place_of(&of.pod)?;
        let kubectl = self.run.kubectl.as_ref().ok_or(DrainError::Missing)?;
        let labels = format!("{RUN}={},{CASE}={}", self.setting.run, self.case.name.slug());
        let timeout = of.timeout();
        let (exit, output) = kubectl.drain((&node, &labels), timeout, self.run.clock).await?;
        Ok(Did::Drained { node, timeout, exit, output })
    }

    /// Removes the taints, cordons and resources that steps set, and reports those that it could not remove.
    pub(super) async fn take_changes_back(&mut self) {
        for (node, change) in std::mem::take(&mut self.changes) {
            self.report(format!("removes {}", change.in_words(&node)));
            let back = change.take_back(&self.run.cluster, &self.setting.namespace, &node).await;
            if let Err(error) = back {
                let what = change.in_words(&node);
                let _ = self.run.out.send(Progress::Leftover { what, why: error.to_string() });
            }
        }
    }
}
