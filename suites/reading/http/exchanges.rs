//! The HTTP probes of one kind in one life of a container: the unit over which the judges of answers iterate.

use std::ops::{Deref, Range};

use probity_model::EventId;
use probity_model::mechanisms::{BETWEEN_PROBES, BETWEEN_TRIES, OFF_BEAT};
use probity_model::timeline::{Handler, ProbeKind, ProbedLife};

use crate::reading::http::exchange::Exchange;

/// The HTTP probes of one kind in one life of a container, in the order of their arrival.
pub(crate) struct Exchanges<'t, 'h> {
    /// The life, with the probe.
    pub(crate) life: ProbedLife<'t, 'h>,
    /// What was asked and answered.
    pub(crate) exchanges: Vec<Exchange<'t, 'h>>,
}

/// The scheme of an HTTP probe as facets name it: `http` or `https`.
pub(crate) fn scheme(handler: &Handler) -> Option<String> {
    match handler {
        Handler::Http { scheme, .. } => Some(scheme.to_ascii_lowercase()),
        _ => None,
    }
}

impl<'t, 'h> Deref for Exchanges<'t, 'h> {
    type Target = ProbedLife<'t, 'h>;

    fn deref(&self) -> &ProbedLife<'t, 'h> {
        &self.life
    }
}

impl<'t, 'h> Exchanges<'t, 'h> {
    /// Runs of probes that are alike, as ranges of places in [`Exchanges::exchanges`]. Each run is as long as possible.
    pub(crate) fn runs<K: PartialEq>(
        &self,
        like: impl Fn(&Exchange<'t, 'h>) -> Option<K>,
    ) -> Vec<(K, Range<usize>)> {
        let mut runs: Vec<(K, Range<usize>)> = Vec::new();
        for (at, exchange) in self.exchanges.iter().enumerate() {
            let Some(key) = like(exchange) else { continue };
            match runs.last_mut() {
                Some((last, range)) if *last == key && range.end == at => range.end = at + 1,
                _ => runs.push((key, at..at + 1)),
            }
        }
        runs
    }

    /// The time from the end of a request to the next request.
    pub(crate) fn pause_after(&self, at: usize) -> Option<i64> {
        let (this, next) = (self.exchanges.get(at)?, self.exchanges.get(at + 1)?);
        Some(next.at.at.lo - this.done.as_ref()?.at.hi)
    }

    /// The longest pause between two attempts of one probe.
    pub(crate) fn closeness(&self) -> i64 {
        BETWEEN_PROBES.of(self.spec.period).min(BETWEEN_TRIES)
    }

    /// Whether the next request comes too early for the next probe. If it is not close to this one, it may still be another
    /// attempt: on a busy node, the kubelet may have waited for a CPU before it made the attempt.
    pub(crate) fn is_off_beat(&self, at: usize) -> bool {
        self.pause_after(at).is_some_and(|pause| pause < OFF_BEAT.of(self.spec.period))
    }

    /// The name of the probe's kind as events write it, such as `Readiness`.
    pub(crate) fn word(&self) -> &'static str {
        match self.spec.kind {
            ProbeKind::Startup => "Startup",
            ProbeKind::Liveness => "Liveness",
            ProbeKind::Readiness => "Readiness",
        }
    }

    /// The events of a run of probes.
    pub(crate) fn events(&self, range: &Range<usize>) -> Vec<EventId> {
        self.exchanges[range.clone()].iter().flat_map(|exchange| exchange.events.iter().copied()).collect()
    }

    /// The headers that the pod's spec sets for the probe.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        match &self.spec.handler {
            Handler::Http { headers, .. } => headers,
            _ => &[],
        }
    }
}
