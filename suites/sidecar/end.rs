//! A sidecar does not affect how its pod ends.

use probity_model::measure::{Fit, seconds};
use probity_model::mechanisms::WHOLE_SECOND;
use probity_model::timeline::{At, ContainerKind, Life, PodLife, ProbeKind, Revision};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::alive::accuse_living;
use crate::reading::ends::End;
use crate::reading::hooks::judge_hook_before_stop;
use crate::reading::inits::plain_pods;
use crate::reading::kills::judge_kill_within;
use crate::reading::mains::{are_recorded, last_sidecars, lives_of, mains, over};
use crate::reading::patches::restarts_for_update;

/// The end of the main containers of a pod, none of which is restarted.
struct Done {
    at: At,
    /// All of them exited with status 0.
    well: bool,
}

impl Done {
    fn phase(&self) -> &'static str {
        if self.well { "Succeeded" } else { "Failed" }
    }
}

/// Sidecars are stopped when the main containers have completed, and the pod ends whatever the sidecars' exit status.
pub(super) fn lets_its_pod_end(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in plain_pods(run).filter(|pod| are_recorded(pod)) {
        let last: Vec<Life<'_, '_>> = last_sidecars(run, pod).collect();
        let Some(done) = all_done(run, pod).filter(|_| !last.is_empty()) else { continue };
        if !run.before_deletion(pod, &done.at) {
            continue;
        }
        last.iter().for_each(|life| judge_start(clause, life, &done.at, seen));
        last.iter().for_each(|life| judge_return(life, &done.at, seen));
        judge_order(&last, &done.at, seen);
        judge_turns(clause, &last, &done.at, seen);
        let stopped: Vec<bool> = last.iter().map(|life| judge_stop(clause, life, &done.at, seen)).collect();
        if stopped.iter().all(|stopped| *stopped) {
            judge_phase(run, clause, pod, (&done, &last), seen);
        }
    }
}

/// When the last main container terminated, if none of them will be started again. The policy of a container takes
/// precedence over that of its pod.
fn all_done(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<Done> {
    let mut done: Option<Done> = None;
    for main in mains(pod) {
        let end = End::of(&lives_of(run, pod, main).next_back()?)?;
        let code = end.code?;
        if pod.restarts_after(main, code) {
            return None;
        }
        let (at, well) = (end.latest?, code == 0);
        done = Some(match done {
            Some(one) if run.before(&at, &one.at) => Done { well: one.well && well, ..one },
            one => Done { at, well: well && one.is_none_or(|one| one.well) },
        });
    }
    done
}

/// As long as the grace period lasts, sidecars are stopped one after the other, and the last one first.
fn judge_order(sidecars: &[Life<'_, '_>], done: &At, seen: &mut Seen) {
    for (first, second) in sidecars.iter().zip(sidecars.iter().skip(1)) {
        let (Some(stop), Some(exit)) = (first.stop(), second.exiting()) else { continue };
        let grace = first.pod.grace() - WHOLE_SECOND;
        let in_time = first.run.clocks.between(done, &stop.at).is_some_and(|span| span.hi < grace);
        if in_time && first.run.before(&stop.at, &exit.at) && !first.run.before(&exit.at, done) {
            let finding =
                format!("{} received its stop signal before {} had terminated", first.name(), second.name());
            seen.violated(finding, [stop.id, exit.id]);
        }
    }
}

/// A sidecar is stopped soon after the main containers complete. The hook of the sidecar runs first, and the sidecar
/// has its grace period. Returns whether it was stopped.
fn judge_stop(clause: &Clause, life: &Life<'_, '_>, done: &At, seen: &mut Seen) -> bool {
    let run = life.run;
    let only = life.pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar).count() == 1;
    if let Some(stop) = life.stop()
        && judge_hook_before_stop(life, done.id, stop, seen)
    {
        return true;
    }
    match life.stop() {
        Some(stop) if only => {
            let quantity =
                format!("from the exit of the main containers to the stop signal of {}", life.name());
            judge_kill_within(clause.tolerance_us("kill"), life, stop, life.pod.grace(), seen);
            life.within(seen, quantity, (done, stop), clause.in_time()) == Some(Fit::Met)
        }
        Some(_) => true,
        None if life.ended.is_none() && life.watched_for(done, clause.slack_us()) => {
            let late = seconds(clause.slack_us());
            let finding = format!(
                "the main containers had completed, but {} received no stop signal within {late}",
                life.name()
            );
            seen.violated(finding, run.to_the_end([done.id]));
            false
        }
        // The sidecar had already ended, and was waiting for its restart.
        None => life.ended.as_ref().is_some_and(|ended| run.before(ended, done)),
    }
}

/// A sidecar does not start again once the main containers have completed.
fn judge_start(clause: &Clause, life: &Life<'_, '_>, done: &At, seen: &mut Seen) {
    let run = life.run;
    let most = clause.slack_us() + run.noise_between(&life.node, done, &life.began);
    let late = run.clocks.between(done, &life.began).is_some_and(|span| span.lo > most);
    if late && life.is_numbered() {
        let finding = format!("{} started, although the main containers had completed", life.name());
        seen.violated(finding, [done.id, life.began.id]);
    }
}

/// A sidecar that was stopped because the main containers had completed does not start again, not even immediately. If
/// its own probes or a new image stopped it, it does start again.
fn judge_return(last: &Life<'_, '_>, done: &At, seen: &mut Seen) {
    let (run, pod, container) = (last.run, last.pod, last.container);
    let lethal = ProbeKind::STOPPING.iter().any(|kind| container.probe(*kind).is_some());
    if lethal || restarts_for_update(run, pod, container) {
        return;
    }
    for life in lives_of(run, pod, container).filter(|life| life.is_numbered()) {
        let Some(stop) = life.stop().filter(|stop| run.before(done, &stop.at)) else { continue };
        if let Some(again) = life.lives_again() {
            let finding = format!(
                "{} was stopped because the main containers had completed, but was started again",
                life.name()
            );
            seen.violated(finding, [done.id, stop.id, again]);
        }
    }
}

/// If there are several sidecars, the last is stopped soon after the main containers complete, and each of the others
/// is stopped soon after the sidecars defined after it have ended. A sidecar with a hook is stopped later.
fn judge_turns(clause: &Clause, sidecars: &[Life<'_, '_>], done: &At, seen: &mut Seen) {
    if sidecars.len() < 2 {
        return;
    }
    for (at, life) in sidecars.iter().enumerate() {
        let Some(stop) = life.stop().filter(|_| life.container.lifecycle("preStop").is_none()) else {
            continue;
        };
        let behind = sidecars.get(at + 1..).unwrap_or_default().iter();
        let turn = behind.map(|other| End::of(other)?.latest).try_fold(done.clone(), |turn, end| {
            Some(if life.run.before(&turn, end.as_ref()?) { end? } else { turn })
        });
        let Some(turn) = turn else { continue };
        let quantity =
            format!("from the end of everything that {} waits for to its stop signal", life.name());
        life.within(seen, quantity, (&turn, stop), clause.in_time());
    }
}

/// The pod has succeeded, or failed, once its sidecars have terminated.
fn judge_phase(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    (done, sidecars): (&Done, &[Life<'_, '_>]),
    seen: &mut Seen,
) {
    if pod.over().is_some_and(|shown| accuse_living(run, pod, shown, seen)) {
        return;
    }
    let Some(over_at) = over(run, pod).map(|over| over.at) else { return };
    match pod.over() {
        Some(shown) if shown.phase() == done.phase() => {
            let quantity =
                format!("from the last container exit of {} to the phase {}", pod.key, done.phase());
            if seen.within(run, &pod.node, quantity, (&over_at, shown), clause.in_time()) == Some(Fit::Met) {
                sidecars.iter().filter_map(way_of_end).for_each(|way| seen.facet("sidecar", way));
                seen.facet("policy", pod.restart_policy());
                seen.facet("phase", done.phase());
            }
        }
        Some(shown) => {
            let finding = format!(
                "according to its main containers, {} must be {}, but the pod is {}",
                pod.key,
                done.phase(),
                shown.phase()
            );
            seen.violated(finding, [over_at.id, shown.id]);
        }
        None if run.watched_for(pod, &over_at, clause.slack_us()) => {
            let phase = pod.last().map_or("", Revision::phase);
            let finding = format!("all containers of {} terminated, but the pod is still {phase}", pod.key);
            seen.violated(finding, run.to_the_end([over_at.id]));
        }
        None => {}
    }
}

fn way_of_end(life: &Life<'_, '_>) -> Option<&'static str> {
    let end = End::of(life)?;
    match end.code {
        _ if end.was_killed(life) => Some("killed"),
        Some(code) if code != 0 => Some("non-zero"),
        _ => None,
    }
}
