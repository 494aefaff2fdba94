//! Init containers run again when the sandbox of their pod was removed.

use probity_model::clocks::Stamp;
use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_model::timeline::{Attempt, ContainerKind, ContainerLife, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::inits::{inits, success};
use crate::reading::mains::{is_recorded, mains};

/// The only pod of a case whose sandbox was removed, with the event of the removal and the time at which the removal
/// began.
fn removed<'t, 'h>(run: &'t Timeline<'h>) -> Option<(&'t PodLife<'h>, EventId, Stamp)> {
    let mut deeds = run.deeds.iter().filter(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }));
    let (Some((id, deed)), None) = (deeds.next(), deeds.next()) else { return None };
    let removes = matches!(&deed.did, Did::NodeVerb { verb, exit: Some(0), .. } if verb == REMOVE_SANDBOX);
    let mut pods = run.pods.iter().filter(|pod| pod.created.is_some());
    let (Some(pod), None) = (pods.next(), pods.next()) else { return None };
    removes.then(|| (pod, *id, Stamp::harness(deed.began_us)))
}

/// A pod that lost its sandbox starts again, beginning with its init containers.
pub(super) fn with_a_new_sandbox(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let Some((pod, deed, began)) = removed(run) else { return };
    let done = |init: &ContainerLife<'_>| {
        is_recorded(init) && success(init).is_some_and(|(_, line)| run.before(&line.at, &began))
    };
    if pod.restart_policy() != "Always" || !run.before_deletion(pod, &began) || !inits(pod).all(done) {
        return;
    }
    let again = |of: &ContainerLife<'_>| -> Option<usize> {
        of.attempts.iter().position(|attempt| run.before(&began, &attempt.began))
    };
    // Only a main container that starts again shows that the sandbox was really removed.
    let restarted = mains(pod).find_map(|of| Some(&of.attempts[again(of)?]));
    let Some(restarted) = restarted.filter(|main| run.watched_for(pod, &main.began, clause.slack_us()))
    else {
        return;
    };
    let mut before: Option<(&str, &Attempt<'_>)> = None;
    for of in inits(pod) {
        let Some(next) = again(of).map(|at| &of.attempts[at]) else {
            let finding = format!(
                "{}/{} did not run again although the sandbox of its pod no longer existed",
                pod.key, of.name
            );
            seen.violated(finding, [deed, restarted.began.id]);
            return;
        };
        judge_after(run, before, (&of.name, next), seen);
        seen.facet("init", if before.is_some() { "later" } else { "first" });
        before = Some((&of.name, next));
    }
    for of in pod.containers.iter().filter(|of| of.kind == ContainerKind::Main) {
        if let Some(next) = again(of).map(|at| &of.attempts[at]) {
            judge_after(run, before, (&of.name, next), seen);
        }
    }
    judge_sidecars(run, pod, &began, seen);
}

/// A sidecar runs again only after each init container before it has succeeded again.
fn judge_sidecars(run: &Timeline<'_>, pod: &PodLife<'_>, began: &Stamp, seen: &mut Seen) {
    let mut before: Option<(&str, &Attempt<'_>)> = None;
    for of in pod.containers.iter().take_while(|of| of.kind != ContainerKind::Main) {
        let mut anew = of.attempts.iter().filter(|attempt| run.before(began, &attempt.began));
        if of.kind == ContainerKind::Init {
            before = anew.next().map(|next| (of.name.as_str(), next)).or(before);
        } else if let Some(last) = anew.next_back().filter(|_| before.is_some()) {
            // A kubelet may restart a sidecar once more in the old sandbox, so only its last instance counts.
            judge_after(run, before, (&of.name, last), seen);
        }
    }
}

/// The next container starts only after the init container has succeeded again.
fn judge_after(
    run: &Timeline<'_>,
    before: Option<(&str, &Attempt<'_>)>,
    (name, next): (&str, &Attempt<'_>),
    seen: &mut Seen,
) {
    let Some((init, attempt)) = before else {
        seen.fine([next.began.id]);
        return;
    };
    match attempt.exited_by_itself() {
        Some((line, 0)) if run.before(&line.at, &next.began) => seen.fine([line.id, next.began.id]),
        Some((line, 0)) if run.before(&next.began, &line.at) => {
            let finding = format!("{name} began again before {init} had succeeded again");
            seen.violated(finding, [next.began.id, line.id]);
        }
        _ => {}
    }
}
