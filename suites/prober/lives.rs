//! A container's lives: what a new one resets, and what comes to a halt until there is a new one.
//!
//! For a moment after a restart a kubelet may take the new process for the old one, and what its probes meet then counts
//! for the old one. Conclusions about a later life begin after that moment.

use probity_model::clocks::Order;
use probity_model::history::Did;
use probity_model::measure::seconds;
use probity_model::timeline::{ContainerKind, Handler, Probe, ProbeKind, ProbeSpec, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};

use crate::reading::kill::{Life, all_spent};
use crate::reading::tolerance::{Exhausted, NEAR, Outcome, leaves_a_trace, outcome, peer, strangers};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.worker.new-container-resets-result", judge: new_life_starts_anew },
    Judge { clause: "prober.worker.onhold-after-liveness-failure", judge: halts_until_a_new_life },
    Judge { clause: "prober.worker.non-running-sets-failure", judge: who_does_not_run_is_not_ready },
];

/// So long a kubelet may not know of a new life.
const UNKNOWN_LIFE: i64 = 3_000_000;
/// A line of the target is heard at most so much later than a revision that it is the cause of.
const LATE_LINE: i64 = 2_000_000;

/// In each life after the first the results start anew.
fn new_life_starts_anew(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for (pod, container) in run.containers().filter(|(_, container)| container.kind != ContainerKind::Init) {
        for attempt in container.attempts.iter().filter(|attempt| attempt.number > 0) {
            let life = (pod, container, attempt);
            if let Some(spec) = container.probe(ProbeKind::Readiness) {
                seen.applies();
                judge_unready(run, life, spec, seen);
            }
            if let Some(spec) = container.probe(ProbeKind::Liveness) {
                seen.applies();
                judge_resumed(run, clause, life, spec, seen);
            }
        }
    }
}

/// No revision shows a new life ready before a readiness probe of it can have succeeded.
fn judge_unready(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    spec: &ProbeSpec,
    seen: &mut Seen,
) {
    let can_pass = |probe: &&Probe<'_>| {
        probe.can_be(ProbeKind::Readiness) && outcome(attempt, spec, probe) != Outcome::Failure
    };
    let first = attempt.probes.iter().find(can_pass);
    let heard = attempt.holes.is_empty()
        && leaves_a_trace(pod, &container.name, spec)
        && !strangers(attempt, spec.handler.port());
    for (revision, status) in pod.changes_of(&container.name) {
        let this = status.restarts == attempt.number && matches!(status.state, State::Running { .. });
        let early = first.is_none_or(|first| run.clocks.order(&revision.at, &first.at) == Order::Before);
        if !this || !early {
            continue;
        }
        if !status.ready {
            seen.fine([attempt.began.id, revision.id]);
        } else if first.is_none() && run.ended_us - revision.at.at.lo < LATE_LINE {
            // What the target saw then may not have been heard before the end.
        } else if heard {
            let finding =
                "a new life of the container was shown as ready before its readiness probe succeeded";
            seen.violated(
                finding,
                [attempt.began.id, revision.id].into_iter().chain(first.map(|one| one.id)),
            );
        } else {
            let why = "a new life was shown as ready, and not all of its probes can be seen";
            seen.doubt(Doubt::WitnessMissing, why, [attempt.began.id, revision.id]);
        }
    }
}

/// The liveness probe goes on in a new life; with a startup probe before it, its turn is another matter.
fn judge_resumed(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'_, '_>,
    spec: &ProbeSpec,
    seen: &mut Seen,
) {
    let began = &attempt.began;
    if let Some(probe) = attempt.probes_of(ProbeKind::Liveness).next() {
        seen.fine([began.id, probe.id]);
        return;
    }
    let gated = container.probe(ProbeKind::Startup).is_some();
    let hooked =
        container.spec.get("lifecycle").is_some_and(|lifecycle| lifecycle.get("postStart").is_some());
    let shared = attempt.probes.iter().any(|probe| probe.can_be(ProbeKind::Liveness));
    let seen_at_all = attempt.holes.is_empty()
        && leaves_a_trace(pod, &container.name, spec)
        && !strangers(attempt, spec.handler.port());
    let listens = attempt.connections.iter().any(|one| one.port() == spec.handler.port())
        || spec.handler.port().is_none();
    let allowed = spec.initial_delay + 2 * spec.period + clause.slack_us();
    let lives_on = attempt.ended.is_none() && attempt.stop_signal().is_none();
    let clear = !gated && !hooked && !shared && seen_at_all && listens && lives_on;
    if clear && run.watched_for(pod, began, allowed) {
        let finding = format!("no liveness probe came within {} of a new life", seconds(allowed));
        seen.violated(finding, [began.id].into_iter().chain(attempt.last_line().map(|line| line.id)));
    }
}

/// After the last failure that was allowed, the probe comes no more in this life.
fn halts_until_a_new_life(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for (life, spec, spent) in all_spent(run, kind) {
            let by_hand = matches!(spec.handler, Handler::Exec { .. })
                && run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::Executed { .. }));
            // A success whose line was lost would have begun the count anew.
            let whole = life.2.holes.is_empty();
            if known_as_new(life, &spent) && !by_hand && whole {
                seen.applies();
                judge_halt(run, life, spec, &spent, seen);
            }
        }
    }
}

/// Whether the failures came when the kubelet must have known this life.
fn known_as_new((_, _, attempt): Life<'_, '_>, spent: &Exhausted<'_, '_>) -> bool {
    let first = spent.failures.first().map_or(i64::MIN, |probe| probe.at.at.lo);
    attempt.number == 0 || first - attempt.began.at.hi >= UNKNOWN_LIFE
}

fn judge_halt(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    spec: &ProbeSpec,
    spent: &Exhausted<'_, '_>,
    seen: &mut Seen,
) {
    let Some(last) = spent.failures.last().copied() else { return };
    let word = spec.kind.word();
    let again = attempt
        .probes_of(spec.kind)
        .find(|probe| probe.at.at.lo > spent.at.at.hi + NEAR && peer(attempt, probe) == peer(attempt, last));
    if let Some(again) = again {
        let later = seconds(again.at.at.lo - spent.at.at.lo);
        let finding = format!("a {word} probe came {later} after the probe had failed for good");
        let events = [last.id, again.id];
        // A kubelet that was held up may have heard an answer that the target took for too late, or the other way round.
        if run.noise_between(&pod.node, &last.at, &again.at) > spec.timeout / 2 {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but the node was held up"), events);
        } else {
            seen.violated(finding, events);
        }
        return;
    }
    let lasted = attempt.last_line().filter(|line| line.at.at.lo - spent.at.at.hi > 2 * spec.period + NEAR);
    let heard = attempt.holes.is_empty() && leaves_a_trace(pod, &container.name, spec);
    if let Some(line) = lasted.filter(|_| heard) {
        seen.fine([last.id, line.id]);
    }
}

/// A container with a readiness probe that does not run is not shown as ready.
fn who_does_not_run_is_not_ready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container, _) in run.probed(ProbeKind::Readiness) {
        if container.kind == ContainerKind::Init {
            continue;
        }
        let mut was_ready = None;
        for (revision, status) in pod.changes_of(&container.name) {
            match status.state {
                State::Terminated { .. } | State::Waiting { .. } if status.ready => {
                    let finding = "the container was shown as ready while it did not run";
                    seen.violated(finding, [revision.id]);
                }
                State::Terminated { .. } | State::Waiting { .. } => {
                    if let Some(ready) = was_ready {
                        seen.fine([ready, revision.id]);
                    }
                }
                State::Running { .. } if status.ready => was_ready = Some(revision.id),
                _ => {}
            }
        }
    }
}
