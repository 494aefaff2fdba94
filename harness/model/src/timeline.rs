//! The timeline: a history joined and put in order, as judges read it.
//!
//! For each pod: its spec, its revisions, its events; for each container: its probes as the spec says them, and each
//! of its lives (*attempts*) with all that the target saw in it. Every item points back to its events. What follows the
//! case's end is clean-up and is left out.

mod at;
mod attempt;
mod build;
mod disturbance;
mod facets;
mod kube;
mod life;
mod pod;
mod probes;
mod result;
mod spec;

use probity_script::witness::Fact;

use crate::clocks::{Clock, Clocks, Stamp};
use crate::history::{Deed, EventId, Gap, History, Listener, Noise, Tried};
use crate::measure::{Bound, Interval, Measurement, SECOND, Unit};

/// Noise so long before an instant may have held up what was written down then.
const BEFORE: i64 = 2 * SECOND;
/// And so long after it: what waits for a thread that is held up comes in bursts.
const AFTER: i64 = SECOND;

pub use at::{At, Completion, Happened};
pub use attempt::{Asked, Attempt, Connection, Executed, Line, Probe, Through};
pub use facets::FacetIndex;
pub use kube::{EndpointSeen, KubeEvent, ServiceSeen, SliceSeen};
pub use life::{Life, Lives, ProbedLife};
pub use pod::{ContainerLife, ContainerSeen, PodLife, Revision, State};
pub use result::{ProbeAnswer, ProbeOutcome, ProbeResult};
pub use spec::{ContainerKind, Handler, Port, ProbeKind, ProbeSpec};

/// A history, joined.
pub struct Timeline<'h> {
    /// The history itself.
    pub history: &'h History,
    /// What is known of the clocks.
    pub clocks: Clocks,
    /// Where something may have been missed.
    pub gaps: Vec<(EventId, Gap)>,
    /// Who was held up when.
    pub noise: Vec<(EventId, Noise)>,
    /// The pods, in the order of their first appearance.
    pub pods: Vec<PodLife<'h>>,
    /// Services and what their endpoints looked like.
    pub services: Vec<ServiceSeen<'h>>,
    /// What the harness did.
    pub deeds: Vec<(EventId, &'h Deed)>,
    /// Manifests that were tried by a dry run.
    pub tried: Vec<(EventId, &'h Tried)>,
    /// When the last event before the end of the case was heard, on the harness's clock.
    pub ended_us: i64,
}

impl<'h> Timeline<'h> {
    /// Joins a history.
    #[must_use]
    pub fn of(history: &'h History) -> Self {
        build::timeline(history)
    }

    /// All containers with their pods.
    pub fn containers(&self) -> impl Iterator<Item = (&PodLife<'h>, &ContainerLife<'h>)> {
        self.pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (pod, container)))
    }

    /// All containers that have a probe of this kind, with that probe.
    pub fn probed(
        &self,
        kind: ProbeKind,
    ) -> impl Iterator<Item = (&PodLife<'h>, &ContainerLife<'h>, &ProbeSpec)> {
        self.containers().filter_map(move |(pod, container)| Some((pod, container, container.probe(kind)?)))
    }

    /// All containers with each of their probes.
    pub fn probes(&self) -> impl Iterator<Item = (&PodLife<'h>, &ContainerLife<'h>, &ProbeSpec)> {
        self.containers()
            .flat_map(|(pod, container)| container.probes.iter().map(move |probe| (pod, container, probe)))
    }

    /// The pod with this key in the case.
    #[must_use]
    pub fn pod(&self, key: &str) -> Option<&PodLife<'h>> {
        self.pods.iter().find(|pod| pod.key == key)
    }

    /// How much of the time between two stamps the node or the harness was held up. The harness counts only where one
    /// of the stamps is of its clock.
    #[must_use]
    pub fn noise_between(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        let of_harness = from.clock == Clock::Harness || to.clock == Clock::Harness;
        let mut spans: Vec<Interval> = self
            .noise
            .iter()
            .filter(|(_, noise)| match &noise.clock {
                Clock::Node(of) | Clock::Wall(of) => of == node,
                Clock::Harness => of_harness && noise.by == Listener::Harness,
            })
            .filter_map(|(_, noise)| {
                let at = Interval::new(noise.from_us, noise.to_us);
                let held = Stamp { clock: noise.clock.clone(), at };
                let (start, end) = (self.bring(from, &noise.clock)?, self.bring(to, &noise.clock)?);
                let window = Interval::new(start.lo, end.hi);
                held.at.meet(window)
            })
            .collect();
        spans.sort_unstable_by_key(|span| span.lo);
        let (mut total, mut reached) = (0, i64::MIN);
        for span in spans {
            total += (span.hi - span.lo.max(reached)).max(0);
            reached = reached.max(span.hi);
        }
        total
    }

    /// A stamp on another clock, if both offsets are known.
    fn bring(&self, stamp: &Stamp, clock: &Clock) -> Option<Interval> {
        if stamp.clock == *clock {
            return Some(stamp.at);
        }
        let zero = Stamp { clock: clock.clone(), at: Interval::point(0) };
        Some(self.clocks.on_harness(stamp)?.minus(self.clocks.on_harness(&zero)?))
    }

    /// Measures the time between two stamps on a node. None if the clocks cannot be compared at all.
    ///
    /// What is written down late makes the time after it seem short, so a lower bound gives way to the noise around its
    /// beginning.
    #[must_use]
    pub fn measure(
        &self,
        quantity: impl Into<String>,
        node: &str,
        from: impl Happened,
        to: impl Happened,
        bound: Bound,
    ) -> Option<Measurement> {
        let (from_id, to_id) = (from.id(), to.id());
        let (from, to) = (from.when(), to.when());
        Some(Measurement {
            quantity: quantity.into(),
            unit: Unit::Us,
            observed: self.clocks.between(from, to)?,
            bound: bound.eased(self.held_up_at(node, from)),
            noise: self.noise_between(node, from, to),
            events: vec![from_id, to_id],
        })
    }

    /// For how long a node was held up around an instant: what was written down then may be as old, or as late.
    #[must_use]
    pub fn held_up_at(&self, node: &str, at: &Stamp) -> i64 {
        self.noise_between(node, &at.earlier(BEFORE), &at.later(AFTER))
    }

    /// The stamp of an event on the harness's clock: when it was heard.
    #[must_use]
    pub fn heard(&self, id: EventId) -> Stamp {
        Stamp::harness(self.history.get(id).map_or(0, |event| event.us))
    }

    /// The changes of plans: the deed, the pod's key, the container, and the instant on the node's clock.
    pub fn changes(&self) -> impl Iterator<Item = (&PodLife<'h>, &ContainerLife<'h>, &Line<'h>)> {
        self.containers().flat_map(|(pod, container)| {
            container
                .attempts
                .iter()
                .flat_map(|attempt| &attempt.lines)
                .filter(|line| matches!(line.line.fact, Fact::Change(_)))
                .map(move |line| (pod, container, line))
        })
    }
}
