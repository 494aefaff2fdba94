//! Which pod is preempted: the one with the lowest priority, whatever the classes of the pods are.

use probity_model::timeline::PodLife;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::qos::{BEST_EFFORT, GUARANTEED, class_of};
use crate::reading::slots::{Contest, contests};

fn class(pod: &PodLife<'_>) -> &'static str {
    pod.created.and_then(|(_, manifest)| manifest.get("spec")).map_or("", |spec: &Value| class_of(spec))
}

/// The class of a pod decides neither whether it is preempted nor which pod is preempted first.
pub(super) fn is_not_about_classes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for contest in contests(run) {
        if contest.lower().is_empty() {
            judge_equals(run, clause, &contest, seen);
        } else {
            judge_choice(run, clause, &contest, seen);
        }
    }
}

/// If no pod has a lower priority, all pods stay, and the new pod waits.
fn judge_equals(run: &Timeline<'_>, clause: &Clause, contest: &Contest<'_, '_>, seen: &mut Seen) {
    let wants = &contest.wants.0.key;
    if let Some((pod, _, going)) = contest.gone(run).first() {
        let finding = format!(
            "{} ({}) was removed when {wants} was created, although {wants} does not have a higher priority",
            pod.key,
            class(pod)
        );
        seen.violated(finding, [contest.at.id, going.id]);
        return;
    }
    let classes: Vec<&str> = contest.holders.iter().map(|(pod, _)| class(pod)).collect();
    let both = classes.contains(&GUARANTEED) && classes.contains(&BEST_EFFORT);
    let stay =
        |(pod, _): &(&PodLife<'_>, i64)| run.watched_for(pod, &contest.at, clause.tolerance_us("watched"));
    if both && contest.placed().is_none() && contest.holders.iter().all(stay) {
        seen.fine(run.to_the_end([contest.at.id]));
        seen.facet("preempted", "none-of-equals");
    }
}

/// If a pod must be preempted, it is the one with the lowest priority.
fn judge_choice(run: &Timeline<'_>, clause: &Clause, contest: &Contest<'_, '_>, seen: &mut Seen) {
    let (wants, lowest) = (&contest.wants.0.key, contest.lowest());
    let gone = contest.gone(run);
    for (pod, priority, going) in &gone {
        let finding = || {
            format!(
                "{} ({}) was preempted for {wants}, although another pod has a lower priority",
                pod.key,
                class(pod)
            )
        };
        let right = Some(*priority) == lowest;
        seen.check(right, finding, [contest.at.id, going.id]);
        let spared = contest.holders.iter().any(|(other, of)| of > priority && class(other) == BEST_EFFORT);
        if right && spared && class(pod) == GUARANTEED && gone.len() == 1 {
            seen.facet("preempted", "guaranteed-before-besteffort");
        }
    }
    let Some(end) = run.end_event().filter(|_| gone.is_empty() && contest.placed().is_none()) else {
        return;
    };
    if run.misses("", (&contest.at, &end), clause.in_time()) {
        let finding =
            format!("{wants} has a higher priority than a pod that holds its slot, but no pod was preempted");
        seen.violated(finding, [contest.at.id, end.id]);
    }
}
