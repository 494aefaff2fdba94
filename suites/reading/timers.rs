//! Times that a timer of the kubelet or of the runtime decides, such as the rest of a grace period.
//!
//! A timer runs even while its node is busy. Noise can delay the start of a timer and the effect of its end, but noise in
//! between delays nothing.

use probity_model::measure::{Bound, Fit, Measurement};
use probity_model::mechanisms::{SATURATION_DELAYS, START_OF_A_COMMAND, TO_END_A_COMMAND};
use probity_model::timeline::{Happened, Life};
use probity_model::{Seen, Stamp};

/// A timer: when it was set, according to the records of the affected process, and when it is due.
pub(crate) struct Timer {
    set: Stamp,
    due: Stamp,
    /// How late the timer may already have been set.
    late: i64,
}

impl Timer {
    /// The timer that was set at an instant and runs for this long.
    pub(crate) fn new(set: &Stamp, span: i64) -> Self {
        Self { set: set.clone(), due: set.later(span), late: 0 }
    }

    /// A timer that was set after a hook and is due at another instant. A delay of the stop signal also delayed the
    /// timer.
    pub(crate) fn after_hook(life: &Life<'_, '_>, (ended, set): (&Stamp, &Stamp), due: Stamp) -> Self {
        Self { set: set.clone(), due, late: life.noise(ended, set) }
    }

    /// How late an effect of the end of the timer may be.
    fn noise(&self, life: &Life<'_, '_>, to: &Stamp) -> i64 {
        let (run, node) = (life.run, &life.node);
        let just_set = (&self.set, &self.set.later(START_OF_A_COMMAND));
        self.late
            + run.late_between(node, just_set, SATURATION_DELAYS)
            + run.late_between(node, (&self.due, to), TO_END_A_COMMAND)
    }

    /// Measures the time until an event that the end of the timer causes.
    pub(crate) fn measure(
        &self,
        life: &Life<'_, '_>,
        quantity: impl Into<String>,
        (from, to): (impl Happened, impl Happened),
        bound: Bound,
    ) -> Option<Measurement> {
        let noise = self.noise(life, to.when());
        let measured = life.run.measure(quantity, &life.node, from, to, bound)?;
        Some(Measurement { noise: measured.noise.min(noise), ..measured })
    }

    /// Measures this time and judges it.
    pub(crate) fn within(
        &self,
        life: &Life<'_, '_>,
        seen: &mut Seen,
        quantity: impl Into<String>,
        (from, to): (impl Happened, impl Happened),
        bound: Bound,
    ) -> Option<Fit> {
        let measured = self.measure(life, quantity, (from, to), bound)?;
        let fit = measured.fit();
        seen.measure(measured);
        Some(fit)
    }
}
