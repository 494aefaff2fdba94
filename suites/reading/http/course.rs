//! The HTTP probes of one kind in one life of a container: the unit that the judges of answers walk over.

use std::ops::Range;

use probity_model::EventId;
use probity_model::timeline::{Attempt, ContainerLife, Handler, PodLife, ProbeKind, ProbeSpec};

use crate::reading::http::exchange::Exchange;

/// The HTTP probes of one kind in one life of a container, in the order of their arrival.
pub(crate) struct Course<'t, 'h> {
    pub(crate) pod: &'t PodLife<'h>,
    pub(crate) container: &'t ContainerLife<'h>,
    pub(crate) probe: &'t ProbeSpec,
    pub(crate) attempt: &'t Attempt<'h>,
    pub(crate) exchanges: Vec<Exchange<'t, 'h>>,
}

impl<'t, 'h> Course<'t, 'h> {
    /// Runs of probes that are alike: places in [`Course::exchanges`], each run as long as it can be.
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

    /// The probe's name as events write it: `Readiness`.
    pub(crate) fn word(&self) -> &'static str {
        match self.probe.kind {
            ProbeKind::Startup => "Startup",
            ProbeKind::Liveness => "Liveness",
            ProbeKind::Readiness => "Readiness",
        }
    }

    /// The events of a run of probes.
    pub(crate) fn events(&self, range: &Range<usize>) -> Vec<EventId> {
        self.exchanges[range.clone()].iter().flat_map(|exchange| exchange.events.iter().copied()).collect()
    }

    /// The headers that the pod gives the probe.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        match &self.probe.handler {
            Handler::Http { headers, .. } => headers,
            _ => &[],
        }
    }
}
