//! What the processes of a pod's main containers show about the pod as a whole: whether a main container is running or
//! will restart, or how all of them ended.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife};
use probity_model::{Clause, Seen, Timeline};

use super::ends::End;
use super::kubelet_restarts::only_kubelets_restarted;
use super::rules::{is_restarted, rules};

/// The final end of the main containers of a pod.
pub(crate) struct Over {
    /// When the last container of the pod had ended, sidecars included.
    pub(crate) at: At,
    /// Whether all main containers ended with status 0.
    pub(crate) well: bool,
}

/// The instances of a container, in order.
pub(crate) fn lives_of<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
) -> impl DoubleEndedIterator<Item = Life<'t, 'h>> {
    container.attempts.iter().map(move |attempt| Life { run, pod, container, attempt })
}

/// The main containers.
pub(crate) fn mains<'t, 'h>(pod: &'t PodLife<'h>) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    pod.containers.iter().filter(|container| container.kind == ContainerKind::Main)
}

/// Whether a container is a target all of whose lives are known, with no line missing.
pub(crate) fn is_recorded(container: &ContainerLife<'_>) -> bool {
    let known = |(at, attempt): (usize, &Attempt<'_>)| {
        attempt.is_complete() && usize::try_from(attempt.number) == Ok(at)
    };
    !container.attempts.is_empty() && container.attempts.iter().enumerate().all(known)
}

/// Whether every main container is a target all of whose lives are known, with no line missing.
pub(crate) fn are_recorded(pod: &PodLife<'_>) -> bool {
    mains(pod).all(is_recorded)
}

/// Whether a pod ends only because of its containers, their policies and their rules, and each container restarts
/// alone.
pub(crate) fn ends_with_its_containers(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    is_left_alone(pod) && !run.node_was_touched()
}

fn is_left_alone(pod: &PodLife<'_>) -> bool {
    !pod.had_deadline() && !pod.was_ended_from_outside() && !pod.restarts_as_one()
}

/// Whether a pod ends only because of its containers and its policy, and only this policy restarts the containers.
pub(crate) fn is_plain(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    ends_with_its_containers(run, pod) && has_no_rules(pod)
}

/// Like [`is_plain`], but kubelets may have been restarted, which delays what they do.
pub(crate) fn is_plain_but_for_kubelets(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    is_left_alone(pod) && has_no_rules(pod) && only_kubelets_restarted(run)
}

fn has_no_rules(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().all(|container| rules(container).is_empty())
}

/// The end of the pod's work, if every main container ended and neither its policy nor a rule restarts it.
pub(crate) fn over(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<Over> {
    if !are_recorded(pod) {
        return None;
    }
    let (mut at, mut well): (Option<At>, bool) = (None, true);
    for container in mains(pod) {
        let last = lives_of(run, pod, container).next_back()?;
        let (end, code) = ended(&last)?;
        if pod.restarts_after(container, code)
            || u8::try_from(code).is_ok_and(|code| is_restarted(container, code))
        {
            return None;
        }
        well &= code == 0;
        at = later(run, at, end);
    }
    for container in pod.containers.iter().filter(|container| container.kind == ContainerKind::Sidecar) {
        let last = lives_of(run, pod, container).next_back()?;
        at = later(run, at, End::of(&last)?.latest?);
    }
    Some(Over { at: at?, well })
}

/// When a life had ended, and with which status.
pub(crate) fn ended(life: &Life<'_, '_>) -> Option<(At, i64)> {
    let end = End::of(life)?;
    Some((end.latest.clone()?, end.code?))
}

/// The later of two instants; `other` if there is no `one`.
pub(crate) fn later(run: &Timeline<'_>, one: Option<At>, other: At) -> Option<At> {
    Some(match one {
        Some(one) if run.clocks.order(&one, &other) != Order::Before => one,
        _ => other,
    })
}

/// When the work of a pod was done: the last end of its main containers, as their processes show it. If one of these
/// containers is not a target, the status of the pod shows the end. `None` if one of the containers still runs, or if
/// the end is not known.
pub(crate) fn work_done(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<At> {
    ends_of_work(run, pod, |_, end| end.latest)
}

/// The earliest time at which the kubelet may have known that the work of a pod was done: the exit that the last of its main
/// containers recorded. The end of a connection may be noticed later.
pub(crate) fn work_over(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<At> {
    ends_of_work(run, pod, |life, end| end.latest.is_some().then(|| end.over_at(life).clone()))
}

/// The last end of the main containers of a pod. `at` returns the instant of each end.
fn ends_of_work(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    at: impl Fn(&Life<'_, '_>, End) -> Option<At>,
) -> Option<At> {
    if mains(pod).any(|main| main.plan().is_none()) {
        return pod.shown_done().map(At::of);
    }
    let end = |main| {
        let last = lives_of(run, pod, main).next_back()?;
        end_for_good(&last).and_then(|end| at(&last, end))
    };
    let ends: Option<Vec<At>> = mains(pod).map(end).collect();
    ends?.into_iter().fold(None, |one, other| later(run, one, other))
}

/// Judges a sidecar whose first restart is missing. This restart does not wait, so a sidecar that has not restarted in
/// time, before the work of its pod was done, will never restart.
pub(crate) fn judge_unrestarted_sidecar(
    clause: &Clause,
    life: &Life<'_, '_>,
    end: &Line<'_>,
    seen: &mut Seen,
) {
    let run = life.run;
    let last = || run.end_event().filter(|_| life.watched_for(&end.at, clause.slack_us()));
    let until = work_done(run, life.pod).or_else(last);
    let Some(until) = until.filter(|until| life.number == 0 && life.before_deletion(until)) else { return };
    let bound = Bound::at_most(clause.slack_us(), seconds(clause.slack_us()));
    if run.misses(&life.node, (end, &until), bound) {
        let finding = format!("the sidecar {} terminated, but was not started again", life.name());
        seen.violated(finding, [end.id, until.id]);
    }
}

/// The end of a life after which its policy does not restart the container.
fn end_for_good(life: &Life<'_, '_>) -> Option<End> {
    let end = End::of(life)?;
    // An unknown exit status is treated as a success, which restarts the fewest containers.
    let restarts = life.pod.restarts_after(life.container, end.code.unwrap_or(0));
    (!restarts).then_some(end)
}

/// When the last of the pod's main containers first began.
pub(crate) fn all_began(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<At> {
    first_lives(pod)?.into_iter().fold(None, |one, first| later(run, one, first.began.clone()))
}

/// The first life of each main container. None if the first line of one of them is missing.
pub(crate) fn first_lives<'t, 'h>(pod: &'t PodLife<'h>) -> Option<Vec<&'t Attempt<'h>>> {
    let first = |container: &'t ContainerLife<'h>| {
        container.attempts.first().filter(|first| first.number == 0 && first.is_numbered())
    };
    mains(pod).map(first).collect()
}

/// The sidecars of a pod, each in its last instance.
pub(crate) fn last_sidecars<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
) -> impl Iterator<Item = Life<'t, 'h>> {
    let sidecars = pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
    sidecars.filter_map(move |of| lives_of(run, pod, of).next_back())
}

/// Whether another main container of the pod certainly runs at this instant. The kubelet then stops only the given
/// container, and not the whole pod, even if it does not restart the container.
pub(crate) fn another_runs(life: &Life<'_, '_>, at: &Stamp) -> bool {
    let run = life.run;
    let others = mains(life.pod).filter(|main| main.name != life.container.name);
    let mut others = others.flat_map(|main| &main.attempts).filter(|other| run.before(&other.began, at));
    others.any(|other| other.lines.iter().any(|line| run.before(at, &line.at)))
}
