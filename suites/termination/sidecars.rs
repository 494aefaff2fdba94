//! The order in which sidecars stop: after the main containers, in reverse order of their definition, and all together
//! at the end of the grace period. Their hooks do not wait.
//!
//! All of this is judged from the records of the pod's own processes, which share one clock.

use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, WHOLE_SECOND};
use probity_model::timeline::{At, Life, Line};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Going, going, is_hooked};
use super::grace::{judge_kill, judge_status};
use super::hook_time::judge_least;
use super::hooks::{Hooked, hooked, judge_unseen};
use crate::reading::ends::{End, alive_until, killed_at, may_be_unrecorded};
use crate::reading::hooks::HookKind;
use crate::reading::kills::accuse_survivor;
use crate::reading::timers::Timer;

/// The terminating pods with a grace period and with sidecars, if the records of the sidecars and of everything that
/// they wait for are complete.
fn pods<'t, 'h>(going: &'t [Going<'t, 'h>]) -> impl Iterator<Item = Group<'t, 'h>> {
    // If a container may be missing, the order of the others proves nothing.
    let graceful = going.iter().filter(|going| going.is_graceful() && !going.may_lack_one());
    graceful
        .map(|going| Group { going, mains: going.mains(), sidecars: going.sidecars() })
        .filter(|group| !group.sidecars.is_empty() && (!group.mains.is_empty() || group.going.runs_no_main()))
}

struct Group<'t, 'h> {
    going: &'t Going<'t, 'h>,
    mains: Vec<Life<'t, 'h>>,
    sidecars: Vec<Life<'t, 'h>>,
}

impl Group<'_, '_> {
    /// Whether the grace period may have ended at this time. After its end, no container waits for another.
    fn may_be_over(&self, at: &Line<'_>) -> bool {
        let since = self.going.run.clocks.between(&self.going.first.at, &at.at);
        since.is_none_or(|since| since.hi > self.going.grace() - NEAR)
    }

    /// Whether the end of the grace period may have caused a stop signal. It did not if everything that the container
    /// waited for had ended so long before that the container's turn came earlier.
    fn may_be_of_expiry(&self, clause: &Clause, stop: &Line<'_>, turn: Option<&At>) -> bool {
        let since = turn.and_then(|turn| self.going.run.clocks.between(&self.going.first.at, turn));
        let due = since.is_some_and(|since| since.hi + clause.slack_us() < self.going.grace());
        !due && self.may_be_over(stop)
    }

    /// The stop signal of a container that waits for nothing: a main container or, if none runs, the last sidecar. It
    /// came when the kubelet began to stop the pod.
    fn first_stop(&self) -> Option<&Line<'_>> {
        let last = self.sidecars.last().filter(|_| self.mains.is_empty());
        let first = self.mains.iter().chain(last).filter(|life| !is_hooked(life));
        first.filter_map(|life| life.attempt.stop()).min_by_key(|stop| stop.at.at.lo)
    }

    /// The time at which the last main container terminated. `None` if a main container is still running.
    fn last_end(&self) -> Option<At> {
        self.turn_of(self.sidecars.len())
    }

    /// The time at which everything that the sidecar before this place waits for had terminated: the main containers, and the
    /// sidecars from this place on. `None` if that is not known.
    fn turn_of(&self, place: usize) -> Option<At> {
        let behind = self.sidecars.get(place..).unwrap_or_default();
        let mut ends = self.mains.iter().chain(behind).map(waited_for);
        let first = ends.next()??;
        ends.try_fold(first, |last, end| Some(later(self.going.run, last, end?)))
    }

    /// Like [`Self::turn_of`], but the request itself if the sidecar waits for nothing.
    fn turn_or_request(&self, place: usize) -> Option<At> {
        let none = self.mains.is_empty() && place >= self.sidecars.len();
        if none { Some(self.going.first.at.clone()) } else { self.turn_of(place) }
    }
}

/// The time from which nothing waits for a container. `None` if the container exited by itself, because its hook may
/// have continued.
fn waited_for(life: &Life<'_, '_>) -> Option<At> {
    let hook_goes_on = is_hooked(life) && life.exited_by_itself().is_some();
    let end = End::of(life).filter(|_| !hook_goes_on)?;
    Some(end.over_at(life).clone())
}

/// The later of two instants, which may be on different clocks.
fn later(run: &Timeline<'_>, one: At, other: At) -> At {
    if run.before(&one, &other) { other } else { one }
}

/// Sidecars receive their stop signal only after the last main container has terminated, and soon after that.
pub(super) fn after_mains(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for group in pods(&going(run)) {
        judge_after_mains(run, clause, &group, seen);
    }
}

/// Sidecars wait in the same way for a main container that takes a long time to terminate.
pub(super) fn after_slow_mains(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slow = clause.tolerance_us("slow");
    for group in pods(&going(run)) {
        let took = group.mains.iter().filter_map(alive_until);
        let took =
            took.filter_map(|end| run.clocks.between(&group.going.first.at, &end)).map(|took| took.lo).max();
        if took.is_some_and(|took| took > slow) && group.going.grace() > slow {
            judge_after_mains(run, clause, &group, seen);
        }
    }
}

fn judge_after_mains(run: &Timeline<'_>, clause: &Clause, group: &Group<'_, '_>, seen: &mut Seen) {
    let last = group.sidecars.len().saturating_sub(1);
    for (place, sidecar) in group.sidecars.iter().enumerate() {
        let Some(stop) = sidecar.stop() else {
            if let (Some(end), true) = (group.last_end(), place == last) {
                judge_unstopped(clause, sidecar, &end, seen);
            }
            continue;
        };
        let end = group.last_end();
        if group.may_be_of_expiry(clause, stop, end.as_ref()) {
            continue;
        }
        let early = group.mains.iter().filter_map(|main| Some((main, alive_until(main)?)));
        let mut early = early.filter(|(_, end)| run.before(&stop.at, end));
        if let Some((main, end)) = early.next() {
            let finding =
                format!("{} received a stop signal before {} had terminated", sidecar.name(), main.name());
            seen.violated(finding, [stop.id, end.id]);
        } else if let Some(end) = end {
            seen.fine([end.id, stop.id]);
            if place == last && !is_hooked(sidecar) {
                let quantity =
                    format!("from the exit of the main containers to the stop signal of {}", sidecar.name());
                sidecar.within(seen, quantity, (&end, stop), clause.in_time());
            }
        }
    }
}

/// Reports a sidecar that keeps running although all containers that stop before it have terminated.
fn judge_unstopped(clause: &Clause, sidecar: &Life<'_, '_>, end: &At, seen: &mut Seen) {
    let Some(until) = alive_until(sidecar).filter(|_| !is_hooked(sidecar)) else { return };
    if sidecar.run.misses(&sidecar.node, (end, &until), clause.in_time()) {
        let finding = format!("{} was next to stop, but received no stop signal", sidecar.name());
        seen.violated(finding, [end.id, until.id]);
    }
}

/// Sidecars stop one after the other, the last in the definition first.
pub(super) fn in_reverse(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for group in pods(&going(run)) {
        for (place, pair) in group.sidecars.windows(2).enumerate() {
            let [first, second] = pair else { continue };
            let last = place + 2 == group.sidecars.len();
            let Some(end) = alive_until(second) else { continue };
            let turn = group.turn_of(place + 1);
            let Some(stop) = first.stop() else {
                if let Some(turn) = &turn {
                    judge_unstopped(clause, first, turn, seen);
                }
                continue;
            };
            if group.may_be_of_expiry(clause, stop, turn.as_ref()) {
                continue;
            }
            if run.before(&stop.at, &end) {
                let finding = format!(
                    "{} received a stop signal before {} had terminated",
                    first.name(),
                    second.name()
                );
                seen.violated(finding, [stop.id, end.id]);
                continue;
            }
            // The hook of the sidecar `first` may have taken longer than the sidecar had to wait.
            let Some(turn) = turn.filter(|_| !is_hooked(first)) else { continue };
            let quantity =
                format!("from the exit of {} to the stop signal of {}", second.name(), first.name());
            let soon = first.within(seen, quantity, (&turn, stop), clause.in_time());
            if soon == Some(Fit::Met) && second.stop().is_some() {
                seen.facet("pair", if last { "last" } else { "before" });
            }
        }
    }
}

/// At the end of the grace period, all sidecars get their stop signal at the same time, and have the minimum time to
/// terminate after it.
pub(super) fn all_at_expiry(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for group in pods(&going(run)) {
        let grace = group.going.grace();
        let stubborn = |main: &&Life<'_, '_>| killed_at(main).is_some() && !is_hooked(main);
        let Some(begun) = group.mains.iter().find(stubborn).and_then(|main| main.attempt.stop()) else {
            continue;
        };
        let timer = Timer::new(&begun.at, grace);
        for sidecar in group.sidecars.iter().filter(|sidecar| !is_hooked(sidecar)) {
            let slack = clause.slack_us();
            let bound = Bound::at_most(grace + slack, format!("the grace period + {}", seconds(slack)));
            let Some(stop) = sidecar.stop() else {
                let killed = killed_at(sidecar).filter(|killed| !may_be_unrecorded(sidecar, killed));
                let ended = alive_until(sidecar).or_else(|| killed.cloned());
                if let Some(until) = ended {
                    let finding =
                        format!("the grace period was over, but {} received no stop signal", sidecar.name());
                    let waited = timer.measure(sidecar, String::new(), (begun, &until), bound);
                    if waited.is_some_and(|waited| waited.fit() == Fit::Missed) || killed.is_some() {
                        seen.violated(finding, [begun.id, until.id]);
                    }
                }
                continue;
            };
            let quantity =
                format!("from the first stop signal of the pod to the stop signal of {}", sidecar.name());
            let soon = timer.within(sidecar, seen, quantity, (begun, stop), bound) == Some(Fit::Met);
            if judge_least(group.going, sidecar, (stop, "stop signal"), grace, seen) && soon {
                seen.facet("part", "signal");
            }
            if judge_kill(clause, sidecar, stop, LEAST_GRACE, seen) {
                seen.facet("part", "kill");
            }
        }
    }
}

/// Sidecars whose hooks take longer than the grace period also have the minimum time after the end of the grace period.
pub(super) fn all_after_long_hooks(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for group in pods(&going(run)) {
        let (most, slack) = (group.going.grace() + LEAST_GRACE, clause.slack_us());
        for hooked in hooked(group.sidecars) {
            let (Some(hook), None, false) = (&hooked.run, hooked.completed(), hooked.may_be_done()) else {
                continue;
            };
            let life = &hooked.life;
            let upper =
                Bound::at_most(most + slack, format!("the grace period + two seconds + {}", seconds(slack)));
            if let Some(killed) = killed_at(life) {
                let quantity = format!("from the hook of {} to its kill", life.name());
                let soon = life.within(seen, quantity, (&hook.began, killed), upper) == Some(Fit::Met);
                if judge_least(group.going, life, (killed, "kill"), most, seen)
                    && soon
                    && let Some(stop) = life.stop()
                {
                    judge_status(life, stop, seen);
                }
            } else if let Some(until) = alive_until(life).filter(|_| life.exiting().is_none())
                && run.misses(&life.node, (&hook.began, &until), upper)
            {
                let finding =
                    format!("{} and its hook are still running after the grace period", life.name());
                seen.violated(finding, [hook.began.id, until.id]);
            }
        }
    }
}

/// When its turn comes, a sidecar without a hook has the rest of the grace period, and is killed at the end of this
/// rest.
pub(super) fn sidecars_have_the_rest(all: &[Going<'_, '_>], clause: &Clause, seen: &mut Seen) {
    for group in pods(all).filter(|group| group.going.grace() >= LEAST_GRACE) {
        let Some(first) = group.first_stop() else { continue };
        let unhooked = |life: &&Life<'_, '_>| !is_hooked(life) && !life.container.has_memory_limit();
        for sidecar in group.sidecars.iter().filter(unhooked) {
            let waited = |stop: &Line<'_>| group.going.run.clocks.between(&first.at, &stop.at);
            let Some((stop, waited)) = sidecar.stop().and_then(|stop| Some((stop, waited(stop)?))) else {
                continue;
            };
            judge_rest(clause, &group, (sidecar, stop), group.going.grace() - waited.lo.max(0), seen);
        }
    }
}

/// The kubelet subtracts only the whole seconds for which the sidecar waited.
fn judge_rest(
    clause: &Clause,
    group: &Group<'_, '_>,
    (sidecar, stop): (&Life<'_, '_>, &Line<'_>),
    rest: i64,
    seen: &mut Seen,
) {
    let (rest, slack) = (rest.max(LEAST_GRACE), WHOLE_SECOND + clause.tolerance_us("kill"));
    let words = format!("the {} that were left + {}", seconds(rest), seconds(slack));
    let (timer, upper) = (Timer::new(&stop.at, rest), Bound::at_most(rest + slack, words));
    let Some(killed) = killed_at(sidecar) else {
        return accuse_survivor(&timer, sidecar, stop, (rest, upper), seen);
    };
    let quantity = format!("from the stop signal of {} to its kill", sidecar.name());
    let soon = timer.within(sidecar, seen, quantity, (stop, killed), upper) == Some(Fit::Met);
    if judge_least(group.going, sidecar, (killed, "kill"), group.going.grace(), seen) && soon {
        seen.facet("seen", "sidecar");
    }
}

/// A sidecar with a hook gets its stop signal soon after its hook is done and its turn has come, and not before.
pub(super) fn after_own_hooks(all: &[Going<'_, '_>], clause: &Clause, seen: &mut Seen) {
    for group in pods(all) {
        for (place, sidecar) in group.sidecars.iter().enumerate() {
            for hooked in hooked(vec![*sidecar]) {
                judge_after_hook(clause, &group, (place, &hooked), seen);
            }
        }
    }
}

fn judge_after_hook(
    clause: &Clause,
    group: &Group<'_, '_>,
    (place, hooked): (usize, &Hooked<'_, '_>),
    seen: &mut Seen,
) {
    let (life, asked) = (&hooked.life, &group.going.first.at);
    // A sleep leaves no record. It is only known that it began some time after the request.
    let (ended, noted, late) = match (hooked.kind, hooked.completed()) {
        (HookKind::Sleep(span), _) => {
            let ended = asked.later(whole_seconds(span).min(group.going.grace()));
            (Some(At::new(asked.id, ended)), NEAR, clause.slack_us())
        }
        (_, done) => {
            let ended = done.map(|(_, ended)| ended.clone());
            (ended, clause.tolerance_us("written-late"), clause.tolerance_us("signal-follows"))
        }
    };
    if hooked.run.is_none() && !matches!(hooked.kind, HookKind::Sleep(_)) {
        return judge_unseen(group.going, hooked, seen);
    }
    let early = |stop: &&Line<'_>| {
        let before = |ended: &At| group.going.run.before(&stop.at, &ended.earlier(noted));
        !group.may_be_over(stop) && ended.as_ref().is_none_or(before)
    };
    if let Some(stop) = life.stop().filter(early) {
        let finding = format!("{} received its stop signal before its hook finished", life.name());
        if ended.is_none() && hooked.may_be_done() {
            let why = format!("{finding}; the hook may have finished without a record");
            seen.doubt(Doubt::WitnessMissing, why, [asked.id, stop.id]);
        } else {
            seen.violated(finding, [asked.id, stop.id]);
        }
    } else if let Some(ended) = ended
        && let Some(turn) = group.turn_or_request(place + 1)
    {
        let from = later(group.going.run, ended, turn);
        judge_follows(clause, group, (life, &from), late, seen);
    }
}

/// The stop signal of a sidecar follows soon after its hook is done and its turn has come.
fn judge_follows(
    clause: &Clause,
    group: &Group<'_, '_>,
    (life, from): (&Life<'_, '_>, &At),
    late: i64,
    seen: &mut Seen,
) {
    let bound = Bound::at_most(late, seconds(late));
    if let Some(stop) = life.stop() {
        let quantity = format!(
            "from the end of the hook of {} and of everything that it waits for to the stop signal",
            life.name()
        );
        if !group.may_be_of_expiry(clause, stop, Some(from))
            && life.within(seen, quantity, (from, stop), bound) == Some(Fit::Met)
        {
            seen.facet("of", "sidecar");
        }
    } else if let Some(until) = alive_until(life)
        && life.run.misses(&life.node, (from, &until), bound)
    {
        let finding = format!("{} received no stop signal after its hook", life.name());
        seen.violated(finding, [from.id, until.id]);
    }
}

/// The hooks of all sidecars run as soon as the pod is deleted.
pub(super) fn hooks_at_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for group in pods(&going(run)) {
        let asked = &group.going.first.at;
        let main = group.mains.iter().filter_map(alive_until).max_by_key(|end| end.at.lo);
        let seeable: Vec<_> =
            hooked(group.sidecars).into_iter().filter(|of| !matches!(of.kind, HookKind::Sleep(_))).collect();
        let Some(main) = main.filter(|_| seeable.len() > 1) else { continue };
        for hooked in &seeable {
            let life = &hooked.life;
            match &hooked.run {
                Some(hook) => {
                    let quantity = format!("from the request to the hook of {}", life.name());
                    let bound = hooked.kind.begins_in_time(clause, life, asked, &hook.began);
                    life.within(seen, quantity, (asked, &hook.began), bound);
                }
                None => {
                    let bound = hooked.kind.begins_in_time(clause, life, asked, &main);
                    if run.misses(&life.node, (asked, &main), bound) {
                        let finding = format!(
                            "the hook of {} did not run while a main container was running",
                            life.name()
                        );
                        seen.violated(finding, [asked.id, main.id]);
                    }
                }
            }
        }
    }
}
