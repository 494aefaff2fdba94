//! What follows a startup success: no more startup probes, `started` in the status, and readiness at once. And what
//! holds without a startup probe.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{ContainerKind, Handler, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::gate::{Opening, judge_early, opening, shows};
use crate::reading::kill::{Life, before_deletion, node_was_touched, watched_for};
use crate::reading::tolerance::{Outcome, outcome, peer, strangers};

/// After a startup success no further startup probe comes in the same life.
pub(super) fn success_is_the_last(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (life, startup) in started_lives(run, seen) {
        let (pod, _, attempt) = life;
        let Some(success) = opening(attempt, startup).filter(|opening| opening.certain) else { continue };
        let again = attempt.probes_of(ProbeKind::Startup).find(|probe| {
            probe.at.at.lo > success.at.at.hi && peer(attempt, probe) == peer(attempt, success.probe)
        });
        let Some(again) = again else {
            let last = attempt.last_line().filter(|line| {
                line.at.at.lo - success.at.at.hi > 2 * startup.period
                    && attempt.stop_signal().is_none_or(|(_, stop)| line.at.at.hi <= stop.at.lo)
            });
            seen.fine(last.into_iter().flat_map(|line| [success.id, line.id]));
            continue;
        };
        // A kubelet that was held up may have given up on the answer that the target takes for timely.
        let held_up = run.noise_between(&pod.node, &success.probe.at, &again.at);
        let later = seconds(again.at.at.lo - success.at.at.lo);
        let finding = format!("a startup probe came {later} after the startup probe had succeeded");
        if node_was_touched(run) {
            continue;
        }
        if held_up > startup.timeout / 2 {
            seen.doubt(
                Doubt::Ambiguous,
                format!("{finding}, but the node was held up"),
                [success.id, again.id],
            );
        } else {
            seen.violated(finding, [success.id, again.id]);
        }
    }
}

/// `started` in the status is false until the startup probe has succeeded, and true soon after.
pub(super) fn started_is_published(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, startup) in started_lives(run, seen) {
        let (pod, container, attempt) = life;
        let success = opening(attempt, startup);
        for (id, at, started) in shows(pod, &container.name, attempt.number) {
            let early =
                success.as_ref().is_none_or(|success| run.clocks.order(&at, &success.at) == Order::Before);
            match started {
                Some(true) if early => {
                    let finding = "`started` was true before the startup probe had succeeded".to_owned();
                    let events: Vec<_> = [id].into_iter().chain(success.as_ref().map(|one| one.id)).collect();
                    judge_early(run, clause, life, startup, (&events, &at), finding, seen);
                }
                Some(false) if early => seen.fine([attempt.began.0, id]),
                _ => {}
            }
        }
        if let Some(success) = success.filter(|success| success.certain) {
            judge_published(run, clause, life, &success, seen);
        }
    }
}

/// After the success, a revision shows `started: true` in time.
fn judge_published(
    run: &Timeline<'_>,
    clause: &Clause,
    life: Life<'_, '_>,
    success: &Opening<'_, '_>,
    seen: &mut Seen,
) {
    let (pod, container, attempt) = life;
    let slack = clause.slack_us();
    let shown = shows(pod, &container.name, attempt.number).into_iter().find(|(_, at, started)| {
        *started == Some(true) && run.clocks.order(at, &success.at) != Order::Before
    });
    let Some((id, at, _)) = shown else {
        let lives_on = attempt.ended.is_none() && attempt.stop_signal().is_none();
        if lives_on && watched_for(run, pod, &success.at, slack) {
            let finding = format!("`started` was not true within {} of the startup success", seconds(slack));
            let last = pod.revisions.iter().rfind(|revision| revision.container(&container.name).is_some());
            let last = last.map(|revision| revision.id);
            seen.violated(finding, [success.id].into_iter().chain(last));
        }
        return;
    };
    // The status goes out with whatever is shown next: a life that ends at once shows nothing.
    let bound = Bound::at_most(slack, seconds(slack));
    let ends = ((success.id, &success.at), (id, &at));
    let quantity = "from the startup success to `started: true`";
    if let Some(measured) = run.measure(quantity, &pod.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

/// A container without a startup probe counts as started as soon as it runs.
pub(super) fn absent_is_started(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    for (pod, container) in run.containers() {
        if container.kind == ContainerKind::Init || container.probe(ProbeKind::Startup).is_some() {
            continue;
        }
        let lives = pod.restarts(&container.name).map_or(0, |(_, restarts)| restarts);
        for number in 0..=lives {
            let shown = shows(pod, &container.name, number);
            let Some((first_id, first, _)) = shown.first() else { continue };
            let started = shown.iter().find(|(_, _, started)| *started == Some(true));
            match started {
                Some((id, at, _)) => {
                    let bound = Bound::at_most(slack, seconds(slack));
                    let quantity = "from the first sight of the running container to `started: true`";
                    let ends = ((*first_id, first), (*id, at));
                    let measured = run.measure(quantity, &pod.node, ends.0, ends.1, bound);
                    measured.into_iter().for_each(|measured| seen.measure(measured));
                }
                None if number == lives && watched_for(run, pod, first, slack) => {
                    let finding =
                        format!("without a startup probe, `started` was not true within {}", seconds(slack));
                    seen.violated(finding, [*first_id]);
                }
                None if number < lives && !node_was_touched(run) => {
                    // The revision that followed the last of this life: what it was before, the API would have said.
                    let last = shown.last().map(|(id, ..)| *id);
                    let next = pod.revisions.iter().find(|next| Some(next.id) > last);
                    let Some(next) = next.filter(|next| before_deletion(run, pod, &next.at)) else {
                        continue;
                    };
                    let bound = Bound::at_most(slack, seconds(slack));
                    let quantity =
                        "from the first sight of the running container to its end, without `started: true`";
                    let ends = ((*first_id, first), (next.id, &next.at));
                    let measured = run.measure(quantity, &pod.node, ends.0, ends.1, bound);
                    let missed = measured.filter(|measured| measured.fit() == Fit::Missed);
                    missed.into_iter().for_each(|measured| seen.measure(measured));
                }
                None => {}
            }
        }
    }
}

/// The first readiness probe follows the startup success at once, not after a period.
pub(super) fn readiness_follows(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    for (life, startup) in started_lives(run, seen) {
        let (pod, container, attempt) = life;
        let Some(readiness) = container.probe(ProbeKind::Readiness) else { continue };
        let Some(success) = opening(attempt, startup).filter(|opening| opening.certain) else { continue };
        let delayed = success.at.at.hi - attempt.began.1.at.lo < readiness.initial_delay;
        if readiness.period <= slack || delayed || !sees_readiness(startup, readiness) {
            continue;
        }
        let first = attempt.probes.iter().find(|probe| probe.can_be(ProbeKind::Readiness));
        let bound = Bound::at_most(slack, seconds(slack));
        match first {
            // What came before the success is the gate's matter, and readiness may be known already then.
            Some(first) if first.at.at.lo < success.at.at.hi => {}
            Some(first) if before_deletion(run, pod, &first.at) => {
                let quantity = "from the startup success to the first readiness probe";
                let ends = ((success.id, &success.at), (first.id, &first.at));
                let measured = run.measure(quantity, &attempt.node, ends.0, ends.1, bound);
                measured.into_iter().for_each(|measured| seen.measure(measured));
            }
            Some(_) => {}
            None if attempt.ended.is_none() && attempt.stop_signal().is_none() => {
                judge_no_readiness(run, life, (success.id, &success.at), slack, seen);
            }
            None => {}
        }
    }
}

fn judge_no_readiness(
    run: &Timeline<'_>,
    life: Life<'_, '_>,
    (success_id, success): (EventId, &Stamp),
    slack: i64,
    seen: &mut Seen,
) {
    let port = life.1.probe(ProbeKind::Readiness).and_then(|spec| spec.handler.port());
    let known = life.2.holes.is_empty() && !strangers(life.2, port);
    if known && watched_for(run, life.0, success, slack) {
        let finding = format!("no readiness probe within {} of the startup success", seconds(slack));
        seen.violated(finding, [success_id]);
    }
}

/// Whether a readiness probe at the moment of the startup success would have been seen: it goes to the port that has
/// just answered, or runs a command.
fn sees_readiness(startup: &ProbeSpec, readiness: &ProbeSpec) -> bool {
    let port = readiness.handler.port();
    matches!(readiness.handler, Handler::Exec { .. }) || (port.is_some() && port == startup.handler.port())
}

/// The lives of all containers with a startup probe.
fn started_lives<'t, 'h>(run: &'t Timeline<'h>, seen: &mut Seen) -> Vec<(Life<'t, 'h>, &'t ProbeSpec)> {
    let mut lives = Vec::new();
    for (pod, container, startup) in run.probed(ProbeKind::Startup) {
        seen.applies();
        lives.extend(container.attempts.iter().map(|attempt| ((pod, container, attempt), startup)));
    }
    lives
}

/// Whether any probe of a kind has certainly passed in a life.
pub(super) fn passed(life: Life<'_, '_>, kind: ProbeKind) -> bool {
    let Some(spec) = life.1.probe(kind) else { return false };
    let mut probes = life.2.probes.iter().filter(|probe| probe.can_be(kind));
    probes.any(|probe| outcome(life.2, spec, probe) != Outcome::Failed)
}
