//! What happens to the endpoints of a pod that is no longer ready.

use probity_model::measure::{Fit, seconds};
use probity_model::mechanisms::TWO_WATCHES;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::services::{Entry, Service};

/// A pod that was ready and no longer is, because a readiness probe failed.
pub(crate) struct Fall<'t, 'h> {
    /// The pod.
    pub(crate) pod: &'t PodLife<'h>,
    /// The revision that showed it.
    pub(crate) shown: &'t Revision<'h>,
    /// How long after this revision the pod cannot have been ready again.
    pub(crate) lasted: i64,
}

impl Fall<'_, '_> {
    /// The total length of the stalls in the time in which the pod was not ready.
    pub(crate) fn noise(&self, run: &Timeline<'_>) -> i64 {
        let lasted = self.lasted.min(run.ended_us.saturating_sub(self.shown.at.at.hi));
        run.noise_between(&self.pod.node, &self.shown.at, &self.shown.at.later(lasted))
    }
}

/// The first endpoint entry after a fall that shows the pod as not ready, if it came in time. If it did not, this is
/// reported as a violation.
pub(crate) fn no_longer_ready<'t, 'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    fall: &Fall<'_, '_>,
    service: &Service<'t, 'h>,
) -> Option<Entry<'t, 'h>> {
    let entries = service.entries(fall.pod);
    // Pods and slices have separate watches: a later change may arrive first.
    let around = |entry: &Entry<'_, '_>| entry.at.at.lo >= fall.shown.at.at.lo - TWO_WATCHES;
    let ready_before = entries.iter().rposition(|entry| !around(entry));
    let was_ready = ready_before.is_some_and(|at| entries[at].ready());
    if !was_ready {
        return None;
    }
    let slack = clause.slack_us();
    let last = entries.last().map(|entry| entry.id);
    let Some(entry) = entries.into_iter().find(|entry| around(entry) && !entry.ready()) else {
        if fall.lasted - fall.noise(run) > slack {
            let finding = format!(
                "the endpoint in `{}` was still ready {} after the pod became not ready",
                service.name,
                seconds(fall.lasted)
            );
            seen.violated(finding, [Some(fall.shown.id), last, run.last_event()].into_iter().flatten());
        }
        return None;
    };
    let quantity = format!("from Ready=False to ready=false in `{}`", service.name);
    let measured = run.measure(quantity, &fall.pod.node, fall.shown, &entry, clause.in_time())?;
    let met = measured.fit() == Fit::Met;
    if met {
        seen.note(measured);
    } else if fall.lasted > slack {
        seen.measure(measured);
    }
    met.then_some(entry)
}
