//! `PodScheduled`: True once the pod has a node, and False with a reason as long as it has none.

use std::collections::BTreeSet;

use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::text;
use crate::reading::scheduling::{GATED, SCHEDULED, count_gates};

fn has_node(shown: &Revision<'_>) -> bool {
    shown.object["spec"]["nodeName"].is_string()
}

/// A pod is scheduled if and only if it has a node.
pub(super) fn by_node(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !pod.was_ended_from_outside()) {
        let mut said = BTreeSet::new();
        for shown in pod.revisions.iter().filter(|shown| !shown.gone) {
            let is = shown.is(SCHEDULED);
            let bound = has_node(shown);
            // A pod that is created with a node has no status until its kubelet writes one.
            if bound && is != Some(true) && shown.start_second().is_some() {
                seen.violated(format!("{} has a node, but {SCHEDULED} is not True", pod.key), [shown.id]);
            } else if !bound && is == Some(true) {
                seen.violated(format!("{} has no node, but {SCHEDULED} is True", pod.key), [shown.id]);
            } else if is == Some(bound) {
                let reason = text(shown, SCHEDULED, "reason").unwrap_or_default();
                if said.insert((bound, reason)) {
                    seen.fine([shown.id]);
                    seen.facet("node", if bound { "yes" } else { "no" });
                    seen.facet("reason", reason);
                }
            }
        }
        judge_silence(run, clause, pod, seen);
        judge_opened(run, clause, pod, seen);
    }
}

/// Soon after the last scheduling gate of a pod is removed, the reason of the condition is no longer `SchedulingGated`.
fn judge_opened(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let is_gated = |shown: &&Revision<'_>| count_gates(shown) > 0;
    let Some(gated) = pod.revisions.iter().find(is_gated) else { return };
    let mut later = pod.revisions.iter().filter(|shown| shown.id > gated.id);
    let Some(open) = later.find(|shown| !is_gated(shown)) else { return };
    let blames = |shown: &Revision<'_>| text(shown, SCHEDULED, "reason") == Some(GATED) && !shown.gone;
    let last = later.next_back().unwrap_or(open);
    // Another scheduler may write no reasons.
    let usual = last.object["spec"].get("schedulerName").is_none_or(|name| name == "default-scheduler");
    if usual && blames(last) && run.watched_for(pod, &open.at, clause.tolerance_us("election")) {
        let finding =
            format!("{} has no scheduling gates, but its {SCHEDULED} still has the reason {GATED}", pod.key);
        seen.violated(finding, run.to_the_end([open.id, last.id]));
    }
}

/// The status of a pod without a node soon shows this.
fn judge_silence(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let (Some(first), Some(last)) = (pod.revisions.first(), pod.last()) else { return };
    let silent = |shown: &Revision<'_>| !has_node(shown) && shown.condition(SCHEDULED).is_none();
    if pod.revisions.iter().all(silent) && run.watched_for(pod, &first.at, clause.slack_us()) {
        let finding = format!("{} has no node, but its status has no condition {SCHEDULED}", pod.key);
        seen.violated(finding, run.to_the_end([first.id, last.id]));
    }
}
