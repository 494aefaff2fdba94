//! How long a container that ignores its stop signal may run: the grace period of its pod or of the request, thirty
//! seconds by default, and at least two seconds.

use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::LEAST_GRACE;
use probity_model::timeline::{Life, Line, ProbeKind, State};
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Going, going, is_hooked};
use super::least;
use super::sidecars::sidecars_have_the_rest;
use crate::reading::ends::{alive_until, killed_at, may_be_unrecorded, shown_ends};
use crate::reading::kills::judge_kill_within;
use crate::reading::termination::{Exhausted, KILLED, exhausted, forced_end};

/// The default grace period: Kubernetes API reference, PodSpec.
pub(super) const DEFAULT: i64 = 30;
/// The reason of a killed container: Kubernetes documentation.
const ERROR: &str = "Error";

/// Judges when a process that ignores its stop signal is killed. Returns whether it was killed.
pub(super) fn judge_kill(
    clause: &Clause,
    life: &Life<'_, '_>,
    stop: &Line<'_>,
    grace: i64,
    seen: &mut Seen,
) -> bool {
    judge_kill_within(clause.tolerance_us("kill"), life, stop, grace, seen)
}

/// The main containers without a hook that received a stop signal, in terminating pods with a grace period. Each item
/// has the pod, the instance and the signal.
fn stopped<'t, 'h>(
    going: &'t [Going<'t, 'h>],
) -> impl Iterator<Item = (&'t Going<'t, 'h>, Life<'t, 'h>, &'t Line<'h>)> {
    let graceful = going.iter().filter(|going| going.is_graceful());
    let lives = graceful.flat_map(|going| going.stopped_first().into_iter().map(move |life| (going, life)));
    lives
        .filter(|(_, life)| !is_hooked(life))
        .filter_map(|(going, life)| Some((going, life, life.attempt.stop()?)))
}

/// At the end of the grace period, processes that are still running are killed, and the status shows this.
pub(super) fn ends_in_a_kill(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    sidecars_have_the_rest(&all, clause, seen);
    let mains = stopped(&all).map(|of| (of, "kill"));
    let told = mains.chain(stopped_ephemeral(&all).map(|of| (of, "ephemeral")));
    for ((going, life, stop), word) in told.filter(|((going, ..), _)| going.grace() >= LEAST_GRACE) {
        if judge_kill(clause, &life, stop, going.grace(), seen) {
            seen.facet("seen", word);
            judge_status(&life, stop, seen);
        }
    }
    for going in all.iter().filter(|going| going.is_graceful()) {
        for life in going.stopped_first().iter().filter(|life| life.stop().is_none() && !is_hooked(life)) {
            if let Some(ended) = killed_at(life).filter(|ended| !may_be_unrecorded(life, ended)) {
                let finding = format!("{} was killed without a stop signal", life.name());
                seen.violated(finding, [going.first.at.id, ended.id]);
            }
        }
    }
}

/// The ephemeral containers that received a stop signal in terminating pods with a grace period.
fn stopped_ephemeral<'t, 'h>(
    going: &'t [Going<'t, 'h>],
) -> impl Iterator<Item = (&'t Going<'t, 'h>, Life<'t, 'h>, &'t Line<'h>)> {
    let graceful = going.iter().filter(|going| going.is_graceful());
    let lives = graceful.flat_map(|going| going.ephemeral_lives().into_iter().map(move |life| (going, life)));
    lives.filter_map(|(going, life)| Some((going, life, life.attempt.stop()?)))
}

/// The status of a killed container shows the kill.
pub(super) fn judge_status(life: &Life<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
    for (revision, state) in shown_ends(life) {
        let State::Terminated { code, reason, .. } = state else { continue };
        let fits = code == KILLED && reason == ERROR;
        let finding = || {
            format!(
                "{} was killed, but the status shows the exit code {code} and the reason {reason:?}",
                life.name()
            )
        };
        seen.check(fits, finding, [stop.id, revision.id]);
        if fits {
            seen.facet("seen", "status");
        }
    }
}

/// Whether the pod's manifest has no grace period.
pub(super) fn is_unsaid(going: &Going<'_, '_>) -> bool {
    let sent = going.pod.created.and_then(|(_, manifest)| manifest.get("spec"));
    sent.is_some_and(|spec| spec.get("terminationGracePeriodSeconds").is_none())
        && going.first.grace.is_none()
}

/// If neither the pod nor the request sets a grace period, it is thirty seconds.
pub(super) fn of_thirty_by_default(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    for going in all.iter().filter(|going| is_unsaid(going) && going.again.is_empty() && !going.was_idle()) {
        let Some(shown) = going.shown() else { continue };
        let said = shown.deletion_grace();
        let finding = || format!("the pod {} records a grace period of {said:?}", going.pod.key);
        seen.check(said == Some(DEFAULT), finding, [going.first.at.id, shown.id]);
        if said == Some(DEFAULT) {
            seen.facet("seen", "recorded");
        }
    }
    for (going, life, stop) in stopped(&all).filter(|(going, ..)| is_unsaid(going)) {
        if judge_kill(clause, &life, stop, whole_seconds(DEFAULT), seen) {
            seen.facet("seen", "kept");
            if let (Some(ended), Some(gone)) = (killed_at(&life), going.gone_or_end())
                && going.pod.containers.len() == 1
            {
                let quantity = format!("from the kill of {} to the removal of its pod", life.name());
                life.within(seen, quantity, (ended, &gone), clause.in_time());
            }
        }
    }
}

/// The grace period of the request replaces the grace period of the pod.
pub(super) fn of_the_request(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    let own = |going: &Going<'_, '_>| going.first.grace.is_some_and(|grace| grace != going.pod.grace());
    for (going, life, stop) in stopped(&all).filter(|(going, ..)| own(going) && going.grace() >= LEAST_GRACE)
    {
        if judge_kill(clause, &life, stop, going.grace(), seen) {
            seen.facet("grace", if going.grace() < going.pod.grace() { "shorter" } else { "longer" });
        }
    }
}

/// There are at least two seconds between the stop signal and the kill, whether the pod is deleted, a probe failed, or the pod
/// exceeded its deadline.
pub(super) fn is_never_shorter(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (_, life, stop) in stopped(&going(run)).filter(|(going, ..)| going.grace() < LEAST_GRACE) {
        judge_kill(clause, &life, stop, LEAST_GRACE, seen);
    }
    for spent in ProbeKind::STOPPING.iter().flat_map(|kind| exhausted(run, *kind)) {
        if spent.life.grace() < LEAST_GRACE && !is_hooked(&spent.life) {
            judge_least(clause, &spent, seen);
        }
    }
    least::at_deadlines(run, clause, seen);
}

/// A container that is stopped because of its probe also has at least two seconds. The longest time is covered by
/// other clauses.
fn judge_least(clause: &Clause, spent: &Exhausted<'_, '_>, seen: &mut Seen) {
    let (life, Some(stop)) = (&spent.life, spent.stopped(clause)) else { return };
    let Some(ended) = forced_end(life).filter(|ended| life.before_deletion(ended)) else { return };
    if life.container.has_memory_limit() || life.termination().is_some_and(|(_, code)| code != KILLED) {
        return;
    }
    let quantity = format!("from the stop signal to the kill of {}", life.name());
    life.within(seen, quantity, (stop, ended), least::bound());
}

/// A pod that is deleted without a grace period still gets a stop signal and a little time.
pub(super) fn small_when_forced(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let forced = |going: &&Going<'_, '_>| going.first.grace == Some(0) && !going.was_idle();
    for going in going(run).iter().filter(forced) {
        for life in going.stopped_first().iter().filter(|life| !is_hooked(life)) {
            let asked = &going.first.at;
            if let Some(stop) = life.stop() {
                let quantity = format!("from the request to the stop signal of {}", life.name());
                if life.within(seen, quantity, (asked, stop), clause.in_time()) == Some(Fit::Met) {
                    seen.facet("part", "signal");
                }
                if judge_kill(clause, life, stop, LEAST_GRACE, seen) {
                    seen.facet("part", "kill");
                }
            } else if let Some(ended) = killed_at(life) {
                let finding = format!("{} was killed without a stop signal", life.name());
                if !may_be_unrecorded(life, ended) {
                    seen.violated(finding, [asked.id, ended.id]);
                }
            } else if let Some(until) = alive_until(life)
                && run.misses(&life.node, (asked, &until), clause.in_time())
            {
                let finding =
                    format!("{} was deleted without a grace period, but is still running", life.name());
                seen.violated(finding, [asked.id, until.id]);
            }
        }
        let unhooked = |life: &Life<'_, '_>| !is_hooked(life) && !life.container.has_memory_limit();
        for life in going.sidecars().iter().filter(|life| unhooked(life)) {
            judge_forced_sidecar(clause, going, life, seen);
        }
    }
}

/// A sidecar of a pod that is deleted without a grace period also gets a stop signal and a little time. It may wait for the
/// main containers first.
fn judge_forced_sidecar(clause: &Clause, going: &Going<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let asked = &going.first.at;
    let late = LEAST_GRACE + clause.slack_us();
    let bound = Bound::at_most(late, format!("the least grace period + {}", seconds(clause.slack_us())));
    if let Some(stop) = life.stop() {
        let quantity = format!("from the request to the stop signal of {}", life.name());
        life.within(seen, quantity, (asked, stop), bound);
        judge_kill(clause, life, stop, LEAST_GRACE, seen);
    } else if let Some(ended) = killed_at(life).filter(|ended| !may_be_unrecorded(life, ended)) {
        let finding = format!("{} was killed without a stop signal", life.name());
        seen.violated(finding, [asked.id, ended.id]);
    } else if let Some(until) = alive_until(life)
        && going.run.misses(&life.node, (asked, &until), bound)
    {
        let finding = format!("{} was deleted without a grace period, but is still running", life.name());
        seen.violated(finding, [asked.id, until.id]);
    }
}
