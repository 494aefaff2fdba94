//! The termination of an evicted pod: its hook runs, it gets a stop signal, and it has its whole grace period.

use probity_model::history::{Did, Source};
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, START_OF_A_COMMAND};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use super::account::{Eviction, evictions};
use crate::reading::ends::{End, may_be_unrecorded};
use crate::reading::hooks::hook_run;
use crate::reading::mains::lives_of;

/// The instances of main containers that ran when their pod was evicted, and whose records are complete.
fn running<'t, 'h>(eviction: &Eviction<'t, 'h>) -> Vec<Life<'t, 'h>> {
    let (run, pod) = (eviction.run, eviction.pod);
    let mains = pod.containers.iter().filter(|of| of.kind == ContainerKind::Main);
    let lives = mains.flat_map(|container| lives_of(run, pod, container));
    let ran = |life: &Life<'_, '_>| {
        let told = life.stop().is_some_and(|stop| run.before(&stop.at, &eviction.at));
        let over = End::of(life).is_some_and(|end| run.before(&end.earliest, &eviction.at));
        run.before(&life.began, &eviction.at) && !told && !over
    };
    lives.filter(|life| life.is_numbered() && life.holes.is_empty() && ran(life)).collect()
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
    let (grace, stop) = (eviction.pod.grace(), life.attempt.stop());
    let hook = life.container.lifecycle("preStop");
    let hooked = hook.and_then(|hook| hook_run(life, hook));
    // If a hook cannot leave a record in this process, a missing record proves nothing.
    let traced = hook.is_some_and(|hook| hook.get("exec").is_some());
    match (&hooked, stop, killed(life)) {
        (None, None, Some(ended)) if !may_be_unrecorded(life, ended) => {
            let finding = format!("{} was killed without a stop signal after an eviction", life.name());
            seen.violated(finding, [eviction.at.id, ended.id]);
            return;
        }
        (None, Some(stop), _) if traced => {
            let finding = format!("{} received its stop signal, but its hook never ran", life.name());
            let waited = life.run.clocks.between(&eviction.at, &stop.at);
            // The grace period may have ended before the hook could start.
            if waited.is_some_and(|waited| waited.hi <= grace - NEAR) {
                seen.violated(finding, [eviction.at.id, stop.id]);
            } else {
                seen.doubt(Doubt::Ambiguous, finding, [eviction.at.id, stop.id]);
            }
        }
        (Some(hooked), Some(stop), _) => {
            let finding = || format!("the hook of {} ran after its stop signal", life.name());
            seen.check(!life.run.before(&stop.at, &hooked.began), finding, [hooked.began.id, stop.id]);
            seen.facet("seen", "hook");
        }
        _ => {}
    }
    if let Some(shown) = eviction.pod.revisions.iter().find(|shown| shown.terminating()) {
        let said = shown.deletion_grace().map(whole_seconds);
        let finding = || {
            let said = said.map_or("missing".to_owned(), seconds);
            format!("{} was evicted, but its deletionGracePeriodSeconds is {said}", eviction.pod.key)
        };
        seen.check(said == Some(grace), finding, [eviction.at.id, shown.id]);
    }
    // The grace period starts with the hook, if there is one. Without a hook and a stop signal it starts with the eviction;
    // this is not judged if a container has a postStart hook, which may delay the termination.
    let delayed = eviction.pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
    let untraced =
        hooked.is_none() && hook.is_some_and(|hook| hook.is_object() && hook.get("exec").is_none());
    // The grace period begins when the kubelet asks for a hook, and a command may begin a while later.
    let unseen = if hooked.is_some() { START_OF_A_COMMAND } else { 0 };
    let first = hooked.map(|hooked| hooked.began).or_else(|| stop.map(At::of));
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
        let Some(last) = life.run.last_event() else { return };
        let end = At::new(last, life.run.end());
        let lived = life.run.measure(quantity, &life.node, &began, &end, bound);
        if lived.is_some_and(|lived| lived.fit() == Fit::Missed && life.run.at_least(&began, &end) > grace) {
            let finding = format!(
                "{} had a grace period of {} after an eviction, but is still running",
                life.name(),
                seconds(grace)
            );
            seen.violated(finding, [began.id, last]);
        }
    } else if let Some(ended) = killed(life)
        && life.within(seen, quantity, (&began, ended), bound) == Some(Fit::Met)
    {
        seen.facet("seen", "kill");
    }
}
