//! Terminated pods are removed once their number exceeds a threshold, which a flag of the controller manager sets.

use probity_model::clocks::Stamp;
use probity_model::history::{CONFIGURE_CONTROLLERS, Did};
use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

/// The flag, as the Kubernetes documentation names it.
const FLAG: &str = "terminated-pod-gc-threshold";

/// A controller manager that runs with this threshold.
struct Threshold {
    id: EventId,
    at: Stamp,
    most: usize,
}

/// The threshold that a step set. The command line of the process must show it.
fn threshold(run: &Timeline<'_>, seen: &mut Seen) -> Option<Threshold> {
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { verb, input: Some(input), output, .. } = &deed.did else { continue };
        let most = input.get(FLAG).and_then(Value::as_u64).filter(|_| verb == CONFIGURE_CONTROLLERS);
        let Some(most) = most else { continue };
        let wanted = format!("--{FLAG}={most}");
        let arguments = output.as_ref().and_then(|output| output.get("arguments")?.as_array());
        let runs = arguments.into_iter().flatten().any(|argument| *argument == wanted.as_str());
        match deed.did.unproven() {
            None if runs => {
                let most = usize::try_from(most).ok()?;
                return Some(Threshold { id: *id, at: run.heard(*id), most });
            }
            why => {
                let why = why.unwrap_or_else(|| format!("the controller manager does not run with {wanted}"));
                seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            }
        }
    }
    None
}

/// A pod that had terminated, with the revision that showed this.
struct Over<'t, 'h> {
    pod: &'t PodLife<'h>,
    shown: &'t Revision<'h>,
    /// When the pod was created, as text from the API server. Such texts sort by time.
    created: &'h str,
}

impl<'t, 'h> Over<'t, 'h> {
    fn of(pod: &'t PodLife<'h>) -> Option<Self> {
        let shown = pod.over()?;
        let created = shown.object.get("metadata")?.get("creationTimestamp")?.as_str()?;
        pod.deleted.is_none().then_some(Self { pod, shown, created })
    }

    fn gone(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().find(|revision| revision.gone || revision.terminating())
    }
}

/// The oldest terminated pods are removed until no more are left than the threshold allows. Pods outside the case also count, so
/// fewer may be left.
pub(super) fn beyond_it(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let Some(threshold) = threshold(run, seen) else { return };
    let all: Vec<Over<'_, '_>> = run.pods.iter().filter_map(Over::of).collect();
    let early = |over: &&Over<'_, '_>| run.before(&over.shown.at, &threshold.at);
    if all.len() <= threshold.most || !all.iter().all(|over| early(&over)) {
        return;
    }
    let (gone, kept): (Vec<_>, Vec<_>) = all.iter().partition(|over| over.gone().is_some());
    let surplus = all.len().saturating_sub(threshold.most);
    judge_order(&threshold, &gone, &kept, seen);
    let last = run.last_event();
    if gone.len() < surplus {
        let waited = kept.iter().all(|over| run.watched_for(over.pod, &threshold.at, clause.slack_us()));
        if waited {
            let finding = format!(
                "{} finished pods still exist, but the threshold allows only {}",
                kept.len(),
                threshold.most
            );
            seen.violated(finding, [Some(threshold.id), last].into_iter().flatten());
        }
        return;
    }
    let from = (threshold.id, &threshold.at);
    for over in &gone {
        let Some(gone) = over.gone() else { continue };
        let quantity = format!("from the threshold to the removal of {}", over.pod.key);
        seen.within(run, &over.pod.node, quantity, (from, gone), clause.in_time());
    }
    let collected =
        gone.iter().filter_map(|over| over.gone()).map(|gone| gone.at.clone()).collect::<Vec<_>>();
    let quiet = clause.tolerance_us("watched");
    let stays = |over: &&Over<'_, '_>| collected.iter().all(|at| run.watched_for(over.pod, at, quiet));
    if gone.len() == surplus && kept.iter().all(stays) {
        seen.fine(kept.iter().map(|over| over.shown.id).chain(last));
        seen.facet("seen", "kept");
    }
}

/// No remaining pod is older than a removed pod.
fn judge_order(threshold: &Threshold, gone: &[&Over<'_, '_>], kept: &[&Over<'_, '_>], seen: &mut Seen) {
    let oldest = kept.iter().min_by_key(|over| over.created);
    let newest = gone.iter().max_by_key(|over| over.created);
    let (Some(oldest), Some(newest)) = (oldest, newest) else { return };
    let events = [Some(threshold.id), newest.gone().map(|gone| gone.id), Some(oldest.shown.id)];
    let events = events.into_iter().flatten();
    if oldest.created < newest.created {
        let finding =
            format!("{} was removed, but {}, which is older, was not", newest.pod.key, oldest.pod.key);
        seen.violated(finding, events);
    } else {
        seen.fine(events);
        seen.facet("seen", "oldest-first");
    }
}
