//! The cost of a restart: at least the startup time of the application.

use probity_model::measure::Bound;
use probity_model::timeline::{ContainerSeen, ProbeKind, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::readiness::readiness_lives;
use crate::reading::termination::exhausted;

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.restart-downtime", judge: restart_downtime }];

/// After the stop signal of a liveness restart, it takes at least the container's startup time until it is ready again.
fn restart_downtime(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for spent in exhausted(run, ProbeKind::Liveness) {
        let Some((stop, following)) = spent.stopped(clause).zip(spent.life.next()) else { continue };
        let Some(next) = lives.iter().find(|life| life.is(&following)) else { continue };
        let port = next.spec.handler.port();
        let Some(open) = port.and_then(|port| opened(next.attempt, port)) else { continue };
        let boot = open.at.at.lo - next.began.at.hi;
        if boot < clause.tolerance_us("start-up") {
            continue;
        }
        let up = |_: &Revision<'_>, seen: &ContainerSeen<'_>| seen.ready && seen.is_running();
        let Some(ready) = next.first_shown(&next.began, up) else { continue };
        let bound = Bound::at_least(boot, "the startup time of its target");
        spent.life.within(seen, "not ready because of a restart", (stop, ready), bound);
    }
}
