//! The effects of a kubelet restart: no results appear without a probe, and everything else continues, whatever state a
//! container was in.
//!
//! A restarted kubelet loses the state of its probes, and starts with what the API and the runtime show. So earlier
//! results do not count, but probes, kills, back-offs and restart counts continue.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, TO_START, UNNOTICED};
use probity_model::timeline::{
    At, ContainerSeen, Handler, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};

use super::outlived::{Outlived, outlived};
use crate::reading::kubelet_restarts::{Restart, restarts, takes_over_started};
use crate::reading::patches::restarts_for_update;
use crate::reading::ports::{unserved, was_always_open};
use crate::reading::termination::Exhausted;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.kubelet-restart.nothing-gained", judge: nothing_is_gained },
    Judge { clause: "prober.kubelet-restart.probing-resumes", judge: probing_resumes },
    Judge { clause: "prober.kubelet-restart.failures-still-kill", judge: failures_still_kill },
    Judge { clause: "prober.kubelet-restart.ends-count-once", judge: ends_count_once },
];

/// The restart alone does not make any container ready or started.
fn nothing_is_gained(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for restart in &restarts(run, seen) {
        for of in outlived(run, restart) {
            let Some((before, was)) = of.before() else { continue };
            let life = of.life().filter(|life| life.number == was.restarts && was.is_running());
            for kind in [ProbeKind::Readiness, ProbeKind::Startup] {
                let has = if kind == ProbeKind::Readiness { was.ready } else { was.started == Some(true) };
                let probed = life.as_ref().and_then(|life| life.probed(kind)).filter(|_| !has);
                if let Some(probed) = probed.filter(|life| life.is_unmistaken() && life.is_seen()) {
                    judge_gain(clause, &probed, &of, before, seen);
                }
            }
        }
    }
}

fn judge_gain<'h>(
    clause: &Clause,
    life: &ProbedLife<'_, 'h>,
    of: &Outlived<'_, 'h>,
    before: &Revision<'h>,
    seen: &mut Seen,
) {
    let (run, restart, kind) = (life.run, of.restart, life.spec.kind);
    let has = |_: &Revision<'_>, seen: &ContainerSeen<'_>| match kind {
        ProbeKind::Readiness => seen.ready,
        _ => seen.started == Some(true),
    };
    let gained = life.first_shown(&restart.began, has);
    // A result that came shortly before the last revision may not be in that revision yet.
    let since = before.at.earlier(clause.slack_us());
    let earns = |probe: &&Probe<'_>| {
        let by_then = gained.is_none_or(|gained| run.clocks.order(&probe.at, &gained.at) != Order::After);
        run.clocks.order(&probe.at, &since) != Order::Before && by_then
    };
    let earned =
        life.probes.iter().copied().filter(earns).find(|of| life.outcome(of) != ProbeOutcome::Failure);
    let word = if kind == ProbeKind::Readiness { "ready" } else { "started" };
    match (gained, earned) {
        (Some(gained), Some(probe)) => {
            seen.fine([before.id, restart.began.id, gained.id].into_iter().chain(probe.events()));
        }
        (Some(gained), None) if life.holes.is_empty() => {
            let finding = format!(
                "the status showed {} as {word} after a kubelet restart, although none of its probes had succeeded",
                life.name()
            );
            let events = [before.id, restart.began.id, gained.id];
            // The known deviation is in the first status after the restart, and in no later status.
            let quantity = "from the kubelet restart to the status";
            let bound =
                Bound::at_most(clause.tolerance_us("first-status"), "the first status after the restart");
            let late = run.measure(quantity, &life.node, (restart.began.id, &restart.over), gained, bound);
            match late.map(|late| late.fit()) {
                Some(Fit::Met) if has_no_worker_yet(clause, life, restart, gained) => {
                    seen.diverges(finding, events)
                }
                Some(Fit::Undecided) if has_no_worker_yet(clause, life, restart, gained) => {
                    seen.doubt(Doubt::Straddles, finding, events)
                }
                _ => seen.violated(finding, events),
            }
        }
        (None, _) if life.watched_for(&restart.over, clause.tolerance_us("watched")) => {
            let failed = life.probes.iter().rfind(|probe| run.before(&restart.over, &probe.at));
            let failed = failed.into_iter().flat_map(|probe| probe.events());
            seen.fine([before.id, restart.began.id].into_iter().chain(failed));
        }
        _ => {}
    }
}

/// Whether the known deviation explains why a container became ready or started: its probe is not registered yet at the
/// first status after the restart. For readiness, this applies only to containers that started shortly before, or to
/// kubelets that do not take over which containers had started. The first failure makes these containers not ready
/// again.
fn has_no_worker_yet<'h>(
    clause: &Clause,
    life: &ProbedLife<'_, 'h>,
    restart: &Restart<'_>,
    gained: &Revision<'h>,
) -> bool {
    let run = life.run;
    if life.spec.kind == ProbeKind::Startup {
        return true;
    }
    let since = |shown: &Revision<'_>| run.before(&restart.over, &shown.at);
    let later = life.revisions().filter(|(shown, _)| since(shown) && shown.id < gained.id).count();
    let new = run.at_least(&life.began, &restart.began) <= clause.tolerance_us("age");
    (new || !takes_over_started(run, &life.node)) && later == 0 && falls_again(clause, life, gained)
}

/// Whether a container that is shown as ready is shown as not ready once a probe has failed. If no probe has failed, or
/// the container was not watched for long enough, this is assumed.
fn falls_again<'h>(clause: &Clause, life: &ProbedLife<'_, 'h>, gained: &Revision<'h>) -> bool {
    let failed = |probe: &&&Probe<'_>| {
        life.run.before(&gained.at, &probe.at) && life.outcome(probe) == ProbeOutcome::Failure
    };
    let Some(failed) = life.probes.iter().find(failed) else { return true };
    let fallen = life.first_shown(&gained.at, |_, seen| !seen.ready);
    let settled = life.result(failed).at();
    match fallen {
        Some(fallen) => {
            let span = (&settled, &fallen.at);
            !life.run.longer_than(life.pod, span, clause.slack_us())
        }
        None => !life.watched_for(&settled, clause.slack_us()),
    }
}

/// All probes of a running container resume.
fn probing_resumes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for restart in &restarts(run, seen) {
        for of in outlived(run, restart) {
            let Some((_, was)) = of.before() else { continue };
            let Some(life) = of.life().filter(|life| life.number == was.restarts && was.is_running()) else {
                continue;
            };
            let started = was.started == Some(true);
            for probed in ProbeKind::ALL.into_iter().filter_map(|kind| life.probed(kind)) {
                let due = (probed.spec.kind == ProbeKind::Startup) != started;
                if !due && !started {
                    judge_gated(clause, &probed, restart, seen);
                }
                // A liveness probe that has reached its threshold does not run again until its container ends.
                let early = |probe: &&Probe<'_>| !run.before(&restart.over, &probe.at);
                let known = probed.probes.iter().copied().filter(early).collect();
                let known = ProbedLife { probes: known, ..probed.clone() };
                let spent = probed.spec.kind != ProbeKind::Readiness && Exhausted::of(known).is_some();
                // The success of a startup probe just before the end of the restart may not have been shown yet.
                let done = probed.spec.kind == ProbeKind::Startup && passed_by(&probed, &restart.over);
                if due && !spent && !done && probed.is_seen() && probed.is_unmistaken() {
                    judge_resumed(clause, &probed, restart, seen);
                }
            }
        }
    }
}

/// If a container had not started before its kubelet restarted, its other probes begin once it has started, and not
/// before.
fn judge_gated(clause: &Clause, life: &ProbedLife<'_, '_>, restart: &Restart<'_>, seen: &mut Seen) {
    let Some(startup) = life.probed(ProbeKind::Startup) else { return };
    let known = |of: &ProbedLife<'_, '_>| of.is_unmistaken() && of.is_seen() && of.holes.is_empty();
    if !known(life) || !known(&startup) || passed_by(&startup, &restart.over) {
        return;
    }
    let mut starts = startup.probes.iter().copied();
    let passed = starts.find(|probe| startup.outcome(probe) != ProbeOutcome::Failure);
    let too_early = |probe: &&Probe<'_>| {
        let before = |passed: &Probe<'_>| probe.at.at.hi < passed.at.at.lo;
        life.run.before(&restart.over, &probe.at) && passed.is_none_or(before)
    };
    match (life.probes.iter().copied().find(too_early), passed) {
        (Some(early), _) => judge_early(clause, life, (early, passed), restart, seen),
        (None, Some(passed)) if startup.surely(passed) == ProbeOutcome::Success => {
            judge_next(clause, life, (&At::of(passed), "success of the startup probe"), seen);
        }
        (None, _) => {}
    }
}

/// Judges a probe that came before its container had started. In a known upstream deviation, the kubelet sends the
/// probe once the first status after the restart shows the container as started.
fn judge_early(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    (early, passed): (&Probe<'_>, Option<&Probe<'_>>),
    restart: &Restart<'_>,
    seen: &mut Seen,
) {
    let run = life.run;
    let finding = format!(
        "{} arrived after a kubelet restart, although its startup probe had not succeeded",
        life.words()
    );
    let gained = life.first_shown(&restart.began, |_, seen| seen.started == Some(true));
    let gained = gained.filter(|gained| passed.is_none_or(|passed| !run.before(&passed.at, &gained.at)));
    let events = [restart.began.id, early.id].into_iter().chain(gained.map(|gained| gained.id));
    let Some(gained) = gained else {
        // The status that opened the gate may have come after the end of the case, or may have been missed.
        let heard = run.gaps.is_empty() && life.watched_for(&early.at, clause.slack_us());
        return match heard {
            true => seen.violated(finding, events),
            false => seen.doubt(Doubt::Gap, finding, events),
        };
    };
    let bound = Bound::at_most(clause.tolerance_us("first-status"), "the first status after the restart");
    let over = At::new(restart.began.id, restart.over.clone());
    let late = run.measure("from the kubelet restart to the status", &life.node, &over, gained, bound);
    match late.map(|late| late.fit()) {
        Some(Fit::Met) => seen.diverges(finding, events),
        Some(Fit::Undecided) => seen.doubt(Doubt::Straddles, finding, events),
        _ => seen.violated(finding, events),
    }
}

/// Whether the restarted kubelet considers the container started. If so, no startup probe is due, and `nothing-gained`
/// covers how the container became started.
fn taken_for_started(life: &ProbedLife<'_, '_>, restart: &Restart<'_>) -> bool {
    let started = |_: &Revision<'_>, seen: &ContainerSeen<'_>| seen.started == Some(true);
    life.spec.kind == ProbeKind::Startup && life.first_shown(&restart.began, started).is_some()
}

/// Whether a probe that is not a certain failure arrived by this time.
fn passed_by(life: &ProbedLife<'_, '_>, by: &Stamp) -> bool {
    let mut early = life.probes.iter().copied().filter(|probe| !life.run.before(by, &probe.at));
    early.any(|probe| life.outcome(probe) != ProbeOutcome::Failure)
}

fn judge_resumed(clause: &Clause, life: &ProbedLife<'_, '_>, restart: &Restart<'_>, seen: &mut Seen) {
    let over = At::new(restart.began.id, restart.over.clone());
    let asked = life.probes_of(life.spec.kind).any(|probe| life.run.before(&over, &probe.at));
    if asked || !taken_for_started(life, restart) {
        judge_next(clause, life, (&over, "kubelet restart"), seen);
    }
}

/// The next probe after an instant comes within its period plus the rest of its delay. A delay counts from the start of
/// the container, whenever the kubelet started.
fn judge_next(clause: &Clause, life: &ProbedLife<'_, '_>, (from, event): (&At, &str), seen: &mut Seen) {
    let (spec, word) = (life.spec, life.spec.kind.word());
    let left = spec.initial_delay - life.run.at_least(&life.began, from).clamp(0, spec.initial_delay);
    let most = left + spec.period + clause.slack_us();
    let bound = Bound::at_most(most, "the rest of initialDelaySeconds + periodSeconds + slack");
    let first = life.probes_of(spec.kind).find(|probe| life.run.before(from, &probe.at));
    if let Some(first) = first {
        if spec.initial_delay > 0 {
            let own = clause.tolerance_us("process");
            let quantity =
                format!("from the start of the process to the first {word} probe after the {event}");
            let formula = format!("initialDelaySeconds - {}", seconds(own));
            let least = Bound::at_least(spec.initial_delay - own, formula);
            life.within(seen, quantity, (&life.began, first), least);
        }
        life.within(seen, format!("from the {event} to the next {word} probe"), (from, first), bound);
    } else if life.holes.is_empty()
        && life.lives_on()
        && life.watched_for(from, most)
        && was_always_open(life)
    {
        let finding =
            format!("no {word} probe of {} arrived within {} of the {event}", life.name(), seconds(most));
        seen.violated(finding, [from.id].into_iter().chain(life.last_line().map(|line| line.id)));
    }
}

/// A container whose liveness probe keeps failing is stopped, although the kubelet has forgotten the earlier failures.
fn failures_still_kill(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for restart in &restarts(run, seen) {
        for life in outlived(run, restart).iter().filter_map(|of| of.life()?.probed(ProbeKind::Liveness)) {
            judge_early_stop(&life, restart, seen);
            let after = |probe: &&Probe<'_>| run.before(&restart.over, &probe.at);
            let probes: Vec<_> = life.probes.iter().copied().filter(after).collect();
            let ill = probes.first().is_some_and(|first| life.outcome(first) == ProbeOutcome::Failure);
            let later = ProbedLife { probes, ..life.clone() };
            if let Some(spent) = Exhausted::of(later).filter(|_| ill && life.is_unmistaken())
                && let Some(stop) = spent.judge_stop(clause, seen)
            {
                seen.fine([restart.began.id, stop.id]);
            }
        }
    }
}

/// A restarted kubelet starts a new count: it does not stop a container before `failureThreshold` failures can have
/// occurred.
fn judge_early_stop(life: &ProbedLife<'_, '_>, restart: &Restart<'_>, seen: &mut Seen) {
    let run = life.run;
    let Some(stop) = life.stop().filter(|stop| run.before(&restart.over, &stop.at)) else { return };
    if !was_always_open(life)
        || !life.is_unmistaken()
        || !life.before_deletion(&stop.at)
        || !only_liveness_stops(life)
    {
        return;
    }
    let failed = failures_before(life, restart);
    // The kubelet may have decided on the stop before the restart, with one failure that left no record.
    if i64::try_from(failed).is_ok_and(|failed| failed + 1 >= life.spec.failures) {
        return;
    }
    let least = (life.spec.failures - 1) * life.spec.period - UNNOTICED;
    let bound =
        Bound::at_least(least, format!("(failureThreshold - 1) × periodSeconds - {}", seconds(UNNOTICED)));
    let quantity = format!("from the restart of the kubelet to the stop signal of {}", life.words());
    let measured = run.measure(quantity, &life.node, &restart.began, stop, bound);
    if let Some(early) = measured.filter(|measured| measured.fit() == Fit::Missed) {
        seen.measure(early);
    }
}

/// How many probes in a row had failed when the kubelet was restarted. A probe whose connection the target did not serve
/// has failed without a request.
fn failures_before(life: &ProbedLife<'_, '_>, restart: &Restart<'_>) -> usize {
    let run = life.run;
    let before = life.probes.iter().rev().filter(|probe| run.before(&probe.at, &restart.began));
    let passed = before.clone().find(|probe| life.outcome(probe) == ProbeOutcome::Success);
    let failed = before.take_while(|probe| life.outcome(probe) != ProbeOutcome::Success);
    let asks = !matches!(life.spec.handler, Handler::Tcp { .. });
    let unserved = unserved(life.attempt).filter(|of| {
        let since = passed.is_none_or(|passed| run.before(&passed.at, &of.at));
        asks && of.port() == life.spec.handler.port() && since && run.before(&of.at, &restart.began)
    });
    failed.count() + unserved.count()
}

/// Whether only its liveness probe can have stopped an instance before its pod was deleted.
fn only_liveness_stops(life: &ProbedLife<'_, '_>) -> bool {
    let (run, pod, container) = (life.run, life.pod, life.container);
    let done = pod.work_is_done(container) || pod.was_ended_from_outside() || pod.had_deadline();
    let patched = restarts_for_update(run, pod, container);
    container.stays() && container.probe(ProbeKind::Startup).is_none() && !done && !patched
}

/// A container that terminates around a restart of its kubelet is started again, and this counts as one restart. If its
/// policy does not restart it, the status shows its end. It is a matter of chance whether the kubelet is down at the
/// very moment of the end.
fn ends_count_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for restart in &restarts(run, seen) {
        for of in outlived(run, restart) {
            let Some(life) = of.life().filter(|life| life.is_numbered()) else { continue };
            let around = clause.tolerance_us("around");
            let (from, to) = (restart.began.earlier(around), restart.over.later(around));
            let near = |ended: &&At| run.before(&from, &ended.stamp) && run.before(&ended.stamp, &to);
            let Some(ended) = life.ended.as_ref().filter(near) else { continue };
            if !life.before_deletion(ended) || life.pod.work_is_done(life.container) {
                continue;
            }
            match life.exited_by_itself() {
                Some((_, code)) if !life.pod.restarts_after(life.container, code.into()) => {
                    judge_last_end(&life, (ended, code.into()), restart, seen);
                }
                None if life.policy() != "Always" => {}
                _ => judge_next_life(clause, &life, ended, restart, seen),
            }
        }
    }
}

/// The earliest time at which the kubelet can know that an instance ended: not before the kubelet is running again.
fn known_from<'s>(life: &Life<'_, '_>, ended: &'s At, restart: &'s Restart<'_>) -> &'s Stamp {
    if life.run.before(&restart.over, ended) { &ended.stamp } else { &restart.over }
}

/// The status shows the exit status of a container that ended for good, although the kubelet did not see the end.
fn judge_last_end(life: &Life<'_, '_>, (ended, code): (&At, i64), restart: &Restart<'_>, seen: &mut Seen) {
    let allowed = FIRST_BACK_OFF + TO_START;
    let shown = life.termination();
    let events = |id| [restart.began.id, ended.id].into_iter().chain(id);
    if let Some((revision, shown)) = shown {
        let finding = || format!("{} exited with {code}, but the status shows {shown}", life.name());
        seen.check(shown == code, finding, events(Some(revision.id)));
        if shown == code {
            seen.facet("policy", life.policy());
        }
    } else if life.watched_for(known_from(life, ended, restart), allowed) {
        let finding = format!(
            "{} terminated around a kubelet restart, but the status did not show it within {}",
            life.name(),
            seconds(allowed)
        );
        seen.violated(finding, events(None));
    }
}

fn judge_next_life(clause: &Clause, life: &Life<'_, '_>, ended: &At, restart: &Restart<'_>, seen: &mut Seen) {
    let allowed = FIRST_BACK_OFF + TO_START;
    let Some(next) = life.next() else {
        if life.lives_again().is_none() && life.watched_for(known_from(life, ended, restart), allowed) {
            let finding = format!(
                "a container that terminated around a kubelet restart was not started again within {}",
                seconds(allowed)
            );
            seen.violated(finding, [restart.began.id, ended.id]);
        }
        return;
    };
    let settled = next.began.later(clause.slack_us());
    let shown = |at: &Stamp| run_shows(&next, at);
    let Some((revision, status)) = shown(&settled) else { return };
    let events = [restart.began.id, ended.id, next.began.id, revision.id];
    if status.restarts == next.number {
        seen.fine(events);
        seen.facet("policy", life.policy());
    } else {
        let finding =
            format!("instance {} of a container is shown with {} restarts", next.number + 1, status.restarts);
        seen.violated(finding, events);
    }
}

/// The last revision before the end of this instance, if it shows the container as running at or after `from`.
fn run_shows<'t, 'h>(life: &Life<'t, 'h>, from: &Stamp) -> Option<(&'t Revision<'h>, ContainerSeen<'h>)> {
    let over = life.ended.as_ref().map(|ended| ended.stamp.clone());
    let shown = life.pod.revisions.iter().rfind(|revision| {
        !revision.gone && over.as_ref().is_none_or(|over| life.run.before(&revision.at, over))
    })?;
    let status = shown.container(&life.container.name)?;
    let late = life.run.before(from, &shown.at) || life.watched_for(from, 0);
    (late && status.is_running()).then_some((shown, status))
}

#[cfg(test)]
mod tests;
