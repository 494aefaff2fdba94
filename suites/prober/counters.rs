//! The counters that a kubelet reports for its own probes, compared with the target's record.
//!
//! A reading takes place between its request and its response, and a probe counts when it has a result. So the expected
//! count is an interval: at least the probes that certainly came between two readings, and at most those that may have.

use probity_model::clocks::Stamp;
use probity_model::history::{Did, ProbeCount};
use probity_model::measure::{Bound, Interval, Measurement};
use probity_model::mechanisms::SATURATION_DELAYS;
use probity_model::timeline::{ContainerLife, Life, PodLife, ProbeOutcome, ProbeSpec, ProbedLife};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use crate::reading::heard::may_be_missed;
use crate::reading::unreachable::UnreachableProbe;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.metrics.agree-with-witness", judge: counters_agree },
    Judge { clause: "prober.termination.remove-all", judge: counters_go },
];

/// A reading of a kubelet's counters.
struct CounterReading<'h> {
    id: EventId,
    from: Stamp,
    to: Stamp,
    node: &'h str,
    counts: &'h [ProbeCount],
    /// How many counters of probes the kubelet has for any pod of its node, if that was recorded.
    on_node: Option<u64>,
    /// The name of the pod of each histogram of the durations of a probe.
    durations: &'h [String],
}

fn readings<'h>(run: &Timeline<'h>) -> Vec<CounterReading<'h>> {
    let measured = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Measured { node, probes, on_node, durations } => Some(CounterReading {
            id: *id,
            from: Stamp::harness(deed.began_us),
            to: run.heard(*id),
            node,
            counts: probes,
            on_node: *on_node,
            durations,
        }),
        _ => None,
    });
    measured.collect()
}

impl CounterReading<'_> {
    /// The counters of a pod.
    fn of_pod(&self, pod: &PodLife<'_>) -> impl Iterator<Item = &ProbeCount> {
        self.counts.iter().filter(|count| count.uid == pod.uid_on_node())
    }

    /// How many histograms of durations there are for pods of this name.
    fn durations_of(&self, pod: &PodLife<'_>) -> usize {
        self.durations.iter().filter(|of| **of == pod.name).count()
    }

    /// The sum of some counters of a probe, if they are known; see [`count`](Self::count).
    fn sum(&self, probe: &CountedProbe<'_, '_>, counted: &Counted) -> Option<i64> {
        counted.results.iter().map(|(result, _)| self.count(probe, result)).sum()
    }

    /// The count of a probe and a result; 0 if the kubelet counts probes, but has no such counter. `None` if the
    /// kubelet may count no probes at all, or if the pod's counters may have been removed with the pod.
    fn count(&self, probe: &CountedProbe<'_, '_>, result: &str) -> Option<i64> {
        let (run, pod) = (probe.run, probe.pod);
        let stays = || {
            let asked = pod.deleted.map(|deed| self.id < deed);
            asked.unwrap_or_else(|| run.before_deletion(pod, &self.to))
                && pod.over().is_none_or(|over| run.before(&self.to, &over.at))
        };
        if self.of_pod(pod).next().is_none() {
            return (self.on_node.is_some_and(|all| all > 0) && stays()).then_some(0);
        }
        let same = |count: &&ProbeCount| {
            count.container == probe.container.name
                && count.probe.eq_ignore_ascii_case(probe.spec.kind.word())
                && count.result == result
        };
        let count = self.of_pod(probe.pod).find(same).map_or(0, |count| count.count);
        Some(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// One or more counters of a probe, whose growth is judged.
struct Counted {
    /// The counters in words.
    words: &'static str,
    /// The results that they count.
    results: &'static [(&'static str, ProbeOutcome)],
}

/// What is judged for each probe. The sum has its own limits: a kubelet that waits for a CPU may count a success as a
/// failure, but it still counts each probe only once.
const COUNTED: &[Counted] = &[
    Counted { words: "the counter of successful", results: &[("successful", ProbeOutcome::Success)] },
    Counted { words: "the counter of failed", results: &[("failed", ProbeOutcome::Failure)] },
    Counted {
        words: "both counters of",
        results: &[("successful", ProbeOutcome::Success), ("failed", ProbeOutcome::Failure)],
    },
];

/// A probe of a container, counted over all instances of the container.
struct CountedProbe<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
    spec: &'t ProbeSpec,
}

/// Between two readings, each counter grows by the number of probes that the target recorded.
fn counters_agree(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for two in readings(run).windows(2) {
        let [before, after] = two else { continue };
        for (pod, container, spec) in run.probes().filter(|(pod, ..)| pod.node == before.node) {
            let probe = CountedProbe { run, pod, container, spec };
            if before.node == after.node && probe.is_known() {
                for counted in COUNTED {
                    probe.judge(clause, (before, after), counted, seen);
                }
            }
        }
    }
}

impl<'t, 'h> CountedProbe<'t, 'h> {
    fn lives(&self) -> impl Iterator<Item = ProbedLife<'t, 'h>> {
        let (run, pod, container, kind) = (self.run, self.pod, self.container, self.spec.kind);
        container
            .attempts
            .iter()
            .filter_map(move |attempt| Life { run, pod, container, attempt }.probed(kind))
    }

    /// Whether the probe always ends in an error before it is sent, because no port has the name that it uses. Such a
    /// probe has no result, and therefore is never counted.
    fn has_no_result(&self) -> bool {
        let Self { pod, container, spec, .. } = *self;
        UnreachableProbe { pod, container, spec }.has_no_port()
    }

    /// Whether every execution of the probe that has a result leaves a record, and can be distinguished from all other
    /// probes.
    fn is_known(&self) -> bool {
        let port = self.spec.handler.port();
        (self.pod.sees(&self.container.name, self.spec) || self.has_no_result())
            && self.lives().all(|life| {
                let clear = life.probes.iter().all(|probe| life.outcome(probe) != ProbeOutcome::Unclear);
                let bare = life.connections.iter().any(|one| one.port() == port && one.requests == 0);
                life.is_unmistaken() && clear && life.holes.is_empty() && !bare
            })
    }

    fn judge(
        &self,
        clause: &Clause,
        (before, after): (&CounterReading<'_>, &CounterReading<'_>),
        counted: &Counted,
        seen: &mut Seen,
    ) {
        let run = self.run;
        let Some((first, second)) = before.sum(self, counted).zip(after.sum(self, counted)) else { return };
        let wants = |outcome| counted.results.iter().any(|(_, wanted)| *wanted == outcome);
        let (mut surely, mut perhaps, mut events) = (0_i64, 0_i64, vec![before.id, after.id]);
        for life in self.lives() {
            for probe in &life.probes {
                let outcome = life.outcome(probe);
                // A kubelet that waits for a CPU may count an answer that came in time as a timeout.
                let missed = outcome == ProbeOutcome::Success && may_be_missed(&life, probe);
                if !wants(outcome) && !missed {
                    continue;
                }
                let done = life.result(probe).at();
                let crowded = life.noise(&done, &done.later(SATURATION_DELAYS));
                let late = clause.tolerance_us("late") + run.stalled_at(&done) + crowded;
                let due = done.later(late);
                let outside = run.before(&due, &before.from) || run.before(&after.to, &probe.at);
                let inside = run.before(&before.to, &probe.at) && run.before(&due, &after.from);
                surely += i64::from(inside && !missed);
                perhaps += i64::from(!outside);
                events.extend((!outside).then_some(probe.id));
            }
        }
        let rise = second - first;
        if perhaps == 0 && rise == 0 {
            return;
        }
        let (kind, name) = (self.spec.kind.word(), &self.container.name);
        let quantity = format!("growth of {} {kind} probes of {name}", counted.words);
        let fewest = "the fewest that the target must have received";
        // A probe of a container that is about to restart may be refused, and leaves no record then.
        let unrecorded = wants(ProbeOutcome::Failure) && self.container.attempts.len() > 1;
        let bound = match unrecorded {
            true => Bound::at_least(surely, fewest),
            false => Bound::at_most(perhaps, "the most that the target can have received")
                .and_at_least(surely, fewest),
        };
        let observed = Interval::point(rise);
        seen.measure(Measurement { observed, ..Measurement::count(quantity, 0, bound, events) });
    }
}

/// When a pod has been removed for longer than the slack, its kubelet has no counters and no histograms for it.
fn counters_go(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let readings = readings(run);
    for pod in &run.pods {
        let had = readings.iter().find(|reading| reading.of_pod(pod).next().is_some());
        let gone = pod.revisions.iter().find(|revision| revision.gone);
        let Some((had, gone)) = had.zip(gone) else { continue };
        let timeouts = pod.containers.iter().flat_map(|container| &container.probes).map(|spec| spec.timeout);
        let due = gone.at.later(clause.slack_us() + timeouts.max().unwrap_or(0));
        let later = readings.iter().filter(|reading| reading.node == pod.node);
        for reading in later.filter(|reading| run.before(&due, &reading.from)) {
            // A histogram does not have the UID of its pod.
            let alone = run.pods.iter().filter(|other| other.name == pod.name).count() == 1;
            let left = [
                (reading.of_pod(pod).count(), "counters of probes"),
                (if alone { reading.durations_of(pod) } else { 0 }, "histograms of the durations of probes"),
            ];
            match left.into_iter().find(|(left, _)| *left > 0) {
                None => seen.fine([had.id, gone.id, reading.id]),
                Some((left, of)) => {
                    let finding = format!("{left} {of} remained for a pod that no longer exists");
                    seen.violated(finding, [gone.id, reading.id]);
                }
            }
        }
    }
}
