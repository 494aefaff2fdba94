//! Results: a changed result goes to the API at once, and an unchanged one writes nothing.

use probity_model::clocks::Stamp;
use probity_model::timeline::{ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::readiness::{Turn, comes_up, falls, goes_down, readiness_lives, rises, turns};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.result.published-on-change", judge: same_result_is_not_written },
    Judge { clause: "prober.sync.readiness-status-path", judge: change_is_written_at_once },
];

/// The status shows each change of readiness in time.
fn change_is_written_at_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in falls(&life) {
            goes_down(clause, seen, &life, &turn);
        }
        for turn in rises(&life) {
            comes_up(clause, seen, &life, &turn);
        }
    }
}

/// While a probe has the same result again and again, no revision of the pod repeats the one before it.
fn same_result_is_not_written(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).only(|life| life.is_unmistaken()) {
        for wanted in [ProbeOutcome::Success, ProbeOutcome::Failure] {
            for turn in turns(&life, wanted) {
                judge_turn(clause, &life, &turn, seen);
            }
        }
    }
}

fn judge_turn(clause: &Clause, life: &ProbedLife<'_, '_>, turn: &Turn<'_, '_>, seen: &mut Seen) {
    let (from, to) = (turn.due.later(clause.slack_us()), &turn.last.at);
    let same = life.probes.iter().filter(|probe| probe.at.at.lo > from.at.hi && probe.at.at.hi <= to.at.lo);
    let same: Vec<EventId> = same.map(|probe| probe.id).collect();
    let [first, .., last] = same.as_slice() else { return };
    if same.len() < clause.tolerance_times("probes") || !life.before_deletion(to) {
        return;
    }
    let repeated = repeated_revisions(life, &from, to);
    let one_for_some = same.len() / clause.tolerance_times("probes-for-a-revision").max(1);
    if repeated.is_empty() {
        seen.fine([*first, *last]);
    } else if repeated.len() >= clause.tolerance_times("revisions").max(one_for_some) {
        let finding = format!(
            "{} readiness probes had the same result, and meanwhile {} revisions of the pod repeated the one before",
            same.len(),
            repeated.len()
        );
        seen.violated(finding, [*first, *last].into_iter().chain(repeated));
    }
}

/// The revisions in a span that differ from the one before in nothing that matters.
fn repeated_revisions(life: &ProbedLife<'_, '_>, from: &Stamp, to: &Stamp) -> Vec<EventId> {
    let run = life.run;
    let inside = |revision: &Revision<'_>| run.before(from, &revision.at) && run.before(&revision.at, to);
    let repeated = life.pod.revisions.windows(2).filter_map(|two| match two {
        [before, now] if inside(now) && gist(before.object) == gist(now.object) => Some(now.id),
        _ => None,
    });
    repeated.collect()
}

/// A pod without the fields that every write changes: versions, who wrote what, and times of conditions.
fn gist(pod: &Value) -> Value {
    let mut gist = pod.clone();
    if let Some(metadata) = gist.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    let conditions = gist.get_mut("status").and_then(|status| status.get_mut("conditions")?.as_array_mut());
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("lastProbeTime");
        condition.remove("lastTransitionTime");
    }
    gist
}
