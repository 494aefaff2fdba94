//! The kubelet restarts that the harness caused and that the nodes of the kubelets prove.

use probity_model::clocks::Stamp;
use probity_model::history::{Deed, Did, NodeFacts, NodeProof, NodeVerb, RESTART_KUBELET};
use probity_model::mechanisms::TO_RESUME;
use probity_model::timeline::{At, Life, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};

/// The first version of Kubernetes whose kubelet, after a restart, takes over from the earlier status which containers had
/// started and were ready (`setReadyStateOnKubeletRestart` in pkg/kubelet/prober/prober_manager.go).
const TAKES_OVER_SINCE: (u32, u32) = (1, 35);

/// A kubelet restart with proof from its node.
pub(crate) struct Restart<'h> {
    /// The node.
    pub(crate) node: &'h str,
    /// When it began.
    pub(crate) began: At,
    /// When the new kubelet was certainly running: at the end of the command that started it.
    pub(crate) over: Stamp,
}

/// Whether the kubelet of a node, after a restart, takes over which containers had started. An earlier kubelet forgets this.
pub(crate) fn takes_over_started(run: &Timeline<'_>, node: &str) -> bool {
    let version = run.history.header.nodes.get(node).and_then(NodeFacts::kubelet_minor);
    version.is_none_or(|version| version >= TAKES_OVER_SINCE)
}

/// Whether a deed restarted a kubelet, with or without new settings, and the node proves this.
pub(crate) fn is_proven_restart(did: &Did) -> bool {
    let restarts = matches!(did, Did::NodeVerb { verb, .. } if NodeVerb::of(verb).restarts_kubelet);
    restarts && did.unproven().is_none()
}

/// Whether nothing was done to a node, except that its kubelet was restarted with the same settings, and the node proves
/// this.
pub(crate) fn only_kubelets_restarted(run: &Timeline<'_>) -> bool {
    let same = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if verb == RESTART_KUBELET);
    let restarts = |did: &Did| same(did) && is_proven_restart(did);
    run.deeds.iter().all(|(_, deed)| !deed.did.acts_on_node() || restarts(&deed.did))
}

/// Whether a restart of the kubelet may rewrite the whole status of a pod: the manifest of a static pod has no status
/// with which the new kubelet could begin (docs/findings/status-of-a-static-pod-written-anew.md).
pub(crate) fn is_written_anew(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    pod.is_static && run.node_was_touched()
}

/// When something else was done to a node after this deed, or the case ended.
pub(crate) fn next_act_on_a_node(run: &Timeline<'_>, deed: EventId) -> Stamp {
    let next = run.deeds.iter().find(|(next, done)| *next > deed && done.did.acts_on_node());
    next.map_or_else(|| run.end(), |(_, done)| Stamp::harness(done.began_us))
}

/// The proven kubelet restarts. A restart without proof is recorded as a doubt: the exit status 0 of a command is not
/// proof.
pub(crate) fn restarts<'h>(run: &Timeline<'h>, seen: &mut Seen) -> Vec<Restart<'h>> {
    let mut proven = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, proof, .. } = &deed.did else { continue };
        if verb != RESTART_KUBELET {
            continue;
        }
        let Some(NodeProof { ended_us, .. }) = proof.as_ref().filter(|_| deed.did.unproven().is_none())
        else {
            let why = deed.did.unproven().unwrap_or_default();
            seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            continue;
        };
        let began = At::new(*id, Stamp::harness(deed.began_us));
        proven.push(Restart { node, began, over: Stamp::harness(*ended_us) });
    }
    proven
}

/// For how long after the end of a life its kubelet may still have been starting, if it was restarted before the next life was
/// due.
pub(crate) fn restart_of_kubelet(life: &Life<'_, '_>, end: &Stamp, due: i64) -> i64 {
    let by = end.later(due);
    let down = |of: &Did| {
        matches!(of, Did::NodeVerb { node, .. } if *node == life.pod.node) && is_proven_restart(of)
    };
    let until = |(id, deed): &(EventId, &Deed)| {
        let resumed = Stamp::harness(life.run.heard(*id).at.hi).later(TO_RESUME);
        let began = Stamp::harness(deed.began_us);
        let span = down(&deed.did).then(|| life.run.clocks.between(end, &resumed))??;
        life.run.before(&began, &by).then_some(span.hi.max(0))
    };
    life.run.deeds.iter().filter_map(until).max().unwrap_or_default()
}
