//! Counts the events that were recorded for a pod, and decides whether something that happened was followed by an
//! event.
//!
//! An event that occurs again is the same object with a higher count. A kubelet sends a limited number of events of one
//! type about one pod: once that number was recorded, the absence of another event proves nothing.

use std::collections::BTreeMap;

use probity_model::clocks::{Clock, Order};
use probity_model::mechanisms::{CROWD, NEAR};
use probity_model::timeline::{Happened, KubeEvent, PodLife};
use probity_model::{Clause, EventId, Stamp, Timeline};

use crate::reading::event_queue::{is_behind, is_recorded_by};

/// The revisions of a pod's events, each with how often the event occurred since its previous revision.
pub(super) struct Tally<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    seen: Vec<(&'t KubeEvent<'h>, u64)>,
}

/// Whether something that happened was followed by an event about it.
pub(super) enum Told {
    /// An event came.
    Yes(EventId),
    /// No event came, and it would have been seen.
    No,
    /// An event may have been recorded but not observed, or the case ended too early.
    Unknown,
}

impl<'t, 'h> Tally<'t, 'h> {
    pub(super) fn of(run: &'t Timeline<'h>, pod: &'t PodLife<'h>) -> Self {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let grown = |event: &'t KubeEvent<'h>| {
            let known = counts.entry(event.text("/metadata/name").unwrap_or_default()).or_default();
            let times = event.count.saturating_sub(*known);
            *known = event.count.max(*known);
            (event, times)
        };
        let seen = pod.events.iter().map(grown).filter(|(_, times)| *times > 0).collect();
        Self { run, pod, seen }
    }

    /// The nth of the matching events.
    pub(super) fn nth(&self, nth: u64, wanted: impl Fn(&KubeEvent<'h>) -> bool) -> Option<&'t KubeEvent<'h>> {
        let mut count = 0;
        let mut of = self.seen.iter().filter(|(event, _)| wanted(event));
        of.find_map(|(event, times)| {
            count += times;
            (count >= nth).then_some(*event)
        })
    }

    /// Whether something that happened was followed in time by the nth of the matching events, which have this type. An event
    /// that arrives late may have been recorded in time. If none arrives, it may still be in the kubelet's queue, but only
    /// if other events of the kubelet were late.
    pub(super) fn told(
        &self,
        clause: &Clause,
        happened: &impl Happened,
        (kind, nth): (&str, u64),
        wanted: impl Fn(&KubeEvent<'h>) -> bool,
    ) -> Told {
        let found = self.nth(nth, wanted);
        let by = self.due(clause, happened.when(), found);
        let late = |event: &KubeEvent<'_>| by.as_ref().is_some_and(|by| self.run.before(by, &event.at));
        let (run, node) = (self.run, self.pod.node.as_str());
        match (found, &by) {
            (Some(event), _) if !late(event) => Told::Yes(event.id),
            (Some(event), Some(by)) if is_recorded_by(run, node, event, by) => Told::Unknown,
            (None, Some(_)) if is_behind(run, node, happened.when(), clause.slack_us()) => Told::Unknown,
            (_, Some(by)) if !self.is_crowded(kind, by) => Told::No,
            _ => Told::Unknown,
        }
    }

    /// The time by which an event about something must have come. None if the case ended earlier.
    fn due(&self, clause: &Clause, happened: &Stamp, found: Option<&KubeEvent<'_>>) -> Option<Stamp> {
        let at_best = self.after_the_queue(happened, found).later(clause.slack_us());
        let mut by = at_best.clone();
        while self.run.before(&by, &self.run.end()) {
            let later = at_best.later(self.noise(happened, &by));
            if !self.run.before(&by, &later) {
                return Some(by);
            }
            // While the event was late, there may have been more noise.
            let step = by.later(NEAR);
            by = if self.run.before(&step, &later) { later } else { step };
        }
        None
    }

    /// The earliest time at which an event can be expected. The kubelet sends its events in order, so an event waits for
    /// those that were recorded earlier, or in the same second.
    fn after_the_queue(&self, happened: &Stamp, found: Option<&KubeEvent<'_>>) -> Stamp {
        let earlier = |event: &&KubeEvent<'_>| {
            let second = event.second("lastTimestamp");
            let other = found.is_none_or(|found| found.id != event.id);
            other
                && second
                    .is_some_and(|at| !self.run.before(happened, &Stamp::wall_second(&self.pod.node, at)))
        };
        let of_node = self.run.pods.iter().filter(|pod| pod.node == self.pod.node);
        let queued = of_node.flat_map(|pod| &pod.events).filter(earlier).max_by_key(|event| event.at.at.lo);
        match queued.filter(|event| self.run.before(happened, &event.at)) {
            Some(event) => event.at.clone(),
            None => happened.clone(),
        }
    }

    /// What delayed an event on its way to the harness: noise on the node, and on the path from the API server.
    fn noise(&self, happened: &Stamp, by: &Stamp) -> i64 {
        let node = &self.pod.node;
        let heard = self.run.clocks.on_harness(by).map(|at| Stamp { clock: Clock::Harness, at });
        let on_the_way = heard.map_or(0, |by| self.run.noise_between(node, happened, &by));
        on_the_way.max(self.run.noise_between(node, happened, by))
    }

    /// Whether, at an instant, so many events of a type had been recorded that another one may have been dropped or
    /// combined with others.
    pub(super) fn is_crowded(&self, kind: &str, by: &Stamp) -> bool {
        let heard = |event: &KubeEvent<'_>| self.run.clocks.order(by, &event.at) != Order::Before;
        let of = self.seen.iter().filter(|(event, _)| event.kind == kind && heard(event));
        let (mut times, mut combined) = (0, false);
        for (event, more) in of {
            times += more;
            combined |= event.is_combined();
        }
        combined || times >= CROWD
    }

    /// The events in order, each with how often it occurred.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'t KubeEvent<'h>, u64)> {
        self.seen.iter().copied()
    }
}
