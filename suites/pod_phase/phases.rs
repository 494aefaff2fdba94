//! The phases of a pod before it ends: Pending until its containers are created, then Running.

use std::collections::BTreeSet;

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{At, PodLife, Revision, State};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::mains::{all_began, are_recorded, first_lives, is_plain, lives_of, mains};
use crate::reading::statuses::CRASH_LOOP;

/// The phases, according to the Kubernetes documentation.
const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// Every revision of every pod has one of the five phases.
pub(super) fn one_of_five(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut shown = BTreeSet::new();
        for revision in &pod.revisions {
            let phase = revision.phase();
            if !PHASES.contains(&phase) {
                seen.violated(format!("the status shows {} in the phase {phase:?}", pod.key), [revision.id]);
            } else if shown.insert(phase) {
                seen.fine([revision.id]);
                seen.facet("phase", phase);
            }
        }
    }
}

/// A pod is Pending from its creation until the first of its main containers has started.
pub(super) fn starts_pending(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.created.is_some()) {
        let Some(firsts) = first_lives(pod) else { continue };
        let began = firsts.into_iter().map(|first| &first.began);
        let began = began.min_by_key(|began| run.clocks.on_harness(began).map(|at| at.lo));
        // If no process has started, it is not known when Pending must end.
        let (Some(first), Some(began)) = (pod.revisions.first(), began) else { continue };
        let early = |revision: &&Revision<'_>| run.clocks.order(&revision.at, began) == Order::Before;
        for revision in pod.revisions.iter().take_while(early) {
            if matches!(revision.phase(), "Pending" | "Failed") {
                let bound = revision.object["spec"]["nodeName"].is_string();
                seen.facet("bound", if bound { "yes" } else { "no" });
            } else if !has_started(pod, revision) || is_too_early(run, clause, (pod, revision), began) {
                let finding = format!(
                    "the status showed {} as {} before any of its containers had started",
                    pod.key,
                    revision.phase()
                );
                seen.violated(finding, [revision.id, began.id]);
            }
        }
        if early(&first) && first.phase() == "Pending" {
            seen.fine([first.id, began.id]);
        }
    }
}

/// Whether a revision shows that a main container is running or has run.
fn has_started(pod: &PodLife<'_>, revision: &Revision<'_>) -> bool {
    mains(pod).any(|of| {
        revision.container(&of.name).is_some_and(|status| {
            !matches!(status.state, State::Waiting { .. } | State::Unknown) || status.restarts > 0
        })
    })
}

/// Whether a revision came so long before the start of the first process that a slow runtime cannot explain this.
fn is_too_early(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, revision): (&PodLife<'_>, &Revision<'_>),
    began: &At,
) -> bool {
    run.misses(&pod.node, (revision, began), clause.in_time())
}

/// A Running pod is bound to a node, all of its main containers were created, and one of them is running or will
/// restart.
pub(super) fn running_means(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut shown = BTreeSet::new();
        for revision in pod.revisions.iter().filter(|revision| revision.phase() == "Running") {
            if let Some(finding) = cannot_run(pod, revision) {
                seen.violated(
                    format!("the status shows {} as Running, but {finding}", pod.key),
                    [revision.id],
                );
            } else if !revision.terminating() {
                let restarts = mains(pod).any(|of| !runs(revision, &of.name));
                let how = if restarts { "restarting" } else { "running" };
                if shown.insert(how) {
                    seen.fine([revision.id]);
                    seen.facet("containers", how);
                }
            }
        }
        judge_loop(run, pod, seen);
    }
}

fn runs(revision: &Revision<'_>, container: &str) -> bool {
    revision.container(container).is_some_and(|status| status.is_running())
}

/// Why a pod cannot be Running, according to the rest of the revision.
fn cannot_run(pod: &PodLife<'_>, revision: &Revision<'_>) -> Option<String> {
    if !revision.object["spec"]["nodeName"].is_string() {
        return Some("it has no node".to_owned());
    }
    let unmade = mains(pod).find(|of| {
        revision.container(&of.name).is_none_or(|status| {
            matches!(status.state, State::Waiting { .. } | State::Unknown)
                && matches!(status.last, State::Unknown)
                && status.restarts == 0
        })
    });
    unmade.map(|of| format!("its container {} had not been started", of.name))
}

/// The pod stays Running between the end of a container and its restart, whatever its other containers do.
fn judge_loop(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    if !is_plain(run, pod) {
        return;
    }
    for container in mains(pod) {
        for life in lives_of(run, pod, container).filter(|life| life.next().is_some()) {
            let Some(next) = life.next() else { continue };
            let over = pod.revisions.iter().find(|revision| {
                matches!(revision.phase(), "Succeeded" | "Failed")
                    && run.clocks.order(&revision.at, &next.began) == Order::Before
            });
            if let Some(over) = over.filter(|over| life.before_deletion(&over.at)) {
                let finding =
                    format!("{} was {}, but {} was started again", pod.key, over.phase(), container.name);
                seen.violated(finding, [over.id, next.began.id]);
            }
        }
    }
}

/// A pod changes from Pending to Running once its main containers are running, and does not change back.
pub(super) fn moves_to_running(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_unknown(run, seen);
    // A pod that starts again, beginning with its init containers, is Pending again. The same applies after a restart
    // of its node.
    let anew = |pod: &PodLife<'_>| pod.restarts_as_one() || run.lost_a_sandbox() || run.lost_a_node();
    for pod in run.pods.iter().filter(|pod| pod.created.is_some() && !anew(pod)) {
        let Some(left) = pod.revisions.iter().find(|revision| revision.phase() != "Pending") else {
            judge_never(run, clause, pod, seen);
            continue;
        };
        let back = pod.revisions.iter().find(|later| later.id > left.id && later.phase() == "Pending");
        if let Some(back) = back {
            let finding = format!("{} went from {} back to Pending", pod.key, left.phase());
            seen.violated(finding, [left.id, back.id]);
        }
        if left.phase() == "Running" {
            judge_move(run, clause, pod, left, seen);
        }
    }
}

/// The phase of a pod is not Unknown if nothing was done to its node, because the kubelet knows the pod's containers.
fn judge_unknown(run: &Timeline<'_>, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|_| !run.node_was_touched()) {
        let unknown = |shown: &&Revision<'_>| shown.phase() == "Unknown" && !shown.gone;
        if let Some(shown) = pod.revisions.iter().find(unknown) {
            seen.violated(format!("the phase of {} is Unknown, but its node responds", pod.key), [shown.id]);
        }
    }
}

/// Whether nothing delays the pod's status after the start of the containers: no container has a hook.
fn is_free(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    is_plain(run, pod) && !pod.containers.iter().any(|of| of.lifecycle("postStart").is_some())
}

fn judge_move(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, left: &Revision<'_>, seen: &mut Seen) {
    let Some(began) = all_began(run, pod) else { return };
    if run.clocks.order(&left.at, &began) == Order::Before {
        let finding = format!("{} was Running before all of its containers had started", pod.key);
        // A container counts as created before its process begins; the runtime may take as long as the slack in
        // between.
        let quantity = "from the Running phase to the start of the last container";
        let bound = clause.in_time();
        if let Some(measured) = run.measure(quantity, &pod.node, left, &began, bound)
            && measured.fit() == Fit::Missed
        {
            seen.violated(finding, [left.id, began.id]);
        }
        return;
    }
    if !is_free(run, pod) {
        return;
    }
    let quantity = format!("from the start of the last container of {} to the Running phase", pod.key);
    if seen.within(run, &pod.node, quantity, (&began, left), clause.in_time()) == Some(Fit::Met) {
        seen.facet("from", "Pending");
    }
}

/// A pod whose containers are all running does not stay Pending.
fn judge_never(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(began) = all_began(run, pod).filter(|_| is_free(run, pod) && are_recorded(pod)) else { return };
    let (Some(last), true) = (pod.last(), run.watched_for(pod, &began, clause.slack_us())) else { return };
    let finding = format!("all containers of {} have started, but it is still Pending", pod.key);
    seen.violated(finding, [began.id, last.id]);
}

/// The status that kubectl shows is not the phase. The phase of a pod in a crash loop is Running, and so is the phase
/// of a terminating pod while its containers are running.
pub(super) fn shown_beside(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| is_plain(run, pod)) {
        let mut shown = BTreeSet::new();
        for revision in pod.revisions.iter().filter(|revision| !revision.gone) {
            let looping = mains(pod).any(|of| {
                let status = revision.container(&of.name);
                status.is_some_and(
                    |status| matches!(status.state, State::Waiting { reason } if reason == CRASH_LOOP),
                )
            });
            let going = revision.terminating() && mains(pod).all(|of| runs(revision, &of.name));
            let ready = mains(pod).all(|of| {
                revision
                    .container(&of.name)
                    .is_some_and(|status| !matches!(status.last, State::Unknown) || status.is_running())
            });
            let kept = revision.phase() == "Running";
            for (what, is) in
                [(CRASH_LOOP, looping && ready && !revision.terminating()), ("Terminating", going)]
            {
                if is && !kept {
                    let finding = format!(
                        "{} is in the phase {:?} while kubectl shows {what}",
                        pod.key,
                        revision.phase()
                    );
                    seen.violated(finding, [revision.id]);
                } else if is && shown.insert(what) {
                    seen.fine([revision.id]);
                    seen.facet("shown", what);
                }
            }
        }
    }
}
