//! The timeline: a history that is joined and sorted for the judges.
//!
//! For each pod, it has the spec, the revisions and the events. For each container, it has the probes from the spec,
//! and each instance (*attempt*) with everything that the target recorded. Every item points back to its events. Events
//! after the end of the case belong to the cleanup and are left out.

mod at;
mod attempt;
mod build;
mod containers;
mod disturbance;
mod facets;
mod failed_starts;
mod kube;
mod life;
mod outages;
mod pod;
mod probes;
mod result;
mod spec;
mod static_pods;

use probity_script::witness::Fact;

use crate::clocks::{Clock, Clocks, Stamp};
use crate::history::{Deed, EventId, Gap, Happening, History, Listener, Noise, Tried};
use crate::measure::{Blur, Bound, Fit, Interval, Measurement, Unit};
use crate::mechanisms::{
    LATE_BEAT, MOST_OVERLOAD, NEAR, OF_LONG_OVERLOAD, ONLY_BUSY, SATURATION_DELAYS, STALL_LINGERS,
};

pub use at::{At, Completion, Happened};
pub use attempt::{Asked, Attempt, Connection, Executed, Line, Probe, Through};
pub use facets::FacetIndex;
pub use failed_starts::START_ERRORS;
pub use kube::{EndpointSeen, KubeEvent, ServiceSeen, SliceSeen};
pub use life::{Life, Lives, ProbedLife};
pub use pod::{ContainerLife, ContainerSeen, Mirror, PodLife, Revision, State};
pub use result::{ProbeAnswer, ProbeOutcome, ProbeResult};
pub use spec::{ContainerKind, Handler, Port, ProbeKind, ProbeSpec};

/// A history, joined.
pub struct Timeline<'h> {
    /// The history itself.
    pub history: &'h History,
    /// The known clock offsets.
    pub clocks: Clocks,
    /// Where something may have been missed.
    pub gaps: Vec<(EventId, Gap)>,
    /// What was stalled and when, except the kubelet.
    pub noise: Vec<(EventId, Noise)>,
    /// The times when probes of an idle pod arrived late on a node: the kubelet's own lateness.
    pub late_kubelet: Vec<(EventId, Noise)>,
    /// When the API server or the path to it could not be reached, on the harness's clock.
    pub outages: Vec<(EventId, Interval)>,
    /// The pods, in the order of their first appearance.
    pub pods: Vec<PodLife<'h>>,
    /// Events that name a pod of the case, but not the UID that was known for the pod at that time.
    pub strays: Vec<KubeEvent<'h>>,
    /// Services and their endpoints.
    pub services: Vec<ServiceSeen<'h>>,
    /// What the harness did.
    pub deeds: Vec<(EventId, &'h Deed)>,
    /// Manifests that were submitted as dry runs.
    pub tried: Vec<(EventId, &'h Tried)>,
    /// When the case was over, on the harness's clock. If that was not recorded, when the last event arrived.
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

    /// How much of the time between two stamps the node, the harness or the path to the watch was stalled. Stalls of
    /// the harness and of the path to the watch count only if one of the stamps is on the harness's clock. If the
    /// node's processors were busy, without a stall or an overload, events are late by only a part of that time.
    #[must_use]
    pub fn noise_between(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        let (busy, stopped) = self.noises_between(node, from, to);
        let of_harness = from.clock == Clock::Harness || to.clock == Clock::Harness;
        stopped + if of_harness { ONLY_BUSY.of(busy) } else { busy }
    }

    /// How late an action of the runtime can be because of noise between two instants: by the whole duration of the
    /// noise, but by no more than `only_busy` for the time in which the node's processors were busy and nothing else
    /// was wrong.
    #[must_use]
    pub fn late_between(&self, node: &str, (from, to): (&Stamp, &Stamp), only_busy: i64) -> i64 {
        let (busy, stopped) = self.noises_between(node, from, to);
        stopped + busy.min(only_busy)
    }

    /// For how long between two stamps the processors of a node were busy without other noise, and for how long there
    /// was other noise. Of a long overload, only a part counts.
    fn noises_between(&self, node: &str, from: &Stamp, to: &Stamp) -> (i64, i64) {
        let of_harness = from.clock == Clock::Harness || to.clock == Clock::Harness;
        let counts = |noise: &Noise| match &noise.clock {
            // A component without a known node, such as a controller, may run on any node.
            Clock::Node(of) | Clock::Wall(of) => node.is_empty() || of == node,
            Clock::Harness => of_harness,
        };
        let (mut all, mut overloaded, mut stopped) = (Vec::new(), Vec::new(), Vec::new());
        for (_, noise) in self.noise.iter().filter(|(_, noise)| counts(noise)) {
            let Some(part) = self.part_between(noise, from, to) else { continue };
            all.push(part);
            if noise.by != Listener::Node {
                overloaded.push(part);
            }
            if !noise.by.is_saturation() {
                stopped.push(part);
            }
        }
        let (overloaded, stopped) = (covered(overloaded), covered(stopped));
        let most = if overloaded > stopped { self.most_overload(node, from, to) } else { 0 };
        (covered(all) - overloaded, stopped + (overloaded - stopped).min(most))
    }

    /// How much of an overload between two stamps can be an excuse: all of it only if the metronome was much too late as
    /// well. Otherwise, the kubelet did get its share of the processors.
    fn most_overload(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        let of_node = |of: &Clock| matches!(of, Clock::Node(of) if node.is_empty() || of == node);
        let starved = |late: &Noise| {
            let is_long = late.to_us.saturating_sub(late.from_us) > LATE_BEAT;
            is_long && of_node(&late.clock) && self.part_between(&late.until_caught_up(), from, to).is_some()
        };
        if self.late_kubelet.iter().any(|(_, late)| starved(late)) {
            return i64::MAX;
        }
        let lasted = self.clocks.between(from, to).map_or(i64::MAX, |span| span.hi);
        MOST_OVERLOAD.max(OF_LONG_OVERLOAD.of(lasted))
    }

    /// The part of a noise that lies between two stamps.
    fn part_between(&self, noise: &Noise, from: &Stamp, to: &Stamp) -> Option<Interval> {
        let (start, end) = (self.bring(from, &noise.clock)?, self.bring(to, &noise.clock)?);
        Interval::new(noise.from_us, noise.to_us).meet(Interval::new(start.lo, end.hi))
    }

    /// A stamp converted to another clock, if both offsets are known.
    fn bring(&self, stamp: &Stamp, clock: &Clock) -> Option<Interval> {
        if stamp.clock == *clock {
            return Some(stamp.at);
        }
        let zero = Stamp { clock: clock.clone(), at: Interval::point(0) };
        Some(self.clocks.on_harness(stamp)?.minus(self.clocks.on_harness(&zero)?))
    }

    /// Measures the time between two stamps on a node. `None` if the clocks cannot be compared at all.
    ///
    /// What a stalled process recorded may have happened earlier: a late start makes the time seem shorter than it was,
    /// and a late end makes it seem longer. Such a start or end is blurred, and a lower bound that it touches is not
    /// met.
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
            bound,
            noise: self.noise_between(node, from, to),
            blur: Blur {
                from: self.stalled_at(from),
                to: self.stalled_at(to),
                begun: self.saturated_before(node, from),
            },
            events: vec![from_id, to_id],
        })
    }

    /// Measures the time from an event to the effect of a deadline, which is this long after the event at the latest. Noise
    /// before the deadline does not make the effect late, so only later noise counts.
    #[must_use]
    pub fn measure_due(
        &self,
        quantity: impl Into<String>,
        node: &str,
        (from, to): (impl Happened, impl Happened),
        due: i64,
        bound: Bound,
    ) -> Option<Measurement> {
        let (deadline, end) = (from.when().later(due - NEAR), to.when().clone());
        let measured = self.measure(quantity, node, from, to, bound)?;
        let is_over = self.clocks.between(&deadline, &end).is_some_and(|span| span.hi > 0);
        let noise = if is_over { self.noise_between(node, &deadline, &end) } else { 0 };
        Some(Measurement { noise, ..measured })
    }

    /// Whether the time between two events on a node certainly misses its bound. `false` if the clocks cannot
    /// be compared.
    #[must_use]
    pub fn misses(&self, node: &str, (from, to): (impl Happened, impl Happened), bound: Bound) -> bool {
        self.measure("", node, from, to, bound).is_some_and(|measured| measured.fit() == Fit::Missed)
    }

    /// How much earlier than its record something may have happened because the recording process was stalled: at most
    /// the time since the start of a recent stall.
    #[must_use]
    pub fn stalled_at(&self, at: &Stamp) -> i64 {
        let of_its_writer =
            self.noise.iter().filter(|(_, noise)| noise.by.is_stall() && noise.clock == at.clock);
        let near = of_its_writer.filter(|(_, stall)| {
            stall.from_us <= at.at.hi && at.at.lo <= stall.to_us.saturating_add(STALL_LINGERS)
        });
        near.map(|(_, stall)| at.at.hi.saturating_sub(stall.from_us)).max().unwrap_or(0)
    }

    /// For how long a node was saturated just before an instant. An action that a kubelet began then arrived this much
    /// later, while the kubelet's own clock was running. So the time since then seems shorter than it was for the
    /// kubelet.
    #[must_use]
    pub fn saturated_before(&self, node: &str, at: &Stamp) -> i64 {
        self.saturated_between(node, &at.earlier(SATURATION_DELAYS), at)
    }

    /// For how long a node was saturated between two instants.
    #[must_use]
    pub fn saturated_between(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        self.busy_between(node, (from, to), Listener::is_saturation)
    }

    /// For how long a node was overloaded between two instants, including the time that the node took to catch up.
    #[must_use]
    pub fn overloaded_between(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        self.busy_between(node, (from, to), |by| by == Listener::Overload)
    }

    /// For how long tasks certainly waited for a processor between two instants: the overload without the time that the
    /// node took to catch up.
    #[must_use]
    pub fn crowded_between(&self, node: &str, from: &Stamp, to: &Stamp) -> i64 {
        let recorded = self.noise.iter().filter_map(|(id, _)| match &self.history.get(*id)?.what {
            Happening::Noise(noise) if noise.by == Listener::Overload => Some(noise),
            _ => None,
        });
        self.covered_on(node, (from, to), recorded)
    }

    fn busy_between(&self, node: &str, (from, to): (&Stamp, &Stamp), is: impl Fn(Listener) -> bool) -> i64 {
        self.covered_on(
            node,
            (from, to),
            self.noise.iter().map(|(_, noise)| noise).filter(|noise| is(noise.by)),
        )
    }

    /// How much of the time between two instants these noises of a node cover.
    fn covered_on<'n>(
        &self,
        node: &str,
        (from, to): (&Stamp, &Stamp),
        all: impl Iterator<Item = &'n Noise>,
    ) -> i64 {
        let of_node = all.filter(|noise| matches!(&noise.clock, Clock::Node(of) if of == node));
        covered(of_node.filter_map(|noise| self.part_between(noise, from, to)).collect())
    }

    /// The stamp of an event on the harness's clock: when it arrived.
    #[must_use]
    pub fn heard(&self, id: EventId) -> Stamp {
        Stamp::harness(self.history.get(id).map_or(0, |event| event.us))
    }

    /// An action of the harness with its duration.
    #[must_use]
    pub fn deed_at(&self, id: EventId) -> At {
        let heard = self.heard(id);
        let began =
            self.deeds.iter().find(|(deed, _)| *deed == id).map_or(heard.at.lo, |(_, deed)| deed.began_us);
        At::new(id, Stamp { clock: heard.clock, at: Interval::new(began, heard.at.hi) })
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

/// How much time these spans cover together.
pub(crate) fn covered(mut spans: Vec<Interval>) -> i64 {
    spans.sort_unstable_by_key(|span| span.lo);
    let (mut total, mut reached) = (0, i64::MIN);
    for span in spans {
        total += (span.hi - span.lo.max(reached)).max(0);
        reached = reached.max(span.hi);
    }
    total
}
