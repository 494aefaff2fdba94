//! Which processes the kernel ends first when a node runs out of memory.

use std::ops::RangeInclusive;

use probity_model::timeline::{ContainerKind, ContainerLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::looks;
use crate::reading::qos::{BEST_EFFORT, GUARANTEED, amount, class_of};

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
/// that the container requests, and no container gets the score of a `BestEffort` pod.
pub(super) fn score_follows_class(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in looks(run) {
        let spec = look.life.pod.spec;
        if spec.get("resources").is_some()
            || spec.get("priorityClassName").and_then(Value::as_str) == Some(FOR_THE_NODE)
        {
            continue;
        }
        let score = look.dump.files.get(SCORE).and_then(|text| text.trim().parse::<i64>().ok());
        let Some(score) = score else { continue };
        let class = class_of(spec);
        let allowed = allowed(class, look.life.container);
        let (least, most) = (allowed.start(), allowed.end());
        let bound = if least == most { format!("{least}") } else { format!("from {least} to {most}") };
        let finding = || {
            format!(
                "{} of {} has the score {score}, but {class} pods have {bound}",
                look.life.name(),
                look.life.pod.key
            )
        };
        let fits = allowed.contains(&score);
        seen.check(fits, finding, [look.line.id]);
        if fits {
            seen.facet("class", class);
        }
    }
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
