//! Shutdowns of nodes that a step announced to their kubelets: for how long a kubelet may delay them, and which pods it has to
//! end. No node really shuts down.

use probity_model::clocks::Stamp;
use probity_model::history::{ANNOUNCE_SHUTDOWN, CANCEL_SHUTDOWN, CONFIGURE_KUBELET, Deed, Did};
use probity_model::mechanisms::TO_RESUME;
use probity_model::timeline::{At, Life, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};
use probity_script::Span;
use serde_json::Value;

use super::critical::is_critical;
use super::ends::{alive_until, was_running};

/// An announced shutdown.
pub(crate) struct NodeShutdown<'t, 'h> {
    /// The node.
    pub(crate) node: &'h str,
    /// The announcement, from its earliest to its latest possible instant.
    pub(crate) at: At,
    /// Whether something delayed the shutdown.
    pub(crate) delayed: bool,
    /// For how long the kubelet may delay the shutdown for pods that are not critical.
    pub(crate) for_regular: i64,
    /// For how long the kubelet may then delay the shutdown for critical pods.
    pub(crate) for_critical: i64,
    /// The step that cancelled it.
    pub(crate) cancelled: Option<Cancelled>,
    /// The pods that were running on the node.
    pub(crate) pods: Vec<&'t PodLife<'h>>,
}

/// The step that cancelled a shutdown.
pub(crate) struct Cancelled {
    /// When, from the earliest to the latest possible instant.
    pub(crate) at: At,
    /// How long after the announcement the delay had ended. None if it had not.
    pub(crate) released_after: Option<i64>,
}

/// The announced shutdowns of a history. A step that failed is recorded as a doubt. A kubelet that has just started rejects
/// running pods that it sees only after the announcement, so nothing is judged then.
pub(crate) fn node_shutdowns<'t, 'h>(run: &'t Timeline<'h>, seen: &mut Seen) -> Vec<NodeShutdown<'t, 'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, output, .. } = &deed.did else { continue };
        if verb != ANNOUNCE_SHUTDOWN {
            continue;
        }
        if let Some(why) = deed.did.unproven() {
            seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            continue;
        }
        let Some((configured, for_regular, for_critical)) = periods(run, node, *id) else { continue };
        let delayed = output.as_ref().and_then(|told| told["delayed"].as_bool()).unwrap_or_default();
        let at = run.deed_at(*id);
        let noise = run.noise_between(node, &configured, &at);
        if run.clocks.between(&configured, &at).is_none_or(|passed| passed.lo - noise < TO_RESUME) {
            continue;
        }
        let cancelled = cancelled(run, node, *id);
        let until = cancelled.as_ref().map_or_else(|| run.end(), |of| of.at.stamp.clone());
        let there = |pod: &&PodLife<'h>| {
            pod.node == *node && pod.was_running_before(*id) && run.before_deletion(pod, &until)
        };
        let pods = run.pods.iter().filter(there).collect();
        all.push(NodeShutdown { node, at, delayed, for_regular, for_critical, cancelled, pods });
    }
    all
}

/// When a step last configured a kubelet before an event, and its periods for regular and for critical pods. None if the
/// kubelet has none, or did not accept them.
fn periods(run: &Timeline<'_>, node: &str, before: EventId) -> Option<(Stamp, i64, i64)> {
    let (configured, settings) = configured(run, node, before)?;
    let span = |field: &str| {
        let text = settings.get(field).and_then(Value::as_str)?;
        i64::try_from(text.parse::<Span>().ok()?.micros()).ok()
    };
    let (all, critical) = (span("shutdownGracePeriod")?, span("shutdownGracePeriodCriticalPods")?);
    (critical < all).then_some((configured, all - critical, critical))
}

/// When a step last configured a kubelet before an event, and its input. None if anything was done to the node since then,
/// except that shutdowns were announced and all of them were canceled.
fn configured<'h>(run: &Timeline<'h>, node: &str, before: EventId) -> Option<(Stamp, &'h Value)> {
    let mut cancelled = false;
    for (id, deed) in run.deeds.iter().rev().filter(|(id, _)| *id < before) {
        let Did::NodeVerb { node: of, verb, input, .. } = &deed.did else { continue };
        if of != node || !deed.did.acts_on_node() {
            continue;
        }
        let proven = deed.did.unproven().is_none();
        match verb.as_str() {
            CANCEL_SHUTDOWN if proven => cancelled = true,
            ANNOUNCE_SHUTDOWN if cancelled => {}
            CONFIGURE_KUBELET if proven && !deed.did.kubelet_refused() => {
                return Some((run.heard(*id), input.as_ref()?));
            }
            _ => return None,
        }
    }
    None
}

fn cancelled(run: &Timeline<'_>, node: &str, after: EventId) -> Option<Cancelled> {
    let cancels = |deed: &Deed| match &deed.did {
        Did::NodeVerb { node: of, verb, output: Some(told), .. } if of == node && verb == CANCEL_SHUTDOWN => {
            deed.did.unproven().is_none().then(|| told["releasedAfterUs"].as_i64())
        }
        _ => None,
    };
    let (id, released_after) =
        run.deeds.iter().filter(|(id, _)| *id > after).find_map(|(id, deed)| Some((*id, cancels(deed)?)))?;
    Some(Cancelled { at: run.deed_at(id), released_after })
}

impl<'t, 'h> NodeShutdown<'t, 'h> {
    /// Whether a pod was created for this node while its shutdown was announced.
    pub(crate) fn covers_creation(&self, run: &Timeline<'h>, pod: &PodLife<'h>) -> bool {
        let before_end = |at: &At| self.cancelled.as_ref().is_none_or(|of| run.before(at, &of.at));
        created_for(run, pod, self.node).is_some_and(|at| at.id > self.at.id && before_end(&at))
    }

    /// The instances of a pod that were running when the shutdown was announced.
    pub(crate) fn lives(&self, run: &'t Timeline<'h>, pod: &PodLife<'h>) -> Vec<Life<'t, 'h>> {
        let of_pod = |life: &Life<'t, 'h>| life.pod.uid == pod.uid;
        run.lives().into_iter().filter(|life| of_pod(life) && was_running(life, &self.first())).collect()
    }

    /// The earliest instant of the announcement.
    fn first(&self) -> Stamp {
        Stamp::harness(self.at.at.lo)
    }

    /// How long the kubelet has for the containers of a pod after their stop signals.
    pub(crate) fn grace(&self, pod: &PodLife<'_>) -> i64 {
        let most = if is_critical(pod) { self.for_critical } else { self.for_regular };
        pod.grace().min(most)
    }
}

/// The first of these instances that was certainly still running at an instant: its name, and when it last was.
pub(crate) fn outlives<'t, 'h: 't>(
    run: &Timeline<'h>,
    lives: impl IntoIterator<Item = Life<'t, 'h>>,
    at: &Stamp,
) -> Option<(String, At)> {
    lives.into_iter().find_map(|life| {
        let last = alive_until(&life).filter(|last| run.before(at, last))?;
        Some((life.name(), last))
    })
}

/// When a pod was created, if its manifest names this node.
pub(crate) fn created_for(run: &Timeline<'_>, pod: &PodLife<'_>, node: &str) -> Option<At> {
    let (id, manifest) = pod.created?;
    (manifest["spec"]["nodeName"] == node).then(|| run.deed_at(id))
}
