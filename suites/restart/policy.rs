//! Which policy restarts a container, and what the container keeps.

use probity_model::clocks::Order;
use probity_model::mechanisms::TO_START;
use probity_model::timeline::{ContainerKind, Life, Line, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::for_good;
use crate::reading::ends::End;
use crate::reading::mains::{is_plain, judge_unrestarted_sidecar, mains};
use crate::reading::patches::restarts_for_update;
use crate::reading::rules::rules;
use crate::reading::start_errors::judge_start_error;
use crate::reading::termination::{judge_no_restart, judge_restart, may_be_stopped_again, miscounted};

/// Instances that exited by themselves before their pod was deleted, each with the line that records the exit and the
/// exit status.
pub(super) fn exits<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Life<'t, 'h>, &'t Line<'h>, u8)> {
    let lives = run
        .lives()
        .whole()
        .only(|life| life.is_numbered() && !life.pod.had_deadline() && !life.run.node_was_touched());
    lives.into_iter().filter_map(|life| {
        let (line, code) = life.attempt.exited_by_itself()?;
        life.before_deletion(&line.at).then_some((life, line, code))
    })
}

/// The exits in pods without restart rules.
fn ended_by_themselves<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (Life<'t, 'h>, &'t Line<'h>, u8)> {
    exits(run).filter(|(life, ..)| has_no_rules(life))
}

fn has_no_rules(life: &Life<'_, '_>) -> bool {
    life.pod.containers.iter().all(|of| rules(of).is_empty())
}

fn exit(code: u8) -> &'static str {
    if code == 0 { "zero" } else { "non-zero" }
}

/// With restartPolicy Always, a main container restarts, whatever its exit status.
pub(super) fn always(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_unstartable(run, "Always", seen);
    for (life, line, code) in ended_by_themselves(run).filter(|(life, ..)| is_main_under(life, "Always")) {
        judge_restart(&life, line, seen);
        if life.lives_again().is_some() {
            seen.facet("exit", exit(code));
        }
    }
}

/// With restartPolicy OnFailure, a main container restarts after a nonzero exit status.
pub(super) fn on_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_good::judge(run, clause, "OnFailure", seen);
    judge_unstartable(run, "OnFailure", seen);
    for (life, line, code) in ended_by_themselves(run).filter(|(life, ..)| is_main_under(life, "OnFailure")) {
        if code == 0 {
            judge_no_restart(&life, line, seen);
            if life.lives_again().is_none() && life.termination().is_some() {
                seen.facet("exit", "zero");
            }
        } else {
            judge_restart(&life, line, seen);
            if life.lives_again().is_some() {
                seen.facet("exit", "non-zero");
            }
        }
    }
}

/// With restartPolicy Never, a main container does not restart, whatever stopped it.
pub(super) fn never(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_good::judge(run, clause, "Never", seen);
    judge_unstartable(run, "Never", seen);
    for (life, line, code) in ended_by_themselves(run).filter(|(life, ..)| is_main_under(life, "Never")) {
        judge_no_restart(&life, line, seen);
        if life.lives_again().is_none() && life.termination().is_some() {
            seen.facet("exit", exit(code));
        }
    }
    let others = run
        .lives()
        .undisturbed()
        .only(|life| is_main_under(life, "Never") && has_no_rules(life) && life.exited_by_itself().is_none());
    // A container that is stopped for a new image starts again, whatever its policy.
    for life in others.into_iter().filter(|life| !restarts_for_update(run, life.pod, life.container)) {
        let Some(again) = End::of(&life).and_then(|_| life.lives_again()) else { continue };
        seen.violated(
            "a container was started again although the restart policy is Never",
            [life.began.id, again],
        );
    }
}

/// If the runtime cannot start the only main container of a pod, the container has failed, and restarts according to
/// its policy.
fn judge_unstartable(run: &Timeline<'_>, policy: &str, seen: &mut Seen) {
    let untouched = |pod: &&PodLife<'_>| is_plain(run, pod) && !pod.had_deadline() && !run.node_was_touched();
    for pod in run.pods.iter().filter(untouched) {
        let unstarted = mains(pod).filter(|main| main.attempts.is_empty() && pod.policy_of(main) == policy);
        for main in unstarted.filter(|_| pod.containers.len() == 1) {
            if judge_start_error(run, TO_START, (pod, main), seen).is_some() {
                seen.facet("exit", "start-error");
            }
        }
    }
}

fn is_main_under(life: &Life<'_, '_>, policy: &str) -> bool {
    life.container.kind == ContainerKind::Main && life.policy() == policy
}

/// The pod's policy applies to main and init containers; a sidecar restarts with any policy.
pub(super) fn scope(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A container with its own policy does not follow the policy of its pod.
    let follows = |life: &Life<'_, '_>| {
        life.container.kind == ContainerKind::Sidecar || life.container.spec.get("restartPolicy").is_none()
    };
    for (life, line, code) in ended_by_themselves(run).filter(|(life, ..)| follows(life)) {
        let policy = life.pod.restart_policy();
        let comes_back = match (life.container.kind, policy) {
            (ContainerKind::Sidecar, _) => true,
            (_, "Never") => false,
            // An init container that is done does not run again.
            (ContainerKind::Main, "Always") => true,
            _ => code != 0,
        };
        let again = life.lives_again();
        let kind = life.container.kind.word();
        match (comes_back, again) {
            (true, Some(again)) => {
                seen.fine([line.id, again]);
                seen.facet("container", kind);
                seen.facet("policy", policy);
            }
            (false, None) if life.watched_for(&line.at, clause.slack_us()) || life.pod.over().is_some() => {
                seen.fine(run.to_the_end([line.id]));
                seen.facet("container", kind);
                seen.facet("policy", policy);
            }
            (false, Some(_)) if policy == "OnFailure" && may_be_stopped_again(&life, &line.at) => {}
            (false, Some(again)) => {
                let finding = format!(
                    "the {kind} container {} was started again although the restart policy is {policy}",
                    life.name()
                );
                seen.violated(finding, [line.id, again]);
            }
            (true, None) if life.container.kind == ContainerKind::Sidecar => {
                judge_unrestarted_sidecar(clause, &life, line, seen);
            }
            (true, None) => judge_restart(&life, line, seen),
            (false, None) => {}
        }
    }
}

/// After a restart the pod, its node and its address are the same, the restart count is one higher, and the container
/// is new.
pub(super) fn same_pod(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().staying().only(|life| life.number > 0 && life.is_numbered()) {
        let Some(old) = life.before() else { continue };
        let before =
            old.revisions().filter(|(_, status)| !status.id.is_empty()).last().map(|(revision, _)| revision);
        let after = life.revisions().find(|(_, status)| status.is_running()).map(|(revision, _)| revision);
        let (Some(before), Some(after)) = (before, after) else {
            judge_uncounted(clause, &life, seen);
            continue;
        };
        let events = || [before.id, life.began.id, after.id];
        let mut kept = life.node == old.node;
        if !kept {
            let finding = format!("{} was started again on {} after {}", life.name(), life.node, old.node);
            seen.violated(finding, events());
        }
        for (what, path) in
            [("node", "/spec/nodeName"), ("address", "/status/podIP"), ("UID", "/metadata/uid")]
        {
            let text = |revision: &Revision<'_>| {
                revision.object.pointer(path).and_then(|of| of.as_str()).map(str::to_owned)
            };
            if let (Some(one), Some(two)) = (text(before), text(after))
                && one != two
            {
                kept = false;
                seen.violated(
                    format!("a container restart changed the pod's {what} from {one} to {two}",),
                    events(),
                );
            }
        }
        let id = |revision: &Revision<'_>| {
            revision.container(&life.container.name).map(|status| status.id.to_owned())
        };
        if id(before) == id(after) {
            kept = false;
            seen.violated(
                format!("{} was started again, but the status shows the same container ID", life.name()),
                events(),
            );
        }
        if kept {
            seen.fine(events());
        }
    }
}

/// Reports a restart that no revision shows.
fn judge_uncounted(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) {
    let later = life.pod.revisions.iter().rfind(|revision| {
        !revision.gone && life.run.clocks.order(&life.began, &revision.at) == Order::Before
    });
    let Some(later) = later.filter(|_| life.lives_on() && life.watched_for(&life.began, clause.slack_us()))
    else {
        return;
    };
    let Some(status) = later.container(&life.container.name).filter(|status| status.is_running()) else {
        return;
    };
    if status.restarts != life.number {
        seen.violated(miscounted(life, status.restarts), [life.began.id, later.id]);
    }
}
