//! A static pod terminates when its manifest is removed.

use probity_model::history::{Did, REMOVE_STATIC_PODS};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::WHOLE_SECOND;
use probity_model::timeline::{At, Life, PodLife};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::{End, alive_until, killed_at, may_be_unrecorded, was_running};
use crate::reading::hooks::judge_hook_before_stop;
use crate::reading::kills::judge_kill_within;
use crate::reading::mains::{last_sidecars, later, lives_of, mains};

/// When its manifest is removed, a static pod terminates as if it had been deleted, and does not start again. Its
/// mirror pod is removed after that.
pub(super) fn ends_gracefully(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let other = |did: &Did| !matches!(did, Did::NodeVerb { verb, .. } if verb == REMOVE_STATIC_PODS);
    if run.deeds.iter().any(|(_, deed)| deed.did.acts_on_node() && other(&deed.did)) {
        return;
    }
    for pod in run.pods.iter().filter(|pod| pod.is_static) {
        let Some(removed) = pod.deleted.map(|id| run.deed_at(id)) else { continue };
        let was = |life: &Life<'_, '_>| life.is_complete() && was_running(life, &removed);
        let lives: Vec<Life<'_, '_>> =
            mains(pod).filter_map(|main| lives_of(run, pod, main).find(was)).collect();
        lives.iter().for_each(|life| judge_stop(clause, life, &removed, seen));
        lives.iter().for_each(|life| judge_return(life, &removed, seen));
        let helpers: Vec<Life<'_, '_>> = last_sidecars(run, pod).filter(|life| was(life)).collect();
        helpers.iter().for_each(|life| judge_helper(clause, life, (&lives, &removed), seen));
        let lives: Vec<Life<'_, '_>> = lives.into_iter().chain(helpers).collect();
        let ends: Option<Vec<At>> = lives.iter().map(|life| End::of(life)?.latest).collect();
        let last = ends.and_then(|ends| ends.into_iter().fold(None, |last, end| later(run, last, end)));
        if let Some(last) = last {
            judge_mirror(run, clause, (pod, &lives), &last, seen);
        }
    }
}

fn judge_stop(clause: &Clause, life: &Life<'_, '_>, removed: &At, seen: &mut Seen) {
    if let Some(stop) = life.stop() {
        let quantity = format!("from the removal of the manifest to the stop signal of {}", life.name());
        let hooked = life.container.lifecycle("preStop").is_some();
        if life.within(seen, quantity, (removed, stop), told_in_time(clause, life, hooked)) == Some(Fit::Met)
        {
            seen.facet("seen", "signal");
        }
        judge_hook_before_stop(life, removed.id, stop, seen);
        // A hook uses a part of the grace period.
        if !hooked && judge_kill_within(clause.tolerance_us("kill"), life, stop, life.pod.grace(), seen) {
            seen.facet("seen", "kill");
        }
    } else if let Some(killed) = killed_at(life).filter(|killed| !may_be_unrecorded(life, killed)) {
        let finding =
            format!("the manifest was removed, and {} was killed without a stop signal", life.name());
        seen.violated(finding, [removed.id, killed.id]);
    } else if let Some(alive) = alive_until(life).filter(|alive| {
        let hook = if life.container.lifecycle("preStop").is_some() { life.pod.grace() } else { 0 };
        life.run.longer_than(life.pod, (removed, alive), hook + clause.slack_us())
    }) {
        let finding = format!("the manifest was removed, but {} received no stop signal", life.name());
        seen.violated(finding, [removed.id, alive.id]);
    }
}

/// A sidecar gets its stop signal only after the main containers have terminated, unless the grace period may have ended before
/// that.
fn judge_helper(
    clause: &Clause,
    helper: &Life<'_, '_>,
    (mains, removed): (&[Life<'_, '_>], &At),
    seen: &mut Seen,
) {
    let (run, grace) = (helper.run, helper.pod.grace());
    let Some(stop) = helper.stop() else {
        if let Some(killed) = killed_at(helper).filter(|killed| !may_be_unrecorded(helper, killed)) {
            let finding =
                format!("the manifest was removed, and {} was killed without a stop signal", helper.name());
            seen.violated(finding, [removed.id, killed.id]);
        } else if let Some(alive) = alive_until(helper)
            .filter(|alive| run.longer_than(helper.pod, (removed, alive), grace + clause.slack_us()))
        {
            let finding = format!("the manifest was removed, but {} received no stop signal", helper.name());
            seen.violated(finding, [removed.id, alive.id]);
        }
        return;
    };
    judge_hook_before_stop(helper, removed.id, stop, seen);
    let waited = run.clocks.between(removed, &stop.at);
    let in_time = waited.is_some_and(|waited| waited.hi < grace - WHOLE_SECOND);
    let still = mains.iter().filter_map(|main| Some((main, alive_until(main)?)));
    let mut still = still.filter(|(_, until)| run.before(&stop.at, until));
    if let Some((main, until)) = still.next().filter(|_| in_time && run.before(removed, &stop.at)) {
        let finding = format!(
            "the manifest was removed, and {} received its stop signal before {} had terminated",
            helper.name(),
            main.name()
        );
        seen.violated(finding, [stop.id, until.id]);
    }
}

/// How soon the stop signal comes: the preStop hook may use the whole grace period first.
fn told_in_time(clause: &Clause, life: &Life<'_, '_>, hooked: bool) -> Bound {
    let (grace, slack) = (life.pod.grace(), clause.slack_us());
    let formula = format!("{} for the preStop hook + {}", seconds(grace), seconds(slack));
    if hooked { Bound::at_most(grace + slack, formula) } else { clause.in_time() }
}

fn judge_return(life: &Life<'_, '_>, removed: &At, seen: &mut Seen) {
    let told = life.stop().filter(|stop| life.run.before(removed, &stop.at));
    if let (Some(stop), Some(again)) = (told, life.lives_again()) {
        let finding = format!("the manifest was removed, but {} was started again", life.name());
        seen.violated(finding, [removed.id, stop.id, again]);
    }
}

fn judge_mirror(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, lives): (&PodLife<'_>, &[Life<'_, '_>]),
    last: &At,
    seen: &mut Seen,
) {
    let (Some(shown), mirror) = (pod.mirrors.last(), clause.tolerance_us("mirror")) else { return };
    let gone = shown.revisions.iter().find(|shown| shown.gone);
    // The harness learns of the end of a process when its connection closes, and a stalled harness notices this late.
    let lines = || lives.iter().filter_map(|life| life.attempt.last_line());
    let alive = gone.and_then(|gone| lines().find(|line| run.before(&gone.at, &line.at)));
    match gone {
        Some(gone) if let Some(alive) = alive => {
            let finding =
                format!("the mirror pod of {} was removed while a container was still running", pod.key);
            seen.violated(finding, [gone.id, alive.id]);
        }
        Some(gone) => {
            let quantity =
                format!("from the last container exit of {} to the removal of its mirror pod", pod.key);
            let fit = seen.within(
                run,
                &pod.node,
                quantity,
                (last, gone),
                Bound::at_most(mirror, "the clause's tolerance"),
            );
            if fit == Some(Fit::Met) {
                seen.facet("seen", "mirror-removed");
            }
        }
        None if run.longer_than(pod, (last, &run.end()), mirror) => {
            let finding = format!("{} has terminated, but its mirror pod still exists", pod.key);
            seen.violated(finding, run.to_the_end([last.id]));
        }
        None => {}
    }
}
