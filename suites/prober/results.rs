//! Results: a changed result is sent to the API immediately, and an unchanged result is not sent.

use probity_model::clocks::Stamp;
use probity_model::mechanisms::TO_SETTLE;
use probity_model::timeline::{ContainerSeen, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::readiness::{Turn, comes_up, falls, goes_down, readiness_lives, rises, turns};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.result.published-on-change", judge: same_result_is_not_written },
    Judge { clause: "prober.sync.readiness-status-path", judge: change_is_written_at_once },
];

/// The status shows in time each change of readiness, and the success of a startup probe.
fn change_is_written_at_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run) {
        for turn in falls(&life) {
            goes_down(clause, seen, &life, &turn);
        }
        // At first, results of a later instance may have counted for the previous instance.
        let anew = |turn: &Turn<'_, '_>| {
            life.number > 0 && turn.first.at.at.lo < life.began.at.hi.saturating_add(TO_SETTLE)
        };
        for turn in rises(&life).into_iter().filter(|turn| !anew(turn)) {
            comes_up(clause, seen, &life, &turn);
        }
    }
    let lives = run.lives().of(ProbeKind::Startup).undisturbed().staying().asked_alone().whole();
    for life in lives.only(|life| life.number == 0 && life.is_unmistaken()) {
        judge_started(clause, &life, seen);
    }
}

/// The status shows the success of a startup probe in time. In a later instance, the probe may have counted for the
/// previous instance, which other clauses judge.
fn judge_started(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let mut probes = life.probes.iter().copied();
    let passed = probes.find(|probe| life.surely(probe) == ProbeOutcome::Success);
    let Some(passed) = passed.filter(|probe| probe.at.at.lo >= life.known_from()) else { return };
    let Some(due) = passed.settled.clone().filter(|_| life.spec.successes == 1) else { return };
    let started = |_: &Revision<'_>, seen: &ContainerSeen<'_>| seen.started == Some(true);
    match life.first_shown(&passed.at, started) {
        Some(shown) => {
            life.within(
                seen,
                "from the success of the startup probe to started=true",
                (&due, shown),
                clause.in_time(),
            );
        }
        None if life.watched_for(&due, clause.slack_us()) && life.lives_on() => {
            let last = life.pod.last().map(|revision| revision.id);
            seen.violated(
                "a startup probe succeeded, but the container was never shown as started",
                passed.events().into_iter().chain(last),
            );
        }
        None => {}
    }
}

/// While a probe keeps the same result, no revision of the pod repeats the previous revision.
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
            "{} readiness probes had the same result, but {} revisions of the pod repeated the previous revision",
            same.len(),
            repeated.len()
        );
        seen.violated(finding, [*first, *last].into_iter().chain(repeated));
    }
}

/// The revisions in a period that do not differ from the previous revision in any relevant field.
fn repeated_revisions(life: &ProbedLife<'_, '_>, from: &Stamp, to: &Stamp) -> Vec<EventId> {
    let run = life.run;
    let inside = |revision: &Revision<'_>| run.before(from, &revision.at) && run.before(&revision.at, to);
    let repeated = life.pod.revisions.windows(2).filter_map(|two| match two {
        [before, now] if inside(now) && gist(before.object) == gist(now.object) => Some(now.id),
        _ => None,
    });
    repeated.collect()
}

/// A pod without the fields that every write changes: versions, field managers, and times of conditions.
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
