//! What happens to a container that stays within its limits, exceeds one of them, or has no limits.

use probity_model::measure::{Bound, Fit, Interval, Measurement, Unit, seconds};
use probity_model::timeline::Life;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::processors::{self, ROUNDED, Used, burnt};
use crate::reading::cgroups::{NO_CPU_LIMITS, sets_cpu_limits};
use crate::reading::ends::End;
use crate::reading::memory::{Taking, killed};
use crate::reading::qos::{BURSTABLE, GUARANTEED, class_of};

/// The event that shows that the kubelet stopped or killed a container before any deletion of its pod.
fn stopped(life: &Life<'_, '_>) -> Option<EventId> {
    life.stopped_undeleted().map(|stop| stop.id).or_else(|| killed(life))
}

/// The CPU time that an instance used between two readings of its counter, as a measurement with this bound.
fn usage(life: &Life<'_, '_>, used: &Used<'_, '_>, bound: Bound) -> Measurement {
    Measurement {
        unit: Unit::Us,
        observed: Interval::point(used.used),
        ..Measurement::count(
            format!("CPU time used by {} in {}", life.name(), seconds(used.elapsed)),
            0,
            bound,
            vec![used.from.id, used.to.id],
        )
    }
}

/// The most CPU time that a container may use under its limit: its share of the elapsed time and of the periods around both
/// readings of the counter, which is rounded.
fn at_most_its_limit(clause: &Clause, elapsed: i64, share: i64) -> Option<Bound> {
    let most = processors::share_of(elapsed.checked_add(clause.tolerance_us("periods"))?, share)?;
    Some(Bound::at_most(most.checked_add(ROUNDED)?, "its share of the time and of four periods + rounding"))
}

/// A pod of the class Guaranteed is not killed below its limits, and gets no more than these limits allow.
pub(super) fn of_guaranteed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().whole().staying().only(|life| class_of(life.pod.spec) == GUARANTEED)
    {
        if let Some(taking) = Taking::of(&life) {
            judge_memory(&life, &taking, clause, seen);
        }
        let Some((used, share)) = burnt(&life).zip(processors::share(&life, "limits")) else { continue };
        let Some(bound) = at_most_its_limit(clause, used.elapsed, share) else { continue };
        let measured = usage(&life, &used, bound);
        let fit = measured.fit();
        if fit == Fit::Missed {
            report_excess(&life, measured, seen);
            continue;
        }
        seen.measure(measured);
        let kept = fit == Fit::Met;
        if kept && is_held_back(&life, &used, clause, share) {
            seen.facet("limit", "cpu");
        } else if kept {
            judge_starved(&life, &used, share, seen);
        }
    }
}

/// Reports that an instance used more CPU time than its limit. This is a violation only if its node is known to enforce CPU
/// limits.
fn report_excess(life: &Life<'_, '_>, measured: Measurement, seen: &mut Seen) {
    if sets_cpu_limits(life.run, &life.pod.node) {
        seen.measure(measured);
    } else {
        let why = format!("{} used more CPU time than its limit, but {NO_CPU_LIMITS}", life.name());
        seen.doubt(Doubt::Ambiguous, why, measured.events);
    }
}

/// A Guaranteed pod requests as much as its limits allow. On an idle node, a busy process must get at least half of the
/// CPU time that its container requests.
fn judge_starved(life: &Life<'_, '_>, used: &Used<'_, '_>, share: i64, seen: &mut Seen) {
    let due = processors::share_of(used.elapsed, share);
    if life.noise(&used.from.at, &used.to.at) == 0 && due.is_some_and(|due| used.used + used.used < due) {
        let finding = format!("{} got less than half of the CPU time that it requests", life.name());
        seen.violated(finding, [used.from.id, used.to.id]);
    }
}

/// Whether a process used all the CPU time that its limit allows; the time in which its node was stalled is not
/// counted. A process that used less was not throttled by its limit.
fn is_held_back(life: &Life<'_, '_>, used: &Used<'_, '_>, clause: &Clause, share: i64) -> bool {
    let busy = life.noise(&used.from.at, &used.to.at);
    let counted = used.elapsed - busy - clause.tolerance_us("periods");
    processors::share_of(counted, share).is_some_and(|least| used.used >= least - ROUNDED)
}

fn judge_memory(life: &Life<'_, '_>, taking: &Taking<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let Some(limit) = taking.limit else { return };
    let name = life.name();
    if let Some(line) = taking.more_than(limit) {
        seen.violated(format!("{name} took more memory than its limit"), [line.id]);
    } else if taking.planned > limit {
        match (killed(life), taking.records.last()) {
            (Some(end), Some((last, had))) if had + had <= limit => {
                let finding = format!("{name} was killed when it had taken less than half of its limit");
                seen.violated(finding, [last.id, end]);
            }
            (Some(end), Some((last, _))) => {
                seen.fine([last.id, end]);
                seen.facet("limit", "memory-exceeded");
            }
            _ => {}
        }
    } else if let Some(end) = stopped(life).filter(|_| taking.planned + taking.planned <= limit) {
        // The program itself also needs some memory.
        seen.violated(format!("{name} was stopped, although it was within its limits"), [life.began.id, end]);
    } else if let Some(line) = taking.more_than(taking.planned - 1)
        && life.watched_for(&line.at, clause.tolerance_us("watched"))
    {
        seen.fine(life.run.to_the_end([line.id]));
        seen.facet("limit", "memory-kept");
    }
}

/// A container of a Burstable pod without a limit may use more than it requested.
pub(super) fn none_without_a_limit(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().whole().staying().only(|life| class_of(life.pod.spec) == BURSTABLE)
    {
        judge_without_a_limit(&life, clause, seen);
        let (Some(share), None) = (processors::share(&life, "requests"), processors::share(&life, "limits"))
        else {
            continue;
        };
        let Some(used) = burnt(&life) else { continue };
        let Some(request) = processors::share_of(used.elapsed, share) else { continue };
        let bound = Bound::at_least(request, "more than it requested");
        let measured = usage(&life, &used, bound);
        if measured.fit() == Fit::Met {
            seen.measure(measured);
            seen.facet("resource", "cpu");
        } else if life.noise(&used.from.at, &used.to.at) == 0 {
            seen.measure(measured);
        }
    }
}

/// Judges a container that takes more memory than it requested, and that has no limit.
fn judge_without_a_limit(life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let Some(taking) = Taking::of(life).filter(|taking| taking.limit.is_none()) else { return };
    let Some(request) = taking.request.filter(|request| taking.planned > *request) else { return };
    let end = stopped(life);
    match (end, taking.more_than(request)) {
        (Some(end), _) => {
            let finding = format!(
                "{} has no limit, but was stopped because it used more than its request",
                life.name()
            );
            seen.violated(finding, [life.began.id, end]);
        }
        (None, Some(line)) if life.watched_for(&line.at, clause.tolerance_us("watched")) => {
            seen.fine(life.run.to_the_end([line.id]));
            seen.facet("resource", "memory");
        }
        (None, _) => {}
    }
}

/// A container that exceeds a limit is killed and restarted, and the other containers of its pod keep running.
pub(super) fn exceeded(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().whole().staying() {
        let Some(taking) = Taking::of(&life) else {
            judge_processors(&life, clause, seen);
            continue;
        };
        let Some(limit) = taking.limit.filter(|limit| taking.planned > *limit) else { continue };
        let name = life.name();
        if let Some(line) = taking.more_than(limit) {
            seen.violated(format!("{name} took more memory than its limit, but was not killed"), [line.id]);
            continue;
        }
        let (Some(end), Some((last, _))) = (killed(&life), taking.records.last()) else { continue };
        judge_restart(&life, (last.id, end), clause, seen);
    }
}

/// Judges the restart after an OOM kill, and the other containers of the pod.
fn judge_restart(life: &Life<'_, '_>, (last, end): (EventId, EventId), clause: &Clause, seen: &mut Seen) {
    let name = life.name();
    let gone = End::of(life);
    let Some(gone) = gone.as_ref().map(End::at) else { return };
    let beside = || {
        life.run
            .lives()
            .into_iter()
            .filter(|other| std::ptr::eq(other.pod, life.pod) && other.container.name != life.container.name)
    };
    let next = life.next().map_or_else(|| life.run.last_event(), |next| Some(next.began.id));
    let until = next.unwrap_or(end);
    for other in beside().filter(|other| Taking::of(other).is_none() && other.container.stays()) {
        if let Some(hit) = stopped(&other).filter(|hit| last < *hit && *hit <= until) {
            let finding = format!("{name} exceeded its limit, but {} was stopped as well", other.name());
            seen.violated(finding, [end, hit]);
            return;
        }
        if life.lives_again().is_some() {
            seen.facet("other", "goes-on");
        }
    }
    match life.lives_again() {
        Some(again) => {
            seen.fine([last, end, again]);
            seen.facet("limit", "memory");
        }
        None if life.policy() == "Never" => {}
        None if life.watched_for(&gone.stamp, clause.slack_us()) && life.number == 0 => {
            let finding = format!("{name} exceeded its memory limit, but was not restarted");
            seen.violated(finding, life.run.to_the_end([end]));
        }
        None => {}
    }
}

/// Judges a container that would use more CPU time than its limit: according to the documentation, it is killed.
fn judge_processors(life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let Some((used, share)) = burnt(life).zip(processors::share(life, "limits")) else { return };
    let name = life.name();
    let Some(bound) = at_most_its_limit(clause, used.elapsed, share) else { return };
    let measured = usage(life, &used, bound);
    if measured.fit() == Fit::Missed {
        report_excess(life, measured, seen);
    } else if let Some(end) = stopped(life) {
        seen.fine([used.to.id, end]);
        seen.facet("limit", "cpu");
    } else if is_held_back(life, &used, clause, share) {
        let finding = format!("{name} would have used more CPU time than its limit, and was throttled");
        seen.diverges(finding, [used.from.id, used.to.id]);
        seen.facet("limit", "cpu");
    }
}
