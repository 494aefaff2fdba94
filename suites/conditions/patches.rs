//! Conditions that the kubelet does not set: another client sets them with a patch of the pod's status, and the kubelet
//! keeps them.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::{KUBELETS, RESTARTING, TARGET, text};
use crate::reading::statuses::of_kubelet;

/// The fields, besides the status, of another client's condition that a kubelet must not change.
const KEPT: [&str; 3] = ["lastTransitionTime", "reason", "message"];

/// A condition that the harness patched into a pod.
struct Set<'h> {
    id: EventId,
    began: Stamp,
    done: Stamp,
    pod: &'h str,
    /// Whether the patch was of the pod's status, and not of the pod itself.
    to_status: bool,
    kind: &'h str,
    status: &'h str,
    /// The condition in the patch.
    wanted: &'h Value,
    /// Whether the patch removes the condition.
    removed: bool,
}

impl Set<'_> {
    /// Whether a revision shows the condition as the patch set it.
    fn is_shown(&self, shown: &Revision<'_>) -> bool {
        if self.removed {
            shown.condition(self.kind).is_none()
        } else {
            text(shown, self.kind, "status") == Some(self.status)
        }
    }

    /// Whether a revision shows every field that the patch set. It may have shown the same status before the patch.
    fn is_whole(&self, shown: &Revision<'_>) -> bool {
        let set = |name: &&str| self.wanted.get(name).is_some();
        self.is_shown(shown)
            && KEPT.into_iter().filter(set).all(|name| self.field(shown, name) == self.wanted.get(name))
    }

    /// A field of the condition in a revision, if it has a value.
    fn field<'r>(&self, shown: &Revision<'r>, name: &str) -> Option<&'r Value> {
        shown.condition(self.kind)?.get(name).filter(|value| !value.is_null())
    }

    /// What the patch did to the condition, in words.
    fn words(&self) -> String {
        if self.removed { "removed".to_owned() } else { format!("set to {}", self.status) }
    }

    /// Whether a revision came after the patch began and before the condition was set again.
    fn covers(&self, run: &Timeline<'_>, shown: &Revision<'_>, until: Option<&Stamp>) -> bool {
        !run.before(&shown.at, &self.began) && until.is_none_or(|until| run.before(&shown.at, until))
    }
}

/// All conditions that were set, in order.
fn sets<'h>(run: &Timeline<'h>) -> Vec<Set<'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::Patched { kind, name, patch, subresource } = &deed.did else { continue };
        if kind != "Pod" || !matches!(subresource.as_str(), "" | "status") {
            continue;
        }
        let conditions = patch.get("status").and_then(|status| status.get("conditions")?.as_array());
        for condition in conditions.into_iter().flatten() {
            let field = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
            let (began, done) = (Stamp::harness(deed.began_us), run.heard(*id));
            let to_status = subresource == "status";
            let (kind, status, removed) = (field("type"), field("status"), field("$patch") == "delete");
            let (id, wanted) = (*id, condition);
            all.push(Set { id, began, done, pod: name, to_status, kind, status, wanted, removed });
        }
    }
    all
}

/// When the condition was next set after the patch at this index.
fn until<'s>(sets: &'s [Set<'_>], at: usize) -> Option<&'s Stamp> {
    let set = sets.get(at)?;
    let anew = |later: &&Set<'_>| later.to_status && later.pod == set.pod && later.kind == set.kind;
    sets.get(at..)?.iter().filter(anew).find(|later| later.id != set.id).map(|later| &later.began)
}

fn pod_of<'p, 'h>(run: &'p Timeline<'h>, set: &Set<'_>) -> Option<&'p PodLife<'h>> {
    run.pods.iter().find(|pod| pod.name == set.pod)
}

/// Whether the harness set a condition of this kind in the status of a pod.
pub(super) fn is_patched(run: &Timeline<'_>, pod: &PodLife<'_>, kind: &str) -> bool {
    sets(run).iter().any(|set| set.to_status && set.pod == pod.name && set.kind == kind)
}

/// The kubelet's status updates keep a condition that another client set, with all its fields.
pub(super) fn kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let sets = sets(run);
    let owned = |kind: &str| KUBELETS.contains(&kind) || [RESTARTING, TARGET].contains(&kind);
    let of_others = |set: &Set<'_>| set.to_status && !set.removed && !owned(set.kind);
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| of_others(set)) {
        let (Some(pod), until) = (pod_of(run, set), until(&sets, at)) else { continue };
        let shown: Vec<&Revision<'_>> =
            of_kubelet(pod).filter(|shown| set.covers(run, shown, until)).collect();
        let whole = shown.iter().position(|shown| set.is_whole(shown));
        let Some(place) = whole.or_else(|| shown.iter().position(|shown| set.is_shown(shown))) else {
            continue;
        };
        let Some((&first, later)) = shown.split_at(place).1.split_first() else { continue };
        seen.applies();
        let (mut last, mut updates) = (first, usize::default());
        for &next in later {
            if !set.is_shown(next) {
                let finding = format!(
                    "{} of {} was set to {}, but a later status does not show this",
                    set.kind, pod.key, set.status
                );
                seen.violated(finding, [set.id, last.id, next.id]);
                return;
            }
            let changed = |name: &&str| set.field(next, name) != set.field(first, name);
            if let Some(name) = ["observedGeneration"].iter().chain(&KEPT).find(|name| changed(name)) {
                let finding = format!("the {name} of {} of {} was changed", set.kind, pod.key);
                seen.violated(finding, [set.id, first.id, next.id]);
                return;
            }
            updates += usize::from(is_update(last, next));
            last = next;
        }
        if updates >= clause.tolerance_times("updates") {
            seen.fine([set.id, first.id, last.id]);
            seen.facet("value", set.status);
        }
    }
}

/// Whether the kubelet wrote something new between two revisions.
fn is_update(before: &Revision<'_>, after: &Revision<'_>) -> bool {
    let conditions = KUBELETS.into_iter().any(|kind| before.condition(kind) != after.condition(kind));
    let lists = ["containerStatuses", "initContainerStatuses"];
    conditions || lists.into_iter().any(|list| before.object["status"][list] != after.object["status"][list])
}

/// A patch of the status sets a condition; the same patch of the pod itself changes nothing.
pub(super) fn set_by_patch(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let sets = sets(run);
    for (at, set) in sets.iter().enumerate() {
        let (Some(pod), until) = (pod_of(run, set), until(&sets, at)) else { continue };
        let mut shown = pod.revisions.iter().filter(|shown| set.covers(run, shown, until));
        let found = shown.find(|shown| set.is_shown(shown));
        let before = pod.revisions.iter().rev().find(|shown| run.before(&shown.at, &set.began));
        let was = before.is_some_and(|before| set.is_shown(before));
        match (set.to_status, found) {
            (true, Some(found)) => {
                seen.fine([set.id, found.id]);
                seen.facet("patched", "status");
            }
            (true, None) if run.watched_for(pod, &set.done, clause.slack_us()) => {
                let finding =
                    format!("{} of {} was {}, but no status shows this", set.kind, pod.key, set.words());
                seen.violated(finding, run.to_the_end([set.id]));
            }
            (false, Some(found)) if !was => {
                let finding = format!("a patch of {} set its condition {}", pod.key, set.kind);
                seen.violated(finding, [set.id, found.id]);
            }
            (false, None) if run.watched_for(pod, &set.done, clause.slack_us()) => {
                seen.fine(run.to_the_end([set.id]));
                seen.facet("patched", "pod");
            }
            _ => {}
        }
    }
}
