//! The time of the preStop hook: it is part of the grace period, and a hook that exceeds the grace period is stopped
//! two seconds later.

use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, WHOLE_SECOND};
use probity_model::timeline::{At, Happened, Life};
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Going, going};
use super::grace::{DEFAULT, is_unsaid, judge_kill};
use super::hooks::{Hooked, hooked};
use crate::reading::ends::{End, alive_until, killed_at};
use crate::reading::hooks::{HookKind, HookRun};
use crate::reading::kills::judge_kill_within;
use crate::reading::timers::Timer;

/// The recorded hooks in main containers of terminating pods with a grace period.
fn runs<'t, 'h>(going: &[Going<'t, 'h>], mut judge: impl FnMut(&Going<'t, 'h>, &Hooked<'t, 'h>, &HookRun)) {
    for going in going.iter().filter(|going| going.is_graceful()) {
        for hooked in hooked(going.mains()) {
            if let Some(run) = &hooked.run {
                judge(going, &hooked, run);
            }
        }
    }
}

/// Whether a container instance keeps running for longer than this after a given time, and until when.
fn goes_on(life: &Life<'_, '_>, from: &At, span: i64) -> Option<At> {
    alive_until(life).filter(|until| life.run.longer_than(life.pod, (from, until), span))
}

/// Judges a lower bound: something does not happen before this time has passed. The time is measured from the request,
/// which precedes everything that the kubelet does, because the runtime may start a command late.
pub(super) fn judge_least(
    going: &Going<'_, '_>,
    life: &Life<'_, '_>,
    (end, what): (&impl Happened, &str),
    least: i64,
    seen: &mut Seen,
) -> bool {
    let words = format!("{} - {} for two clocks", seconds(least), seconds(NEAR));
    let quantity = format!("from the request to the {what} of {}", life.name());
    let bound = Bound::at_least(least - NEAR, words);
    life.within(seen, quantity, (&going.first.at, end), bound) == Some(Fit::Met)
}

/// The grace period begins with the start of the hook.
pub(super) fn counts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    runs(&all, |going, hooked, _| {
        if let Some((_, ended)) = hooked.completed() {
            judge_rest(clause, going, (hooked, ended), (WHOLE_SECOND, "the hook's time"), seen);
        }
    });
    for going in all.iter().filter(|going| going.is_graceful()) {
        judge_sleeps(clause, going, seen);
        for hooked in hooked(going.sidecars()) {
            // After its hook, a sidecar waits for its turn. The kubelet counts each of these two times in whole seconds.
            if let Some(stop) = hooked.life.stop().map(At::of) {
                let used =
                    (WHOLE_SECOND + WHOLE_SECOND, "the times of the hook and of the wait for its turn");
                judge_rest(clause, going, (&hooked, &stop), used, seen);
            }
        }
    }
}

/// A sleep leaves no record, but it begins after the request and ends before the stop signal. If these are less than a second
/// further apart than the sleep, it is known how many whole seconds the kubelet subtracts.
fn judge_sleeps(clause: &Clause, going: &Going<'_, '_>, seen: &mut Seen) {
    for hooked in hooked(going.mains()) {
        let HookKind::Sleep(span) = hooked.kind else { continue };
        let (life, grace, slept) = (&hooked.life, going.grace(), whole_seconds(span));
        let Some(stop) = life.stop().filter(|_| slept + LEAST_GRACE + WHOLE_SECOND <= grace) else {
            continue;
        };
        if let Some(killed) = killed_at(life) {
            judge_least(going, life, (killed, "kill"), grace, seen);
        }
        let most = life.run.clocks.between(&going.first.at, &stop.at).map(|took| took.hi);
        if most.is_some_and(|most| most < slept + WHOLE_SECOND) {
            judge_kill_within(clause.slack_us(), life, stop, grace - slept, seen);
        }
    }
}

/// A container whose hook is done has the rest of the grace period. `used` is the time by which the hook, and whatever
/// else comes before the stop signal, had used a part of it. The kubelet counts only whole seconds of this part, so the rest
/// may be longer by `more`.
fn judge_rest(
    clause: &Clause,
    going: &Going<'_, '_>,
    (hooked, used): (&Hooked<'_, '_>, &At),
    (more, what): (i64, &str),
    seen: &mut Seen,
) {
    let (life, grace, slack) = (&hooked.life, going.grace(), clause.slack_us());
    let Some((began, ended)) = hooked.completed() else { return };
    let enough = |took: i64| took + LEAST_GRACE + WHOLE_SECOND <= grace;
    if !life.run.clocks.between(began, used).is_some_and(|took| enough(took.hi)) {
        return;
    }
    let words = format!(
        "the grace period of {}, minus {what} in whole seconds, + {}",
        seconds(grace),
        seconds(slack)
    );
    let bound = Bound::at_most(grace + more + slack, words);
    let due = began.later(grace + more);
    let timer = Timer::after_hook(life, (ended, life.stop().map_or(ended, |stop| &stop.at)), due);
    if let Some(killed) = killed_at(life) {
        let quantity = format!("from the hook of {} to its kill", life.name());
        timer.within(life, seen, quantity, (began, killed), bound);
        judge_least(going, life, (killed, "kill"), grace, seen);
    } else if let Some(until) = alive_until(life).filter(|_| life.exiting().is_none())
        && timer
            .measure(life, String::new(), (began, &until), bound)
            .is_some_and(|lived| lived.fit() == Fit::Missed)
    {
        let finding =
            format!("{} is still running after its grace period, which includes its hook", life.name());
        seen.violated(finding, [began.id, ended.id, until.id]);
    }
}

/// If a hook is still running at the end of the grace period, the stop signal follows, and two seconds later the kill.
pub(super) fn is_extended_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    after_long_sleeps(&all, clause, seen);
    runs(&all, |going, hooked, hook| {
        let (life, grace, slack) = (&hooked.life, going.grace(), clause.slack_us());
        if hooked.completed().is_some() || hooked.may_be_done() {
            return;
        }
        let Some(stop) = life.stop() else {
            if let Some(until) = goes_on(life, &hook.began, grace + slack) {
                let finding =
                    format!("the hook of {} never finished, and no stop signal followed", life.name());
                seen.violated(finding, [hook.began.id, until.id]);
            }
            return;
        };
        let bound = Bound::at_most(grace + slack, format!("the grace period + {}", seconds(slack)));
        let quantity = format!("from the hook of {} to the stop signal", life.name());
        let soon = life.within(seen, quantity, (&hook.began, stop), bound) == Some(Fit::Met);
        if judge_least(going, life, (stop, "stop signal"), grace, seen) && soon {
            seen.facet("part", "signal");
        }
        if judge_kill(clause, life, stop, LEAST_GRACE, seen) {
            seen.facet("part", "kill");
        }
    });
}

/// A sleep that is longer than the grace period leaves no more time than any other hook.
fn after_long_sleeps(all: &[Going<'_, '_>], clause: &Clause, seen: &mut Seen) {
    for going in all.iter().filter(|going| going.is_graceful()) {
        for hooked in hooked(going.mains()) {
            let HookKind::Sleep(span) = hooked.kind else { continue };
            if let Some(stop) = hooked.life.stop().filter(|_| whole_seconds(span) >= going.grace()) {
                judge_kill(clause, &hooked.life, stop, LEAST_GRACE, seen);
            }
        }
    }
}

/// A hook that needs more than thirty seconds is stopped in a pod with the default grace period, and finishes in a pod
/// with a longer one.
pub(super) fn needs_longer_grace(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let default = whole_seconds(DEFAULT);
    runs(&going(run), |going, hooked, hook| {
        let life = &hooked.life;
        let most = going.grace() + LEAST_GRACE + clause.slack_us();
        let took = hooked.completed().and_then(|(began, ended)| run.clocks.between(began, ended));
        match (took, life.stop()) {
            (Some(took), Some(stop)) if took.lo > default && going.grace() > default => {
                let ended = hooked.completed().map_or(hook.began.id, |(_, ended)| ended.id);
                seen.fine([hook.began.id, ended, stop.id]);
                seen.facet("hook", "done");
            }
            (Some(took), _) if took.lo > most => {
                let finding = format!("the hook of {} ran for {}", life.name(), seconds(took.lo));
                seen.violated(finding, [hook.began.id]);
            }
            (None, Some(_)) if hooked.may_be_done() => {}
            (None, Some(stop)) => {
                let kept = judge_least(going, life, (stop, "stop signal"), going.grace(), seen);
                if kept && is_unsaid(going) {
                    judge_cut(clause, life, hook, most, seen);
                }
            }
            (None, None) => {
                if let Some(until) = goes_on(life, &hook.began, most) {
                    let finding = format!("the hook of {} was not stopped", life.name());
                    seen.violated(finding, [hook.began.id, until.id]);
                }
            }
            _ => {}
        }
    });
}

/// A container whose hook did not finish in time terminates soon after that.
fn judge_cut(clause: &Clause, life: &Life<'_, '_>, hook: &HookRun, most: i64, seen: &mut Seen) {
    if let Some(End { latest: Some(gone), .. }) = End::of(life) {
        let words = format!("the default + two seconds + {}", seconds(clause.slack_us()));
        let quantity = format!("from the hook of {}, which was stopped, to its end", life.name());
        if life.within(seen, quantity, (&hook.began, &gone), Bound::at_most(most, words)) == Some(Fit::Met) {
            seen.facet("hook", "cut");
        }
    } else if let Some(until) = goes_on(life, &hook.began, most) {
        let finding = format!("{} is still running after its hook was stopped", life.name());
        seen.violated(finding, [hook.began.id, until.id]);
    }
}
