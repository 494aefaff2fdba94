//! The gate: no other probe reaches a container before its startup probe has succeeded, in each of its lives.
//!
//! Kubelets from 1.35 on are known to leave the gate open for a moment: when they kill a container that had started and
//! start it again, the new one inherits `started: true` by its name, until its startup probe's next turn. What arrives
//! in that moment, and only that, is told as the catalogued behaviour.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Interval, seconds};
use probity_model::timeline::{
    Attempt, ContainerLife, KubeEvent, PodLife, Probe, ProbeKind, ProbeSpec, State,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::kill::{Life, before_deletion, exited_by_itself, has_hook};
use crate::reading::tolerance::{NEAR, Outcome, leaves_a_trace, outcome, resulted, strangers};

/// The first probe that can have opened the gate.
pub(super) struct Opening<'t, 'h> {
    /// The probe.
    pub(super) probe: &'t Probe<'h>,
    /// Its result's event.
    pub(super) id: EventId,
    /// The earliest instant at which the kubelet can have had its result.
    pub(super) at: Stamp,
    /// Whether it was a startup probe and a success for sure.
    pub(super) certain: bool,
}

/// The first probe of a life that can have been a successful startup probe.
pub(super) fn opening<'t, 'h>(attempt: &'t Attempt<'h>, spec: &ProbeSpec) -> Option<Opening<'t, 'h>> {
    let can_open = |probe: &&Probe<'_>| {
        probe.can_be(ProbeKind::Startup) && outcome(attempt, spec, probe) != Outcome::Failed
    };
    let probe = attempt.probes.iter().find(can_open)?;
    let passed = outcome(attempt, spec, probe) == Outcome::Passed;
    // The target writes down that it has answered after it did: the kubelet may be a little faster.
    let answered = resulted(spec, probe).at;
    let lead = Interval::point(NEAR);
    let from = Interval::new(
        answered.minus(lead).lo.max(probe.at.at.lo),
        answered.minus(lead).hi.max(probe.at.at.hi),
    );
    let id = probe.settled.as_ref().filter(|_| passed).map_or(probe.id, |(id, _)| *id);
    let at = if passed { Stamp { clock: probe.at.clock.clone(), at: from } } else { probe.at.clone() };
    Some(Opening { probe, id, at, certain: passed && probe.is(ProbeKind::Startup) })
}

/// No liveness probe comes before the startup probe has succeeded.
pub(super) fn liveness_waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, startup) in lives(run, ProbeKind::Liveness, seen) {
        judge_gate(run, clause, life, startup, ProbeKind::Liveness, seen);
    }
}

/// No readiness probe comes before the startup probe has succeeded, and the container is not ready until then.
pub(super) fn readiness_waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, startup) in lives(run, ProbeKind::Readiness, seen) {
        judge_gate(run, clause, life, startup, ProbeKind::Readiness, seen);
        judge_unready(run, clause, life, startup, seen);
    }
}

/// In each life after the first, startup probes come again and the gate is shut until one succeeds.
pub(super) fn restart_shuts_the_gate(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, startup) in run.probed(ProbeKind::Startup) {
        for attempt in container.attempts.iter().filter(|attempt| attempt.number > 0) {
            seen.applies();
            let life = (pod, container, attempt);
            for kind in [ProbeKind::Liveness, ProbeKind::Readiness] {
                judge_gate(run, clause, life, startup, kind, seen);
            }
            let again = attempt.probes_of(ProbeKind::Startup).next();
            seen.fine(again.into_iter().flat_map(|probe| [attempt.began.0, probe.id]));
            let unstarted = pod.revisions.iter().find(|revision| {
                revision.container(&container.name).is_some_and(|status| {
                    status.restarts == attempt.number
                        && status.started == Some(false)
                        && matches!(status.state, State::Running { .. })
                })
            });
            seen.fine(unstarted.into_iter().map(|revision| revision.id));
        }
    }
}

/// The lives of all containers with a startup probe and one of this kind.
fn lives<'t, 'h>(
    run: &'t Timeline<'h>,
    kind: ProbeKind,
    seen: &mut Seen,
) -> Vec<(Life<'t, 'h>, &'t ProbeSpec)> {
    let both = run.probed(ProbeKind::Startup).filter(|(_, container, _)| container.probe(kind).is_some());
    let mut lives = Vec::new();
    for (pod, container, startup) in both {
        seen.applies();
        lives.extend(container.attempts.iter().map(|attempt| ((pod, container, attempt), startup)));
    }
    lives
}

/// Holds each probe of a kind against the opening of the gate.
fn judge_gate(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    startup: &ProbeSpec,
    kind: ProbeKind,
    seen: &mut Seen,
) {
    let opening = opening(life.2, startup);
    for probe in life.2.probes_of(kind) {
        let word = kind.word();
        let Some(opening) = &opening else {
            let finding = format!("a {word} probe arrived though no startup probe ever succeeded");
            judge_early(run, clause, life, startup, (&[probe.id], &probe.at), finding, seen);
            continue;
        };
        let events = [probe.id, opening.id];
        match run.clocks.order(&probe.at, &opening.at) {
            Order::Before => {
                let early = seconds(opening.at.at.lo - probe.at.at.lo);
                let finding = format!("a {word} probe arrived {early} before startup succeeded");
                judge_early(run, clause, life, startup, (&events, &probe.at), finding, seen);
            }
            Order::TooClose => {
                let why = format!("a {word} probe and the startup success are too close to call");
                seen.doubt(Doubt::TooClose, why, events);
            }
            Order::After if opening.certain => seen.fine(events),
            Order::After => {}
        }
    }
}

/// No revision shows the container ready before the gate opened.
fn judge_unready(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    startup: &ProbeSpec,
    seen: &mut Seen,
) {
    let (pod, container, attempt) = life;
    let opening = opening(attempt, startup);
    for (revision, status) in pod.changes_of(&container.name) {
        let this_life = status.restarts == attempt.number && matches!(status.state, State::Running { .. });
        let shut = opening
            .as_ref()
            .is_none_or(|opening| run.clocks.order(&revision.at, &opening.at) == Order::Before);
        if !this_life || !shut {
            continue;
        }
        if !status.ready {
            seen.fine([attempt.began.0, revision.id]);
            continue;
        }
        let finding = "the container was shown as ready before its startup probe had succeeded".to_owned();
        let events: Vec<_> =
            [revision.id].into_iter().chain(opening.as_ref().map(|opening| opening.id)).collect();
        judge_early(run, clause, life, startup, (&events, &revision.at), finding, seen);
    }
}

/// What came too early is a violation, unless lines are missing, the startup probe cannot be seen at all, or it is the
/// catalogued behaviour.
pub(super) fn judge_early(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'_, '_>,
    startup: &ProbeSpec,
    (events, at): (&[EventId], &Stamp),
    finding: String,
    seen: &mut Seen,
) {
    let events = events.iter().copied();
    if !attempt.holes.is_empty() {
        seen.doubt(Doubt::WitnessMissing, format!("{finding}, but lines of the target are missing"), events);
        return;
    }
    let seen_at_all =
        leaves_a_trace(pod, &container.name, startup) && !strangers(attempt, startup.handler.port());
    if !seen_at_all || !before_deletion(run, pod, at) {
        return;
    }
    match inherited(run, clause, (pod, container, attempt), startup, at) {
        Some(Fit::Met) => {
            let finding =
                format!("{finding}, in a container that inherited `started` from the one killed before it");
            seen.diverges(finding, events);
        }
        Some(Fit::Undecided) => seen.doubt(Doubt::Straddles, finding, events),
        Some(Fit::Missed) | None if disordered(run, attempt, startup, at) => {
            let why = format!("{finding}, but the node was held up, and the target may have told it late");
            seen.doubt(Doubt::TooClose, why, events);
        }
        Some(Fit::Missed) | None => seen.violated(finding, events),
    }
}

/// Whether the node was held up for so long that the success may have been written down only after what followed from it.
fn disordered(run: &Timeline<'_>, attempt: &Attempt<'_>, startup: &ProbeSpec, at: &Stamp) -> bool {
    opening(attempt, startup).is_some_and(|opening| {
        let early = run.clocks.between(at, &opening.at).map_or(i64::MAX, |span| span.lo);
        early <= run.held_up_at(&attempt.node, &opening.at)
    })
}

/// How an instant lies to the span in which a life can have inherited `started`; none if there was nothing to inherit.
/// The kubelet must have killed the life before, or what it took for it, and that one must have started.
fn inherited(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'_, '_>,
    startup: &ProbeSpec,
    at: &Stamp,
) -> Option<Fit> {
    let before = container.attempts.iter().rfind(|before| before.number + 1 == attempt.number)?;
    let had_started = opening(before, startup).is_some();
    let killed = before.stop_signal().is_some() || killed_late(pod, container, before);
    if !killed || !had_started || has_hook(container) {
        return None;
    }
    let (began_id, began) = &attempt.began;
    let span = startup.period + clause.slack_us();
    let formula = format!("periodSeconds of the startup probe + {}", seconds(clause.slack_us()));
    let bound = Bound::at_most(span, formula);
    let quantity = "from the start of the container to what came early";
    run.measure(quantity, &pod.node, (*began_id, began), (*began_id, at), bound)
        .map(|measured| measured.fit())
}

/// Whether the kubelet killed what had ended already: its probes had failed before it knew of the end.
fn killed_late(pod: &PodLife<'_>, container: &ContainerLife<'_>, before: &Attempt<'_>) -> bool {
    let killing = |event: &KubeEvent<'_>| {
        event.reason == "Killing"
            && event.container == Some(container.name.as_str())
            && event.id > before.began.0
    };
    exited_by_itself(before).is_some() && pod.events.iter().any(killing)
}

/// What the status showed of a life, told by the count of restarts: each change of it while the container ran.
pub(super) fn shows(pod: &PodLife<'_>, container: &str, number: u64) -> Vec<(EventId, Stamp, Option<bool>)> {
    pod.changes_of(container)
        .filter(|(_, status)| status.restarts == number && matches!(status.state, State::Running { .. }))
        .map(|(revision, status)| (revision.id, revision.at.clone(), status.started))
        .collect()
}
