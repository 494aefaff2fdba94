//! Counters: what a kubelet says of its own probes, held against what the target saw.
//!
//! A reading took place somewhere between its request and its answer, and a probe counts when its result is there. So a
//! count is known as an interval: what surely fell between two readings at least, and what can have done so at most.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::{Did, ProbeCount};
use probity_model::measure::{Bound, Interval, Measurement, Unit};
use probity_model::timeline::{ContainerLife, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use crate::reading::tolerance::{Outcome, leaves_a_trace, outcome, resulted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.metrics.agree-with-witness", judge: counters_agree },
    Judge { clause: "prober.termination.remove-all", judge: counters_go },
];

/// A reading of a kubelet's counters.
struct Reading<'h> {
    id: EventId,
    from: Stamp,
    to: Stamp,
    node: &'h str,
    counts: &'h [ProbeCount],
}

fn readings<'h>(run: &Timeline<'h>) -> Vec<Reading<'h>> {
    let measured = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Measured { node, probes } => Some(Reading {
            id: *id,
            from: Stamp::harness(deed.began_us),
            to: run.heard(*id),
            node,
            counts: probes,
        }),
        _ => None,
    });
    measured.collect()
}

impl Reading<'_> {
    /// The count of a probe and a result; 0 if the kubelet has counters of the pod and none like this one.
    fn count(&self, pod: &PodLife<'_>, container: &str, kind: ProbeKind, result: &str) -> Option<u64> {
        let of_pod = || self.counts.iter().filter(|count| count.uid == pod.uid);
        of_pod().next()?;
        let same = |count: &&ProbeCount| {
            count.container == container
                && count.probe.eq_ignore_ascii_case(kind.word())
                && count.result == result
        };
        Some(of_pod().find(same).map_or(0, |count| count.count))
    }
}

/// Between two readings each counter rises by the number of probes that the target saw.
fn counters_agree(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    let readings = readings(run);
    for two in readings.windows(2) {
        let [before, after] = two else { continue };
        for (pod, container, spec) in run.probes().filter(|(pod, _, _)| pod.node == before.node) {
            if before.node == after.node && known(pod, container, spec) {
                judge_counter(run, (before, after), (pod, container, spec), seen);
            }
        }
    }
}

/// Whether every probe leaves its trace, and can be told from all others.
fn known(pod: &PodLife<'_>, container: &ContainerLife<'_>, spec: &ProbeSpec) -> bool {
    let port = spec.handler.port();
    leaves_a_trace(pod, &container.name, spec)
        && container.attempts.iter().all(|attempt| {
            let mut mine = attempt.probes.iter().filter(|probe| probe.can_be(spec.kind));
            let own =
                mine.all(|probe| probe.is(spec.kind) && outcome(attempt, spec, probe) != Outcome::Unclear);
            let mut bare = attempt.connections.iter().filter(|one| one.port() == port && one.requests == 0);
            own && attempt.holes.is_empty() && bare.next().is_none()
        })
}

fn judge_counter(
    run: &Timeline<'_>,
    (before, after): (&Reading<'_>, &Reading<'_>),
    (pod, container, spec): (&PodLife<'_>, &ContainerLife<'_>, &ProbeSpec),
    seen: &mut Seen,
) {
    for (result, wanted) in [("successful", Outcome::Success), ("failed", Outcome::Failure)] {
        let counts = before.count(pod, &container.name, spec.kind, result).zip(after.count(
            pod,
            &container.name,
            spec.kind,
            result,
        ));
        let Some((first, second)) = counts else { continue };
        let (mut surely, mut perhaps, mut events) = (0_i64, 0_i64, vec![before.id, after.id]);
        for attempt in &container.attempts {
            for probe in attempt.probes_of(spec.kind) {
                if outcome(attempt, spec, probe) != wanted {
                    continue;
                }
                let done = resulted(attempt, spec, probe);
                let counted = done.later(LATE + run.held_up_at(&pod.node, &done));
                let outside = run.clocks.order(&counted, &before.from) == Order::Before
                    || run.clocks.order(&after.to, &probe.at) == Order::Before;
                let inside = run.clocks.order(&before.to, &probe.at) == Order::Before
                    && run.clocks.order(&counted, &after.from) == Order::Before;
                surely += i64::from(inside);
                perhaps += i64::from(!outside);
                events.extend((!outside).then_some(probe.id));
            }
        }
        let rise = i64::try_from(second).unwrap_or(i64::MAX) - i64::try_from(first).unwrap_or(i64::MAX);
        if perhaps == 0 && rise == 0 {
            continue;
        }
        seen.measure(Measurement {
            quantity: format!("rise of {result} {} probes of {}", spec.kind.word(), container.name),
            unit: Unit::Count,
            observed: Interval::point(rise),
            bound: Bound::at_most(perhaps, "what the target can have seen")
                .and_at_least(surely, "what the target surely saw"),
            noise: 0,
            events,
        });
    }
}

/// From the answer to the rise of the counter passes no more, unless the node is held up.
const LATE: i64 = 500_000;

/// Once a pod is gone for longer than the slack, its kubelet has no counters of it.
fn counters_go(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let readings = readings(run);
    for pod in &run.pods {
        let had = readings.iter().find(|reading| reading.counts.iter().any(|count| count.uid == pod.uid));
        let gone = pod.revisions.iter().find(|revision| revision.gone);
        let Some((had, gone)) = had.zip(gone) else { continue };
        seen.applies();
        let longest = pod.containers.iter().flat_map(|container| &container.probes).map(|spec| spec.timeout);
        let due = gone.at.later(clause.slack_us() + longest.max().unwrap_or(0));
        for reading in readings.iter().filter(|reading| reading.node == pod.node) {
            if run.clocks.order(&due, &reading.from) != Order::Before {
                continue;
            }
            let left = reading.counts.iter().filter(|count| count.uid == pod.uid).count();
            if left == 0 {
                seen.fine([had.id, gone.id, reading.id]);
            } else {
                let finding = format!("{left} counters of probes were left of a pod that was gone");
                seen.violated(finding, [gone.id, reading.id]);
            }
        }
    }
}
