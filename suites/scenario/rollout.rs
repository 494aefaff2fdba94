//! Rollouts: an update whose pods never become available goes no further, and the old ones go on serving.
//!
//! Judged from the revisions of the Deployment, of its ReplicaSets and of its pods. Which pods are new is told by the label that the
//! Deployment's controller gives them; that they fail for their own sake, by their targets' own answers.

use probity_model::clocks::{Clock, Stamp};
use probity_model::history::{Happening, Sighting};
use probity_model::measure::{Bound, Interval, seconds};
use probity_model::timeline::{Attempt, ContainerKind, PodLife, ProbeKind, ProbeSpec, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::readiness::{Outcome, readiness_lives};
use crate::reading::tolerance::exhausted;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.rollout.blocked-by-unready", judge: blocked_by_unready },
    Judge { clause: "scenario.rollout.blocked-by-crashloop", judge: blocked_by_crashloop },
];

/// The label by which a Deployment tells the pods of its versions apart.
const VERSION: &str = "pod-template-hash";
/// A stall must have been watched for so long, or until the deadline was said to be exceeded.
const STALLED: i64 = 10_000_000;

/// A Deployment that was updated, with the revisions from the update on.
struct Update<'t, 'h> {
    began: EventId,
    at: Stamp,
    revisions: Vec<(EventId, i64, &'h Value)>,
    old: Vec<&'t PodLife<'h>>,
    new: Vec<&'t PodLife<'h>>,
}

fn updates<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Update<'t, 'h>> {
    let events = run.history.events().filter(|(_, event)| event.us <= run.ended_us);
    let seen: Vec<(EventId, i64, &'h Sighting)> = events
        .filter_map(|(id, event)| match &event.what {
            Happening::Sighting(sighting) if sighting.kind == "Deployment" => Some((id, event.us, sighting)),
            _ => None,
        })
        .collect();
    let mut names: Vec<&str> = seen.iter().map(|(_, _, sighting)| sighting.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| update(run, &seen, name)).collect()
}

/// The only change of a Deployment's template; a second one makes another story.
fn update<'t, 'h>(
    run: &'t Timeline<'h>,
    seen: &[(EventId, i64, &'h Sighting)],
    name: &str,
) -> Option<Update<'t, 'h>> {
    let own: Vec<_> = seen.iter().filter(|(_, _, sighting)| sighting.name == name).collect();
    let template = |object: &'h Value| object.get("spec").and_then(|spec| spec.get("template"));
    let first = template(&own.first()?.2.object);
    let at = own.iter().position(|(_, _, sighting)| template(&sighting.object) != first)?;
    let changed = template(&own.get(at)?.2.object);
    let after = own.get(at..)?;
    if after.iter().any(|(_, _, sighting)| template(&sighting.object) != changed) {
        return None;
    }
    let selector = own.first()?.2.object.get("spec")?.get("selector")?.get("matchLabels")?.as_object()?;
    let ours = run
        .pods
        .iter()
        .filter(|pod| !pod.revisions.is_empty())
        .filter(|pod| selector.iter().all(|(key, value)| label(pod, key) == Some(value)));
    let (began, us, _) = *after.first()?;
    // Pods and their Deployment come by different watches: the first new pod may be heard of before the update.
    let first = |pod: &&PodLife<'_>| pod.revisions.first().map(|first| first.id);
    let version = label(ours.clone().min_by_key(first)?, VERSION)?;
    let (old, new): (Vec<_>, Vec<_>) = ours.partition(|pod| label(pod, VERSION) == Some(version));
    let is_new = new.iter().all(|pod| label(pod, VERSION).is_some());
    let revisions = after.iter().map(|(id, us, sighting)| (*id, *us, &sighting.object)).collect();
    (is_new && !new.is_empty()).then(|| Update {
        began: *began,
        at: Stamp::harness(*us),
        revisions,
        old,
        new,
    })
}

fn label<'h>(pod: &PodLife<'h>, key: &str) -> Option<&'h Value> {
    pod.revisions.first().and_then(|first| first.object.get("metadata")?.get("labels")?.get(key))
}

fn number(object: &Value, path: [&str; 2], default: i64) -> i64 {
    object.get(path[0]).and_then(|of| of.get(path[1])?.as_i64()).unwrap_or(default)
}

/// How many pods must stay available: replicas less `maxUnavailable`, a share of it rounded down.
fn wanted(object: &Value) -> Option<i64> {
    let replicas = number(object, ["spec", "replicas"], 1);
    let strategy = object.get("spec")?.get("strategy");
    if strategy.and_then(|strategy| strategy.get("type")?.as_str()) == Some("Recreate") {
        return None;
    }
    let most = strategy.and_then(|strategy| strategy.get("rollingUpdate")?.get("maxUnavailable"));
    let most = match most {
        Some(Value::Number(number)) => number.as_i64()?,
        Some(Value::String(share)) => share.strip_suffix('%')?.parse::<i64>().ok()? * replicas / 100,
        _ => replicas / 4,
    };
    Some(replicas - most)
}

/// New pods whose readiness probe fails all the time.
fn blocked_by_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for update in updates(run) {
        let failing = update.new.iter().filter_map(|pod| {
            let mut of_pod = lives.iter().filter(|life| life.pod.name == pod.name).peekable();
            of_pod.peek()?;
            let probes: Vec<_> = of_pod
                .flat_map(|life| life.probes.iter().map(|probe| (probe.id, life.surely(probe))))
                .collect();
            let all = probes.len() > 1 && probes.iter().all(|(_, outcome)| *outcome == Outcome::Failure);
            probes.last().filter(|_| all).map(|(id, _)| *id)
        });
        let failing: Vec<EventId> = failing.collect();
        if failing.len() == update.new.len() && killed(&update).is_empty() {
            stalls(run, clause, seen, &update, &failing);
        }
    }
}

/// New pods whose liveness probe fails, so that they are restarted again and again.
fn blocked_by_crashloop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for update in updates(run) {
        let killed = killed(&update);
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

/// When the new version was first counted as available, if a pod of it earned that by staying ready for
/// `minReadySeconds` although it was stopped meanwhile; with the revision that showed the pod ready.
fn counted(run: &Timeline<'_>, update: &Update<'_, '_>) -> Option<(EventId, EventId)> {
    let (_, _, object) = update.revisions.last()?;
    // Times in a status are cut to seconds, and the controllers reckon by them.
    let wanted = number(object, ["spec", "minReadySeconds"], 0) * 1_000_000 - 1_000_000;
    let of_version = |pod: &PodLife<'_>, sighting: &Sighting| {
        let version = label(pod, VERSION);
        let same = sighting.object.get("metadata").and_then(|of| of.get("labels")?.get(VERSION)) == version;
        sighting.kind == "ReplicaSet" && version.is_some() && same
    };
    let (at, counted) = update.new.first().and_then(|pod| {
        run.history.events().find_map(|(id, event)| match &event.what {
            Happening::Sighting(seen) if of_version(pod, seen) => {
                (number(&seen.object, ["status", "availableReplicas"], 0) > 0).then_some((event.us, id))
            }
            _ => None,
        })
    })?;
    let shown = update.new.iter().filter(|pod| !probed(pod)).find_map(|pod| {
        let before = pod.revisions.iter().take_while(|revision| revision.id < counted);
        let ready = before.skip_while(|revision| revision.is("Ready") != Some(true));
        let mut ready = ready.peekable();
        let first = *ready.peek()?;
        let unbroken = ready.all(|revision| revision.is("Ready") == Some(true));
        let since = ready_since(run, pod, first);
        let stopped = main_lives(pod)
            .filter_map(|(_, attempt)| attempt.stop_signal())
            .any(|(stop, at)| stop < counted && run.clocks.on_harness(at).is_some_and(|at| since <= at.hi));
        (unbroken && stopped && at - since >= wanted).then_some(first.id)
    })?;
    Some((shown, counted))
}

/// When a pod became ready by its status, which may have taken its time to reach us; in the harness's time.
fn ready_since(run: &Timeline<'_>, pod: &PodLife<'_>, revision: &Revision<'_>) -> i64 {
    let written = revision.turned("Ready").and_then(|second| {
        let clock = Clock::Wall(pod.node.clone());
        run.clocks.on_harness(&Stamp { clock, at: Interval::point(second.saturating_mul(1_000_000)) })
    });
    written.map_or(revision.at.at.lo, |at| at.lo)
}

/// A container without a readiness probe is ready whenever it runs.
fn probed(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().any(|of| of.probe(ProbeKind::Readiness).is_some())
}

/// The stop signals of new pods whose liveness probe had used up its tolerance, one for each pod.
fn killed(update: &Update<'_, '_>) -> Vec<EventId> {
    let of_pod = |pod: &PodLife<'_>| {
        main_lives(pod).find_map(|(spec, attempt)| {
            exhausted(attempt, spec)?;
            attempt.stop_signal().map(|(id, _)| id)
        })
    };
    update.new.iter().filter_map(|pod| of_pod(pod)).collect()
}

/// The lives of a pod's main containers that have a liveness probe.
fn main_lives<'t, 'h>(
    pod: &'t PodLife<'h>,
) -> impl Iterator<Item = (&'t ProbeSpec, &'t Attempt<'h>)> + use<'t, 'h> {
    let containers = pod.containers.iter().filter(|container| container.kind == ContainerKind::Main);
    let probed =
        containers.filter_map(|container| Some((container.probe(ProbeKind::Liveness)?, &container.attempts)));
    probed.flat_map(|(spec, attempts)| attempts.iter().map(move |attempt| (spec, attempt)))
}

/// No new pod is available, the old ones stay as many as must be, and the rollout does not come to its end.
fn stalls(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    update: &Update<'_, '_>,
    failing: &[EventId],
) {
    seen.applies();
    let ready = |pod: &PodLife<'_>| {
        pod.revisions.iter().find(|revision| revision.is("Ready") == Some(true)).map(|r| r.id)
    };
    if let Some(early) = update.new.iter().filter(|pod| probed(pod)).find_map(|pod| ready(pod)) {
        seen.violated(
            "a pod of the new version was shown ready though its probes failed",
            [update.began, early],
        );
        return;
    }
    let Some((last, last_us, object)) = update.revisions.last() else { return };
    for (id, _, object) in &update.revisions {
        let Some(wanted) = wanted(object) else { return };
        let available = number(object, ["status", "availableReplicas"], 0);
        if available < wanted && old_are_well(update) {
            let finding =
                format!("{available} replicas were available during the rollout; at least {wanted} must be");
            seen.violated(finding, [update.began, *id]);
            return;
        }
    }
    let replicas = number(object, ["spec", "replicas"], 1);
    if number(object, ["status", "updatedReplicas"], 0) >= replicas && update.old.iter().all(|pod| gone(pod))
    {
        seen.violated(
            "the rollout came to its end with pods that never became available",
            [update.began, *last],
        );
        return;
    }
    deadline(run, clause, seen, update);
    let standing = update
        .old
        .iter()
        .filter_map(|pod| pod.last().filter(|last| last.is("Ready") == Some(true) && !last.gone));
    let standing: Vec<EventId> = standing.map(|revision| revision.id).collect();
    let watched = run.ended_us.max(*last_us) - update.at.at.hi;
    if watched >= STALLED && !standing.is_empty() {
        seen.fine(failing.iter().copied().chain(standing).chain([update.began, *last]));
    }
}

fn gone(pod: &PodLife<'_>) -> bool {
    pod.revisions.iter().any(|revision| revision.gone || revision.terminating())
}

/// Whether no old pod failed for its own sake: each was ready until it was asked to go.
fn old_are_well(update: &Update<'_, '_>) -> bool {
    update.old.iter().all(|pod| {
        let after = pod.revisions.iter().filter(|revision| revision.id > update.began);
        let mut alive = after.take_while(|revision| !revision.terminating() && !revision.gone);
        alive.all(|revision| revision.is("Ready") == Some(true))
    })
}

/// Once the deadline has passed without progress, the Deployment says so.
fn deadline(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, update: &Update<'_, '_>) {
    let Some((_, _, object)) = update.revisions.first() else { return };
    let limit = number(object, ["spec", "progressDeadlineSeconds"], 600) * 1_000_000;
    let exceeded = update.revisions.iter().find(|(_, _, object)| {
        let conditions = object.get("status").and_then(|status| status.get("conditions")?.as_array());
        conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded"
        })
    });
    let allowed = limit + progress(update) + clause.slack_us();
    match exceeded {
        Some((id, us, _)) => {
            let bound = Bound::at_most(
                allowed,
                "progressDeadlineSeconds after the last progress + the clause's slack",
            )
            .and_at_least(
                limit - 1_000_000,
                "progressDeadlineSeconds − 1 s, as times in status are cut to seconds",
            );
            let (from, to) = ((update.began, &update.at), (*id, &Stamp::harness(*us)));
            let measured = run.measure("from the update to ProgressDeadlineExceeded", "", from, to, bound);
            if let Some(measured) = measured {
                seen.measure(measured);
            }
        }
        None if run.ended_us - update.at.at.hi > allowed && !update.revisions.is_empty() => {
            let finding = format!("the rollout stood still for {} and nothing says so", seconds(allowed));
            let last = update.revisions.last().map_or(update.began, |(id, ..)| *id);
            seen.violated(finding, [update.began, last]);
        }
        None => {}
    }
}

/// How long after the update the last change of the numbers of pods came, which is progress and starts the clock anew.
fn progress(update: &Update<'_, '_>) -> i64 {
    let numbers = |object: &Value| {
        ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
            .map(|field| number(object, ["status", field], 0))
    };
    let pairs = update.revisions.windows(2);
    let last = pairs.filter(|pair| numbers(pair[0].2) != numbers(pair[1].2)).map(|pair| pair[1].1).max();
    Interval::point(last.unwrap_or(update.at.at.lo)).minus(update.at.at).hi.max(0)
}
