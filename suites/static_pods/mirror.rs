//! The mirror pod of a static pod: the API server shows it, and changes to the mirror pod do not affect the static pod.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::measure::{Fit, whole_seconds};
use probity_model::timeline::{Attempt, Life, Mirror, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::static_pods;
use crate::reading::mains::{lives_of, mains};
use crate::reading::statuses::statuses;

/// The annotation of a mirror pod, as in the Kubernetes documentation.
const MIRRORED: &str = "kubernetes.io/config.mirror";

/// The kubelet shows a static pod as a mirror pod with the annotation, and creates it again after it was deleted. Changes to
/// the mirror pod do not affect the containers.
pub(super) fn is_only_shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in static_pods(run) {
        judge_shown(run, clause, pod, seen);
        judge_deleted(run, clause, pod, seen);
        judge_patched(run, clause, pod, seen);
    }
}

fn judge_shown(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let began = mains(pod).find_map(|main| Some(&main.attempts.first()?.began));
    let Some(first) = pod.mirrors.first().and_then(|mirror| mirror.revisions.first()) else {
        if let Some(began) = began.filter(|began| run.watched_for(pod, began, clause.slack_us())) {
            let finding = format!("{} runs, but the API server shows no mirror pod of it", pod.key);
            seen.violated(finding, run.to_the_end([began.id]));
        }
        return;
    };
    match missing(first, &pod.node) {
        Some(what) => seen.violated(format!("the mirror pod of {} {what}", pod.key), [first.id]),
        None => {
            seen.fine([first.id]);
            seen.facet("seen", "shown");
        }
    }
}

/// What a mirror pod lacks.
fn missing(mirror: &Revision<'_>, node: &str) -> Option<&'static str> {
    let metadata = mirror.object.get("metadata")?;
    let mirrored = metadata.get("annotations").and_then(|all| all.get(MIRRORED)).and_then(Value::as_str);
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let owned = owners.into_iter().flatten().any(|of| {
        let says = |field: &str, wanted: &str| of.get(field).and_then(Value::as_str) == Some(wanted);
        says("kind", "Node") && says("name", node)
    });
    match () {
        () if mirrored.is_none_or(str::is_empty) => Some("has no annotation of a mirror pod"),
        () if !owned => Some("is not owned by its node"),
        () => None,
    }
}

/// The instance of a main container that was running at an instant.
fn running_at<'t, 'h>(run: &'t Timeline<'h>, pod: &'t PodLife<'h>, at: &Stamp) -> Option<Life<'t, 'h>> {
    let lives = mains(pod).flat_map(|main| lives_of(run, pod, main));
    let lives = lives.filter(|life| {
        let ended = life.ended.as_ref().is_some_and(|ended| !run.before(at, ended));
        run.before(&life.began, at) && !ended && life.last_line().is_some()
    });
    lives.last()
}

/// A process whose stop signal, or whose end without one, came after an instant.
fn stopped(run: &Timeline<'_>, attempt: &Attempt<'_>, since: &Stamp) -> Option<EventId> {
    let signal = attempt.stop_signal().filter(|(_, at)| run.before(since, at)).map(|(id, _)| id);
    signal.or_else(|| attempt.ended.as_ref().filter(|ended| run.before(since, ended)).map(|ended| ended.id))
}

/// A line that the same process wrote so long after an instant that it certainly keeps running.
fn runs_on(run: &Timeline<'_>, attempt: &Attempt<'_>, since: &Stamp, span: i64) -> Option<EventId> {
    attempt.lines.iter().find(|line| run.at_least(since, &line.at) > span).map(|line| line.id)
}

/// Reports a mirror pod that was deleted but that its kubelet does not remove.
fn judge_unremoved(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    (deed, asked): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let running = running_at(run, pod, asked);
    if let Some(end) = running.and_then(|life| stopped(run, life.attempt, asked)) {
        let finding = format!("{} was stopped after its mirror pod had been deleted", pod.key);
        seen.violated(finding, [deed, end]);
    }
    if run.watched_for(pod, asked, clause.slack_us()) {
        let finding = format!("the mirror pod of {} was deleted, but still exists", pod.key);
        seen.violated(finding, run.to_the_end([deed]));
    }
}

fn judge_deleted(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    for (nth, mirror) in pod.mirrors.iter().enumerate() {
        let gone = mirror.revisions.iter().find(|of| of.gone);
        let Some(deed) = mirror.deleted else { continue };
        let asked = run.deeds.iter().find(|(id, _)| *id == deed);
        let asked = asked.map_or_else(|| run.heard(deed), |(_, deed)| Stamp::harness(deed.began_us));
        let Some(gone) = gone else {
            judge_unremoved(run, clause, pod, (deed, &asked), seen);
            continue;
        };
        if let Some(life) = running_at(run, pod, &asked) {
            if let Some(end) = stopped(run, life.attempt, &asked) {
                let finding = format!("{} was stopped after its mirror pod had been deleted", life.name());
                seen.violated(finding, [deed, gone.id, end]);
            } else if let Some(line) = runs_on(run, life.attempt, &gone.at, clause.tolerance_us("runs-on")) {
                seen.fine([deed, gone.id, line]);
                seen.facet("seen", "runs-on");
            }
        }
        let again = pod.mirrors.get(nth + 1).and_then(|again| Some((again, again.revisions.first()?)));
        match again {
            Some((again, next)) => {
                let quantity = format!("until the mirror pod of {} existed again", pod.key);
                let fit = seen.within(run, &pod.node, quantity, (gone, next), clause.in_time());
                if fit == Some(Fit::Met) {
                    seen.facet("seen", "recreated");
                }
                judge_shown_again(run, clause, pod, (again, next), seen);
            }
            None if run.watched_for(pod, &gone.at, clause.slack_us()) => {
                let finding = format!("the mirror pod of {} was deleted, but was not created again", pod.key);
                seen.violated(finding, run.to_the_end([gone.id]));
            }
            None => {}
        }
    }
}

/// A new mirror pod shows the status of the static pod, whose containers still run.
fn judge_shown_again(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    (mirror, first): (&Mirror<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let shows = |shown: &Revision<'_>| shown.gone || statuses(shown).next().is_some();
    if mirror.deleted.is_some() || mirror.revisions.iter().any(shows) {
        return;
    }
    let runs = running_at(run, pod, &first.at).is_some_and(|life| life.lives_on());
    if runs && run.watched_for(pod, &first.at, clause.slack_us()) {
        let finding =
            format!("the mirror pod of {} was created again, but does not show its containers", pod.key);
        seen.violated(finding, run.to_the_end([first.id]));
    }
}

/// A deadline that is patched into a mirror pod does not end the static pod.
fn judge_patched(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        let Did::Patched { name, patch, .. } = &deed.did else { continue };
        let deadline = patch.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64);
        let (Some(deadline), true) = (deadline, *name == pod.name) else { continue };
        let asked = Stamp::harness(deed.began_us);
        let Some(life) = running_at(run, pod, &asked) else { continue };
        let deleted = pod.mirrors.iter().any(|mirror| mirror.deleted.is_some_and(|deleted| deleted < *id));
        if deleted {
            continue;
        }
        let next = pod.mirrors.iter().find_map(|mirror| mirror.deleted);
        let span = whole_seconds(deadline) + clause.tolerance_us("runs-on");
        if let Some(end) =
            stopped(run, life.attempt, &asked).filter(|end| next.is_none_or(|next| *end < next))
        {
            let finding =
                format!("{} was stopped after its mirror pod had been given a deadline", life.name());
            seen.violated(finding, [*id, end]);
        } else if let Some(line) = runs_on(run, life.attempt, &asked, span) {
            seen.fine([*id, line]);
            seen.facet("seen", "unchanged");
        }
    }
}
