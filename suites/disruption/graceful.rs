//! The termination of an evicted pod: its hook runs, it gets a stop signal, and it has its whole grace period.

use probity_model::history::{Did, Source};
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, START_OF_A_COMMAND};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::account::{Eviction, evictions};
use crate::reading::ends::{End, may_be_unrecorded, was_running};
use crate::reading::hooks::{HookRun, hook_run, judge_missing_hook};
use crate::reading::mains::lives_of;

/// The instances of main containers that ran when their pod was evicted, and whose records are complete.
fn running<'t, 'h>(eviction: &Eviction<'t, 'h>) -> Vec<Life<'t, 'h>> {
    let (run, pod) = (eviction.run, eviction.pod);
    let mains = pod.containers.iter().filter(|of| of.kind == ContainerKind::Main);
    let lives = mains.flat_map(|container| lives_of(run, pod, container));
    lives.filter(|life| life.is_complete() && was_running(life, &eviction.at)).collect()
}

/// The end of a process, if it was killed and did not exit by itself.
fn killed<'t>(life: &Life<'t, '_>) -> Option<&'t At> {
    life.attempt.ended.as_ref().filter(|_| life.exiting().is_none())
}

/// Whether only this eviction made the pod terminate.
fn is_alone(eviction: &Eviction<'_, '_>) -> bool {
    let pod = eviction.pod;
    eviction.is_granted() && pod.deleted == Some(eviction.at.id) && !eviction.run.node_was_touched()
}

/// The hooks of an evicted pod run, and its containers get their stop signal and their grace period.
pub(super) fn has_its_grace(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for eviction in evictions(run).iter().filter(|eviction| is_alone(eviction)) {
        let again = eviction.run.deeds.iter().any(|(id, deed)| {
            *id > eviction.at.id
                && matches!(&deed.did, Did::Deleted { name, .. } if *name == eviction.pod.name)
        });
        if again || eviction.pod.grace() < LEAST_GRACE {
            continue;
        }
        for life in running(eviction) {
            judge(clause, eviction, &life, seen);
        }
    }
}

fn judge(clause: &Clause, eviction: &Eviction<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let hook = life.container.lifecycle("preStop");
    let hooked = hook.and_then(|hook| hook_run(life, hook));
    if judge_hook(eviction, life, (hook, hooked.as_ref()), seen) {
        judge_recorded_grace(eviction, seen);
        judge_kill(clause, eviction, life, (hook, hooked), seen);
    }
}

/// Judges the hook and the stop signal of an instance. Returns whether the rest of its termination can be judged, which
/// is not the case if it was killed without a stop signal.
fn judge_hook(
    eviction: &Eviction<'_, '_>,
    life: &Life<'_, '_>,
    (hook, hooked): (Option<&Value>, Option<&HookRun>),
    seen: &mut Seen,
) -> bool {
    // If a hook cannot leave a record in this process, a missing record proves nothing.
    let traced = hook.is_some_and(|hook| hook.get("exec").is_some());
    match (hooked, life.stop(), killed(life)) {
        (None, None, Some(ended)) if !may_be_unrecorded(life, ended) => {
            let finding = format!("{} was killed without a stop signal after an eviction", life.name());
            seen.violated(finding, [eviction.at.id, ended.id]);
            return false;
        }
        (None, Some(stop), _) if traced => {
            judge_missing_hook(life, &eviction.at, eviction.pod.grace(), stop, seen);
        }
        (Some(hooked), Some(stop), _) => {
            let finding = || format!("the hook of {} ran after its stop signal", life.name());
            seen.check(!life.run.before(&stop.at, &hooked.began), finding, [hooked.began.id, stop.id]);
            seen.facet("seen", "hook");
        }
        _ => {}
    }
    true
}

/// The deletion of an evicted pod has the grace period of its spec.
fn judge_recorded_grace(eviction: &Eviction<'_, '_>, seen: &mut Seen) {
    if let Some(shown) = eviction.pod.revisions.iter().find(|shown| shown.terminating()) {
        let said = shown.deletion_grace().map(whole_seconds);
        let finding = || {
            let said = said.map_or("missing".to_owned(), seconds);
            format!("{} was evicted, but its deletionGracePeriodSeconds is {said}", eviction.pod.key)
        };
        seen.check(said == Some(eviction.pod.grace()), finding, [eviction.at.id, shown.id]);
    }
}

/// An instance that does not exit by itself is killed at the end of the grace period of its pod.
fn judge_kill(
    clause: &Clause,
    eviction: &Eviction<'_, '_>,
    life: &Life<'_, '_>,
    (hook, hooked): (Option<&Value>, Option<HookRun>),
    seen: &mut Seen,
) {
    let grace = eviction.pod.grace();
    // The grace period starts with the hook, if there is one. Without a hook and a stop signal it starts with the eviction;
    // this is not judged if a container has a postStart hook, which may delay the termination.
    let delayed = eviction.pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
    let untraced =
        hooked.is_none() && hook.is_some_and(|hook| hook.is_object() && hook.get("exec").is_none());
    // The grace period begins when the kubelet asks for a hook, and a command may begin a while later.
    let unseen = if hooked.is_some() { START_OF_A_COMMAND } else { 0 };
    let first = hooked.map(|hooked| hooked.began).or_else(|| life.stop().map(At::of));
    let Some(began) = first.or_else(|| (!delayed).then(|| eviction.at.clone())) else { return };
    let slack = clause.tolerance_us("kill");
    let mut bound = Bound::at_most(grace + slack, format!("{} + {}", seconds(grace), seconds(slack)));
    if !untraced {
        let spare = NEAR + unseen;
        bound = bound.and_at_least(grace - spare, format!("{} - {}", seconds(grace), seconds(spare)));
    }
    let quantity = format!("from the start of the termination of {} to its kill", life.name());
    let silent = life.run.gaps.iter().any(|(_, gap)| !matches!(gap.of, Source::Watch(_)));
    if life.exiting().is_none() && End::of(life).is_none() && !silent {
        let Some(end) = life.run.end_event() else { return };
        if life.run.misses(&life.node, (&began, &end), bound) && life.run.at_least(&began, &end) > grace {
            let finding = format!(
                "{} had a grace period of {} after an eviction, but is still running",
                life.name(),
                seconds(grace)
            );
            seen.violated(finding, [began.id, end.id]);
        }
    } else if let Some(ended) = killed(life)
        && life.within(seen, quantity, (&began, ended), bound) == Some(Fit::Met)
    {
        seen.facet("seen", "kill");
    }
}
