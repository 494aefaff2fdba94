//! What a case does to the nodes, and to the cluster as a whole.

use probity_model::clause::Need;
use probity_model::history::{NodeVerb, brings_back};
use probity_script::problem::pin;

use crate::case::Case;
use crate::step::Step;
use crate::wide;

impl Case {
    /// Checks that a case that changes the cluster declares this, and runs alone if other cases could notice the
    /// change.
    pub(crate) fn check_scope(&self) -> Result<(), String> {
        let wide = self.objects.iter().any(wide::is_wide);
        let changes = self.changes_a_node() || self.advertises_a_resource();
        if (wide || changes) && !self.needs.contains(&Need::ClusterScope) {
            let why = "the case changes the whole cluster: write `needs: [cluster-scope]`, so that it is skipped if \
                       the run lacks permission";
            return Err(pin(why, &[if wide { "objects" } else { "steps" }]));
        }
        if self.changes_a_node() && !(self.quiet && self.needs_several_nodes()) {
            let why = "a step changes a node: write `needs: [cluster-scope, multi-node]` and `quiet: true`, so that \
                       the case runs alone, and on a cluster with other nodes";
            return Err(pin(why, &["steps"]));
        }
        Ok(())
    }

    /// Whether the case needs more than one node.
    #[must_use]
    pub fn needs_several_nodes(&self) -> bool {
        [Need::MultiNode, Need::ThreeNodes].iter().any(|need| self.needs.contains(need))
    }

    /// Whether a step taints, cordons or drains a node.
    #[must_use]
    pub fn changes_a_node(&self) -> bool {
        let changes = |step: &Step| matches!(step, Step::Taint(_) | Step::Cordon(_) | Step::Drain(_));
        self.steps.iter().any(changes)
    }

    /// Whether a step advertises an extended resource for a node. Other pods do not notice this.
    #[must_use]
    pub fn advertises_a_resource(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Advertise(_)))
    }

    /// Whether a step taints a node.
    #[must_use]
    pub fn taints_a_node(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Taint(_)))
    }

    /// Whether a step restarts a kubelet, permanently or until the case ends.
    #[must_use]
    pub fn restarts_a_kubelet(&self) -> bool {
        let restarts =
            |step: &Step| matches!(step, Step::Node(of) if NodeVerb::of(&of.verb).restarts_kubelet);
        self.steps.iter().any(restarts)
    }

    /// Whether a step drains a node.
    #[must_use]
    pub fn drains_a_node(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Drain(_)))
    }

    /// Whether a step makes a node unavailable for a while, or ends all of its pods.
    #[must_use]
    pub fn takes_a_node_away(&self) -> bool {
        let takes = |step: &Step| matches!(step, Step::Node(of) if brings_back(&of.verb).is_some());
        self.steps.iter().any(takes) || self.ends_pods_of_a_node()
    }

    /// Whether a step ends all pods of a node, including those of the run itself.
    #[must_use]
    pub fn ends_pods_of_a_node(&self) -> bool {
        let ends = |step: &Step| matches!(step, Step::Node(of) if NodeVerb::of(&of.verb).ends_pods);
        self.steps.iter().any(ends)
    }

    /// Whether a verb changes a node but leaves it in the cluster. All pods of the case must then be on the same node.
    #[must_use]
    pub fn configures_a_node(&self) -> bool {
        let changes = |step: &Step| match step {
            Step::Node(of) => NodeVerb::of(&of.verb).undo.is_some(),
            _ => false,
        };
        !self.takes_a_node_away() && (self.has_static_pods() || self.steps.iter().any(changes))
    }

    /// Whether a pod is static.
    #[must_use]
    pub fn has_static_pods(&self) -> bool {
        self.pods.values().any(|pod| pod.is_static)
    }

    /// This case, with its static pods on the given node.
    #[must_use]
    pub fn with_static_pods_on(mut self, node: &str) -> Self {
        for pod in self.pods.values_mut().filter(|pod| pod.is_static) {
            pod.node = Some(node.to_owned());
        }
        self
    }
}
