//! What follows the end of a container: a restart or none, as the policy says, and nothing else in the pod is touched.

use probity_model::clocks::{Order, Stamp};
use probity_model::timeline::{Attempt, ContainerKind, ContainerLife, PodLife, Probe, ProbeKind, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::kill::{
    Life, Stop, all_spent, allowance, before_deletion, exited_by_itself, judge_no_restart, judge_restart,
    judge_stop, policy, stop_after,
};
use crate::reading::tolerance::{Outcome, outcome};

/// A container whose liveness probe used up its tolerance is killed and started again, and it alone.
pub(super) fn failure_restarts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, _, spent) in all_spent(run, ProbeKind::Liveness) {
        if policy(life.0, life.1) == "Never" {
            continue;
        }
        seen.applies();
        if let Some(stop) = judge_stop(run, clause, life, &spent, seen) {
            judge_restart(run, life, stop, seen);
            judge_rest_of_pod(run, life, (&spent.at, stop), seen);
        }
    }
}

/// After a kill by liveness the container comes back if the policy is not Never, whatever its exit status was.
pub(super) fn kill_follows_policy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, _, spent) in all_spent(run, ProbeKind::Liveness) {
        let (pod, container, attempt) = life;
        seen.applies();
        let (allowed, _) = allowance(pod, container, clause);
        let Stop::Came(id, at) = stop_after(run, pod, attempt, &spent.at, allowed) else { continue };
        match policy(pod, container) {
            "Never" => judge_no_restart(run, life, (id, at), seen),
            _ => judge_restart(run, life, (id, at), seen),
        }
    }
}

/// A container without probes that ends by itself is started again, or not, as the policy says.
pub(super) fn crash_follows_policy(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let unprobed = |container: &ContainerLife<'_>| {
        container.kind != ContainerKind::Init
            && container.probe(ProbeKind::Liveness).is_none()
            && container.probe(ProbeKind::Startup).is_none()
            && container.spec.get("restartPolicyRules").is_none()
    };
    for (pod, container) in run.containers().filter(|(_, container)| unprobed(container)) {
        for attempt in &container.attempts {
            let Some((id, at, code)) = exited_by_itself(attempt) else { continue };
            if !before_deletion(run, pod, at) {
                continue;
            }
            seen.applies();
            let life = (pod, container, attempt);
            match (policy(pod, container), code) {
                ("Never", _) | ("OnFailure", 0) => judge_no_restart(run, life, (id, at), seen),
                _ => judge_restart(run, life, (id, at), seen),
            }
        }
    }
}

/// Around a restart, the pod keeps its node and its address, its volumes their content, and the other containers run on.
fn judge_rest_of_pod(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    (used_up, (stop_id, _)): (&Stamp, (EventId, &Stamp)),
    seen: &mut Seen,
) {
    let before = pod.revisions.iter().rfind(|revision| revision.id < stop_id);
    let restarted =
        |revision: &&Revision<'_>| restarts(revision, &container.name) == Some(attempt.number + 1);
    let (Some(before), Some(after)) = (before, pod.revisions.iter().find(restarted)) else { return };
    for (what, path) in [("node", ["spec", "nodeName"]), ("address", ["status", "podIP"])] {
        let text =
            |revision: &Revision<'_>| revision.object.get(path[0])?.get(path[1])?.as_str().map(str::to_owned);
        if let (Some(old), Some(new)) = (text(before), text(after)) {
            match old == new {
                true => seen.fine([before.id, after.id]),
                false => seen.violated(
                    format!("the pod's {what} changed from {old} to {new} by a container's restart"),
                    [before.id, stop_id, after.id],
                ),
            }
        }
    }
    let id = |revision: &Revision<'_>, name: &str| revision.container(name).map(|seen| seen.id.to_owned());
    if let (Some(old), Some(new)) = (id(before, &container.name), id(after, &container.name))
        && old == new
        && restarts(before, &container.name) == Some(attempt.number)
    {
        let finding = format!("a restart was counted, but the container is still {new}");
        seen.violated(finding, [before.id, stop_id, after.id]);
    }
    for other in others(pod, container) {
        judge_other(run, (pod, other), (stop_id, used_up), (before, after), seen);
    }
}

fn restarts(revision: &Revision<'_>, container: &str) -> Option<u64> {
    revision.container(container).map(|seen| seen.restarts)
}

fn others<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    let stays = |other: &&ContainerLife<'_>| other.kind != ContainerKind::Init;
    pod.containers.iter().filter(stays).filter(|other| other.name != container.name)
}

/// Another container runs on: the same container before and after, and no stop signal in it that it did not earn.
fn judge_other(
    run: &Timeline<'_>,
    (pod, other): (&PodLife<'_>, &ContainerLife<'_>),
    (stop_id, used_up): (EventId, &Stamp),
    (before, after): (&Revision<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let state = |revision: &Revision<'_>| {
        let seen = revision.container(&other.name)?;
        Some((seen.id.to_owned(), seen.restarts))
    };
    if let (Some(old), Some(new)) = (state(before), state(after))
        && old == new
        && !old.0.is_empty()
    {
        seen.fine([before.id, after.id]);
    }
    for attempt in &other.attempts {
        let Some((id, at)) = attempt.stop_signal() else { continue };
        let around = run.clocks.order(at, &after.at) == Order::Before
            && at.at.lo >= used_up.at.lo
            && before_deletion(run, pod, at);
        if around && !may_have_earned(other, attempt, at) {
            let finding = format!("the other container {} was stopped too", other.name);
            seen.violated(finding, [stop_id, id]);
        }
    }
}

/// Whether a stop signal can be the answer to this container's own probes: it has some, and enough failures fit between
/// it and the last success, or the start if there was none.
fn may_have_earned(container: &ContainerLife<'_>, attempt: &Attempt<'_>, stop: &Stamp) -> bool {
    let lethal = [ProbeKind::Liveness, ProbeKind::Startup];
    lethal.iter().filter_map(|kind| container.probe(*kind)).any(|spec| {
        let passed =
            |probe: &&Probe<'_>| probe.can_be(spec.kind) && outcome(attempt, spec, probe) == Outcome::Passed;
        let last = attempt.probes.iter().filter(passed).map(|probe| probe.at.at.lo).max();
        let over = spec.kind == ProbeKind::Startup && last.is_some();
        // After a success the first failure comes a period later; after the start it may come at once.
        let (from, periods) = match last {
            Some(last) => (last, spec.failures),
            None => (attempt.began.1.at.lo, spec.failures - 1),
        };
        !over && stop.at.hi - from > (periods * spec.period - spec.period / 2).max(0)
    })
}
