//! What happens to the endpoints of a pod that is no longer ready, and to the traffic that still reaches it.

use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{PROXY, PROXY_GATHERS, TWO_WATCHES};
use probity_model::timeline::{Asked, PodLife, Revision};
use probity_model::verdict::Doubt;
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

    /// The first endpoint entry after the fall that shows the pod as not ready, unless it certainly came later than
    /// `most` after the fall.
    pub(crate) fn entry_within<'s, 'r>(
        &self,
        run: &Timeline<'_>,
        most: i64,
        service: &Service<'s, 'r>,
    ) -> Option<Entry<'s, 'r>> {
        let changed = service.entries(self.pod).into_iter().find(|entry| self.is_followed_by(entry))?;
        let bound = Bound::at_most(most, "the slack");
        (!run.misses(&self.pod.node, (self.shown, &changed), bound)).then_some(changed)
    }

    /// Whether an entry shows the pod as not ready after the fall.
    fn is_followed_by(&self, entry: &Entry<'_, '_>) -> bool {
        self.is_around(entry) && !entry.ready()
    }

    /// Whether an entry may be an effect of the fall. Pods and slices have separate watches: a later change may arrive
    /// first.
    fn is_around(&self, entry: &Entry<'_, '_>) -> bool {
        entry.at.at.lo >= self.shown.at.at.lo - TWO_WATCHES
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
    let ready_before = entries.iter().rposition(|entry| !fall.is_around(entry));
    let was_ready = ready_before.is_some_and(|at| entries[at].ready());
    if !was_ready {
        return None;
    }
    let slack = clause.slack_us();
    let last = entries.last().map(|entry| entry.id);
    let Some(entry) = entries.into_iter().find(|entry| fall.is_followed_by(entry)) else {
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

/// Adds the time until the last request that reached a pod through a Service, as [`Seen::measure`] does.
///
/// A late request is only a doubt if `changed` is set, the entry that showed the pod as not ready in time, and the
/// request came soon after it: the proxy of the node may have gathered its changes.
pub(crate) fn measure_last_request(
    run: &Timeline<'_>,
    seen: &mut Seen,
    measured: Measurement,
    (pod, changed, late): (&PodLife<'_>, Option<&Entry<'_, '_>>, &Asked<'_>),
) -> Fit {
    let fit = measured.fit();
    let most = Bound::at_most(PROXY_GATHERS + PROXY, "the time of the node's proxy");
    let gathered =
        changed.filter(|changed| fit == Fit::Missed && !run.misses(&pod.node, (*changed, late), most));
    let Some(changed) = gathered else {
        seen.measure(measured);
        return fit;
    };
    let why = format!(
        "{}: {}; the slice changed in time, but the proxy of the node may gather its changes",
        measured.quantity,
        measured.in_words()
    );
    seen.doubt(Doubt::Ambiguous, why, [measured.events.as_slice(), &[changed.id]].concat());
    Fit::Undecided
}
