//! When a container started and how it terminated: what the API shows, compared with the record of its
//! process.

use std::collections::BTreeSet;

use probity_model::measure::{Fit, seconds};
use probity_model::timeline::{At, Happened, Life, Revision, State};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::{End, has_wall_clock, second, shown_ends};

/// The reason that a runtime gives for the exit status 0, as in the Kubernetes documentation.
const COMPLETED: &str = "Completed";

/// `startedAt` of a running container is the second in which its process started.
pub(super) fn running_since(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().only(|life| life.is_numbered() && has_wall_clock(life)) {
        let mut told = BTreeSet::new();
        for (revision, status) in life.revisions() {
            let State::Running { started } = status.state else { continue };
            match started {
                None => {
                    let finding =
                        format!("the status shows {} as running, but has no startedAt", life.name());
                    seen.violated(finding, [life.began.id, revision.id]);
                }
                Some(since) if told.insert(since) => {
                    let shown = second(&life, revision, since);
                    judge_instant(clause, &life, ("startedAt", &shown), (&life.began, &life.began), seen);
                }
                Some(_) => {}
            }
        }
    }
}

/// A terminated container shows its exit code, its reason, its start and its end.
pub(super) fn how_it_ended(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A kubelet that evicts a pod removes its containers, and may no longer know how they ended.
    let evicted = |life: &Life<'_, '_>| {
        life.pod.over().is_some_and(|over| over.object["status"]["reason"] == "Evicted")
    };
    let lives = run.lives().undisturbed().only(|life| life.is_numbered() && !evicted(life));
    for life in lives {
        let Some(end) = End::of(&life) else { continue };
        let mut told = BTreeSet::new();
        for (revision, state) in shown_ends(&life) {
            let State::Terminated { code, reason, started, finished } = state else { continue };
            if told.insert((code, reason, started, finished)) {
                judge_status(&life, &end, revision, (code, reason), seen);
                let instants = [
                    ("startedAt", started, &life.began, &life.began),
                    ("finishedAt", finished, &end.earliest, end.at()),
                ];
                for (field, shown, from, to) in instants {
                    match shown {
                        Some(at) if has_wall_clock(&life) => {
                            judge_instant(
                                clause,
                                &life,
                                (field, &second(&life, revision, at)),
                                (from, to),
                                seen,
                            );
                        }
                        Some(_) => {}
                        None => {
                            let finding =
                                format!("{} terminated, but the status has no {field}", life.name());
                            seen.violated(finding, [end.earliest.id, revision.id]);
                        }
                    }
                }
            }
        }
        let unshown = clause.slack_us() + clause.tolerance_us("to-be-shown");
        judge_forgotten(&life, unshown, seen);
        // What was started again is not in the state Terminated any more: its last end may go unshown.
        let outside = life.lives_again().is_some() || life.pod.was_ended_from_outside();
        if told.is_empty() && !outside && life.watched_for(end.at(), unshown) {
            let finding =
                format!("{} terminated, but no status showed it within {}", life.name(), seconds(unshown));
            seen.violated(finding, [Some(end.earliest.id), run.last_event()].into_iter().flatten());
        }
    }
}

/// What exited by itself and was started again is shown as the last state of the next instance, if that runs for long. A kubelet
/// that kills a container and starts it again in one sync may not know how the killed one ended.
fn judge_forgotten(life: &Life<'_, '_>, long: i64, seen: &mut Seen) {
    let by_rule = life.pod.containers.iter().any(|of| of.spec.get("restartPolicyRules").is_some());
    let Some((line, _)) = life.exited_by_itself().filter(|_| !by_rule && !life.run.lost_a_sandbox()) else {
        return;
    };
    let Some(next) = life.next() else { return };
    let runs: Vec<_> = next.revisions().filter(|(_, status)| status.is_running()).collect();
    let Some((shown, _)) = runs
        .first()
        .filter(|_| !runs.iter().any(|(_, status)| matches!(status.last, State::Terminated { .. })))
    else {
        return;
    };
    let lasts = next.lives_on() && next.watched_for(&shown.at, long);
    if lasts && life.before_deletion(&line.at) && !life.run.node_was_touched() {
        let finding =
            format!("{} was started again, and its last state does not show how it ended", life.name());
        seen.violated(finding, [line.id, shown.id]);
    }
}

/// The shown exit code is that of the process, and the reason matches it.
fn judge_status(
    life: &Life<'_, '_>,
    end: &End,
    revision: &Revision<'_>,
    (code, reason): (i64, &str),
    seen: &mut Seen,
) {
    let events = [life.began.id, end.earliest.id, revision.id];
    let name = life.name();
    if let Some(truth) = end.code.filter(|truth| *truth != code) {
        seen.violated(format!("{name} exited with {truth}, but the status shows exit code {code}"), events);
        return;
    }
    let fits = !reason.is_empty() && (reason == COMPLETED) == (code == 0);
    let said = if reason.is_empty() { "no reason" } else { reason };
    seen.check(fits, || format!("{name} exited with {code}, but the status shows the reason {said}"), events);
    if fits && end.code.is_some() {
        let way = if end.was_killed(life) {
            "killed"
        } else if code == 0 {
            "zero"
        } else {
            "status"
        };
        seen.facet("exit", way);
    }
}

/// A shown time lies between two known times, within the slack.
fn judge_instant(
    clause: &Clause,
    life: &Life<'_, '_>,
    (field, shown): (&str, &At),
    (from, to): (&At, &At),
    seen: &mut Seen,
) {
    let what = if field == "startedAt" { "the start" } else { "the end" };
    let (run, bound) = (life.run, || clause.in_time());
    let late = run.measure(
        format!("from {what} of {} to its {field}", life.name()),
        &life.node,
        from,
        shown,
        bound(),
    );
    let early =
        run.measure(format!("from the {field} of {} to {what}", life.name()), &life.node, shown, to, bound());
    // One of the two says how far apart they are, and the other is below zero.
    for measured in [late, early].into_iter().flatten() {
        if measured.fit() != Fit::Met {
            seen.measure(measured);
            return;
        }
    }
    seen.fine([life.began.id, from.id, shown.id()]);
}
