//! Events about containers that are stopped: each names the failed probe that caused the stop, or no probe if there was
//! no such cause.

use probity_model::mechanisms::{ONE_MISSED, UNDER_WAY};
use probity_model::timeline::{At, ContainerLife, KubeEvent, Life, PodLife, ProbeKind, ProbeOutcome};
use probity_model::{Clause, Seen, Timeline};

use super::NORMAL;
use super::excess::{Excess, stops};
use super::tally::{Tally, Told};
use crate::reading::mains::lives_of;

/// A container that is stopped is reported with the cause.
pub(super) fn names_the_cause(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            for kind in ProbeKind::STOPPING {
                judge_kills(run, clause, (pod, container, kind), &tally, seen);
                judge_blame(run, (pod, container, kind), &tally, seen);
            }
            judge_deletion(run, clause, (pod, container), &tally, seen);
            judge_name(pod, container, seen);
        }
        judge_blames_beyond_ends(run, clause, pod, &tally, seen);
        let mut excess = Excess::of(run, pod, &tally);
        for container in &pod.containers {
            let plain = |event: &KubeEvent<'_>| {
                is_killing(event, container) && event.message.starts_with(PLAIN_STOP) && !event.is_combined()
            };
            if let Some(stops) = stops(run, pod, container) {
                excess.count(stops, plain);
            }
        }
        excess.judge(clause, "stops", seen);
    }
}

/// The beginning of the message about a stop without a cause, in the reference implementation of Kubernetes.
const PLAIN_STOP: &str = "Stopping container";

fn is_killing(event: &KubeEvent<'_>, container: &ContainerLife<'_>) -> bool {
    event.is_of(&container.name, "Killing")
}

/// The text about a probe in the event about a kill.
fn blamed(kind: ProbeKind) -> String {
    format!("failed {} probe", kind.word())
}

/// Each kill because of a probe is reported with that cause, if the container is restarted. If the container is not
/// restarted, the rest of the pod is stopped as a whole, and the events name no cause.
fn judge_kills(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, kind): (&PodLife<'_>, &ContainerLife<'_>, ProbeKind),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let lives = lives_of(run, pod, container);
    let killed = lives.filter(|life| life.lives_again().is_some() && killer(life) == Some(kind));
    let says = |event: &KubeEvent<'_>| is_killing(event, container) && event.message.contains(&blamed(kind));
    for (nth, life) in (1..).zip(killed) {
        let Some(stop) = life.stop() else { continue };
        match tally.told(clause, stop, (NORMAL, nth), says) {
            Told::Yes(event) => {
                seen.fine([stop.id, event]);
                seen.facet("cause", kind.word());
            }
            Told::No => {
                let finding = format!(
                    "the {} probe of {} failed and the container was stopped, but no event names the cause",
                    kind.word(),
                    life.name()
                );
                seen.violated(finding, run.to_the_end([stop.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// The probe that ended an instance, if nothing else can have ended it: its last results were failures, as many as its
/// threshold.
fn killer(life: &Life<'_, '_>) -> Option<ProbeKind> {
    let stop = life.stopped_undeleted()?;
    let hooked = life.container.lifecycle("postStart").is_some();
    if hooked
        || !life.holes.is_empty()
        || !life.only_probes_stop_it()
        || life.pod.work_is_done(life.container)
    {
        return None;
    }
    let exhausted = |kind: &ProbeKind| {
        let Some(probed) = life.probed(*kind) else { return false };
        let enough = usize::try_from(probed.spec.failures).unwrap_or(usize::MAX);
        let before = probed.probes.iter().filter(|probe| life.run.before(&probe.at, &stop.at));
        let mut last = before.rev().take(enough);
        let failed = last.by_ref().take_while(|probe| probed.surely(probe) == ProbeOutcome::Failure).count();
        failed == enough && probed.is_unmistaken()
    };
    let mut kinds = ProbeKind::STOPPING.into_iter().filter(exhausted);
    kinds.next().filter(|_| kinds.next().is_none())
}

/// Containers that are stopped because their pod is deleted are reported as stopped, and no probe is named.
fn judge_deletion(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    // At the end of every deletion, a kubelet sets a grace period of zero; a forced deletion begins with this value.
    let first = pod.revisions.iter().find(|shown| shown.terminating());
    let forced = first.is_some_and(|shown| shown.deletion_grace() == Some(0));
    let Some(deletion) = run.deletion(pod).filter(|_| !forced) else { return };
    let mut stops = container.attempts.iter().filter_map(|attempt| attempt.stop());
    let Some(stop) = stops.find(|stop| run.before(&deletion, &stop.at)) else { return };
    let says = |event: &KubeEvent<'_>| is_killing(event, container) && !event.message.contains("probe");
    match tally.told(clause, stop, (NORMAL, 1), says) {
        Told::Yes(event) => {
            seen.fine([stop.id, event]);
            seen.facet("cause", "deletion");
        }
        // A probe may have failed for the last time when the pod was deleted.
        Told::No if !was_failing(run, pod, container) => {
            let finding = format!(
                "{}/{} was stopped because its pod was deleted, but no event reports this",
                pod.key, container.name
            );
            seen.violated(finding, run.to_the_end([stop.id]));
        }
        Told::No | Told::Unknown => {}
    }
}

/// An event about a kill is about the container that its message names. In the messages of the reference implementation of
/// Kubernetes, the name follows the word "container".
fn judge_name(pod: &PodLife<'_>, container: &ContainerLife<'_>, seen: &mut Seen) {
    for event in pod.events.iter().filter(|event| is_killing(event, container)) {
        let mut words = event.message.split_whitespace();
        let named = words.find(|word| word.eq_ignore_ascii_case("container")).and(words.next());
        let other = |of: &&ContainerLife<'_>| of.name != container.name && named == Some(of.name.as_str());
        if let Some(other) = pod.containers.iter().find(other) {
            let finding = format!(
                "an event about {}/{} says {:?}, which names {}",
                pod.key, container.name, event.message, other.name
            );
            seen.violated(finding, [event.id]);
        }
    }
}

/// Whether a probe that stops containers may have failed in the last instance of a container.
fn was_failing(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let Some(attempt) = container.attempts.last() else { return true };
    let life = Life { run, pod, container, attempt };
    ProbeKind::STOPPING.into_iter().filter_map(|kind| life.probed(kind)).any(|probed| {
        let last = probed.probes.last();
        last.is_none_or(|last| probed.surely(last) != ProbeOutcome::Success)
    })
}

/// No more kills because of probes are reported than instances ended.
fn judge_blames_beyond_ends(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let (mut more, mut cited) = (0, Vec::new());
    for container in &pod.containers {
        let lives: Vec<Life<'_, '_>> = lives_of(run, pod, container).collect();
        if lives.is_empty() || !lives.iter().all(|life| life.is_complete()) {
            continue;
        }
        let says = |event: &KubeEvent<'_>| {
            let kinds = ProbeKind::STOPPING.into_iter();
            is_killing(event, container) && kinds.map(blamed).any(|words| event.message.contains(&words))
        };
        let (mut times, mut last) = (0, None);
        let heard = |event: &KubeEvent<'_>| run.at_least(&event.at, &run.end()) > UNDER_WAY;
        for (event, count) in tally.iter().filter(|(event, _)| says(event) && heard(event)) {
            (times, last) = (times + count, Some(event.id));
        }
        let ends = lives.iter().filter(|life| life.stop().is_some() || life.ended.is_some()).count();
        let excess = times.saturating_sub(u64::try_from(ends).unwrap_or(u64::MAX));
        more += excess;
        cited.extend(last.filter(|_| excess > 0));
    }
    if usize::try_from(more).is_ok_and(|more| more >= clause.tolerance_times("more")) {
        let finding = format!(
            "the events that report a failed probe outnumber the terminated instances of {} by {more}",
            pod.key
        );
        seen.violated(finding, cited);
    }
}

/// An event that blames a probe is about a container that has such a probe, and that was not stopped only for another
/// reason.
fn judge_blame(
    run: &Timeline<'_>,
    (pod, container, kind): (&PodLife<'_>, &ContainerLife<'_>, ProbeKind),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let says = |event: &KubeEvent<'_>| is_killing(event, container) && event.message.contains(&blamed(kind));
    let Some(event) = tally.nth(1, says) else { return };
    if container.probe(kind).is_none() {
        let finding = format!("an event says {:?}, but there is no such probe", event.message);
        seen.violated(finding, [event.id]);
    } else if let Some(passed) = passed_to_the_end(run, pod, container, kind) {
        let finding = format!(
            "an event says {:?}, but the probe passed until the pod of {} was deleted",
            event.message, container.name
        );
        seen.violated(finding, [passed.id, event.id]);
    }
}

/// The last probe of a kind before the deletion of the pod, if this probe passed, no other one was due until the
/// deletion, and the container ran in one instance all the time.
fn passed_to_the_end(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    kind: ProbeKind,
) -> Option<At> {
    let [attempt] = container.attempts.as_slice() else { return None };
    let life = Life { run, pod, container, attempt };
    let (deletion, probed) = (run.deletion(pod)?, life.probed(kind)?);
    let stopped_by_it = life.stop().is_some_and(|stop| run.before(&deletion, &stop.at));
    let before = |at: &_| run.before(at, &deletion);
    let last = probed.probes.iter().rfind(|probe| before(&probe.at))?;
    let well = probed.probes.iter().all(|probe| probed.surely(probe) == ProbeOutcome::Success);
    let soon = last.at.later(ONE_MISSED.of(probed.spec.period));
    let due = run.before(&soon, &deletion);
    (stopped_by_it && well && !due && life.holes.is_empty()).then(|| At::of(*last))
}
