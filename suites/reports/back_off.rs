//! Events about containers that wait to be started again.

use std::collections::BTreeMap;

use probity_model::timeline::{ContainerLife, KubeEvent, Life, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::tally::{Tally, Told};
use super::{WARNING, is_of_restart};
use crate::reading::statuses::is_crash_loop;

/// Each wait is reported, and no wait is before a container has ended.
pub(super) fn each_wait(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            judge(run, clause, (pod, container), &tally, seen);
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
                let finding =
                    format!("{}/{} waits in its back-off, and no event says so", pod.key, container.name);
                seen.violated(finding, [Some(shown.id), run.last_event()].into_iter().flatten());
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// A container whose first instance is still running has nothing to wait for.
fn judge_haste(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let Some(attempt) = container.attempts.first().filter(|attempt| attempt.number == 0) else { return };
    let life = Life { run, pod, container, attempt };
    let shown = life.revisions().any(|(_, seen)| seen.is_running());
    let Some(event) = tally.nth(1, |event| is_wait(event, container)) else { return };
    let Some(last) = attempt.last_line().filter(|_| shown && life.is_numbered()) else { return };
    if run.before(&event.at, &last.at) {
        let finding = format!("an event says {:?}, and the first instance was still running", event.message);
        seen.violated(finding, [event.id, last.id]);
    }
}
