//! How long a sidecar runs: from the initialization of its pod to the pod's end, with a restart whenever it
//! exits by itself.

use probity_model::clocks::Order;
use probity_model::mechanisms::UNKNOWN_LIFE;
use probity_model::timeline::{At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife, ProbeKind};
use probity_model::{Clause, Seen, Stamp, Timeline};

use super::start::judge_inverted;
use crate::reading::inits::{inits, plain_pods, success};
use crate::reading::mains::{are_recorded, judge_unrestarted_sidecar, lives_of, mains, work_done, work_over};
use crate::reading::patches::restarts_for_update;
use crate::reading::silent::{Silent, judge_silent_ends, silent_end};

/// The sidecars of plain pods, each with its pod.
fn sidecars<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (&'t PodLife<'h>, &'t ContainerLife<'h>)> {
    plain_pods(run).flat_map(|pod| {
        let kind = |of: &&ContainerLife<'_>| of.kind == ContainerKind::Sidecar;
        pod.containers.iter().filter(kind).map(move |container| (pod, container))
    })
}

/// A sidecar starts while its pod is initializing, and receives no stop signal before the main containers have
/// completed.
pub(super) fn runs_with_its_pod(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut silent = Vec::new();
    for (pod, container) in sidecars(run).filter(|(pod, _)| are_recorded(pod)) {
        if restarts_for_update(run, pod, container) {
            continue;
        }
        // If the first line of an instance is missing, the instance seems to have begun later than it did.
        let first = container.attempts.first().filter(|first| first.number == 0 && first.is_numbered());
        let Some(first) = first else { continue };
        for main in mains(pod).filter_map(|main| main.attempts.first()) {
            if run.clocks.order(&first.began, &main.began) == Order::Before {
                seen.fine([first.began.id, main.began.id]);
                continue;
            }
            let finding = format!(
                "the sidecar {}/{} started together with the main containers",
                pod.key, container.name
            );
            judge_inverted(run, clause, (pod, container), (&first.began, &main.began), finding, seen);
        }
        let (done, over) = (work_done(run, pod), work_over(run, pod));
        silent.extend(lives_of(run, pod, container).filter_map(|life| killed_early(&life, over.as_ref())));
        let stopped =
            lives_of(run, pod, container).find_map(|life| told_to_stop(clause, &life, over.as_ref()));
        if let Some(line) = stopped {
            let finding = format!(
                "the sidecar {}/{} received a stop signal before the main containers had completed",
                pod.key, container.name
            );
            seen.violated(finding, [first.began.id, line.id]);
        } else if lasts(run, pod, container, done.as_ref()) {
            seen.fine([Some(first.began.id), done.map(|done| done.id)].into_iter().flatten());
            seen.facet("policy", pod.restart_policy());
            seen.facet("beside", "main");
            let during = |init: &ContainerLife<'_>| {
                success(init)
                    .is_some_and(|(_, line)| run.clocks.order(&first.began, &line.at) == Order::Before)
            };
            if inits(pod).any(during) {
                seen.facet("beside", "init");
            }
        }
    }
    judge_silent_ends(&silent, seen);
}

/// The end of an instance that was killed without a stop signal, before the main containers had completed.
fn killed_early(life: &Life<'_, '_>, done: Option<&At>) -> Option<Silent> {
    let lethal = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
    let end = silent_end(life).filter(|_| !lethal && !life.run.was_touched())?;
    done.is_none_or(|done| life.run.before(&end.ended, done)).then_some(end)
}

/// The stop signal of an instance, without a failed probe, before the main containers had completed and while the
/// pod was not being deleted.
fn told_to_stop<'t, 'h>(clause: &Clause, life: &Life<'t, 'h>, done: Option<&At>) -> Option<&'t Line<'h>> {
    let lethal =
        ["livenessProbe", "startupProbe"].iter().any(|probe| life.container.spec.get(probe).is_some());
    let stop = life.stopped_undeleted().filter(|_| !lethal)?;
    let early = match done {
        Some(done) => life.run.clocks.order(&stop.at, done) == Order::Before,
        None => life.watched_for(&stop.at, clause.slack_us()),
    };
    early.then_some(stop)
}

/// Whether a sidecar was running when the main containers completed, or when the case ended.
fn lasts(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>, done: Option<&At>) -> bool {
    let Some(last) = lives_of(run, pod, container).next_back() else { return false };
    match done {
        Some(done) => last.last_line().is_some_and(|line| run.clocks.order(done, &line.at) != Order::After),
        None => last.lives_on(),
    }
}

/// A sidecar that exited by itself is started again, and the main containers keep running.
pub(super) fn comes_back(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in sidecars(run) {
        let done = work_done(run, pod);
        for life in lives_of(run, pod, container).filter(|life| life.is_complete()) {
            let Some((line, code)) = life.exited_by_itself() else { continue };
            let working = done.as_ref().is_none_or(|done| run.clocks.order(&line.at, done) == Order::Before);
            if !working || !life.before_deletion(&line.at) {
                continue;
            }
            if let Some(again) = life.lives_again() {
                if judge_others(&life, line, seen) {
                    seen.fine([line.id, again]);
                    seen.facet("exit", if code == 0 { "zero" } else { "non-zero" });
                    seen.facet("policy", pod.restart_policy());
                    seen.facet(
                        "while",
                        if is_initializing(run, pod, &line.at) { "initializing" } else { "working" },
                    );
                }
            } else {
                judge_unrestarted_sidecar(clause, &life, line, seen);
            }
        }
    }
}

/// Whether an init container of a pod had not succeeded yet.
fn is_initializing(run: &Timeline<'_>, pod: &PodLife<'_>, at: &Stamp) -> bool {
    let later = |init: &ContainerLife<'_>| success(init).is_some_and(|(_, line)| run.before(at, &line.at));
    inits(pod).any(later)
}

/// From the end of a sidecar until its next instance had run for a while, no other container of the pod received a stop
/// signal or ended without a record.
fn judge_others(life: &Life<'_, '_>, end: &Line<'_>, seen: &mut Seen) -> bool {
    let settled = |next: Life<'_, '_>| {
        let began = next.attempt.began.clone();
        At::new(began.id, began.later(UNKNOWN_LIFE))
    };
    let next = life.next().map(settled);
    let between = |at: &Stamp| {
        let after = life.run.clocks.order(&end.at, at) == Order::Before;
        after && next.as_ref().is_some_and(|next| life.run.clocks.order(at, next) == Order::Before)
    };
    let stop = |main: &Attempt<'_>| {
        let silent = main.exiting().is_none() && main.holes.is_empty();
        main.stop().map(At::of).or_else(|| main.ended.clone().filter(|_| silent))
    };
    // The end of a container because of its own probe or its memory limit is not caused by the sidecar.
    let plain = mains(life.pod).filter(|main| {
        ProbeKind::STOPPING.iter().all(|kind| main.probe(*kind).is_none()) && !main.has_memory_limit()
    });
    let stops = plain.flat_map(|main| &main.attempts).filter_map(stop);
    let stopped = stops.into_iter().find(|stop| between(&stop.stamp) && life.before_deletion(&stop.stamp));
    if let Some(stop) = &stopped {
        let finding = format!("after the sidecar {} terminated, a main container was stopped", life.name());
        seen.violated(finding, [end.id, stop.id]);
    }
    stopped.is_none()
}
