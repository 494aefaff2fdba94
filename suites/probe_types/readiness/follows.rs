//! Whether the API follows the probes: the two turns of readiness, down and up, and what must not happen with them.
//!
//! Revisions can be coalesced, so a turn counts against a cluster only if the probes went on to say the same for longer
//! than the clause allows.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{ContainerKind, ContainerLife, ContainerSeen, PodLife, ProbeKind, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::evidence::{Life, Outcome, Turn, lives, pace, running, said};
use crate::reading::kinds::work_is_done;

/// A failed readiness check makes container and pod not ready, and kills nothing.
pub(super) fn failure_marks_unready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in &lives(run) {
        for turn in falls(run, life) {
            seen.applies();
            if goes_down(run, clause, seen, life, &turn).is_some() {
                stays_alive(run, seen, life, &turn);
            }
        }
    }
}

/// A container that is not ready is ready again as soon as its probe succeeds often enough, without a restart.
pub(super) fn recovers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in &lives(run) {
        let Some(fall) = falls(run, life).into_iter().next() else { continue };
        for turn in rises(run, life) {
            if turn.first.at.at.lo > fall.first.at.at.lo {
                seen.applies();
                comes_up(run, clause, seen, life, &turn);
            }
        }
    }
}

/// The turns to failure of a life that was shown as ready.
pub(crate) fn falls<'t, 'h>(run: &Timeline<'_>, life: &Life<'t, 'h>) -> Vec<Turn<'t, 'h>> {
    let turns = life.turns(Outcome::Fail).into_iter();
    turns.filter(|turn| life.showed(run, &turn.first.at, true)).collect()
}

/// The turns to success of a life that was shown as not ready.
pub(crate) fn rises<'t, 'h>(run: &Timeline<'_>, life: &Life<'t, 'h>) -> Vec<Turn<'t, 'h>> {
    let turns = life.turns(Outcome::Pass).into_iter();
    turns.filter(|turn| life.showed(run, &turn.first.at, false)).collect()
}

/// After failures: the container and both conditions of its pod are not ready in time. The revision that shows it.
pub(crate) fn goes_down<'t, 'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'t, 'h>,
    turn: &Turn<'t, 'h>,
) -> Option<&'t Revision<'h>> {
    let down = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
        let no = |kind| revision.is(kind) == Some(false);
        !container.ready && no("ContainersReady") && no("Ready")
    };
    follows(run, clause, seen, life, turn, ("from the decisive failure to Ready=False", &down))
}

/// After successes: the container is ready in time. The revision that shows it.
pub(crate) fn comes_up<'t, 'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'t, 'h>,
    turn: &Turn<'t, 'h>,
) -> Option<&'t Revision<'h>> {
    let up = |_: &Revision<'_>, container: &ContainerSeen<'_>| container.ready && running(container);
    follows(run, clause, seen, life, turn, ("from the decisive success to ready=true", &up))
}

/// What a revision must show, and the words for the time until it does.
type Shows<'a> = (&'a str, &'a dyn Fn(&Revision<'_>, &ContainerSeen<'_>) -> bool);

fn follows<'t, 'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    life: &Life<'t, 'h>,
    turn: &Turn<'t, 'h>,
    (quantity, shows): Shows<'_>,
) -> Option<&'t Revision<'h>> {
    let slack = clause.slack_us();
    let lasted = life.lasted(run, turn);
    let Some(revision) = life.first_shown(run, &turn.first.at, shows) else {
        if lasted > slack {
            let finding =
                format!("{quantity}: never, though the probes said so for {} more", seconds(lasted));
            seen.violated(finding, [turn.first.id, turn.due.0, turn.last.id]);
        }
        return None;
    };
    let bound = Bound::at_most(slack, "the clause's slack");
    let (due, shown) = ((turn.due.0, &turn.due.1), (revision.id, &revision.at));
    let measured = run.measure(quantity, &life.attempt.node, due, shown, bound)?;
    if measured.fit() != Fit::Met && lasted <= slack {
        return None;
    }
    let met = measured.fit() == Fit::Met;
    seen.measure(measured);
    met.then_some(revision)
}

/// No stop signal follows readiness failures, unless something else explains it.
pub(crate) fn stays_alive(run: &Timeline<'_>, seen: &mut Seen, life: &Life<'_, '_>, turn: &Turn<'_, '_>) {
    match stopped_after(run, life, &turn.first.at) {
        Some(signal) => seen.violated(
            "the container was stopped while nothing but its readiness probe failed",
            [turn.first.id, turn.due.0, signal],
        ),
        None => seen.fine([turn.last.id]),
    }
}

/// A stop signal after an instant that nothing explains but the readiness probe.
pub(super) fn stopped_after(run: &Timeline<'_>, life: &Life<'_, '_>, from: &Stamp) -> Option<EventId> {
    let (id, at) = life.attempt.stop_signal()?;
    (at.at.lo > from.at.lo && !explained(run, life, at)).then_some(id)
}

/// Whether a stop signal can have another reason than the readiness probe: someone wanted it, or another probe of the
/// container may have failed.
fn explained(run: &Timeline<'_>, life: &Life<'_, '_>, signal: &Stamp) -> bool {
    let other = [ProbeKind::Startup, ProbeKind::Liveness].into_iter();
    let mut other = other.filter(|kind| life.container.probe(*kind).is_some());
    interfered(run, life.pod)
        || life.container.kind == ContainerKind::Init
        || work_is_done(life.pod, life.container)
        || other.any(|kind| !passed_until(life.container, life, kind, signal))
}

/// Whether a pod was deleted, evicted, patched or otherwise touched, so that its containers may be stopped for that.
pub(crate) fn interfered(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let goes =
        |revision: &Revision<'_>| revision.terminating() || revision.gone || revision.phase() == "Failed";
    let meddled = run.deeds.iter().any(|(_, deed)| match &deed.did {
        Did::Patched { name, .. } => *name == pod.name,
        Did::Executed { pod: of, .. } => *of == pod.name,
        Did::NodeVerb { .. } => true,
        _ => false,
    });
    meddled || pod.deleted.is_some() || pod.revisions.iter().any(goes)
}

/// Whether all probes of a kind passed, the last one no longer than a period before a signal.
fn passed_until(container: &ContainerLife<'_>, life: &Life<'_, '_>, kind: ProbeKind, signal: &Stamp) -> bool {
    let Some(spec) = container.probe(kind) else { return true };
    let probes = said(container, life.attempt, kind);
    let before = || probes.iter().filter(|said| said.probe.at.at.lo <= signal.at.lo);
    let all = before().all(|said| said.outcome == Outcome::Pass);
    let Some(last) = before().next_back() else { return false };
    let recent = signal.at.lo - last.probe.at.at.lo <= pace(spec, &probes) * 3 / 2;
    all && (recent || kind == ProbeKind::Startup)
}
