//! Readiness: the changes of a readiness probe from failure to success and back, and what the API must show after each
//! change.
//!
//! A probe counts only if its answer leaves the kubelet no choice, and a container only if its probes cannot be
//! mistaken for others. Revisions can be coalesced, so a change of the result counts against a cluster only if the
//! probes stayed the same for longer than the clause allows.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Fit, Interval, seconds};
use probity_model::mechanisms::{
    BEFORE_ACCEPTED, BEFORE_RECORDED, NEAR, OFF_BEAT, PERIODS_TO_COME, PROMPT, QUICK,
};
use probity_model::timeline::{
    At, ContainerSeen, Life, Lives, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision, Through,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::heard::is_stalled_on_its_way;

/// Consecutive probes with one outcome, enough of them to reach the threshold.
pub(crate) struct Turn<'t, 'h> {
    /// The first of these probes.
    pub(crate) first: &'t Probe<'h>,
    /// The latest time at which the threshold was reached.
    pub(crate) due: At,
    /// The last of these probes.
    pub(crate) last: &'t Probe<'h>,
    /// The next probe, which had another outcome: until then, only the probes of this turn counted.
    pub(crate) next: Option<&'t Probe<'h>>,
}

/// All lives of containers with a readiness probe whose target can be relied on.
pub(crate) fn readiness_lives<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    let lives = run.lives().of(ProbeKind::Readiness).undisturbed().staying().asked_alone().whole();
    lives.only(|life| life.is_numbered() || life.container.attempts.len() == 1)
}

/// The earliest time at which a probe can have succeeded. The connection of a probe may open before the target accepts
/// it, by up to the time for which the process was stalled. A process that is stalled also records a request late.
pub(crate) fn earliest_success(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> At {
    let at = &probe.at;
    let late = match probe.through {
        Through::Connection(_) => NEAR + life.noise(&at.earlier(BEFORE_ACCEPTED), at),
        _ => life.noise(&at.earlier(BEFORE_RECORDED), at),
    };
    let stamp = Stamp { clock: at.clock.clone(), at: Interval::new(at.at.lo - late, at.at.hi) };
    At::new(probe.id, stamp)
}

/// The longest pause that the spec itself causes between two probes: a probe that hangs delays the next one.
pub(crate) fn pace(life: &ProbedLife<'_, '_>) -> i64 {
    let quick = life.probes.iter().all(|probe| {
        let settled = probe.settled.as_ref();
        settled.is_some_and(|settled| settled.at.lo - probe.at.at.lo < QUICK.of(life.spec.period))
    });
    if quick { life.spec.period } else { life.pace() }
}

/// The series of probes with one outcome that are long enough for their threshold. If an endpoint is shared with
/// another probe, probes cannot be counted. In that case, the threshold is reached once enough periods have passed.
pub(crate) fn turns<'t, 'h>(life: &ProbedLife<'t, 'h>, wanted: ProbeOutcome) -> Vec<Turn<'t, 'h>> {
    let longest = PERIODS_TO_COME.of(life.pace());
    let together = |a: &&'t Probe<'h>, b: &&'t Probe<'h>| {
        life.surely(a) == life.surely(b) && b.at.at.lo - a.at.at.lo <= longest
    };
    let mut stretches = life.probes.chunk_by(together).peekable();
    let mut turns = Vec::new();
    while let Some(stretch) = stretches.next() {
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { continue };
        let next = stretches.peek().and_then(|next| next.first().copied());
        let next = next.filter(|next| next.at.at.lo - last.at.at.lo <= longest);
        if life.surely(first) == wanted {
            turns.extend(turn(life, stretch, wanted).map(|turn| Turn { next, ..turn }));
        }
    }
    turns
}

fn turn<'t, 'h>(
    life: &ProbedLife<'t, 'h>,
    stretch: &[&'t Probe<'h>],
    outcome: ProbeOutcome,
) -> Option<Turn<'t, 'h>> {
    let (first, last, spec) = (*stretch.first()?, *stretch.last()?, life.spec);
    let need = if outcome == ProbeOutcome::Success { spec.successes } else { spec.failures };
    if stretch.iter().all(|probe| probe.is(ProbeKind::Readiness)) {
        let reached = stretch.get(usize::try_from(need - 1).ok()?)?;
        let due = reached.settled.clone()?;
        return Some(Turn { first, due, last, next: None });
    }
    let periods = need.saturating_mul(spec.period);
    if last.at.at.lo - first.at.at.lo < periods {
        return None;
    }
    let waited = if outcome == ProbeOutcome::Failure { spec.timeout } else { PROMPT.of(spec.timeout) };
    Some(Turn { first, due: At::new(first.id, first.at.later(periods + waited)), last, next: None })
}

/// The changes to failure in an instance that was shown as ready.
pub(crate) fn falls<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Turn<'t, 'h>> {
    let turns = turns(life, ProbeOutcome::Failure).into_iter();
    turns.filter(|turn| life.showed_ready(&turn.first.at, true)).collect()
}

/// The changes to success in an instance that was shown as not ready.
pub(crate) fn rises<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Turn<'t, 'h>> {
    let turns = turns(life, ProbeOutcome::Success).into_iter();
    turns.filter(|turn| life.showed_ready(&turn.first.at, false)).collect()
}

impl Turn<'_, '_> {
    /// How long the probes stayed the same after the threshold, minus stalls of the node.
    pub(crate) fn lasted(&self, life: &Life<'_, '_>) -> i64 {
        let until = self.next.unwrap_or(self.last);
        until.at.at.lo - self.due.at.hi - life.noise(&self.due, &until.at)
    }
}

/// Judges that after failures the container and both conditions of its pod become not ready in time. Returns the
/// revision that shows this.
pub(crate) fn goes_down<'t, 'h>(
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'t, 'h>,
    turn: &Turn<'t, 'h>,
) -> Option<&'t Revision<'h>> {
    let down = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
        let no = |kind| revision.is(kind) == Some(false);
        !container.ready && no("ContainersReady") && no("Ready")
    };
    follows(clause, seen, life, turn, ("from the decisive failure to Ready=False", &down))
}

/// Judges that after successes the container becomes ready in time. Returns the revision that shows this.
pub(crate) fn comes_up<'t, 'h>(
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'t, 'h>,
    turn: &Turn<'t, 'h>,
) -> Option<&'t Revision<'h>> {
    let up = |_: &Revision<'_>, container: &ContainerSeen<'_>| container.ready && container.is_running();
    follows(clause, seen, life, turn, ("from the decisive success to ready=true", &up))
}

/// The name of the measured time, and whether a revision shows what it must show at the end of that time.
type Shows<'a> = (&'a str, &'a dyn Fn(&Revision<'_>, &ContainerSeen<'_>) -> bool);

fn follows<'t, 'h>(
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'t, 'h>,
    turn: &Turn<'t, 'h>,
    (quantity, shows): Shows<'_>,
) -> Option<&'t Revision<'h>> {
    let (slack, lasted) = (clause.slack_us(), turn.lasted(life));
    let Some(revision) = life.first_shown(&turn.first.at, shows) else {
        if lasted > slack {
            let finding = format!(
                "{quantity}: never, although the probes kept the same result for another {}",
                seconds(lasted)
            );
            seen.violated(finding, [turn.first.id, turn.due.id, turn.last.id]);
        }
        return None;
    };
    let mut measured = life.run.measure(quantity, &life.node, &turn.due, revision, clause.in_time())?;
    measured.events = [turn.first.id, turn.due.id, revision.id].into();
    let met = measured.fit() == Fit::Met;
    // If no probe with another outcome came before the status, the status belongs to this turn, however short the turn
    // was.
    let other = life.probes.iter().any(|probe| {
        probe.at.at.lo > turn.last.at.at.lo && life.run.clocks.order(&probe.at, &revision.at) != Order::After
    });
    // If the kubelet gave up waiting for the decisive success, the next probe decides, a period later.
    let decisive = life.probes.iter().rfind(|probe| probe.at.at.lo <= turn.due.at.hi);
    let missed = decisive.is_some_and(|probe| {
        life.surely(probe) == ProbeOutcome::Success && is_stalled_on_its_way(life, probe)
    });
    if !met && missed {
        let why =
            format!("{quantity}: late, but the decisive probe may have timed out in a stall of the machine");
        seen.doubt(Doubt::Ambiguous, why, [turn.first.id, turn.due.id, revision.id]);
    } else if met || lasted > slack || !other {
        seen.measure(measured);
    }
    met.then_some(revision)
}

/// Judges that no stop signal follows readiness failures, unless something else explains the signal.
pub(crate) fn stays_alive(seen: &mut Seen, life: &ProbedLife<'_, '_>, turn: &Turn<'_, '_>) {
    match stopped_after(life, &turn.first.at) {
        Some(signal) => seen.violated(
            "the container was stopped although only its readiness probe had failed",
            [turn.first.id, turn.due.id, signal],
        ),
        None => seen.fine([turn.last.id]),
    }
}

/// A stop signal after the instant `from`, if only the readiness probe explains this signal.
pub(crate) fn stopped_after(life: &ProbedLife<'_, '_>, from: &Stamp) -> Option<EventId> {
    let stop = life.stop()?;
    (stop.at.at.lo > from.at.lo && !explained(life, &stop.at)).then_some(stop.id)
}

/// Whether a stop signal can have a reason other than the readiness probe: it was requested, or another probe of the
/// container may have failed.
fn explained(life: &ProbedLife<'_, '_>, signal: &Stamp) -> bool {
    let mut others =
        [ProbeKind::Startup, ProbeKind::Liveness].into_iter().filter_map(|kind| life.probed(kind));
    life.run.pod_was_touched(life.pod)
        || !life.container.stays()
        || life.pod.work_is_done(life.container)
        || others.any(|other| !passed_until(&other, signal))
}

/// Whether all probes passed, and no probe was missing before a signal. A startup probe that has passed can no longer
/// fail.
fn passed_until(life: &ProbedLife<'_, '_>, signal: &Stamp) -> bool {
    if life.spec.kind == ProbeKind::Startup {
        let passed = life.probes.last().filter(|last| life.surely(last) == ProbeOutcome::Success);
        return passed.is_some_and(|passed| passed.at.at.hi <= signal.at.lo);
    }
    let before = || life.probes.iter().filter(|probe| probe.at.at.lo <= signal.at.lo);
    let all = before().all(|probe| life.surely(probe) == ProbeOutcome::Success);
    let Some(last) = before().next_back() else { return false };
    let recent = signal.at.lo - last.at.at.lo <= pace(life) + OFF_BEAT.of(pace(life));
    all && recent
}
