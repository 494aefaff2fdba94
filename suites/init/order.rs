//! The order in which the containers of a pod start, by the clock of their node.

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{At, ContainerKind, ContainerLife, PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::inits::{end_of_success, inits, ordered_pods, plain_pods, success, was_made};
use crate::reading::mains::{is_recorded, mains};
use crate::reading::statuses::NO_IMAGE;

/// Each regular init container starts after the previous ones have succeeded, and soon after the last of these has
/// succeeded. While a kubelet restarts, it may be late, but the order stays the same.
pub(super) fn one_after_another(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in ordered_pods(run) {
        for (at, next) in pod.containers.iter().enumerate().filter(|(_, of)| of.kind == ContainerKind::Init) {
            let before: Vec<_> =
                pod.containers[..at].iter().filter(|of| of.kind == ContainerKind::Init).collect();
            for one in &before {
                if let Some(retried) = judge_pair(run, pod, (one, next), seen) {
                    seen.facet("after", if retried { "retries" } else { "success" });
                }
            }
            let directly = pod.containers[..at].last().filter(|of| of.kind == ContainerKind::Init);
            if let Some(last) = directly.filter(|_| !run.node_was_touched()) {
                judge_follow(run, clause, pod, (last, next), seen);
            }
        }
    }
}

/// The main containers start after all init containers have succeeded, and soon after the last of these has succeeded.
pub(super) fn mains_come_last(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in ordered_pods(run) {
        let last = pod.containers.iter().rfind(|of| of.kind != ContainerKind::Main);
        let last = last.filter(|_| !run.node_was_touched());
        for main in mains(pod) {
            for init in inits(pod) {
                if judge_pair(run, pod, (init, main), seen).is_some() {
                    seen.facet("policy", pod.restart_policy());
                }
            }
            if let Some(last) = last.filter(|last| last.kind == ContainerKind::Init) {
                judge_follow(run, clause, pod, (last, main), seen);
            }
        }
    }
}

/// The start of the main container that precedes another main container in the spec. The kubelet starts them one after
/// the other.
fn main_before<'t>(pod: &'t PodLife<'_>, container: &ContainerLife<'_>) -> Option<&'t At> {
    let earlier = mains(pod).take_while(|main| main.name != container.name);
    let last = earlier.filter(|_| container.kind == ContainerKind::Main).last()?;
    let first = last.attempts.first().filter(|first| first.number == 0 && first.is_numbered())?;
    Some(&first.began)
}

/// Judges whether a container started after an init container had succeeded. Returns whether the init container had
/// failed before its success; `None` if the order is wrong or not known.
fn judge_pair(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    (before, next): (&ContainerLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) -> Option<bool> {
    let began = next.attempts.first().filter(|first| first.number == 0 && first.is_numbered())?;
    let name = |of: &ContainerLife<'_>| format!("{}/{}", pod.key, of.name);
    before.plan()?;
    if !before.attempts.is_empty() && !is_recorded(before)
        || before.attempts.is_empty() && was_made(pod, before)
    {
        let why =
            format!("the record of {} is incomplete, and {} started after it", name(before), name(next));
        seen.doubt(Doubt::WitnessMissing, why, [began.began.id]);
        return None;
    }
    let Some((life, done)) = success(before) else {
        let finding = format!("{} started although {} had not succeeded", name(next), name(before));
        let last = before.attempts.last().and_then(|last| last.last_line()).map(|line| line.id);
        seen.violated(finding, [Some(began.began.id), last].into_iter().flatten());
        return None;
    };
    let kept = run.clocks.order(&done.at, &began.began) == Order::Before;
    let finding = || format!("{} started before {} had succeeded", name(next), name(before));
    seen.check(kept, finding, [done.id, began.began.id]);
    kept.then_some(life.number > 0)
}

/// The next container starts soon after the success of an init container.
fn judge_follow(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    (before, next): (&ContainerLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) {
    let Some(end) = end_of_success(run, pod, before) else { return };
    let end = main_before(pod, next).filter(|began| run.before(&end, began)).unwrap_or(&end);
    let names = format!("{}/{} to the start of {}", pod.key, before.name, next.name);
    match next.attempts.first() {
        Some(first) if first.number == 0 && first.is_numbered() => {
            let quantity = format!("from the success of {names}");
            seen.within(run, &pod.node, quantity, (end, &first.began), clause.in_time());
        }
        None if next.plan().is_some() && run.watched_for(pod, end, clause.slack_us()) => {
            let finding = format!("{}/{} succeeded, but {} never started", pod.key, before.name, next.name);
            seen.violated(finding, run.to_the_end([end.id]));
        }
        _ => {}
    }
}

/// The main containers of a pod start at the same time, whatever happens to the first of them.
pub(super) fn mains_do_not_wait(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    run.pods.iter().for_each(|pod| judge_behind_missing(run, clause, pod, seen));
    for pod in plain_pods(run).filter(|pod| inits(pod).next().is_some()) {
        let firsts = mains(pod)
            .filter_map(|of| of.attempts.first().filter(|first| first.number == 0 && first.is_numbered()));
        let first = firsts.map(|first| &first.began).min_by_key(|began| began.at.lo);
        let Some(first) = first.filter(|_| mains(pod).nth(1).is_some()) else { continue };
        for main in mains(pod).filter(|main| main.plan().is_some()) {
            judge_beside(run, clause, (pod, main), main_before(pod, main).unwrap_or(first), seen);
        }
    }
}

/// A container whose image is missing does not delay the others.
fn judge_behind_missing(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let lacks = |shown: &Revision<'_>, of: &ContainerLife<'_>| {
        let state = shown.container(&of.name).map(|status| status.state);
        matches!(state, Some(State::Waiting { reason }) if NO_IMAGE.contains(&reason))
    };
    let missing = pod.revisions.iter().find(|shown| mains(pod).any(|of| lacks(shown, of)));
    let Some(missing) = missing.filter(|_| inits(pod).next().is_none() && !run.node_was_touched()) else {
        return;
    };
    for main in mains(pod).filter(|main| main.plan().is_some() && !lacks(missing, main)) {
        match main.attempts.first() {
            Some(first) if first.number == 0 && first.is_numbered() => {
                let quantity = format!(
                    "from the status that shows a missing image to the start of {}/{}",
                    pod.key, main.name
                );
                seen.within(run, &pod.node, quantity, (missing, &first.began), clause.in_time());
            }
            None if run.watched_for(pod, &missing.at, clause.slack_us()) => {
                let finding = format!(
                    "{}/{} did not start, although only the image of another container is missing",
                    pod.key, main.name
                );
                seen.violated(finding, run.to_the_end([missing.id]));
            }
            _ => {}
        }
    }
}

fn judge_beside(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, main): (&PodLife<'_>, &ContainerLife<'_>),
    first: &At,
    seen: &mut Seen,
) {
    let Some(own) = main.attempts.first() else {
        if run.watched_for(pod, first, clause.slack_us()) {
            let finding =
                format!("{}/{} never started, although the other containers did", pod.key, main.name);
            seen.violated(finding, run.to_the_end([first.id]));
        }
        return;
    };
    if own.number != 0 || !own.is_numbered() || own.began.id == first.id {
        return;
    }
    let quantity =
        format!("from the start of the previous main container of {} to the start of {}", pod.key, main.name);
    if let Some(measured) = run.measure(quantity, &pod.node, first, &own.began, clause.in_time())
        && (measured.fit() != Fit::Met || holds_others_up(pod, first))
    {
        seen.measure(measured);
    }
}

/// Whether waiting for the previous container would have delayed the next one: the previous container has a startup
/// probe.
fn holds_others_up(pod: &PodLife<'_>, before: &At) -> bool {
    mains(pod).any(|of| {
        let is_before = of.attempts.first().is_some_and(|attempt| attempt.began.id == before.id);
        is_before && of.spec.get("startupProbe").is_some()
    })
}
