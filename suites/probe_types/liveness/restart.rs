//! The effects of the end of a container: depending on the restart policy, it is restarted or not, and nothing else
//! changes in the pod.

use probity_model::clocks::{Order, Stamp};
use probity_model::timeline::{At, ContainerLife, Life, Line, ProbeKind, Revision};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::absence::judge_absence;
use crate::reading::causes::may_have_earned;
use crate::reading::ends::heard_kill;
use crate::reading::termination::{
    Exhausted, KILLED, exhausted, judge_count, judge_no_restart, judge_restart,
};

/// If a container's liveness probe reaches its failure threshold, only this container is killed and restarted. It is
/// also a violation if the probes are due but never arrive.
pub(super) fn failure_restarts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().of(ProbeKind::Liveness) {
        judge_absence(clause, &life, seen);
    }
    let all = exhausted(run, ProbeKind::Liveness).into_iter();
    for spent in all.filter(|spent| spent.life.policy() != "Never") {
        if let Some(stop) = spent.judge_stop(clause, seen) {
            judge_restart(&spent.life, stop, seen);
            judge_rest_of_pod(&spent.life, &spent.at, stop, seen);
        }
    }
    for life in run.lives().staying().only(|life| life.next().is_none()) {
        judge_count(&life, seen);
    }
}

/// After a kill because of its liveness probe, the container restarts unless the policy is Never, whatever its exit
/// status.
pub(super) fn kill_follows_policy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in exhausted(run, ProbeKind::Liveness) {
        let Some(stop) = spent.stopped(clause) else { continue };
        match spent.life.policy() {
            "Never" => {
                judge_no_restart(&spent.life, stop, seen);
                judge_neighbors(&spent, stop, seen);
            }
            _ => judge_restart(&spent.life, stop, seen),
        }
    }
}

/// The other containers of a pod keep running when one container is killed and not restarted.
fn judge_neighbors(spent: &Exhausted<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
    let (life, pod) = (&spent.life, spent.life.pod);
    let before = pod.revisions.iter().rfind(|revision| revision.id < stop.id);
    let (Some(before), Some(after)) = (before, pod.last()) else { return };
    for other in pod.containers.iter().filter(|other| other.stays() && other.name != life.container.name) {
        let other = Life { run: life.run, pod, container: other, attempt: life.attempt };
        judge_other(&other, (stop, &spent.at), (before, after), seen);
    }
}

/// A container without probes that exits by itself is started again or not, depending on the policy.
pub(super) fn crash_follows_policy(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let unprobed = |container: &ContainerLife<'_>| {
        container.probe(ProbeKind::Liveness).is_none()
            && container.probe(ProbeKind::Startup).is_none()
            && container.spec.get("restartPolicyRules").is_none()
    };
    for life in run.lives().staying().only(|life| unprobed(life.container)) {
        let Some((line, code)) = life.attempt.exited_by_itself() else { continue };
        if !life.before_deletion(&line.at) {
            continue;
        }
        match (life.policy(), code) {
            ("Never", _) | ("OnFailure", 0) => judge_no_restart(&life, line, seen),
            _ => judge_restart(&life, line, seen),
        }
    }
}

/// During a restart, the pod keeps its node, its address and the content of its volumes, and the other containers keep
/// running.
fn judge_rest_of_pod(life: &Life<'_, '_>, used_up: &Stamp, stop: &Line<'_>, seen: &mut Seen) {
    let (pod, name) = (life.pod, &life.container.name);
    let restarts = |revision: &Revision<'_>| revision.container(name).map(|seen| seen.restarts);
    let before = pod.revisions.iter().rfind(|revision| revision.id < stop.id);
    let after = pod.revisions.iter().find(|revision| restarts(revision) == Some(life.number + 1));
    let (Some(before), Some(after)) = (before, after) else { return };
    for (what, path) in [("node", ["spec", "nodeName"]), ("address", ["status", "podIP"])] {
        let text =
            |revision: &Revision<'_>| revision.object.get(path[0])?.get(path[1])?.as_str().map(str::to_owned);
        if let (Some(old), Some(new)) = (text(before), text(after)) {
            match old == new {
                true => seen.fine([before.id, after.id]),
                false => seen.violated(
                    format!("the pod's {what} changed from {old} to {new} when a container restarted"),
                    [before.id, stop.id, after.id],
                ),
            }
        }
    }
    let id = |revision: &Revision<'_>| revision.container(name).map(|seen| seen.id.to_owned());
    if let (Some(old), Some(new)) = (id(before), id(after))
        && old == new
        && restarts(before) == Some(life.number)
    {
        let finding = format!("the restart count grew, but the container is still {new}");
        seen.violated(finding, [before.id, stop.id, after.id]);
    }
    for other in pod.containers.iter().filter(|other| other.stays() && other.name != *name) {
        judge_other(&Life { container: other, ..*life }, (stop, used_up), (before, after), seen);
    }
}

/// Another container keeps running: it is the same instance before and after, and it gets no stop signal unless its own
/// probes explain the signal.
fn judge_other(
    other: &Life<'_, '_>,
    (stop, used_up): (&Line<'_>, &Stamp),
    (before, after): (&Revision<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let state = |revision: &Revision<'_>| {
        let seen = revision.container(&other.container.name)?;
        Some((seen.id.to_owned(), seen.restarts))
    };
    if let (Some(old), Some(new)) = (state(before), state(after))
        && old == new
        && !old.0.is_empty()
    {
        seen.fine([before.id, after.id]);
    }
    for attempt in &other.container.attempts {
        let life = Life { attempt, ..*other };
        let signal = life.stopped_undeleted().map(At::of);
        let Some(end) = signal.or_else(|| killed_unsignalled(&life)) else { continue };
        let around =
            life.run.clocks.order(&end, &after.at) == Order::Before && life.run.at_least(used_up, &end) >= 0;
        if around && !may_have_earned(&life, &end) {
            let finding = format!("the other container {} was also stopped", life.container.name);
            seen.violated(finding, [stop.id, end.id]);
        }
    }
}

/// When an instance was killed without a stop signal, if its record and the API agree on this.
fn killed_unsignalled(life: &Life<'_, '_>) -> Option<At> {
    let unsignalled = life.stop().is_none() && life.only_probes_stop_it();
    let shown = matches!(life.termination(), Some((_, KILLED)));
    heard_kill(life).filter(|end| unsignalled && shown && life.before_deletion(end))
}
