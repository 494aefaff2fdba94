//! Events about containers that are created and started: each instance has both events, in this order.

use probity_model::timeline::{ContainerLife, KubeEvent, PodLife};
use probity_model::{Clause, Seen, Timeline};

use super::NORMAL;
use super::excess::{Excess, instances};
use super::tally::{Tally, Told};
use crate::reading::mains::lives_of;
use crate::reading::start_errors::never_started;

/// The two events of each start.
const BOTH: [&str; 2] = ["Created", STARTED];
/// The event about a container that runs.
const STARTED: &str = "Started";
/// The event about an image that is on the node.
const PULLED: &str = "Pulled";

/// Each instance of a container is reported as created and as started.
pub(super) fn each_instance(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    each(run, clause, &BOTH, seen);
}

/// Before each start the image of the container is reported as being on the node.
pub(super) fn each_image(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    each(run, clause, &[PULLED], seen);
}

fn each(run: &Timeline<'_>, clause: &Clause, reasons: &[&str], seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        // If the record of one start is late, one event of each reason seems to be in excess.
        for reason in reasons {
            let mut excess = Excess::of(run, pod, &tally);
            for container in pod.containers.iter().chain(&pod.ephemeral) {
                judge(run, clause, (pod, container, reason), &tally, seen);
                judge_unstarted(&tally, (pod, container, reason), seen);
                if let Some(lives) = instances(pod, container) {
                    excess.count(lives, |event| event.is_of(&container.name, reason));
                }
            }
            excess.judge(clause, "starts of containers", seen);
        }
    }
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, reason): (&PodLife<'_>, &ContainerLife<'_>, &str),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let says = |event: &KubeEvent<'_>| event.is_of(&container.name, reason);
    for (nth, attempt) in (1..).zip(&container.attempts) {
        match tally.told(clause, &attempt.began, (NORMAL, nth), says) {
            Told::Yes(event) => {
                seen.fine([attempt.began.id, event]);
                seen.facet("reason", reason);
            }
            Told::No => {
                let finding = format!(
                    "{}/{} started {nth} times, but fewer events {reason} report this",
                    pod.key, container.name
                );
                seen.violated(finding, run.to_the_end([attempt.began.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// A container that the runtime never started is not reported as started.
fn judge_unstarted(
    tally: &Tally<'_, '_>,
    (pod, container, reason): (&PodLife<'_>, &ContainerLife<'_>, &str),
    seen: &mut Seen,
) {
    let Some(error) = never_started(pod, container).filter(|_| reason == STARTED) else { return };
    let told =
        tally.iter().find(|(event, _)| event.is_of(&container.name, reason)).map(|(event, _)| event.id);
    let finding =
        || format!("{}/{} is reported as started, but the runtime never started it", pod.key, container.name);
    seen.check(told.is_none(), finding, [error.id].into_iter().chain(told));
}

/// A container is reported as created before it is reported as started, and as started only when the previous instance
/// has ended.
pub(super) fn in_order(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in pod.containers.iter().chain(&pod.ephemeral) {
            judge_order(&tally, (pod, container), seen);
            judge_haste(run, &tally, (pod, container), seen);
        }
    }
}

fn judge_order(tally: &Tally<'_, '_>, (pod, container): (&PodLife<'_>, &ContainerLife<'_>), seen: &mut Seen) {
    let ours =
        |reason: &'static str| tally.iter().filter(move |(event, _)| event.is_of(&container.name, reason));
    for (event, _) in ours("Started") {
        // If a Created event was dropped because there were too many events, nothing is out of order.
        if tally.is_crowded(NORMAL, &event.at) {
            return;
        }
        // Events that were received at the same instant may have come in either order.
        let by_then = |(other, _): &(&KubeEvent<'_>, u64)| other.at.at.lo <= event.at.at.hi;
        let before =
            |(other, _): &(&KubeEvent<'_>, u64)| other.at.at.lo < event.at.at.lo || other.id == event.id;
        let started: u64 = ours("Started").filter(before).map(|(_, times)| times).sum();
        let created: u64 = ours("Created").filter(by_then).map(|(_, times)| times).sum();
        let last = ours("Created").filter(by_then).map(|(other, _)| other.id).last();
        let finding = || {
            format!(
                "{}/{} is reported as started {started} times, but as created only {created} times by then",
                pod.key, container.name
            )
        };
        seen.check(started <= created, finding, last.into_iter().chain([event.id]));
    }
}

fn judge_haste(
    run: &Timeline<'_>,
    tally: &Tally<'_, '_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) {
    let started = |event: &KubeEvent<'_>| event.is_of(&container.name, "Started");
    for life in lives_of(run, pod, container) {
        // The instance is shown with its own number, so every instance before it was started too.
        let shown = life.revisions().any(|(_, seen)| seen.is_running());
        let Some(next) = tally.nth(life.number + 1 + 1, started) else { continue };
        let Some(last) = life.attempt.last_line() else { continue };
        if shown && life.is_numbered() && run.before(&next.at, &last.at) {
            let finding = format!(
                "{} is reported as started again while its previous instance was running",
                life.name()
            );
            seen.violated(finding, [next.id, last.id]);
        }
    }
}
