//! Whether the kubelet recorded a `ProbeWarning`, and whether such an event may have been dropped or delayed.

use std::collections::BTreeMap;
use std::ops::Range;

use probity_model::mechanisms::CROWD;
use probity_model::timeline::KubeEvent;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Stamp};

use super::Reaction;
use crate::reading::event_queue::{is_behind, is_recorded_by};
use crate::reading::http::exchange::Exchange;

impl<'t, 'h> Reaction<'_, 't, 'h> {
    /// Judges whether the kubelet recorded a `ProbeWarning` for a run of probes.
    pub(crate) fn expect_warning(&self, range: &Range<usize>, seen: &mut Seen) {
        let Some(first) = self.first(range) else { return };
        let Some(from) = self.run.clocks.on_harness(&first.at) else { return };
        // After something was done to the node, nothing follows from a missing event.
        if self.until(range).is_none_or(|until| self.run.before(&until, &first.at)) {
            return;
        }
        if let Some(id) = self.warning(range) {
            return seen.fine([first.id, id]);
        }
        let end = self.run.end();
        let waited = self.run.ended_us - from.hi - self.course.noise(&first.at, &end);
        let events = self.course.events(range);
        let of = format!("{} of {}", self.course.spec.kind.word(), self.course.container.name);
        if self.hidden(&first.at, &end) {
            seen.doubt(Doubt::Gap, format!("a warning about the {of} may have been missed"), events);
        } else if waited < self.lag {
            seen.doubt(Doubt::TooShort, format!("the case ended before a warning about the {of}"), events);
        } else if self.course.stop().is_some_and(|stop| stop.at.at.lo <= first.at.at.hi) {
            let why = format!("the container was being stopped, and the kubelet may drop its {of} then");
            seen.doubt(Doubt::Ambiguous, why, events);
        } else if self.is_crowded(first) {
            let why = format!("there were so many events that one about the {of} may have been dropped");
            seen.doubt(Doubt::Ambiguous, why, events);
        } else if self.is_queued(range, first) {
            let why = format!("the kubelet may have recorded a warning about the {of} and sent it late");
            seen.doubt(Doubt::Ambiguous, why, events);
        } else {
            seen.violated(format!("no ProbeWarning was recorded about the {of}"), events);
        }
    }

    /// The first warning about the probe that a run of probes can have caused.
    pub(crate) fn warning(&self, range: &Range<usize>) -> Option<EventId> {
        let from = self.run.clocks.on_harness(&self.first(range)?.at)?.lo;
        let to = self.run.clocks.on_harness(&self.until(range)?)?.hi.saturating_add(self.lag);
        let in_time = |event: &&KubeEvent<'_>| (from..=to).contains(&event.at.at.hi);
        self.warnings().find(in_time).map(|event| event.id)
    }

    /// The warnings about the probe of this kind.
    fn warnings(&self) -> impl Iterator<Item = &'t KubeEvent<'h>> {
        let text = format!("{} probe warning: ", self.course.word());
        let name = &self.course.container.name;
        self.course.pod.events.iter().filter(move |event| {
            event.is_of(name, "ProbeWarning") && event.kind == "Warning" && event.message.contains(&text)
        })
    }

    /// Whether a warning about a run of probes may have waited in the kubelet's queue of events: it arrived too late, but was
    /// recorded in time, or it did not arrive, and other events of this kubelet were late.
    fn is_queued(&self, range: &Range<usize>, first: &Exchange<'_, '_>) -> bool {
        let (run, node) = (self.run, self.course.pod.node.as_str());
        let Some(by) = self.until(range).map(|until| until.later(self.lag)) else { return true };
        let late: Vec<_> = self.warnings().filter(|event| run.before(&by, &event.at)).collect();
        if late.is_empty() {
            return is_behind(run, node, &first.at, self.lag);
        }
        late.into_iter().any(|event| is_recorded_by(run, node, event, &by))
    }

    /// Whether the kubelet may have dropped the event about a probe because there were too many events about its pod. Events of
    /// every kind count if the harness received them before the event was due: after the slack, plus the noise.
    pub(crate) fn is_crowded(&self, probe: &Exchange<'_, '_>) -> bool {
        let known = probe.done.as_ref().unwrap_or(&probe.at);
        let Some(from) = self.run.clocks.on_harness(known) else { return true };
        let seen = Stamp::harness(from.hi.saturating_add(self.lag));
        let noise = self.run.noise_between(&self.course.pod.node, known, &seen);
        let by = seen.later(noise.max(self.course.noise(known, &known.later(self.lag))));
        let mut most: BTreeMap<_, u64> = BTreeMap::new();
        for event in self.course.pod.events.iter().filter(|event| !self.run.before(&by, &event.at)) {
            // A kubelet that was restarted begins another event with the same message.
            let key = (event.text("/metadata/name"), event.reason, event.message, event.container);
            let count = most.entry(key).or_default();
            *count = event.count.max(*count);
        }
        most.values().sum::<u64>() >= CROWD
    }
}
