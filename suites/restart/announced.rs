//! The condition that shows that all containers of a pod are being restarted because of a rule.

use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::all::{Exit, again, lacks_lines, telling_exits};

const RESTARTING: &str = "AllContainersRestarting";

/// An exit that restarts all containers, and the first revision after all of them have restarted.
type Restart<'r> = (&'r Exit<'r, 'r>, &'r Revision<'r>);

/// The condition is True while all containers restart, and False at all other times.
pub(super) fn by_condition(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let exits = telling_exits(run);
    let restarts: Vec<_> = exits.iter().filter(|exit| exit.known).collect();
    let mut unannounced = Vec::new();
    for exit in &restarts {
        let Some(end) = restarted(run, exit) else { continue };
        match shown_during(run, exit, end) {
            Some(during) => {
                seen.fine([exit.line.id, during.id]);
                seen.facet("shown", "during");
            }
            None if was_shown(run, exit, end) => unannounced.push(exit.line.id),
            None => {}
        }
        judge_end(run, clause, &exits, (exit, end), seen);
    }
    if unannounced.len() > 1 && unannounced.len() == restarts.len() {
        let finding = format!(
            "all containers of a pod restarted {} times, but {RESTARTING} was never True",
            unannounced.len()
        );
        seen.violated(finding, unannounced);
    }
    for exit in &exits {
        judge_before(run, &exits, exit, seen);
    }
}

/// The first revision after the restart of the last container, in the order in which the containers start.
fn restarted<'t, 'h>(run: &Timeline<'_>, exit: &Exit<'t, 'h>) -> Option<&'t Revision<'h>> {
    let pod = exit.life.pod;
    let last = pod.containers.iter().rfind(|of| !of.attempts.is_empty())?;
    let last = again(run, last, exit)?;
    pod.revisions.iter().find(|shown| shown.id > last.began.id && !shown.gone)
}

/// A status that shows the condition as True between an exit and the end of the restart.
fn shown_during<'t, 'h>(
    run: &Timeline<'_>,
    exit: &Exit<'t, 'h>,
    end: &Revision<'_>,
) -> Option<&'t Revision<'h>> {
    let mut shown = exit.life.pod.revisions.iter().filter(|shown| shown.id <= end.id);
    shown.find(|shown| !run.before(&shown.at, &exit.line.at) && shown.is(RESTARTING) == Some(true))
}

/// Whether any revision came between the exit and the end of the restart. A slow kubelet may write no status until the
/// restart is over.
fn was_shown(run: &Timeline<'_>, exit: &Exit<'_, '_>, end: &Revision<'_>) -> bool {
    let mut shown = exit.life.pod.revisions.iter().filter(|shown| shown.id < end.id);
    shown.any(|shown| run.before(&exit.line.at, &shown.at))
}

/// After the restart, the condition is False until another container exits with such a status.
fn judge_end(
    run: &Timeline<'_>,
    clause: &Clause,
    exits: &[Exit<'_, '_>],
    (exit, end): Restart<'_>,
    seen: &mut Seen,
) {
    let pod = exit.life.pod;
    let next = exits.iter().find(|next| is_of(pod, next) && next.line.id > exit.line.id);
    let in_force =
        |shown: &&Revision<'_>| !shown.gone && next.is_none_or(|next| run.before(&shown.at, &next.line.at));
    let Some(last) = pod.revisions.iter().rfind(in_force) else { return };
    let settled = match next {
        Some(next) => run.longer_than(pod, (&end.at, &next.line.at), clause.slack_us()),
        None => exit.life.watched_for(&end.at, clause.slack_us()),
    };
    match last.is(RESTARTING) {
        Some(false) => {
            seen.fine([exit.line.id, end.id, last.id]);
            seen.facet("shown", "after");
        }
        Some(true) if settled => {
            let finding =
                format!("all containers of {} have restarted, but {RESTARTING} is still True", pod.key);
            seen.violated(finding, [exit.line.id, end.id, last.id]);
        }
        _ => {}
    }
}

/// Before the first exit that restarts all containers of a pod, the condition is not True; nor is it in a pod without such
/// an exit.
fn judge_before(run: &Timeline<'_>, exits: &[Exit<'_, '_>], exit: &Exit<'_, '_>, seen: &mut Seen) {
    let pod = exit.life.pod;
    if exits.iter().any(|earlier| is_of(pod, earlier) && earlier.line.id < exit.line.id)
        || lacks_lines(run, pod)
    {
        return;
    }
    let before = |shown: &&Revision<'_>| !exit.known || run.before(&shown.at, &exit.line.at);
    let mut shown = pod.revisions.iter().filter(before);
    if let Some(shown) = shown.clone().find(|shown| shown.is(RESTARTING) == Some(true)) {
        let finding =
            format!("{RESTARTING} of {} is True, but no exit status restarts all of its containers", pod.key);
        seen.violated(finding, [shown.id]);
    } else if let Some(shown) = shown.find(|shown| shown.is(RESTARTING) == Some(false)) {
        seen.fine([shown.id]);
        seen.facet("shown", "otherwise");
    }
}

/// Whether this is an exit in a pod that restarts all its containers.
fn is_of(pod: &PodLife<'_>, exit: &Exit<'_, '_>) -> bool {
    exit.known && exit.life.pod.uid == pod.uid
}
