//! Readiness gates: conditions that the kubelet does not set and that must be True before a pod is ready.

use std::collections::BTreeSet;

use probity_model::measure::Fit;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::fields::all_ready;
use super::lasting::wrong_for_long;
use super::text;
use crate::reading::statuses::of_kubelet;

const CONTAINERS: &str = "ContainersReady";
const READY: &str = "Ready";
/// The reason that the reference implementation of Kubernetes gives for a pod that waits for its gates.
const NOT_READY: &str = "ReadinessGatesNotReady";

/// The conditions that the readiness gates of a pod name.
fn gates<'h>(pod: &PodLife<'h>) -> Vec<&'h str> {
    let gates = pod.spec.get("readinessGates").and_then(Value::as_array).into_iter().flatten();
    gates.filter_map(|gate| gate.get("conditionType")?.as_str()).collect()
}

fn gated<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (&'t PodLife<'h>, Vec<&'h str>)> {
    run.pods.iter().map(|pod| (pod, gates(pod))).filter(|(_, gates)| !gates.is_empty())
}

/// The revisions of a pod before it ends or is deleted.
fn of_living<'p, 'h>(pod: &'p PodLife<'h>) -> impl Iterator<Item = &'p Revision<'h>> {
    of_kubelet(pod).filter(|shown| !shown.terminating() && shown.phase() == "Running")
}

/// A gate whose condition is missing keeps its pod from being ready. If the condition existed before, the kubelet must
/// first learn of its removal, as with any change of a gate.
pub(super) fn missing_is_false(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, gates) in gated(run) {
        let mut said = false;
        for shown in of_living(pod).filter(|shown| shown.is(CONTAINERS) == Some(true)) {
            let never = |gate: &str| {
                !pod.revisions
                    .iter()
                    .any(|earlier| earlier.id < shown.id && earlier.condition(gate).is_some())
            };
            let Some(missing) = gates.iter().find(|gate| shown.condition(gate).is_none() && never(gate))
            else {
                continue;
            };
            if shown.is(READY) == Some(true) {
                let finding = format!("{} is ready, but has no condition {missing}", pod.key);
                seen.violated(finding, [shown.id]);
            } else if !std::mem::replace(&mut said, true) {
                seen.fine([shown.id]);
            }
        }
    }
}

/// Whether a pod must be ready according to a revision, and if not, the cause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Ready,
    /// The containers of the pod are not ready.
    Containers,
    /// The containers of the pod are ready, and at least one of its gates is not True.
    Gates {
        some_open: bool,
    },
}

fn due(shown: &Revision<'_>, gates: &[&str]) -> Due {
    let open = gates.iter().filter(|gate| shown.is(gate) == Some(true)).count();
    match shown.is(CONTAINERS) {
        Some(true) if open == gates.len() => Due::Ready,
        Some(true) => Due::Gates { some_open: open > 0 },
        _ => Due::Containers,
    }
}

/// A pod is ready if and only if its containers are ready and all of its gates are True.
pub(super) fn both_are_needed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, gates) in gated(run) {
        judge_leaving(pod, &gates, seen);
        let shown: Vec<&Revision<'_>> = of_living(pod).collect();
        let mut rest = shown.as_slice();
        let mut before = None;
        while let Some(first) = rest.first() {
            let of = due(first, &gates);
            let length = rest.iter().take_while(|shown| due(shown, &gates) == of).count();
            let (stretch, later) = rest.split_at(length);
            judge_stretch(run, clause, pod, (before, of), (stretch, later.first().copied()), seen);
            (before, rest) = (Some(of), later);
        }
    }
}

/// A pod that waits for a gate when it is deleted does not become ready afterwards, as long as the gate is not True.
fn judge_leaving(pod: &PodLife<'_>, gates: &[&str], seen: &mut Seen) {
    let closed = |shown: &Revision<'_>| gates.iter().any(|gate| shown.is(gate) != Some(true));
    let Some(last) = of_living(pod).last() else { return };
    if !closed(last) || last.is(READY) != Some(false) {
        return;
    }
    let leaving = of_kubelet(pod).filter(|shown| shown.terminating() && shown.phase() == "Running");
    if let Some(shown) = leaving.take_while(|shown| closed(shown)).find(|shown| shown.is(READY) == Some(true))
    {
        let finding =
            format!("{} became ready after it had been deleted, although a gate is not True", pod.key);
        seen.violated(finding, [last.id, shown.id]);
    }
}

/// Judges consecutive revisions that require the same readiness.
fn judge_stretch(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    (before, due): (Option<Due>, Due),
    (stretch, next): (&[&Revision<'_>], Option<&Revision<'_>>),
    seen: &mut Seen,
) {
    let Some(first) = stretch.first() else { return };
    let wanted = due == Due::Ready;
    let follows = stretch.iter().position(|shown| shown.is(READY) == Some(wanted));
    let Some(follows) = follows else {
        // The kubelet must learn of the gate and sync the pod.
        let over = next.is_none_or(|next| run.longer_than(pod, (&first.at, &next.at), clause.slack_us()));
        if over && run.watched_for(pod, &first.at, clause.slack_us()) {
            let word = if wanted {
                "not ready, although everything that it needs is True"
            } else {
                "ready, although something that it needs is missing"
            };
            let cited = [Some(first.id), next.map(|next| next.id).or_else(|| run.last_event())];
            seen.violated(format!("{} is {word}", pod.key), cited.into_iter().flatten());
        }
        return;
    };
    let (lag, settled) = stretch.split_at(follows);
    let Some(answer) = settled.first() else { return };
    if lag.is_empty() {
        seen.fine([first.id]);
        note(before, due, seen);
    } else {
        let quantity =
            format!("from the last change that affects Ready of {} to the change of Ready", pod.key);
        let fit = seen.within(run, &pod.node, quantity, (*first, *answer), clause.in_time());
        if fit == Some(Fit::Met) {
            note(before, due, seen);
        }
    }
    let turned = settled.windows(2).find(|pair| pair.iter().any(|shown| shown.is(READY) != Some(wanted)));
    if let Some([one, other]) = turned {
        let finding = format!("Ready of {} changed, although nothing that it depends on changed", pod.key);
        seen.violated(finding, [one.id, other.id]);
    }
}

fn note(before: Option<Due>, due: Due, seen: &mut Seen) {
    match (before, due) {
        (Some(Due::Gates { .. }), Due::Ready) => seen.facet("made-ready-by", "gate"),
        (Some(Due::Containers), Due::Ready) => seen.facet("made-ready-by", "container"),
        (Some(Due::Ready), Due::Gates { .. }) => seen.facet("made-unready-by", "gate"),
        (Some(Due::Ready), Due::Containers) => seen.facet("made-unready-by", "container"),
        _ => {}
    }
    if due == (Due::Gates { some_open: true }) {
        seen.facet("gates", "one of two");
    }
}

/// Ready containers are shown as ready even while a gate keeps their pod from being ready.
pub(super) fn containers_shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, gates) in gated(run) {
        if !run.node_was_touched() {
            judge_names(run, clause, (pod, &gates), seen);
        }
        let mut said = BTreeSet::new();
        for shown in of_living(pod).filter(|shown| all_ready(pod, shown)) {
            let closed = gates.iter().find(|gate| shown.is(gate) != Some(true));
            let Some(gate) = closed else { continue };
            if shown.is(CONTAINERS) != Some(true) {
                let finding =
                    format!("all containers of {} are ready, but {CONTAINERS} is not True", pod.key);
                seen.violated(finding, [shown.id]);
            } else if shown.is(READY) == Some(false) {
                let word = text(shown, gate, "status").unwrap_or("missing");
                if said.insert(word) {
                    seen.fine([shown.id]);
                    seen.facet("gate", word);
                }
            }
        }
    }
}

/// If only gates keep a pod from being ready, its `Ready` condition soon gives this reason and names each gate that is
/// not True, and no other gate.
fn judge_names(run: &Timeline<'_>, clause: &Clause, (pod, gates): (&PodLife<'_>, &[&str]), seen: &mut Seen) {
    let wrong = |shown: &Revision<'_>| {
        let waits = shown.phase() == "Running" && !shown.terminating() && all_ready(pod, shown);
        let held = waits && shown.is(CONTAINERS) == Some(true) && shown.is(READY) == Some(false);
        let message = text(shown, READY, "message").unwrap_or_default();
        let (open, closed): (Vec<&str>, Vec<&str>) =
            gates.iter().partition(|gate| shown.is(gate) == Some(true));
        let right = closed.is_empty() || text(shown, READY, "reason") == Some(NOT_READY);
        let named = closed.iter().all(|gate| message.contains(gate));
        // The name of an open gate may be part of the name of a closed one.
        let own = |gate: &&str| !closed.iter().any(|other| other.contains(gate));
        let stale = open.into_iter().filter(own).any(|gate| message.contains(gate));
        held && !(right && named && (closed.is_empty() || !stale))
    };
    if let Some((shown, events)) = wrong_for_long(run, clause, pod, wrong) {
        let reason = text(shown, READY, "reason").unwrap_or("no reason");
        let message = text(shown, READY, "message").unwrap_or_default();
        let finding = format!(
            "only a gate keeps {} from being ready, but {READY} gives the reason {reason}: {message:?}",
            pod.key
        );
        seen.violated(finding, events);
    }
}
