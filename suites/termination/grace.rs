//! How long a container that ignores its stop signal may run: the grace period of its pod or of the request, thirty
//! seconds by default, and at least two seconds.

use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR};
use probity_model::timeline::{Life, Line, State};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::asked::{Going, alive_until, going, is_hooked};
use super::sidecars::sidecars_have_the_rest;
use super::timers::Timer;
use crate::reading::ends::{killed_at, may_be_unrecorded, shown_ends};
use crate::reading::hooks::judge_command_before_stop;
use crate::reading::termination::KILLED;

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

/// Judges that an instance was stopped like any other, whatever the reason: its preStop hook ran before the stop signal.
/// Without a hook, the instance had the grace period of its pod, plus this much time for the kill itself.
pub(crate) fn judge_graceful_stop(
    slack: i64,
    life: &Life<'_, '_>,
    since: EventId,
    stop: &Line<'_>,
    seen: &mut Seen,
) {
    let hooked = life.container.lifecycle("preStop").is_some();
    if !judge_command_before_stop(life, since, stop, seen) && !hooked {
        judge_kill_within(slack, life, stop, life.pod.grace(), seen);
    }
}

/// Like [`judge_kill`], with this much time for the kill itself.
pub(crate) fn judge_kill_within(
    slack: i64,
    life: &Life<'_, '_>,
    stop: &Line<'_>,
    grace: i64,
    seen: &mut Seen,
) -> bool {
    let most = grace.max(LEAST_GRACE);
    let upper = Bound::at_most(most + slack, format!("{} + {}", seconds(most), seconds(slack)));
    let timer = Timer::new(&stop.at, most);
    if let Some(ended) = killed_at(life) {
        let bound =
            upper.and_at_least(most - NEAR, format!("{} - {} for two clocks", seconds(most), seconds(NEAR)));
        let quantity = format!("from the stop signal to the forced end of {}", life.name());
        return timer.within(life, seen, quantity, (stop, ended), bound) == Some(Fit::Met);
    }
    accuse_survivor(&timer, life, stop, (most, upper), seen);
    false
}

/// Reports a process that still runs although its time after the stop signal has passed.
pub(super) fn accuse_survivor(
    timer: &Timer,
    life: &Life<'_, '_>,
    stop: &Line<'_>,
    (most, upper): (i64, Bound),
    seen: &mut Seen,
) {
    let until = alive_until(life).filter(|_| life.exiting().is_none());
    if let Some(until) = until
        && timer
            .measure(life, String::new(), (stop, &until), upper)
            .is_some_and(|lived| lived.fit() == Fit::Missed)
    {
        let finding =
            format!("{} had {} after its stop signal, but is still running", life.name(), seconds(most));
        seen.violated(finding, [stop.id, until.id]);
    }
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
                let quantity = format!("from the forced end of {} to the removal of its pod", life.name());
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

/// There are at least two seconds between the stop signal and the kill.
pub(super) fn is_never_shorter(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (_, life, stop) in stopped(&going(run)).filter(|(going, ..)| going.grace() < LEAST_GRACE) {
        judge_kill(clause, &life, stop, LEAST_GRACE, seen);
    }
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
                && run
                    .measure(String::new(), &life.node, asked, &until, clause.in_time())
                    .is_some_and(|lived| lived.fit() == Fit::Missed)
            {
                let finding =
                    format!("{} was deleted without a grace period, but is still running", life.name());
                seen.violated(finding, [asked.id, until.id]);
            }
        }
    }
}
