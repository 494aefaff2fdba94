//! What a restart costs: at least the start-up time of the application.

use probity_model::measure::Bound;
use probity_model::timeline::{ContainerSeen, ProbeKind, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::readiness::readiness_lives;
use crate::reading::termination::exhausted;

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.restart-downtime", judge: restart_downtime }];

/// Shorter starts are not judged.
const START: i64 = 1_000_000;

/// From the stop signal of a liveness restart until the container is ready again takes at least its start-up time.
fn restart_downtime(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = readiness_lives(run);
    for spent in exhausted(run, ProbeKind::Liveness) {
        let Some(stop) = spent.stopped(clause) else { continue };
        let following = spent.life.next();
        let next = lives.iter().find(|life| following.is_some_and(|next| life.is(&next)));
        let Some(next) = next else { continue };
        let Some(open) = next.spec.handler.port().and_then(|port| opened(next, port)) else { continue };
        let boot = open.at.at.lo - next.began.at.hi;
        let up = |_: &Revision<'_>, seen: &ContainerSeen<'_>| seen.ready && seen.is_running();
        let Some(ready) = next.first_shown(&next.began, up).filter(|_| boot >= START) else { continue };
        let bound = Bound::at_least(boot, "the start-up time that its target took");
        let quantity = "out of service by a restart";
        spent.life.within(seen, quantity, (stop, ready), bound);
    }
}
