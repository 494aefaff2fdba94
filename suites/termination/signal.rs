//! The stop signal of a terminating pod: when it arrives, which processes receive it, and that nothing starts
//! again after it.

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{At, ContainerKind, ContainerLife, Life, Line, ProbeKind};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::asked::{Going, going, has_lasting_hook};
use crate::reading::ends::{End, alive_until, killed_at, may_be_unrecorded, was_running};
use crate::reading::mains::{ends_with_its_containers, lives_of, work_over};
use crate::reading::patches::{TARGET_CONTAINER, restarts_for_update};
use crate::reading::stop_signals::{accuse_signal, is_first_process};

/// The stop signal arrives as soon as the pod is deleted.
pub(super) fn comes_promptly(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        let busy = going.pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
        let first = going.stopped_first().into_iter().chain(going.ephemeral_lives());
        // The last sidecar waits only for the main containers.
        let last = going.sidecars().into_iter().next_back().filter(|_| going.runs_no_main());
        for life in first.chain(last).filter(|life| !busy && !has_lasting_hook(life)) {
            judge_arrival(clause, going, &life, seen);
        }
    }
}

fn judge_arrival(clause: &Clause, going: &Going<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let run = going.run;
    // The kubelet first completes the starts that it has begun. Another clause covers whether it may begin new ones.
    let starts = going.later_lives().into_iter().map(|life| life.began.clone());
    let asked =
        &starts.fold(going.first.at.clone(), |last, at| if run.before(&last, &at) { at } else { last });
    let Some(stop) = life.stop() else {
        let Some(until) = alive_until(life) else { return };
        if run.misses(&life.node, (asked, &until), clause.in_time()) {
            let finding = format!("{} is still running and received no stop signal", life.name());
            seen.violated(finding, [asked.id, until.id]);
        }
        return;
    };
    let quantity =
        format!("from the request, or a later start of a container, to the stop signal of {}", life.name());
    if life.within(seen, quantity, (asked, stop), clause.in_time()) == Some(Fit::Met) {
        seen.facet("seen", "signal");
    }
    if let Some(event) = life.event("Killing", "Stopping container") {
        seen.fine([asked.id, event]);
        seen.facet("seen", "event");
    }
}

/// Only the first process of each container receives the signal, which is SIGTERM unless something names another one.
pub(super) fn is_for_the_first_process(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_completed(run, seen);
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        for life in going.lives().into_iter().chain(going.ephemeral_lives()) {
            match life.stop() {
                Some(stop) if is_first_process(&life) => {
                    if !accuse_signal(&life, going.first.at.id, stop, seen) {
                        seen.fine([going.first.at.id, stop.id]);
                        seen.facet("process", "first");
                    }
                    judge_children(clause, &life, stop, seen);
                }
                Some(_) => {}
                None => {
                    if let Some(ended) = killed_at(&life).filter(|ended| !may_be_unrecorded(&life, ended)) {
                        let finding = format!("{} terminated without a stop signal", life.name());
                        seen.violated(finding, [going.first.at.id, ended.id]);
                    }
                }
            }
        }
    }
}

/// An ephemeral container that runs when its pod completes gets the stop signal, too. An ephemeral container that shares the
/// processes of another container may be killed when the other container ends.
fn judge_completed(run: &Timeline<'_>, seen: &mut Seen) {
    let alone = |of: &&ContainerLife<'_>| of.spec.get(TARGET_CONTAINER).is_none() && !of.has_memory_limit();
    for pod in run.pods.iter().filter(|pod| ends_with_its_containers(run, pod)) {
        let shares = pod.spec.get("shareProcessNamespace").is_some_and(|shares| *shares == true);
        let Some(done) = work_over(run, pod).filter(|_| !shares) else { continue };
        for life in pod.ephemeral.iter().filter(alone).filter_map(|of| lives_of(run, pod, of).next_back()) {
            if !life.holes.is_empty() || !was_running(&life, &done) {
                continue;
            }
            match (life.stop(), killed_at(&life)) {
                (Some(stop), _)
                    if life.before_deletion(&stop.at) && !accuse_signal(&life, done.id, stop, seen) =>
                {
                    seen.fine([done.id, stop.id]);
                }
                (None, Some(ended)) if life.before_deletion(ended) && !may_be_unrecorded(&life, ended) => {
                    let finding =
                        format!("{} was killed without a stop signal when its pod completed", life.name());
                    seen.violated(finding, [done.id, ended.id]);
                }
                _ => {}
            }
        }
    }
}

/// Child processes of the first process do not receive the stop signal.
fn judge_children(clause: &Clause, life: &Life<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
    let begins = |line: &&Line<'_>| matches!(&line.line.fact, Fact::Child(child) if child.event == "started");
    let Some(child) = life.attempt.lines.iter().find(begins) else { return };
    let told = life.attempt.lines.iter().find(|line| {
        let told = matches!(&line.line.fact, Fact::Signal(signal) if signal.child.is_some() && signal.signal == "SIGTERM");
        told && life.run.clocks.order(&line.at, &stop.at.earlier(clause.tolerance_us("told"))) == Order::After
    });
    if let Some(told) = told {
        let finding =
            format!("a child process of the first process of {} also received the stop signal", life.name());
        seen.violated(finding, [child.id, stop.id, told.id]);
    } else if let Some(until) = alive_until(life)
        && life.run.clocks.between(&stop.at, &until).is_some_and(|span| span.lo > clause.tolerance_us("told"))
    {
        seen.fine([child.id, stop.id, until.id]);
        seen.facet("process", "child");
    }
}

/// A container that terminates while its pod is terminating is not started again.
pub(super) fn nothing_comes_back(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        let lives = going.lives();
        lives.iter().for_each(|life| accuse_return(clause, going, life, seen));
        accuse_starts(clause, going, &lives, seen);
        for life in lives.iter().filter(|life| life.container.kind == ContainerKind::Main) {
            let Some(exit) = life.exiting() else { continue };
            let Fact::Exiting(exiting) = &exit.line.fact else { continue };
            if let Some(again) = life.lives_again() {
                // A kubelet that has not heard of the deletion yet restarts a container that exits by itself.
                let unheard = clause.slack_us() + life.noise(&going.first.at, &exit.at);
                let told = life.stop().is_some() && !may_stop_otherwise(going, life);
                if told || run.at_least(&going.first.at, &exit.at) > unheard {
                    let finding = format!("{} was started again while its pod was terminating", life.name());
                    seen.violated(finding, [going.first.at.id, exit.id, again]);
                }
                continue;
            }
            if let Some(later) = outlived(run, clause, exit, &lives) {
                seen.fine([exit.id, later.id]);
                seen.facet("exit", if exiting.code == 0 { "zero" } else { "non-zero" });
            }
        }
    }
}

/// Reports a restart of a sidecar or init container, or of a container that was killed. A container that ended before its
/// kubelet knew of the deletion may restart. A container ended because of the deletion if nothing else stops it, or if
/// it ended late enough.
fn accuse_return(clause: &Clause, going: &Going<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let (run, asked) = (going.run, &going.first.at);
    if life.container.kind == ContainerKind::Main && life.exiting().is_some() {
        return;
    }
    let (Some(end), Some(again)) = (End::of(life), life.lives_again()) else { return };
    let told = life.stop().is_some() && !may_stop_otherwise(going, life);
    let known = clause.slack_us() + life.noise(asked, &end.earliest);
    if told || run.at_least(asked, &end.earliest) > known {
        let finding = format!("{} was started again while its pod was terminating", life.name());
        seen.violated(finding, [asked.id, end.at().id, again]);
    }
}

/// Whether a container may be stopped for a reason other than the deletion of its pod. The kubelet starts such a
/// container again in the same sync, even if the pod is deleted meanwhile
/// (docs/findings/deleted-while-a-container-is-killed.md).
fn may_stop_otherwise(going: &Going<'_, '_>, life: &Life<'_, '_>) -> bool {
    ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some())
        || going.pod.containers.iter().any(|of| of.lifecycle("postStart").is_some())
        || going.pod.restarts_as_one()
        || restarts_for_update(going.run, going.pod, life.container)
}

/// Reports containers that begin in a terminating pod: long after the request, or after an init container that got its
/// stop signal.
fn accuse_starts(clause: &Clause, going: &Going<'_, '_>, lives: &[Life<'_, '_>], seen: &mut Seen) {
    let (run, asked) = (going.run, &going.first.at);
    if going.pod.containers.iter().any(|of| of.lifecycle("postStart").is_some()) {
        return;
    }
    let place =
        |life: &Life<'_, '_>| going.pod.containers.iter().position(|of| of.name == life.container.name);
    let inits = || lives.iter().filter(|life| life.container.kind == ContainerKind::Init);
    for life in going.later_lives().iter().filter(|life| life.is_complete()) {
        // A process may not get a CPU until some time after its container was started.
        let shown =
            life.revisions().any(|(shown, status)| status.is_running() && run.before(&shown.at, asked));
        let known = clause.tolerance_us("under-way") + life.noise(asked, &life.began);
        let stopped = inits().filter(|init| place(init) < place(life)).find_map(|init| init.stop());
        let replaces = |old: &&Life<'_, '_>| {
            old.container.name == life.container.name && old.number + 1 == life.number && old.stop().is_some()
        };
        if lives.iter().find(replaces).is_some_and(|old| may_stop_otherwise(going, old)) {
            continue;
        }
        let since = match stopped.filter(|stop| run.before(&stop.at, &life.began)) {
            Some(stop) => stop.id,
            None if !shown && run.at_least(asked, &life.began) > known => asked.id,
            None => continue,
        };
        let finding = format!("{} was started while its pod was terminating", life.name());
        seen.violated(finding, [asked.id, since, life.began.id]);
    }
}

/// The last record of another container that kept running for long enough to observe a restart.
fn outlived(run: &Timeline<'_>, clause: &Clause, exit: &Line<'_>, lives: &[Life<'_, '_>]) -> Option<At> {
    let long = |last: &At| run.clocks.between(&exit.at, last).is_some_and(|span| span.lo > clause.slack_us());
    lives.iter().filter_map(alive_until).find(long)
}
