//! The shortest time between a stop signal and a kill if nobody deleted the pod: at the deadline of the pod.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR};
use probity_model::timeline::PodLife;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::heard_kill;
use crate::reading::mains::lives_of;
use crate::reading::statuses::EXCEEDED;
use crate::reading::termination::KILLED;

/// The shortest time between a stop signal and a kill, whatever the grace period is.
pub(super) fn bound() -> Bound {
    let formula = format!("{} - {} for two clocks", seconds(LEAST_GRACE), seconds(NEAR));
    Bound::at_least(LEAST_GRACE - NEAR, formula)
}

/// A container that is stopped because its pod exceeded its deadline is not killed too soon after its stop signal. Only a kill
/// that comes soon is evidence: otherwise more was left of the grace period.
pub(super) fn at_deadlines(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let exceeded = |pod: &&PodLife<'_>| {
        pod.deleted.is_none() && !pod.restarts_as_one() && pod.reason() == Some(EXCEEDED)
    };
    for pod in run.pods.iter().filter(|pod| !run.node_was_touched() && exceeded(pod)) {
        for container in pod.containers.iter().filter(|of| !of.has_memory_limit()) {
            let last = lives_of(run, pod, container).next_back().filter(|life| life.is_numbered());
            let Some(life) = last else { continue };
            let (Some(stop), Some(ended)) = (life.stop(), heard_kill(&life)) else { continue };
            let late = LEAST_GRACE + clause.tolerance_us("kill");
            if life.termination().is_some_and(|(_, code)| code != KILLED) {
                continue;
            }
            let soon = run.clocks.between(&stop.at, &ended).is_some_and(|span| span.lo <= late);
            if soon && life.before_deletion(&ended) {
                let quantity = format!(
                    "from the stop signal to the kill of {}, whose pod exceeded its deadline",
                    life.name()
                );
                life.within(seen, quantity, (stop, &ended), bound());
            }
        }
    }
}
