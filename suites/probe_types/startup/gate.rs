//! The gate: in each instance of a container, no other probe arrives before its startup probe has succeeded.
//!
//! Kubelets since 1.35 are known to leave the gate open for a moment: when they kill a started container and restart
//! it, the new instance inherits `started: true` because it has the same name, until its startup probe next runs. Only
//! a probe that arrives in that moment is reported as the known divergence.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Interval, seconds};
use probity_model::mechanisms::NEAR;
use probity_model::timeline::{
    At, ContainerSeen, KubeEvent, Life, Lives, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision, Through,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::absence::judge_absence;
use crate::reading::lost_signals::stopped_from;

/// The first probe that can have opened the gate.
pub(super) struct Opening<'t, 'h> {
    /// The probe that can have opened the gate.
    pub(super) probe: &'t Probe<'h>,
    /// The event of the probe's result, with the earliest time at which the kubelet can have had the result.
    pub(super) at: At,
    /// Whether the probe certainly was a startup probe, and certainly succeeded.
    pub(super) certain: bool,
}

/// The first probe of an instance that may have been a successful startup probe.
pub(super) fn opening<'t, 'h>(startup: &ProbedLife<'t, 'h>) -> Option<Opening<'t, 'h>> {
    let mut probes = startup.probes.iter().copied();
    let probe = probes.find(|probe| startup.outcome(probe) != ProbeOutcome::Failure)?;
    if startup.outcome(probe) != ProbeOutcome::Success {
        return Some(Opening { probe, at: At::of(probe), certain: false });
    }
    // The target records its answer only after it has sent it, so the kubelet may have the result a little earlier.
    let answered = startup.result(probe).at().earlier(NEAR);
    // The kernel completes a connection before the target accepts it, and that is enough for a TCP probe.
    let connects = matches!(probe.through, Through::Connection(_));
    let earliest = if connects { answered.at.lo } else { answered.at.lo.max(probe.at.at.lo) };
    let at = Interval::new(earliest, answered.at.hi.max(probe.at.at.hi));
    let id = probe.settled.as_ref().map_or(probe.id, |settled| settled.id);
    let at = At::new(id, Stamp { clock: answered.clock, at });
    Some(Opening { probe, at, certain: probe.is(ProbeKind::Startup) })
}

/// The successful startup probe of an instance, if that is certain.
pub(super) fn success<'t, 'h>(startup: &ProbedLife<'t, 'h>) -> Option<Opening<'t, 'h>> {
    opening(startup).filter(|opening| opening.certain)
}

/// No liveness probe arrives before the startup probe has succeeded.
pub(super) fn liveness_waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for startup in with_both(run, ProbeKind::Liveness) {
        judge_gate(clause, &startup, ProbeKind::Liveness, seen);
    }
}

/// No readiness probe arrives before the startup probe has succeeded, and the container is not ready until then.
pub(super) fn readiness_waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for startup in with_both(run, ProbeKind::Readiness) {
        judge_gate(clause, &startup, ProbeKind::Readiness, seen);
        judge_unready(clause, &startup, seen);
    }
}

/// In each instance after the first, startup probes arrive again and the gate is closed until one succeeds.
pub(super) fn restart_shuts_the_gate(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for startup in run.lives().of(ProbeKind::Startup).restarted() {
        judge_absence(clause, &startup, seen);
        for kind in [ProbeKind::Liveness, ProbeKind::Readiness] {
            judge_gate(clause, &startup, kind, seen);
        }
        let again = startup.probes_of(ProbeKind::Startup).next();
        seen.fine(again.into_iter().flat_map(|probe| [startup.began.id, probe.id]));
        let mut running = startup.revisions().filter(|(_, status)| status.is_running());
        let unstarted = running.find(|(_, status)| status.started == Some(false));
        seen.fine(unstarted.map(|(revision, _)| revision.id));
    }
}

/// The instances of all containers with a startup probe and a probe of this kind. Another clause,
/// `prober.kubelet-restart.nothing-gained`, covers containers that a restarted kubelet considers started.
fn with_both<'t, 'h>(run: &'t Timeline<'h>, kind: ProbeKind) -> Lives<ProbedLife<'t, 'h>> {
    run.lives().of(ProbeKind::Startup).undisturbed().only(|startup| startup.container.probe(kind).is_some())
}

/// Compares each probe of a kind with the opening of the gate.
fn judge_gate(clause: &Clause, startup: &ProbedLife<'_, '_>, kind: ProbeKind, seen: &mut Seen) {
    let opening = opening(startup);
    for probe in startup.probes_of(kind) {
        let word = kind.word();
        let Some(opening) = &opening else {
            let finding = format!("a {word} probe arrived although no startup probe ever succeeded");
            judge_early(clause, startup, (&[probe.id], &probe.at, &probe.at), finding, seen);
            continue;
        };
        let events = [probe.id, opening.at.id];
        match startup.run.clocks.order(&probe.at, &opening.at) {
            Order::Before => {
                let early = seconds(opening.at.at.lo - probe.at.at.lo);
                let finding = format!("a {word} probe arrived {early} before startup succeeded");
                judge_early(clause, startup, (&events, &probe.at, &probe.at), finding, seen);
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

/// No revision shows the container as ready before the gate opened.
fn judge_unready(clause: &Clause, startup: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let opening = opening(startup);
    for (revision, status) in startup.pod.changes_of(&startup.container.name) {
        let this_life = status.restarts == startup.number && status.is_running();
        if !this_life || !is_before(startup, revision, opening.as_ref()) {
            continue;
        }
        if !status.ready {
            seen.fine([startup.began.id, revision.id]);
            continue;
        }
        let finding = "the container was shown as ready before its startup probe had succeeded".to_owned();
        let early = Early { revision, opening: opening.as_ref(), shows: &|status| status.ready };
        judge_shown_early(clause, startup, &early, finding, seen);
    }
}

/// Whether a revision was shown before the gate opened, or the gate never opened.
pub(super) fn is_before(
    life: &Life<'_, '_>,
    revision: &Revision<'_>,
    opening: Option<&Opening<'_, '_>>,
) -> bool {
    opening.is_none_or(|opening| life.run.clocks.order(&revision.at, &opening.at) == Order::Before)
}

/// A revision that showed something too early, before the gate opened.
pub(super) struct Early<'a, 't, 'h> {
    pub(super) revision: &'a Revision<'h>,
    pub(super) opening: Option<&'a Opening<'t, 'h>>,
    /// Whether a status shows the state that is too early.
    pub(super) shows: &'a dyn Fn(&ContainerSeen<'h>) -> bool,
}

impl<'h> Early<'_, '_, 'h> {
    /// The end of the time in which the state was shown too early: a revision no longer shows it, or the gate opens. If
    /// neither is known, this is the beginning of the time.
    fn until(&self, startup: &ProbedLife<'_, 'h>) -> At {
        let mut later =
            startup.revisions().skip_while(|(revision, _)| revision.id != self.revision.id).skip(1);
        let back = later.find(|(_, status)| !(self.shows)(status)).map(|(revision, _)| At::of(revision));
        let opened = self.opening.map(|opening| opening.at.clone());
        let ends = [back, opened].into_iter().flatten();
        let first = ends.reduce(|one, other| if startup.run.before(&other, &one) { other } else { one });
        first.unwrap_or_else(|| At::of(self.revision))
    }
}

/// Judges a state that a revision showed before the gate opened, and how long the state was shown.
pub(super) fn judge_shown_early<'h>(
    clause: &Clause,
    startup: &ProbedLife<'_, 'h>,
    early: &Early<'_, '_, 'h>,
    finding: String,
    seen: &mut Seen,
) {
    let until = early.until(startup);
    let events: Vec<_> = [early.revision.id]
        .into_iter()
        .chain(early.opening.map(|opening| opening.at.id))
        .chain([until.id])
        .collect();
    judge_early(clause, startup, (&events, &early.revision.at, &until.stamp), finding, seen);
}

/// Something that came too early and lasted until the second instant is a violation, unless records are missing, the
/// startup probe leaves no record, or it is the known divergence.
fn judge_early(
    clause: &Clause,
    startup: &ProbedLife<'_, '_>,
    (events, at, until): (&[EventId], &Stamp, &Stamp),
    finding: String,
    seen: &mut Seen,
) {
    let events = events.iter().copied();
    if !startup.holes.is_empty() {
        let why = format!("{finding}, but the target's record is incomplete");
        return seen.doubt(Doubt::WitnessMissing, why, events);
    }
    let hidden = startup.has_strangers(startup.spec.handler.port());
    let seen_at_all = startup.pod.sees(&startup.container.name, startup.spec) && !hidden;
    if !seen_at_all || !startup.before_deletion(at) {
        return;
    }
    match inherited(clause, startup, until) {
        Some(Fit::Met) => {
            let finding = format!(
                "{finding}, in a container that inherited `started` from the previous, killed instance"
            );
            seen.diverges(finding, events);
        }
        Some(Fit::Undecided) => seen.doubt(Doubt::Straddles, finding, events),
        Some(Fit::Missed) | None if disordered(startup, at) => {
            let why = format!(
                "{finding}, but the node was stalled, and the target may have recorded the success late"
            );
            seen.doubt(Doubt::TooClose, why, events);
        }
        None if startup.before().is_some_and(|before| !before.holes.is_empty()) => {
            let why = format!(
                "{finding}, but the record of the previous instance, from which it may have inherited `started`, is incomplete"
            );
            seen.doubt(Doubt::WitnessMissing, why, events);
        }
        Some(Fit::Missed) | None => seen.violated(finding, events),
    }
}

/// Whether the node was stalled for so long that the success may have been recorded after its effect.
fn disordered(startup: &ProbedLife<'_, '_>, at: &Stamp) -> bool {
    opening(startup)
        .is_some_and(|opening| startup.run.at_least(at, &opening.at) <= startup.run.stalled_at(&opening.at))
}

/// How a time compares with the time during which an instance can have inherited `started`; `None` if there was nothing
/// to inherit.
fn inherited(clause: &Clause, startup: &ProbedLife<'_, '_>, at: &Stamp) -> Option<Fit> {
    let before = startup.before()?.probed(ProbeKind::Startup)?;
    if !hands_on(clause, &before) || startup.container.lifecycle("postStart").is_some() {
        return None;
    }
    let span = startup.spec.period + clause.slack_us();
    let formula = format!("periodSeconds of the startup probe + {}", seconds(clause.slack_us()));
    let (quantity, bound) =
        ("from the start of the container to the early probe", Bound::at_most(span, formula));
    let (began, pod) = (&startup.began, startup.pod);
    let measured = startup.run.measure(quantity, &pod.node, began, (began.id, at), bound);
    measured.map(|measured| measured.fit())
}

/// Whether an instance was killed while the kubelet considered it started: its startup probe had succeeded, or it had inherited
/// `started` and was killed before its own startup probe was due.
fn hands_on(clause: &Clause, life: &ProbedLife<'_, '_>) -> bool {
    let killed = stopped_from(life).is_some() || killed_late(life);
    let before = || life.before()?.probed(ProbeKind::Startup);
    let inherits = || was_brief(clause, life) && before().is_some_and(|before| hands_on(clause, &before));
    killed && (opening(life).is_some() || inherits())
}

/// Whether an instance was stopped before its own startup probe was due.
fn was_brief(clause: &Clause, life: &ProbedLife<'_, '_>) -> bool {
    let lived = stopped_from(life).and_then(|stop| life.run.clocks.between(&life.began, &stop));
    life.probes.is_empty() && lived.is_some_and(|lived| lived.lo <= life.spec.period + clause.slack_us())
}

/// Whether the kubelet killed an instance that had already exited, because its probes had failed before the kubelet
/// learned of the exit.
fn killed_late(before: &Life<'_, '_>) -> bool {
    let killing =
        |event: &KubeEvent<'_>| event.is_of(&before.container.name, "Killing") && event.id > before.began.id;
    before.exited_by_itself().is_some() && before.pod.events.iter().any(killing)
}
