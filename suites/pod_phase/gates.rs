//! Scheduling gates: a pod with a gate is not scheduled, and it is scheduled once its last gate is removed.

use probity_model::measure::Fit;
use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches;
use crate::reading::scheduling::{GATED, SCHEDULED, count_gates, gates};

/// How the API server rejects an update that is not valid.
const INVALID: &str = "422";

fn goes(shown: &Revision<'_>) -> bool {
    shown.terminating() || shown.gone
}

/// A pod stays unscheduled and Pending until all of its gates are removed; then it gets a node. No gate can be added.
pub(super) fn delay_scheduling(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let Some(all) = pod.revisions.first().map(count_gates).filter(|all| *all > usize::default()) else {
            continue;
        };
        if is_held(pod, seen) {
            judge_time(run, clause, pod, all, seen);
            judge_opening(run, clause, pod, seen);
        }
    }
    judge_additions(run, seen);
}

/// Whether each revision with gates shows a pod that waits for them.
fn is_held(pod: &PodLife<'_>, seen: &mut Seen) -> bool {
    let gated = pod.revisions.iter().filter(|shown| count_gates(shown) > usize::default() && !goes(shown));
    for shown in gated {
        let condition = shown.condition(SCHEDULED);
        let says = |field: &str| condition.and_then(|of| of.get(field)?.as_str()).unwrap_or("missing");
        let what = if shown.object["spec"]["nodeName"].is_string() {
            "it has a node".to_owned()
        } else if shown.phase() != "Pending" {
            format!("its phase is {:?}", shown.phase())
        } else if (says("status"), says("reason")) != ("False", GATED) {
            format!("{SCHEDULED} is {} with the reason {}", says("status"), says("reason"))
        } else {
            continue;
        };
        seen.violated(format!("{} has scheduling gates, but {what}", pod.key), [shown.id]);
        return false;
    }
    true
}

/// Notes whether a pod stayed unscheduled for long enough with all of its gates, and with only some of them.
fn judge_time(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, all: usize, seen: &mut Seen) {
    let watched = clause.tolerance_us("watched");
    let mut before = usize::default();
    for from in pod.revisions.iter().take_while(|shown| !goes(shown)) {
        let now = count_gates(from);
        if now == before || now == usize::default() {
            before = now;
            continue;
        }
        before = now;
        let ends = |later: &&Revision<'_>| later.id > from.id && (count_gates(later) != now || goes(later));
        let until = match pod.revisions.iter().find(ends) {
            Some(end) if run.at_least(&from.at, &end.at) >= watched => Some(end.id),
            None if run.watched_for(pod, &from.at, watched) => run.last_event(),
            _ => None,
        };
        if let Some(until) = until {
            seen.fine([from.id, until]);
            seen.facet("gates", if now == all { "all" } else { "some" });
        }
    }
}

/// A pod gets a node after its last gate was removed.
fn judge_opening(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(open) = pod.revisions.iter().find(|shown| count_gates(shown) == usize::default()) else {
        return;
    };
    if goes(open) {
        return;
    }
    // There may be no node that matches the node selector.
    let selects = pod.last().is_some_and(|last| last.object["spec"].get("nodeSelector").is_some());
    match pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string()) {
        Some(bound) => {
            let quantity =
                format!("from the removal of the last scheduling gate of {} to its binding", pod.key);
            if seen.within(run, &pod.node, quantity, (open, bound), clause.in_time()) == Some(Fit::Met) {
                seen.facet("gates", "none");
            }
        }
        None if !selects && run.watched_for(pod, &open.at, clause.slack_us()) => {
            let finding = format!("all scheduling gates of {} were removed, but it has no node", pod.key);
            seen.violated(finding, run.to_the_end([open.id]));
        }
        None => {}
    }
}

/// Whether an entry of a patch removes a gate.
fn removes(entry: &Value) -> bool {
    entry.get("$patch").is_some_and(|what| what == "delete")
}

/// A patch that adds a gate is rejected, even if it removes another one. A patch that only removes gates is accepted.
fn judge_additions(run: &Timeline<'_>, seen: &mut Seen) {
    for patch in patches::of_pods(run) {
        let entries: Vec<&Value> = patch.asked.get("spec").into_iter().flat_map(gates).collect();
        if entries.is_empty() {
            continue;
        }
        let before = patch.before(run).map(|shown| &shown.object["spec"]);
        let known =
            |entry: &Value| before.into_iter().flat_map(gates).any(|gate| gate["name"] == entry["name"]);
        let adds = entries.iter().any(|entry| !removes(entry) && !known(entry));
        match (adds, patch.refused) {
            (true, None) => seen.violated("the API server accepted a new scheduling gate", [patch.id]),
            (false, None) => {}
            (true, Some(why)) if why.contains(INVALID) => {
                seen.fine([patch.id]);
                seen.facet(
                    "new",
                    if entries.iter().any(|entry| removes(entry)) { "exchanged" } else { "rejected" },
                );
            }
            (false, Some(why)) if why.contains(INVALID) && entries.iter().all(|entry| removes(entry)) => {
                seen.violated("the API server rejected the removal of a scheduling gate", [patch.id]);
            }
            (_, Some(why)) => {
                let why = format!("the patch was rejected for another reason: {why}");
                seen.doubt(Doubt::StepFailed, why, [patch.id]);
            }
        }
    }
}
