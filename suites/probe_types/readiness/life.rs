//! Readiness probes continue until the container ends, even while its pod terminates.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{OFF_BEAT, SLICES, START_OF_A_COMMAND, UNDER_WAY};
use probity_model::timeline::{At, Attempt, Connection, Handler, KubeEvent, ProbeKind, ProbedLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use crate::reading::absence::judge_absence;
use crate::reading::ends::keeps_serving;
use crate::reading::readiness::{comes_up, falls, goes_down, pace, readiness_lives, rises};
use crate::reading::services::{Entry, services};
use crate::reading::termination::Exhausted;

/// Readiness probes arrive at their period for the whole lifetime of a container.
pub(super) fn runs_for_life(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let enough = i64::try_from(clause.tolerance_times("periods")).unwrap_or(i64::MAX);
    let mut longest = None;
    for life in run.lives().of(ProbeKind::Readiness) {
        judge_absence(clause, &life, seen);
    }
    for life in readiness_lives(run).only(runs_commands) {
        goes_on_in_a_kill(clause, seen, &life);
    }
    for life in readiness_lives(run).only(is_countable) {
        // A probe before the startup success passed a gate that was open by mistake. Other clauses judge this.
        let gate = match life.container.probe(ProbeKind::Startup) {
            Some(_) => life.attempt.first_success(ProbeKind::Startup).map(|success| success.at.at.lo),
            None => Some(i64::MIN),
        };
        let Some(gate) = gate else { continue };
        goes_on_in_a_kill(clause, seen, &life);
        let probes = || life.probes.iter().filter(|probe| probe.at.at.lo >= gate);
        let (Some(first), pace) = (probes().next(), pace(&life)) else { continue };
        let Some(end) = life.stop().map(At::of).or_else(|| last_sign(&life)) else { continue };
        let window = run.clocks.between(&first.at, &end).map_or(0, |span| span.lo);
        if window < enough * pace {
            longest = longest.max(Some((window / pace, first.id)));
            continue;
        }
        let in_life = |probe: &At| run.clocks.between(probe, &end).is_none_or(|left| left.hi >= 0);
        let mut points: Vec<At> = probes().map(|probe| At::of(*probe)).filter(in_life).collect();
        keeps_pace(clause, seen, &life, &points, pace);
        points.push(end);
        longest_pause(clause, seen, &life, &points, pace);
    }
    if let (Some((periods, id)), 0) = (longest, seen.count_fine()) {
        let why = format!("only {periods} periods of readiness probing were observed; {enough} are needed");
        seen.doubt(Doubt::TooShort, why, [id]);
    }
}

/// Whether the readiness probes of an instance are commands that cannot be mistaken for others. The event about a
/// command that the runtime could not start is the only trace of this command.
fn runs_commands(life: &ProbedLife<'_, '_>) -> bool {
    let name = &life.container.name;
    let errored = |event: &KubeEvent<'_>| event.is_of(name, "Unhealthy") && event.message.contains("errored");
    is_command(life) && life.is_unmistaken() && !life.pod.events.iter().any(errored)
}

fn is_command(life: &ProbedLife<'_, '_>) -> bool {
    matches!(life.spec.handler, Handler::Exec { .. })
}

/// Readiness probes also continue while a container is being stopped because of its liveness probe, if it keeps
/// serving.
fn goes_on_in_a_kill(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>) {
    let enough = i64::try_from(clause.tolerance_times("periods-of-a-kill")).unwrap_or(i64::MAX);
    let spent = life.probed(ProbeKind::Liveness).and_then(Exhausted::of);
    let (Some(spent), Some(stop), Some(end)) = (spent, life.stopped_undeleted(), &life.ended) else { return };
    let pace = pace(life);
    let left = life.run.clocks.between(&stop.at, end).map_or(0, |span| span.lo);
    let by_probe = stop.at.at.lo >= spent.at.at.lo && life.before_deletion(end);
    if !by_probe || !keeps_serving(life.attempt) || left < enough * pace {
        return;
    }
    let (later, before): (Vec<At>, Vec<At>) =
        life.probes.iter().map(|probe| At::of(*probe)).partition(|probe| probe.at.lo > stop.at.at.lo);
    let Some(before) = before.last() else { return };
    longest_pause(
        clause,
        seen,
        life,
        &[std::slice::from_ref(before), &later, std::slice::from_ref(end)].concat(),
        pace,
    );
}

/// Whether all readiness probes of an instance are recorded and can be counted: none can belong to another kind, and
/// none is refused without a record.
fn is_countable(life: &ProbedLife<'_, '_>) -> bool {
    life.is_unmistaken() && always_open(life.attempt, &life.spec.handler)
}

/// Whether every connection until the stop signal was accepted and recorded. Commands that the runtime fails to start
/// leave no record, so nothing can be concluded about them.
fn always_open(attempt: &Attempt<'_>, handler: &Handler) -> bool {
    let Some(port) = handler.port() else { return false };
    let stop = attempt.stop().map_or(i64::MAX, |stop| stop.at.at.lo);
    let closed = attempt
        .lines
        .iter()
        .filter(|line| line.at.at.lo < stop)
        .any(|line| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open"));
    let unheard = |connection: &Connection<'_>| {
        connection.at.at.lo < stop && connection.port() == Some(port) && connection.requests == 0
    };
    let bare = matches!(handler, Handler::Tcp { .. });
    !closed && (bare || !attempt.connections.iter().any(unheard))
}

/// The latest time at which this instance should still leave records: its end, or the end of the case.
fn last_sign(life: &ProbedLife<'_, '_>) -> Option<At> {
    let last_event = || {
        let mut events = life.run.history.events();
        let (id, event) = events.rfind(|(_, event)| event.us <= life.run.ended_us - UNDER_WAY)?;
        Some(At::new(id, Stamp::harness(event.us)))
    };
    life.attempt.end().map(At::of).or_else(last_event)
}

/// A long series of probes is not late as a whole either: extra probes come early, and nothing makes a probe late. The
/// probes are counted from the first to the last that has a precisely known time.
fn keeps_pace(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>, probes: &[At], pace: i64) {
    let is_exact = |probe: &&At| life.run.stalled_at(probe) == 0;
    let exact = |(from, to): (usize, usize)| probes.get(from..=to);
    let ends = probes.iter().position(|probe| is_exact(&probe));
    let ends = ends.zip(probes.iter().rposition(|probe| is_exact(&probe)));
    let counted = ends.and_then(exact).unwrap_or(probes);
    let (Some(first), Some(last), Ok(count)) =
        (counted.first(), counted.last(), i64::try_from(counted.len()))
    else {
        return;
    };
    let bound = Bound::at_most(
        (count - 1) * pace + clause.slack_us(),
        format!("{} × {} + slack", count - 1, seconds(pace)),
    );
    let quantity = format!("from the first to the last of {count} readiness probes");
    let Some(mut measured) = life.run.measure(quantity, &life.node, first, last, bound) else { return };
    // Each probe has its own scheduled time. So only delays of the last probe excuse a longer time; earlier delays
    // count only if they made the kubelet skip probes.
    let late = life.run.stalled_at(&last.stamp).max(life.run.saturated_before(&life.node, &last.stamp));
    measured.noise = measured.noise.min(late + left_out(life, counted, pace));
    seen.measure(measured);
}

/// How much of the pauses that are longer than the pace of the probes was noise.
fn left_out(life: &ProbedLife<'_, '_>, probes: &[At], pace: i64) -> i64 {
    let pauses = probes.windows(2).filter_map(|pair| {
        let (from, to) = (pair.first()?, pair.get(1)?);
        let longer = life.run.at_least(from, to) - pace;
        (longer > OFF_BEAT.of(pace)).then(|| longer.min(life.noise(from, to)))
    });
    pauses.sum()
}

/// The longest pause between consecutive probes is at most one period plus the slack.
fn longest_pause(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>, points: &[At], pace: i64) {
    // The target sees a command only after the runtime has started a process for it.
    let begins = if is_command(life) { START_OF_A_COMMAND } else { 0 };
    let pauses = points.windows(2).filter_map(|pair| {
        let bound = Bound::at_most(pace + begins + clause.slack_us(), "periodSeconds + slack");
        let (from, to) = (pair.first()?, pair.get(1)?);
        life.run.measure("the longest pause of readiness probing", &life.node, from, to, bound)
    });
    let weight = |pause: &Measurement| match pause.fit() {
        Fit::Met => 0,
        Fit::Undecided => 1,
        Fit::Missed => 2,
    };
    if let Some(longest) = pauses.max_by_key(|pause| (weight(pause), pause.observed.lo)) {
        seen.measure(longest);
    }
}

/// Readiness probes continue while a pod terminates, and their results are still shown.
pub(super) fn continues_while_terminating(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let enough = i64::try_from(clause.tolerance_times("periods")).unwrap_or(i64::MAX);
    for life in readiness_lives(run) {
        let terminating = life.pod.revisions.iter().find(|revision| revision.terminating());
        let (Some(terminating), Some(stop)) = (terminating, life.stop()) else { continue };
        // Once a pod is removed from the API, results can no longer be published.
        let gone = life.pod.revisions.iter().find(|revision| revision.gone).map(At::of);
        let ends = [last_sign(&life), gone].into_iter().flatten();
        let Some(last) = ends.reduce(|one, other| if run.before(&other, &one) { other } else { one }) else {
            continue;
        };
        let pace = pace(&life);
        let left = run.clocks.between(&stop.at, &last).map_or(0, |span| span.lo);
        if !keeps_serving(life.attempt) || life.spec.handler.port().is_none() || left < enough * pace {
            continue;
        }
        let after = |stamp: &Stamp| stamp.at.lo > stop.at.at.lo;
        let probes = life.probes.iter().map(At::of);
        let (later, before): (Vec<At>, Vec<At>) = probes.partition(|probe| after(probe));
        // Probing must continue only if it had begun before: otherwise, the container may not have counted as started
        // yet.
        let Some(before) = before.last() else { continue };
        let points = [std::slice::from_ref(before), &later, &[last]].concat();
        longest_pause(clause, seen, &life, &points, pace);
        for turn in falls(&life).iter().filter(|turn| after(&turn.first.at)) {
            if let Some(down) = goes_down(clause, seen, &life, turn) {
                slices_follow(clause, seen, &life, down);
            }
        }
        for turn in rises(&life).iter().filter(|turn| after(&turn.first.at)) {
            comes_up(clause, seen, &life, turn);
        }
        seen.fine([terminating.id]);
    }
}

/// The endpoint of a pod that is no longer ready does not serve, as long as its container is running.
fn slices_follow(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>, down: &Revision<'_>) {
    if !down.container(&life.container.name).is_some_and(|seen| seen.is_running()) {
        return;
    }
    let around = |entry: &Entry<'_, '_>| entry.at.at.lo >= down.at.at.lo - UNDER_WAY;
    for service in services(life.run).iter().filter(|service| service.selects(life.pod)) {
        let entries = service.entries(life.pod);
        let then = entries.iter().rfind(|entry| entry.at.at.lo <= down.at.at.lo);
        if let Some(then) = then.filter(|entry| !entry.serving()) {
            seen.fine([down.id, then.id]);
            continue;
        }
        let Some(entry) = entries.into_iter().find(|entry| around(entry) && !entry.serving()) else {
            continue;
        };
        let bound = Bound::at_most(clause.slack_us() + SLICES, "slack + 1 s for EndpointSlices");
        let quantity = format!("from Ready=False to serving=false in `{}`", service.name);
        life.within(seen, quantity, (down, &entry), bound);
    }
}
