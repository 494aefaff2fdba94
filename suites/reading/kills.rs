//! The kill of a container that ignores its stop signal: when it happens, and that it happens at all.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR};
use probity_model::timeline::{Life, Line};
use probity_model::{EventId, Seen};

use super::ends::{alive_until, killed_at};
use super::hooks::judge_hook_before_stop;
use super::stop_signals::accuse_signal;
use super::timers::Timer;

/// Judges that an instance was stopped like any other, whatever the reason: its preStop hook ran before the stop signal, which
/// was the right one. Without a hook, the instance had the grace period of its pod, plus this much time for the kill itself.
pub(crate) fn judge_graceful_stop(
    slack: i64,
    life: &Life<'_, '_>,
    since: EventId,
    stop: &Line<'_>,
    seen: &mut Seen,
) {
    accuse_signal(life, since, stop, seen);
    let hooked = life.container.lifecycle("preStop").is_some();
    if !judge_hook_before_stop(life, since, stop, seen) && !hooked {
        judge_kill_within(slack, life, stop, life.pod.grace(), seen);
    }
}

/// Judges when a process that ignores its stop signal is killed, with this much time for the kill itself.
/// Returns whether it was killed.
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
        let quantity = format!("from the stop signal to the kill of {}", life.name());
        return timer.within(life, seen, quantity, (stop, ended), bound) == Some(Fit::Met);
    }
    accuse_survivor(&timer, life, stop, (most, upper), seen);
    false
}

/// Reports a process that is still running although its time after the stop signal has passed.
pub(crate) fn accuse_survivor(
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
