//! Events about containers that wait for their restart.

use std::collections::BTreeMap;

use probity_model::timeline::{At, ContainerLife, KubeEvent, Life, PodLife, Revision};
use probity_model::{Clause, Seen, Stamp, Timeline};

use super::tally::{Tally, Told};
use super::{WARNING, is_of_restart};
use crate::reading::ends::is_undivided;
use crate::reading::mains::{ended, is_plain, is_recorded, lives_of};
use crate::reading::statuses::is_crash_loop;

/// Each wait is reported, and no wait is reported before a container has ended.
pub(super) fn each_wait(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            judge(run, clause, (pod, container), &tally, seen);
            judge_pauses(run, clause, (pod, container), &tally, seen);
            judge_haste(run, (pod, container), &tally, seen);
        }
    }
}

fn is_wait(event: &KubeEvent<'_>, container: &ContainerLife<'_>) -> bool {
    is_of_restart(event) && event.container == Some(container.name.as_str())
}

/// The first revision that shows each of the waits of a container.
fn waits<'p, 'h>(pod: &'p PodLife<'h>, container: &ContainerLife<'_>) -> Vec<&'p Revision<'h>> {
    let mut first: BTreeMap<u64, &Revision<'h>> = BTreeMap::new();
    for shown in pod.revisions.iter().filter(|shown| !shown.gone) {
        if let Some(status) = shown.container(&container.name)
            && is_crash_loop(&status.state)
        {
            first.entry(status.restarts).or_insert(shown);
        }
    }
    first.into_values().collect()
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    for (nth, shown) in (1..).zip(waits(pod, container)) {
        match tally.told(clause, shown, (WARNING, nth), |event| is_wait(event, container)) {
            Told::Yes(event) => seen.fine([shown.id, event]),
            Told::No => {
                let finding = format!(
                    "{}/{} is waiting in its back-off, but no event reports this",
                    pod.key, container.name
                );
                seen.violated(finding, run.to_the_end([shown.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// A pause between two instances is reported soon after the end of the earlier instance, long before the status shows
/// the pause. Only the first restart comes at once.
fn judge_pauses(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    if !is_plain(run, pod) || !is_recorded(container) {
        return;
    }
    let ends = lives_of(run, pod, container).filter_map(|life| pause(clause, &life));
    for (nth, end) in (1..).zip(ends) {
        match tally.told(clause, &end, (WARNING, nth), |event| is_wait(event, container)) {
            Told::Yes(event) => seen.fine([end.id, event]),
            Told::No => {
                let finding = format!(
                    "{}/{} terminated and was not restarted immediately, but no event reports a back-off",
                    pod.key, container.name
                );
                seen.violated(finding, run.to_the_end([end.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// The end of an instance that the kubelet starts again only after a pause. If a node is stalled for as long as a pause,
/// there may be no time left to wait.
fn pause(clause: &Clause, life: &Life<'_, '_>) -> Option<At> {
    let run = life.run;
    let (end, code) = ended(life).filter(|_| life.number > 0)?;
    let comes_back = life.pod.restarts_after(life.container, code);
    let over = life.pod.over().is_some() || life.pod.work_is_done(life.container);
    let (least, due) = (clause.tolerance_us("pause"), end.later(clause.slack_us()));
    let quiet = |until: &Stamp| run.noise_between(&life.pod.node, &end, until) < least;
    let pauses = match life.next() {
        Some(next) => run.at_least(&end, &next.began) > least && quiet(&next.began),
        None => !over && life.watched_for(&end, clause.slack_us()) && quiet(&due),
    };
    (comes_back && pauses && is_undivided(life) && life.before_deletion(&due)).then_some(end)
}

/// Reports an event about a wait of a container whose first or second instance is still running: the first restart
/// follows immediately, unless the runtime failed to start the container.
fn judge_haste(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let Some(event) = tally.nth(1, |event| is_wait(event, container)) else { return };
    let failed = pod.events.iter().any(|event| event.is_of(&container.name, "Failed"));
    for (attempt, (number, words)) in container.attempts.iter().zip([(0, "first"), (1, "second")]) {
        if attempt.number != number || (number > 0 && failed) {
            return;
        }
        let life = Life { run, pod, container, attempt };
        let shown = life.revisions().any(|(_, seen)| seen.is_running());
        let Some(last) = attempt.last_line().filter(|_| shown && life.is_numbered()) else { return };
        if run.before(&event.at, &last.at) {
            let finding =
                format!("an event says {:?}, but the {words} instance was still running", event.message);
            seen.violated(finding, [event.id, last.id]);
            return;
        }
    }
}
