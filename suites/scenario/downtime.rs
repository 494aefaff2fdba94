//! What a restart costs: at least the time that the application takes to start.

use probity_model::measure::Bound;
use probity_model::timeline::{ContainerSeen, ProbeKind, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::evidence::{lives, running};
use crate::reading::kill::{Stop, all_spent, allowance, stop_after};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.restart-downtime", judge: restart_downtime }];

/// A start shorter than this is none to speak of.
const START: i64 = 1_000_000;

/// From the stop signal of a liveness restart until the container is ready again, at least its start-up time goes by.
fn restart_downtime(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = lives(run);
    for ((pod, container, attempt), _, spent) in all_spent(run, ProbeKind::Liveness) {
        let (allowed, _) = allowance(pod, container, clause);
        let Stop::Came(id, at) = stop_after(run, pod, attempt, &spent.at, allowed) else { continue };
        let next = lives.iter().find(|life| {
            life.pod.uid == pod.uid
                && life.container.name == container.name
                && life.attempt.number == attempt.number + 1
        });
        let Some(next) = next else { continue };
        let port = next.spec.handler.port().and_then(|port| opened(next.attempt, port));
        let Some(open) = port.filter(|open| open.at.at.lo - next.attempt.began.1.at.hi >= START) else {
            continue;
        };
        let up = |_: &Revision<'_>, seen: &ContainerSeen<'_>| seen.ready && running(seen);
        let Some(ready) = next.first_shown(run, &next.attempt.began.1, up) else { continue };
        let boot = open.at.at.lo - next.attempt.began.1.at.hi;
        let bound = Bound::at_least(boot, "the start-up time that its target took");
        let quantity = "out of service by a restart";
        let measured = run.measure(quantity, &attempt.node, (id, at), (ready.id, &ready.at), bound);
        if let Some(measured) = measured {
            seen.measure(measured);
        }
    }
}
