//! Rollouts: an update whose pods never become available stops, and the old pods continue to serve.
//!
//! Judged from the revisions of the Deployment, of its ReplicaSets and of its pods. The label of the Deployment's controller
//! says which pods are new; the answers of their targets say why they fail.

use std::collections::BTreeMap;

use probity_model::clocks::{Clock, Stamp};
use probity_model::history::Sighting;
use probity_model::measure::{Bound, Interval, SECOND, seconds};
use probity_model::timeline::{ContainerKind, Lives, PodLife, ProbeKind, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use super::course::sightings;
use crate::reading::readiness::{Outcome, readiness_lives};
use crate::reading::termination::Exhausted;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.rollout.blocked-by-unready", judge: blocked_by_unready },
    Judge { clause: "scenario.rollout.blocked-by-crashloop", judge: blocked_by_crashloop },
];

/// The label that tells the pods of a Deployment's versions apart.
const VERSION: &str = "pod-template-hash";
/// How long a stall must have been watched.
const STALLED: i64 = 10 * SECOND;

/// A Deployment that was updated, with its revisions since the update: event, time and object.
struct Update<'t, 'h> {
    began: EventId,
    at: Stamp,
    revisions: Vec<(EventId, i64, &'h Value)>,
    old: Vec<&'t PodLife<'h>>,
    new: Vec<&'t PodLife<'h>>,
}

fn updates<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Update<'t, 'h>> {
    let mut deployments: BTreeMap<&str, Vec<(EventId, i64, &'h Value)>> = BTreeMap::new();
    for (id, us, sighting) in sightings(run, "Deployment") {
        deployments.entry(&sighting.name).or_default().push((id, us, &sighting.object));
    }
    deployments.into_values().filter_map(|revisions| update(run, &revisions))
}

/// The only change of a Deployment's template. A second change would make another story.
fn update<'t, 'h>(run: &'t Timeline<'h>, revisions: &[(EventId, i64, &'h Value)]) -> Option<Update<'t, 'h>> {
    let template = |(_, _, object): &(EventId, i64, &'h Value)| &object["spec"]["template"];
    let first = revisions.first()?;
    let at = revisions.iter().position(|revision| template(revision) != template(first))?;
    let after = revisions.get(at..)?;
    let (began, us, _) = *after.first()?;
    if after.iter().any(|revision| template(revision) != template(&after[0])) {
        return None;
    }
    let selector = first.2["spec"]["selector"]["matchLabels"].as_object()?;
    let selected = |pod: &&PodLife<'_>| selector.iter().all(|(key, value)| label(pod, key) == Some(value));
    let ours = run.pods.iter().filter(|pod| !pod.revisions.is_empty()).filter(selected);
    // Pods and their Deployment come from different watches: the first new pod may arrive before the update.
    let first = |pod: &&PodLife<'_>| pod.revisions.first().map(|first| first.id);
    let version = label(ours.clone().min_by_key(first)?, VERSION)?;
    let (old, new): (Vec<_>, Vec<_>) = ours.partition(|pod| label(pod, VERSION) == Some(version));
    let is_new = !new.is_empty() && new.iter().all(|pod| label(pod, VERSION).is_some());
    is_new.then(|| Update { began, at: Stamp::harness(us), revisions: after.to_vec(), old, new })
}

fn label<'h>(pod: &PodLife<'h>, key: &str) -> Option<&'h Value> {
    pod.revisions.first().and_then(|first| first.object.get("metadata")?.get("labels")?.get(key))
}

fn number(object: &Value, group: &str, field: &str, default: i64) -> i64 {
    object[group][field].as_i64().unwrap_or(default)
}

/// How many pods must stay available: `replicas` less `maxUnavailable`, with a percentage rounded down.
fn wanted(object: &Value) -> Option<i64> {
    let replicas = number(object, "spec", "replicas", 1);
    let strategy = &object["spec"]["strategy"];
    if strategy["type"] == "Recreate" {
        return None;
    }
    let most = match &strategy["rollingUpdate"]["maxUnavailable"] {
        Value::Number(number) => number.as_i64()?,
        Value::String(share) => share.strip_suffix('%')?.parse::<i64>().ok()? * replicas / 100,
        _ => replicas / 4,
    };
    Some(replicas - most)
}

/// New pods whose readiness probe fails all the time.
fn blocked_by_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for update in updates(run) {
        let failing = update.new.iter().filter_map(|pod| {
            let of_pod = lives.iter().filter(|life| life.pod.name == pod.name);
            let probes: Vec<_> = of_pod
                .flat_map(|life| life.probes.iter().map(|probe| (probe.id, life.surely(probe))))
                .collect();
            let all = probes.len() > 1 && probes.iter().all(|(_, outcome)| *outcome == Outcome::Failure);
            probes.last().filter(|_| all).map(|(id, _)| *id)
        });
        let failing: Vec<EventId> = failing.collect();
        if failing.len() == update.new.len() && killed(run, &update).is_empty() {
            stalls(run, clause, seen, &update, &failing);
        }
    }
}

/// New pods whose liveness probe fails, so that they are restarted again and again.
fn blocked_by_crashloop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for update in updates(run) {
        let killed = killed(run, &update);
        if killed.len() < update.new.len() {
            continue;
        }
        if let Some((shown, counted)) = counted(run, &update) {
            seen.diverges(
                "a pod of the new version stayed ready while its liveness probe had it restarted, for minReadySeconds \
                 and longer: it counts as available",
                killed.iter().copied().chain([update.began, shown, counted]),
            );
        } else {
            stalls(run, clause, seen, &update, &killed);
        }
    }
}

/// The revision that first counted the new version as available, if one of its pods stayed ready for `minReadySeconds`
/// although it was stopped meanwhile; after the revision that showed that pod ready.
fn counted(run: &Timeline<'_>, update: &Update<'_, '_>) -> Option<(EventId, EventId)> {
    let (_, _, object) = update.revisions.last()?;
    // Times in a status are cut to seconds, and the controllers compute with them.
    let wanted = number(object, "spec", "minReadySeconds", 0) * SECOND - SECOND;
    let version = label(update.new.first()?, VERSION)?;
    let (counted, at, _) = sightings(run, "ReplicaSet").find(|(_, _, Sighting { object, .. })| {
        let same = object["metadata"]["labels"][VERSION] == *version;
        same && number(object, "status", "availableReplicas", 0) > 0
    })?;
    let shown = update.new.iter().filter(|pod| !probed(pod)).find_map(|pod| {
        let before = pod.revisions.iter().take_while(|revision| revision.id < counted);
        let ready: Vec<_> = before.skip_while(|revision| revision.is("Ready") != Some(true)).collect();
        let first = *ready.first()?;
        let unbroken = ready.iter().all(|revision| revision.is("Ready") == Some(true));
        let since = ready_since(run, pod, first);
        let stopped = main_lives(run, pod).iter().filter_map(|life| life.stop()).any(|stop| {
            stop.id < counted && run.clocks.on_harness(&stop.at).is_some_and(|at| since <= at.hi)
        });
        (unbroken && stopped && at - since >= wanted).then_some(first.id)
    })?;
    Some((shown, counted))
}

/// When a pod became ready by its own status, in the harness's time: the status may have reached us late.
fn ready_since(run: &Timeline<'_>, pod: &PodLife<'_>, revision: &Revision<'_>) -> i64 {
    let written = revision.turned("Ready").and_then(|second| {
        let clock = Clock::Wall(pod.node.clone());
        run.clocks.on_harness(&Stamp { clock, at: Interval::point(second.saturating_mul(SECOND)) })
    });
    written.map_or(revision.at.at.lo, |at| at.lo)
}

/// Whether a pod has a readiness probe: a container without one is ready whenever it runs.
fn probed(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().any(|of| of.probe(ProbeKind::Readiness).is_some())
}

/// The stop signals of new pods after as many liveness failures as `failureThreshold` says, one for each pod.
fn killed(run: &Timeline<'_>, update: &Update<'_, '_>) -> Vec<EventId> {
    let stopped = |life: ProbedLife<'_, '_>| Exhausted::of(life)?.life.stop().map(|stop| stop.id);
    update.new.iter().filter_map(|pod| main_lives(run, pod).into_iter().find_map(stopped)).collect()
}

/// The lives of a pod's main containers that have a liveness probe.
fn main_lives<'t, 'h>(run: &'t Timeline<'h>, pod: &PodLife<'_>) -> Lives<ProbedLife<'t, 'h>> {
    let lives = run.lives().of(ProbeKind::Liveness);
    lives.only(|life| life.container.kind == ContainerKind::Main && life.pod.uid == pod.uid)
}

/// No new pod is available, enough old ones are, and the rollout does not finish.
fn stalls(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    update: &Update<'_, '_>,
    failing: &[EventId],
) {
    seen.applies();
    let Some((last, last_us, object)) = update.revisions.last() else { return };
    if let Some((finding, event)) = went_on(update, (*last, object)) {
        seen.violated(finding, [update.began, event]);
        return;
    }
    if update.revisions.iter().any(|(_, _, object)| wanted(object).is_none()) {
        return;
    }
    deadline(run, clause, seen, update);
    let standing = update.old.iter().filter_map(|pod| pod.last());
    let standing = standing.filter(|last| last.is("Ready") == Some(true) && !last.gone);
    let standing: Vec<EventId> = standing.map(|revision| revision.id).collect();
    let watched = run.ended_us.max(*last_us) - update.at.at.hi;
    if watched >= STALLED && !standing.is_empty() {
        seen.fine(failing.iter().copied().chain(standing).chain([update.began, *last]));
    }
}

/// What shows that the rollout went on with pods that never became available.
fn went_on(update: &Update<'_, '_>, (last, object): (EventId, &Value)) -> Option<(String, EventId)> {
    let ready = |pod: &&PodLife<'_>| {
        let mut revisions = pod.revisions.iter();
        revisions.find(|revision| revision.is("Ready") == Some(true)).map(|revision| revision.id)
    };
    if let Some(early) = update.new.iter().filter(|pod| probed(pod)).find_map(ready) {
        let finding = "a pod of the new version was shown ready though its probes failed";
        return Some((finding.to_owned(), early));
    }
    for (id, _, object) in &update.revisions {
        let wanted = wanted(object)?;
        let available = number(object, "status", "availableReplicas", 0);
        if available < wanted && old_are_well(update) {
            let finding =
                format!("{available} replicas were available during the rollout; at least {wanted} must be");
            return Some((finding, *id));
        }
    }
    let replaced = number(object, "status", "updatedReplicas", 0) >= number(object, "spec", "replicas", 1);
    let finding = "the rollout finished with pods that never became available";
    (replaced && update.old.iter().all(|pod| gone(pod))).then(|| (finding.to_owned(), last))
}

fn gone(pod: &PodLife<'_>) -> bool {
    pod.revisions.iter().any(|revision| revision.gone || revision.terminating())
}

/// Whether every old pod was ready until it was deleted.
fn old_are_well(update: &Update<'_, '_>) -> bool {
    update.old.iter().all(|pod| {
        let after = pod.revisions.iter().filter(|revision| revision.id > update.began);
        let mut alive = after.take_while(|revision| !revision.terminating() && !revision.gone);
        alive.all(|revision| revision.is("Ready") == Some(true))
    })
}

/// After the deadline without progress, a condition of the Deployment says so.
fn deadline(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, update: &Update<'_, '_>) {
    let (Some((_, _, first)), Some((last, ..))) = (update.revisions.first(), update.revisions.last()) else {
        return;
    };
    let limit = number(first, "spec", "progressDeadlineSeconds", 600) * SECOND;
    let allowed = limit + progress(update) + clause.slack_us();
    let exceeded = update.revisions.iter().find(|(_, _, object)| {
        let conditions = object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded"
        })
    });
    if let Some((id, us, _)) = exceeded {
        let most = "progressDeadlineSeconds after the last progress + the clause's slack";
        let least = "progressDeadlineSeconds − 1 s, as times in status are cut to seconds";
        let bound = Bound::at_most(allowed, most).and_at_least(limit - SECOND, least);
        let ends = ((update.began, &update.at), (*id, &Stamp::harness(*us)));
        seen.within(run, "", "from the update to ProgressDeadlineExceeded", ends, bound);
    } else if run.ended_us - update.at.at.hi > allowed {
        let finding =
            format!("the rollout made no progress for {}, and no condition says so", seconds(allowed));
        seen.violated(finding, [update.began, *last]);
    }
}

/// How long after the update the numbers of pods last changed, which is progress and restarts the deadline.
fn progress(update: &Update<'_, '_>) -> i64 {
    let numbers = |object: &Value| {
        ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
            .map(|field| number(object, "status", field, 0))
    };
    let pairs = update.revisions.windows(2);
    let last = pairs.filter(|pair| numbers(pair[0].2) != numbers(pair[1].2)).map(|pair| pair[1].1).max();
    Interval::point(last.unwrap_or(update.at.at.lo)).minus(update.at.at).hi.max(0)
}
