//! The end of a pod: which probes stop with it, and that none of them starts anything again.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Interval, Measurement, Unit, seconds};
use probity_model::timeline::{Attempt, ContainerKind, ContainerLife, Life, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use crate::reading::tolerance::{Outcome, exhausted, leaves_a_trace, outcome, peer};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.termination.liveness-startup-stop", judge: liveness_and_startup_stop },
    Judge { clause: "prober.termination.sidecar-liveness", judge: sidecars_stay_as_they_are },
];

/// Liveness and startup probes of regular containers stop with the deletion of their pod, and nothing starts again.
fn liveness_and_startup_stop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for (pod, container, spec) in run.probed(kind) {
            if container.kind != ContainerKind::Main {
                continue;
            }
            for attempt in &container.attempts {
                let Some((stop_id, stop)) = told_to_end(run, pod, attempt) else { continue };
                seen.applies();
                judge_silence(run, clause, (pod, container, attempt), spec, (stop_id, stop), seen);
                // A kill that a probe caused just before the deletion may have a restart on its way.
                let mut answers = container.probes.iter().flat_map(|probe| {
                    attempt
                        .probes
                        .iter()
                        .filter(|one| one.can_be(probe.kind) && one.at.at.lo <= stop.at.hi)
                        .map(move |one| outcome(attempt, probe, one))
                });
                let sound = answers.all(|answer| answer == Outcome::Success);
                if let Some(next) = (Life { run, pod, container, attempt }).lives_again().filter(|_| sound) {
                    seen.violated("a container of a deleted pod was started again", [stop_id, next]);
                }
            }
        }
    }
}

/// The stop signal of a life that was told to end because its pod was deleted.
fn told_to_end<'t>(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    attempt: &'t Attempt<'_>,
) -> Option<(EventId, &'t Stamp)> {
    let deleted = pod.deleted.and(run.deletion(pod))?;
    let (id, stop) = attempt.stop_signal()?;
    (run.clocks.order(&deleted, stop) == Order::Before).then_some((id, stop))
}

fn judge_silence(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): (&PodLife<'_>, &ContainerLife<'_>, &Attempt<'_>),
    spec: &ProbeSpec,
    (stop_id, stop): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let Some(last) = attempt.probes_of(spec.kind).filter(|probe| probe.at.at.hi <= stop.at.lo).last() else {
        return;
    };
    let after = attempt
        .probes_of(spec.kind)
        .filter(|probe| probe.at.at.lo > stop.at.hi && peer(attempt, probe) == peer(attempt, last))
        .last();
    // What was under way and erred, such as a body that broke off, is tried twice more, each time for its whole timeout.
    let tries = if outcome(attempt, spec, last) == Outcome::Unclear { 2 } else { 0 };
    let slack = clause.slack_us() + tries * spec.timeout;
    if let Some(after) = after {
        let quantity = format!("from the stop signal to the last {} probe", spec.kind.word());
        let ends = ((stop_id, stop), (after.id, &after.at));
        let bound = Bound::at_most(slack, seconds(slack));
        if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
            seen.measure(measured);
        }
        return;
    }
    let goes_on = exhausted(attempt, spec).is_none() && spec.kind == ProbeKind::Liveness;
    let heard = attempt.holes.is_empty() && leaves_a_trace(pod, &container.name, spec);
    let lasted = attempt.last_line().filter(|line| line.at.at.lo - stop.at.hi > 2 * spec.period + slack);
    if let Some(line) = lasted.filter(|_| goes_on && heard) {
        seen.fine([last.id, stop_id, line.id]);
    }
}

/// No sidecar is started again after the deletion of its pod, whatever its liveness probe finds.
fn sidecars_stay_as_they_are(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for (pod, container, spec) in run.probed(ProbeKind::Liveness) {
        let Some((deed, deleted)) = pod.deleted.zip(run.deletion(pod)) else { continue };
        if container.kind != ContainerKind::Sidecar {
            continue;
        }
        // A life that ended before may have had its successor on the way.
        let lives = container.attempts.iter().filter(|attempt| {
            attempt.last_line().is_some_and(|line| {
                run.clocks.between(&deleted, &line.at).is_some_and(|span| span.lo > 2 * spec.period)
            }) && run.clocks.order(&attempt.began, &deleted) == Order::Before
        });
        for attempt in lives {
            seen.applies();
            let after: Vec<EventId> = attempt
                .probes_of(ProbeKind::Liveness)
                .filter(|probe| run.clocks.order(&deleted, &probe.at) == Order::Before)
                .map(|probe| probe.id)
                .collect();
            seen.note(count(&container.name, &after, deed));
            match (Life { run, pod, container, attempt }).lives_again() {
                Some(next) => {
                    let finding =
                        format!("the sidecar {} was started again in a deleted pod", container.name);
                    seen.violated(finding, [deed, next]);
                }
                None => seen.fine([deed].into_iter().chain(attempt.last_line().map(|line| line.id))),
            }
        }
    }
}

fn count(container: &str, after: &[EventId], deed: EventId) -> Measurement {
    Measurement {
        quantity: format!("liveness probes of the sidecar {container} after the deletion of its pod"),
        unit: Unit::Count,
        observed: Interval::point(i64::try_from(after.len()).unwrap_or(i64::MAX)),
        bound: Bound::default(),
        noise: 0,
        events: [deed].into_iter().chain(after.iter().copied()).collect(),
    }
}
