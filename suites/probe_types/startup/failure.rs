//! A container that never starts is killed by its startup probe; one that starts slowly is kept from its liveness probe.

use probity_model::measure::seconds;
use probity_model::timeline::{ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::gate::opening;
use super::success::passed;
use crate::reading::kill::{
    Life, Stop, all_spent, allowance, before_deletion, judge_no_restart, judge_restart, judge_stop, over,
    policy, stop_after,
};
use crate::reading::tolerance::{exhausted, leaves_a_trace};

/// A startup probe that used up its tolerance has the container killed, and then the restart policy counts.
pub(super) fn failure_kills(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, _, spent) in all_spent(run, ProbeKind::Startup) {
        seen.applies();
        if let Some(stop) = judge_stop(run, clause, life, &spent, seen)
            && policy(life.0, life.1) != "Never"
        {
            judge_restart(run, life, stop, seen);
            seen.fine(told(life, "failed startup probe"));
        }
    }
}

/// Under the policy Never a container that its startup probe has killed is not started again, and the pod is over.
pub(super) fn never_means_never(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, _, spent) in all_spent(run, ProbeKind::Startup) {
        let (pod, container, attempt) = life;
        if policy(pod, container) != "Never" {
            continue;
        }
        seen.applies();
        let (allowed, _) = allowance(pod, container, clause);
        if let Stop::Came(id, at) = stop_after(run, pod, attempt, &spent.at, allowed) {
            judge_no_restart(run, life, (id, at), seen);
            if let Some(event) = told(life, "will be restarted") {
                seen.violated("an event says that the container will be restarted", [id, event]);
            }
        }
    }
}

/// An event about the killing of this container that says so.
fn told((pod, container, _): Life<'_, '_>, words: &str) -> Option<EventId> {
    let events = pod.events.iter().filter(|event| event.reason == "Killing" && event.message.contains(words));
    events.filter(|event| event.container == Some(container.name.as_str())).map(|event| event.id).next()
}

/// A boot that outlasts what liveness tolerates is survived with a startup probe, and not without one.
pub(super) fn startup_protects(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, liveness) in run.probed(ProbeKind::Liveness) {
        seen.applies();
        for attempt in &container.attempts {
            let life = (pod, container, attempt);
            match container.probe(ProbeKind::Startup) {
                Some(startup) => judge_protected(run, clause, life, (startup, liveness), seen),
                None => judge_unprotected(run, clause, life, liveness, seen),
            }
        }
    }
}

/// With a startup probe, no stop signal comes before startup succeeds, until that probe itself is out of patience.
fn judge_protected(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    (startup, liveness): (&ProbeSpec, &ProbeSpec),
    seen: &mut Seen,
) {
    let (pod, container, attempt) = life;
    let (began_id, began) = &attempt.began;
    let started = opening(attempt, startup);
    let stop = attempt.stop_signal().filter(|(_, at)| before_deletion(run, pod, at));
    if let Some(started) = &started
        && stop.is_none_or(|(_, at)| at.at.lo > started.at.at.hi)
    {
        let budget = liveness.initial_delay + liveness.failures * liveness.period;
        let slow = started.at.at.lo - began.at.hi > budget;
        seen.fine([*began_id, started.id].into_iter().filter(|_| slow));
        return;
    }
    let Some((id, at)) = stop else { return };
    let lived = at.at.hi - began.at.lo;
    let patience = startup.initial_delay + (startup.failures - 1) * startup.period;
    // A run of startup failures may begin in the life before, so only the first life is counted out; and it may begin
    // before the process does.
    let early = attempt.number == 0 && lived + clause.slack_us() < patience;
    if early && leaves_a_trace(pod, &container.name, startup) && own_doing(run, life) {
        let (lived, patience) = (seconds(lived), seconds(patience));
        let finding =
            format!("stopped {lived} after its start, though its startup probe tolerates {patience}");
        seen.violated(finding, [*began_id, id]);
    }
}

/// Whether only a probe of its own can have stopped the container: nothing else was arranged or done.
fn own_doing(run: &Timeline<'_>, (pod, container, _): Life<'_, '_>) -> bool {
    use probity_model::history::Did;
    let meddled = run.deeds.iter().any(|(_, deed)| {
        matches!(
            deed.did,
            Did::Patched { .. } | Did::NodeVerb { .. } | Did::Evicted { .. } | Did::Executed { .. }
        )
    });
    let hooked =
        container.spec.get("lifecycle").is_some_and(|lifecycle| lifecycle.get("postStart").is_some());
    let from_outside = over(pod).is_some_and(|(_, from_outside)| from_outside);
    !meddled && !hooked && !from_outside && pod.spec.get("activeDeadlineSeconds").is_none()
}

/// Without a startup probe, a boot that outlasts the tolerance ends with a stop signal before liveness ever succeeded.
fn judge_unprotected(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    liveness: &ProbeSpec,
    seen: &mut Seen,
) {
    let (pod, container, attempt) = life;
    let (began_id, began) = &attempt.began;
    if passed(life, ProbeKind::Liveness) || !leaves_a_trace(pod, &container.name, liveness) {
        return;
    }
    match attempt.stop_signal() {
        Some((id, at)) if before_deletion(run, pod, at) => {
            let least = liveness.initial_delay + (liveness.failures - 1) * liveness.period;
            if at.at.lo - began.at.hi > least {
                seen.fine([*began_id, id]);
            }
        }
        Some(_) => {}
        None => judge_survival(run, clause, life, liveness, seen),
    }
}

/// No stop signal came. That accuses only if the target itself saw that liveness failed often enough.
fn judge_survival(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'_, '_>,
    liveness: &ProbeSpec,
    seen: &mut Seen,
) {
    let Some(spent) = exhausted(attempt, liveness) else { return };
    let (allowed, _) = allowance(pod, container, clause);
    if let Stop::Missing(line) = stop_after(run, pod, attempt, &spent.at, allowed) {
        let finding = format!("never live, and still not stopped {} after the last straw", seconds(allowed));
        seen.violated(finding, spent.events().into_iter().chain([line]));
    }
}
