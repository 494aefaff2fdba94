//! Which processes the kernel ends first when a node runs out of memory.

use std::ops::RangeInclusive;

use probity_model::timeline::{ContainerKind, ContainerLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::{Look, all_looks};
use crate::reading::memory::allocatable;
use crate::reading::patches::last_resize;
use crate::reading::qos::{BEST_EFFORT, BURSTABLE, GUARANTEED, amount, class_of};

/// The file that shows a process its score.
const SCORE: &str = "/proc/self/oom_score_adj";
/// The scores of the classes: Kubernetes documentation, Node out of memory behavior.
const OF_GUARANTEED: i64 = -997;
/// A runtime that is not allowed to lower scores uses its own score instead.
const UNDER_BURSTABLE: i64 = 1;
const OF_BEST_EFFORT: i64 = 1000;
const OF_BURSTABLE: RangeInclusive<i64> = 2..=999;
/// Pods that the node itself needs are treated as Guaranteed, whatever their class is.
const FOR_THE_NODE: &str = "system-node-critical";

/// The score follows from the class of the pod. In a Burstable pod, the score also depends on the share of the node's memory
/// that the container requests, and no container gets the score of a `BestEffort` pod. A container that is protected better
/// than its request allows would let the kernel kill another container first. One with less protection than its request
/// requires would be killed too early.
pub(super) fn score_follows_class(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = all_looks(run);
    for look in &all {
        let spec = look.life.pod.spec;
        if spec.get("resources").is_some()
            || spec.get("priorityClassName").and_then(Value::as_str) == Some(FOR_THE_NODE)
        {
            continue;
        }
        let Some(score) = score_of(look) else { continue };
        let class = class_of(spec);
        let allowed = allowed(class, look.life.container);
        let (lowest, highest) = (*allowed.start(), *allowed.end());
        let bound = |of_request: Option<i64>, otherwise: i64| {
            let of_request = of_request.filter(|_| class == BURSTABLE);
            of_request.map_or(otherwise, |of_request| of_request.clamp(lowest, highest))
        };
        let least = bound(least_for_request(run, look), lowest);
        let most = bound(most_for_request(run, clause, look), highest);
        let bound = if least == most { format!("{least}") } else { format!("from {least} to {most}") };
        let finding = || {
            format!(
                "{} has the score {score}, but a container with its request in a {class} pod has {bound}",
                look.life.name()
            )
        };
        let fits = (least..=most).contains(&score);
        if !fits && class == GUARANTEED && is_of_runtime(run, &all, look, score) {
            let why = format!("{} has the score {score}: the runtime may not lower scores", look.life.name());
            seen.doubt(Doubt::Ambiguous, why, [look.line.id]);
            continue;
        }
        seen.check(fits, finding, [look.line.id]);
        if fits {
            seen.facet("class", class);
        }
    }
}

fn score_of(look: &Look<'_, '_>) -> Option<i64> {
    look.dump.files.get(SCORE).and_then(|text| text.trim().parse().ok())
}

/// Whether a container in a Guaranteed pod can have the score of its runtime, because the runtime is not allowed to lower
/// scores, as in a user namespace. Then no container on the node has a lower score. A container that is treated as if its
/// pod had another class has a higher score, which follows from its request.
fn is_of_runtime(run: &Timeline<'_>, all: &[Look<'_, '_>], look: &Look<'_, '_>, score: i64) -> bool {
    let of_node = all.iter().filter(|other| other.life.pod.node == look.life.pod.node);
    let lowest = of_node.filter_map(score_of).min();
    let below = least_for_request(run, look).is_none_or(|least| score < least);
    score > UNDER_BURSTABLE && lowest == Some(score) && below
}

fn allowed(class: &str, container: &ContainerLife<'_>) -> RangeInclusive<i64> {
    let asks = ["requests", "limits"].iter().any(|list| amount(container.spec, list, "memory").is_some());
    match class {
        GUARANTEED => OF_GUARANTEED..=UNDER_BURSTABLE,
        BEST_EFFORT => OF_BEST_EFFORT..=OF_BEST_EFFORT,
        // A sidecar has at most the score of the main containers, which may request more.
        _ if !asks && container.kind == ContainerKind::Main => *OF_BURSTABLE.end()..=*OF_BURSTABLE.end(),
        _ => OF_BURSTABLE,
    }
}

/// The lowest score that the request of a container allows: 1000 minus its share of the node's memory in thousandths. The
/// share is rounded down. The memory that pods can use is a part of the whole memory, which is not known, so the true share
/// is lower and the true score is higher. A sidecar may be protected as well as a main container that requests more.
fn least_for_request(run: &Timeline<'_>, look: &Look<'_, '_>) -> Option<i64> {
    let (pod, container) = (look.life.pod, look.life.container);
    // A process keeps the score with which it started.
    if last_resize(run, pod).is_some() {
        return None;
    }
    let all = allocatable(run, &pod.node)?;
    let mains = pod.containers.iter().filter(|other| other.kind == ContainerKind::Main);
    let highest = match container.kind {
        ContainerKind::Sidecar => mains.map(requested).max().unwrap_or_default(),
        _ => 0,
    };
    let share = requested(container).max(highest).checked_mul(WHOLE_NODE)?.checked_div(all)?;
    i64::try_from(WHOLE_NODE - share).ok()
}

/// The highest score that the request of a container allows. A sidecar is protected at least as well as the main container
/// with the lowest request. The whole memory of the node is not known, but it is at most a multiple of the memory that pods can use.
fn most_for_request(run: &Timeline<'_>, clause: &Clause, look: &Look<'_, '_>) -> Option<i64> {
    let (pod, container) = (look.life.pod, look.life.container);
    if last_resize(run, pod).is_some() {
        return None;
    }
    let all = allocatable(run, &pod.node)?;
    let whole = all.checked_mul(i128::try_from(clause.tolerance_times("reserved")).ok()?)?;
    let own = amount(container.spec, "requests", "memory").unwrap_or_default();
    let mains = pod.containers.iter().filter(|other| other.kind == ContainerKind::Main);
    let lowest = mains.map(|main| amount(main.spec, "requests", "memory").unwrap_or_default()).min();
    let request = match container.kind {
        ContainerKind::Sidecar => own.max(lowest.unwrap_or_default()),
        _ => own,
    };
    let share = request.checked_mul(WHOLE_NODE)?.checked_div(whole)?;
    i64::try_from(WHOLE_NODE - share).ok()
}

/// The share of a container that requests the whole memory of its node: Kubernetes documentation, Node out of memory
/// behavior.
const WHOLE_NODE: i128 = 1000;

/// The memory that a container requests. Without a request, its limit counts.
fn requested(container: &ContainerLife<'_>) -> i128 {
    let given = |list: &str| amount(container.spec, list, "memory");
    given("requests").or_else(|| given("limits")).unwrap_or_default()
}
