//! A kubelet that is restarted while a pod terminates: it starts the termination and the grace period again.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR};
use probity_model::timeline::{At, Life, Line};
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Going, going_anyway, is_hooked};
use crate::reading::ends::{alive_until, killed_at};
use crate::reading::kubelet_restarts::{Restart, restarts};

/// A container that ignores its stop signal, on a node whose kubelet restarted before the end of the grace period.
struct Spared<'t, 'h> {
    going: &'t Going<'t, 'h>,
    life: &'t Life<'t, 'h>,
    stop: &'t Line<'h>,
    began: &'t At,
    over: At,
}

/// The kill comes a full grace period after the restart.
pub(super) fn begins_again(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going_anyway(run);
    let graceful = all.iter().filter(|going| going.is_graceful() && going.grace() >= LEAST_GRACE);
    let lives: Vec<(&Going<'_, '_>, Life<'_, '_>)> =
        graceful.flat_map(|going| going.mains().into_iter().map(move |life| (going, life))).collect();
    if lives.is_empty() {
        return;
    }
    for Restart { node, began, over } in &restarts(run, seen) {
        for (going, life) in lives.iter().filter(|(going, _)| going.pod.node == *node) {
            let Some(stop) = life.stop().filter(|_| !is_hooked(life)) else { continue };
            let over = At::new(began.id, over.clone());
            let spared = Spared { going, life, stop, began, over };
            if spared.is_early() {
                spared.judge(clause, seen);
            }
        }
    }
}

impl Spared<'_, '_> {
    /// Whether the restart began after the stop signal, and ended before the first kubelet would have killed the
    /// container.
    fn is_early(&self) -> bool {
        let run = self.life.run;
        let grace = self.going.grace();
        let bound = Bound::at_most(grace, seconds(grace));
        let between = run.measure(String::new(), &self.life.node, self.stop, &self.over, bound);
        run.before(&self.stop.at, self.began) && between.is_some_and(|between| between.fit() == Fit::Met)
    }

    fn judge(&self, clause: &Clause, seen: &mut Seen) {
        let (run, life, grace) = (self.life.run, self.life, self.going.grace());
        let most = grace + clause.slack_us();
        let upper = Bound::at_most(most, format!("{} + {}", seconds(grace), seconds(clause.slack_us())));
        if let Some(ended) = killed_at(life) {
            if run.before(ended, self.began) {
                return;
            }
            let lower = Bound::at_least(
                grace - NEAR,
                format!("{} - {} for two clocks", seconds(grace), seconds(NEAR)),
            );
            let quantity = |from: &str| {
                format!("from the {from} of the kubelet's restart to the kill of {}", life.name())
            };
            life.within(seen, quantity("beginning"), (self.began, ended), lower);
            life.within(seen, quantity("end"), (&self.over, ended), upper);
            return;
        }
        if life.exiting().is_none()
            && let Some(until) = alive_until(life)
            && run.misses(&life.node, (&self.over, &until), upper)
        {
            let finding =
                format!("{} is still running, a grace period after the restart of its kubelet", life.name());
            seen.violated(finding, [self.stop.id, self.began.id, until.id]);
        }
    }
}
