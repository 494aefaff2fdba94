//! Rollouts: an update whose pods never become available stops, and the old pods continue to serve.
//!
//! A rollout is judged from the revisions of the Deployment, its `ReplicaSet`s and its pods. The label of the
//! Deployment's controller shows which pods are new; the answers of their targets show why they fail.

use std::collections::BTreeSet;

use probity_model::clocks::{Clock, Stamp};
use probity_model::history::Sighting;
use probity_model::measure::{Bound, Interval, seconds, whole_seconds};
use probity_model::mechanisms::CUT_TO_SECONDS;
use probity_model::timeline::{At, ContainerKind, Line, PodLife, ProbeKind, ProbeOutcome, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use super::course::{Shown, objects, sightings};
use crate::reading::readiness::readiness_lives;
use crate::reading::termination::{Exhausted, exhausted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.rollout.blocked-by-unready", judge: blocked_by_unready },
    Judge { clause: "scenario.rollout.blocked-by-crashloop", judge: blocked_by_crashloop },
];

/// The label that distinguishes the pods of a Deployment's versions.
const VERSION: &str = "pod-template-hash";
/// The default of `progressDeadlineSeconds`: Kubernetes API reference, DeploymentSpec.
const PROGRESS_DEADLINE: i64 = 600;
/// The default of `maxUnavailable` in percent: Kubernetes API reference, RollingUpdateDeployment.
const MAX_UNAVAILABLE: i64 = 25;
/// The whole of a percentage, as in `maxUnavailable` of the Kubernetes API.
const PERCENT: i64 = 100;

/// A Deployment that was updated, with its revisions since the update.
struct Update<'t, 'h> {
    run: &'t Timeline<'h>,
    began: At,
    revisions: Vec<Shown<'h>>,
    old: Vec<&'t PodLife<'h>>,
    new: Vec<&'t PodLife<'h>>,
}

fn updates<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Update<'t, 'h>> {
    objects(run, "Deployment").filter_map(|revisions| update(run, &revisions))
}

/// The only change of a Deployment's template. A second change would be a different scenario.
fn update<'t, 'h>(run: &'t Timeline<'h>, revisions: &[Shown<'h>]) -> Option<Update<'t, 'h>> {
    let template = |(_, _, shown): &Shown<'h>| &shown.object["spec"]["template"];
    let first = revisions.first()?;
    let at = revisions.iter().position(|revision| template(revision) != template(first))?;
    let after = revisions.get(at..)?;
    let (began, us, _) = *after.first()?;
    if after.iter().any(|revision| template(revision) != template(&after[0])) {
        return None;
    }
    let selector = first.2.object["spec"]["selector"]["matchLabels"].as_object()?;
    let selected = |pod: &&PodLife<'_>| selector.iter().all(|(key, value)| label(pod, key) == Some(value));
    let ours = run.pods.iter().filter(|pod| !pod.revisions.is_empty()).filter(selected);
    // Pods and their Deployment come from different watches: the first new pod may arrive before the update.
    let first = |pod: &&PodLife<'_>| pod.revisions.first().map(|first| first.id);
    let version = label(ours.clone().min_by_key(first)?, VERSION)?;
    let (old, new): (Vec<_>, Vec<_>) = ours.partition(|pod| label(pod, VERSION) == Some(version));
    let is_new = !new.is_empty() && new.iter().all(|pod| label(pod, VERSION).is_some());
    let began = At::new(began, Stamp::harness(us));
    is_new.then(|| Update { run, began, revisions: after.to_vec(), old, new })
}

fn label<'h>(pod: &PodLife<'h>, key: &str) -> Option<&'h Value> {
    pod.revisions.first().and_then(|first| first.object.get("metadata")?.get("labels")?.get(key))
}

fn number(sighting: &Sighting, group: &str, field: &str, default: i64) -> i64 {
    // The API has 32 bits for each of these.
    let written = sighting.object[group][field].as_i64();
    written.map_or(default, |number| number.clamp(i32::MIN.into(), i32::MAX.into()))
}

/// How many pods must stay available: `replicas` less `maxUnavailable`, with a percentage rounded down.
fn wanted(deployment: &Sighting) -> Option<i64> {
    let replicas = number(deployment, "spec", "replicas", 1);
    let strategy = &deployment.object["spec"]["strategy"];
    if strategy["type"] == "Recreate" {
        return None;
    }
    let most = match &strategy["rollingUpdate"]["maxUnavailable"] {
        Value::Number(number) => number.as_i64()?.clamp(i32::MIN.into(), i32::MAX.into()),
        Value::String(share) => {
            share.strip_suffix('%')?.parse::<i64>().ok()?.saturating_mul(replicas) / PERCENT
        }
        _ => MAX_UNAVAILABLE * replicas / PERCENT,
    };
    Some(replicas - most)
}

/// Judges a rollout with new pods whose readiness probe fails all the time.
fn blocked_by_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for update in updates(run) {
        let failing = update.new.iter().filter_map(|pod| {
            let of_pod = lives.iter().filter(|life| life.pod.name == pod.name);
            let probes: Vec<_> = of_pod
                .flat_map(|life| life.probes.iter().map(|probe| (probe.id, life.surely(probe))))
                .collect();
            let all = probes.len() > 1 && probes.iter().all(|(_, result)| *result == ProbeOutcome::Failure);
            probes.last().filter(|_| all).map(|(id, _)| *id)
        });
        let failing: Vec<EventId> = failing.collect();
        if failing.len() == update.new.len() && update.killed().is_empty() {
            update.stalls(clause, seen, &failing, &[]);
        }
    }
}

/// Judges a rollout with new pods whose liveness probe fails, so that they restart repeatedly.
fn blocked_by_crashloop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for update in updates(run) {
        let killed = update.killed();
        if killed.len() < update.new.len() {
            continue;
        }
        let early = update.early();
        if let Some(counted) = update.counted() {
            update.judge_counted(seen, &killed, &early, counted);
        }
        update.stalls(clause, seen, &killed, &early);
    }
}

/// A pod of a version that fails its liveness probe, but which, according to its status, stayed ready for
/// `minReadySeconds` before its first back-off.
struct Early {
    /// The pod.
    pod: String,
    /// The revision from which on it was ready.
    shown: EventId,
    /// The time from which it may count as available, on the harness's clock.
    from: i64,
    /// The stop signal that came while the pod stayed ready but that its status did not show; none if the pod was not
    /// stopped.
    stop: Option<EventId>,
}

/// When a pod became ready according to its own status, on the harness's clock: the status may have arrived late.
fn ready_since(run: &Timeline<'_>, pod: &PodLife<'_>, revision: &Revision<'_>) -> i64 {
    let written = revision.turned("Ready").and_then(|second| {
        let clock = Clock::Wall(pod.node.clone());
        run.clocks.on_harness(&Stamp { clock, at: Interval::point(whole_seconds(second)) })
    });
    written.map_or(revision.at.at.lo, |at| at.lo)
}

/// Whether a pod has a readiness probe: a container without one is ready whenever it runs.
fn probed(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().any(|of| of.probe(ProbeKind::Readiness).is_some())
}

fn gone(pod: &PodLife<'_>) -> bool {
    pod.revisions.iter().any(|revision| revision.gone || revision.terminating())
}

/// Whether a container of the pod waits for its back-off.
fn backs_off(revision: &Revision<'_>) -> bool {
    let statuses = revision.object["status"]["containerStatuses"].as_array();
    statuses.into_iter().flatten().any(|of| of["state"]["waiting"]["reason"] == "CrashLoopBackOff")
}

fn is_ready(revision: &Revision<'_>) -> bool {
    revision.is("Ready") == Some(true)
}

impl Update<'_, '_> {
    /// The stop signals of new pods after `failureThreshold` liveness failures, one for each pod.
    fn killed(&self) -> Vec<EventId> {
        let spent = exhausted(self.run, ProbeKind::Liveness);
        let of_pod = |pod: &PodLife<'_>| {
            let own = |spent: &&Exhausted<'_, '_>| {
                spent.life.container.kind == ContainerKind::Main && std::ptr::eq(spent.life.pod, pod)
            };
            spent.iter().filter(own).find_map(|spent| spent.life.stop()).map(|stop| stop.id)
        };
        self.new.iter().filter_map(|pod| of_pod(pod)).collect()
    }

    /// The revision that first counted the new version as available, and its time.
    fn counted(&self) -> Option<(EventId, i64)> {
        let version = label(self.new.first()?, VERSION)?;
        let counts = |set: &Sighting| {
            let same = set.object["metadata"]["labels"][VERSION] == *version;
            same && number(set, "status", "availableReplicas", 0) > 0
        };
        sightings(self.run, "ReplicaSet").find(|(_, _, set)| counts(set)).map(|(id, us, _)| (id, us))
    }

    /// Judges whether the statuses of the new pods justify that the new version was counted as available.
    fn judge_counted(
        &self,
        seen: &mut Seen,
        killed: &[EventId],
        early: &[Early],
        (counted, at): (EventId, i64),
    ) {
        let of_its_time: Vec<_> = early.iter().filter(|early| early.from <= at).collect();
        let stopped = of_its_time.iter().any(|early| early.stop.is_some());
        if let Some(unstopped) = of_its_time.first().filter(|_| !stopped) {
            let why = "a pod of the new version was ready for minReadySeconds before its liveness probe caused a restart";
            seen.doubt(Doubt::Ambiguous, why, [unstopped.shown, counted]);
        } else if stopped {
            let stayed = of_its_time.iter().flat_map(|early| [Some(early.shown), early.stop]).flatten();
            seen.diverges(
                "a pod of the new version stayed ready for longer than minReadySeconds although its liveness probe caused a restart: it counts as available",
                killed.iter().copied().chain(stayed).chain([self.began.id, counted]),
            );
        } else if !self.new.iter().any(|pod| probed(pod)) {
            let finding = "a pod of the new version counted as available, but none had been ready for minReadySeconds before its first back-off";
            seen.violated(finding, [self.began.id, counted]);
        }
    }

    /// The new pods that stayed ready for `minReadySeconds`, each with the stop signal that came during that time.
    fn early(&self) -> Vec<Early> {
        let Some((_, _, deployment)) = self.revisions.last() else { return Vec::new() };
        // The controllers compute with times that are truncated to seconds.
        let wanted = whole_seconds(number(deployment, "spec", "minReadySeconds", 0)) - CUT_TO_SECONDS;
        self.new.iter().filter(|pod| !probed(pod)).flat_map(|pod| self.early_pod(pod, wanted)).collect()
    }

    fn early_pod(&self, pod: &PodLife<'_>, wanted: i64) -> Vec<Early> {
        let run = self.run;
        let calm: Vec<&Revision<'_>> =
            pod.revisions.iter().take_while(|revision| !backs_off(revision) && !revision.gone).collect();
        let end_of_all = pod.revisions.get(calm.len()).map_or(run.ended_us, |next| next.at.at.hi);
        let main = run
            .lives()
            .of(ProbeKind::Liveness)
            .only(|life| life.container.kind == ContainerKind::Main && std::ptr::eq(life.pod, pod));
        let (mut end, mut found) = (end_of_all, Vec::new());
        // From the last period to the first: the end of each is the beginning of the next.
        for stretch in calm.chunk_by(|one, next| is_ready(one) == is_ready(next)).rev() {
            let Some(first) = stretch.first() else { continue };
            let since = ready_since(run, pod, first);
            if is_ready(first) && end - since >= wanted {
                let inside = |stop: &&Line<'_>| {
                    run.clocks.on_harness(&stop.at).is_some_and(|at| since <= at.hi && at.lo <= end)
                };
                let stop = main.iter().filter_map(|life| life.stop()).find(inside).map(|stop| stop.id);
                found.push(Early { pod: pod.name.clone(), shown: first.id, from: since + wanted, stop });
            }
            end = first.at.at.hi;
        }
        found
    }

    /// No new pod is available, enough old ones are, and the rollout does not finish.
    ///
    /// If new pods were rightly counted as available for a while according to their status, the same number of old ones
    /// may be missing.
    fn stalls(&self, clause: &Clause, seen: &mut Seen, failing: &[EventId], early: &[Early]) {
        let Some((last, last_us, deployment)) = self.revisions.last() else { return };
        if let Some((finding, event)) = self.went_on((*last, deployment), early) {
            seen.violated(finding, [self.began.id, event]);
            return;
        }
        if self.revisions.iter().any(|(_, _, deployment)| wanted(deployment).is_none()) {
            return;
        }
        self.deadline(clause, seen);
        let standing = self.old.iter().filter_map(|pod| pod.last());
        let standing = standing.filter(|last| is_ready(last) && !last.gone);
        let standing: Vec<EventId> = standing.map(|revision| revision.id).collect();
        let watched = self.run.ended_us.max(*last_us) - self.began.at.hi;
        if watched >= clause.tolerance_us("stall") && !standing.is_empty() {
            seen.fine(failing.iter().copied().chain(standing).chain([self.began.id, *last]));
        }
    }

    /// The evidence that the rollout continued with pods that never became available.
    fn went_on(
        &self,
        (last, deployment): (EventId, &Sighting),
        early: &[Early],
    ) -> Option<(String, EventId)> {
        let ready = |pod: &&PodLife<'_>| {
            pod.revisions.iter().find(|revision| is_ready(revision)).map(|revision| revision.id)
        };
        if let Some(early) = self.new.iter().filter(|pod| probed(pod)).find_map(ready) {
            let finding = "a pod of the new version was shown as ready although its probes failed";
            return Some((finding.to_owned(), early));
        }
        let pods = |us: i64| early.iter().filter(move |early| early.from <= us).map(|early| &early.pod);
        let early_by = |us: i64| pods(us).collect::<BTreeSet<_>>().len();
        let early_by = |us: i64| i64::try_from(early_by(us)).unwrap_or(i64::MAX);
        for (id, us, deployment) in &self.revisions {
            let wanted = wanted(deployment)? - early_by(*us);
            let available = number(deployment, "status", "availableReplicas", 0);
            if available < wanted && self.old_are_well() {
                let finding = format!(
                    "only {available} replicas were available during the rollout; at least {wanted} must be"
                );
                return Some((finding, *id));
            }
        }
        let replaced = number(deployment, "status", "updatedReplicas", 0);
        let replaced = replaced >= number(deployment, "spec", "replicas", 1);
        let finding = "the rollout finished with pods that never became available";
        let replaced = replaced && early_by(i64::MAX) < number(deployment, "spec", "replicas", 1);
        (replaced && self.old.iter().all(|pod| gone(pod))).then(|| (finding.to_owned(), last))
    }

    /// Whether every old pod was ready until it was deleted.
    fn old_are_well(&self) -> bool {
        self.old.iter().all(|pod| {
            let after = pod.revisions.iter().filter(|revision| revision.id > self.began.id);
            let mut alive = after.take_while(|revision| !revision.terminating() && !revision.gone);
            alive.all(is_ready)
        })
    }

    /// After the deadline without progress, a condition of the Deployment shows this.
    fn deadline(&self, clause: &Clause, seen: &mut Seen) {
        let [(_, _, first), ..] = self.revisions.as_slice() else { return };
        let limit = number(first, "spec", "progressDeadlineSeconds", PROGRESS_DEADLINE);
        let limit = whole_seconds(limit);
        let allowed = limit + self.progress() + clause.slack_us();
        let exceeded = self.revisions.iter().find(|(_, _, deployment)| {
            let conditions = deployment.object["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|condition| {
                condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded"
            })
        });
        if let Some((id, us, _)) = exceeded {
            let most = "progressDeadlineSeconds after the last progress + the clause's slack";
            let least = "progressDeadlineSeconds − 1 s, because times in the status are in whole seconds";
            let bound = Bound::at_most(allowed, most).and_at_least(limit - CUT_TO_SECONDS, least);
            let ends = (&self.began, At::new(*id, Stamp::harness(*us)));
            seen.within(self.run, "", "from the update to ProgressDeadlineExceeded", ends, bound);
        } else if self.run.ended_us - self.began.at.hi > allowed {
            let finding =
                format!("the rollout made no progress for {}, but no condition shows it", seconds(allowed));
            let last = self.revisions.last().map(|(id, ..)| *id);
            seen.violated(finding, [self.began.id].into_iter().chain(last));
        }
    }

    /// How long after the update the numbers of pods last changed. Such a change is progress and restarts the deadline.
    fn progress(&self) -> i64 {
        let numbers = |(_, _, deployment): &Shown<'_>| {
            ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
                .map(|field| number(deployment, "status", field, 0))
        };
        let changes = self.revisions.windows(2).filter(|two| numbers(&two[0]) != numbers(&two[1]));
        let last = changes.map(|two| two[1].1).max().unwrap_or(self.began.at.lo);
        Interval::point(last).minus(self.began.at).hi.max(0)
    }
}
