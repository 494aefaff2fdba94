//! The effects of a startup success: no more startup probes, `started` in the status, and an immediate readiness probe.
//! Also the status of containers without a startup probe.

use std::collections::BTreeSet;

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{DOUBTFUL, PERIODS_TO_COME};
use probity_model::timeline::{
    At, ContainerKind, ContainerLife, ContainerSeen, Handler, PodLife, ProbeKind, ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::gate::{Early, Opening, is_before, judge_shown_early, opening, success};
use crate::reading::at_rest::judge_at_rest;
use crate::reading::began::began;
use crate::reading::heard::is_stalled_on_its_way;
use crate::reading::statuses::judge_races;

const TAKEN_BACK: &str = "`started` went from true back to false in the same container instance";

/// After a startup success, no further startup probe comes in the same instance.
pub(super) fn success_is_the_last(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for startup in run.lives().of(ProbeKind::Startup) {
        let Some(success) = success(&startup) else { continue };
        let mut later =
            startup.probes_of(ProbeKind::Startup).filter(|probe| probe.at.at.lo > success.at.at.hi);
        let Some(again) = later.find(|probe| startup.peer(probe) == startup.peer(success.probe)) else {
            let last = startup.last_line().filter(|line| {
                line.at.at.lo - success.at.at.hi > PERIODS_TO_COME.of(startup.spec.period)
                    && startup.stop().is_none_or(|stop| line.at.at.hi <= stop.at.at.lo)
            });
            seen.fine(last.into_iter().flat_map(|line| [success.at.id, line.id]));
            continue;
        };
        if run.node_was_touched() {
            continue;
        }
        let (events, later) = ([success.at.id, again.id], seconds(again.at.at.lo - success.at.at.lo));
        let finding = format!("a startup probe came {later} after the startup probe had succeeded");
        // In a stalled kubelet, the probe may have timed out before the answer came, although the target recorded the
        // answer as in time.
        if startup.noise(&success.probe.at, &again.at) > DOUBTFUL.of(startup.spec.timeout)
            || is_stalled_on_its_way(&startup, success.probe)
        {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but the node was stalled"), events);
        } else {
            seen.violated(finding, events);
        }
    }
}

/// Each change in the status of an instance while the container was running. The restart count identifies the instance.
fn shows<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &str,
    number: u64,
) -> Vec<(&'t Revision<'h>, ContainerSeen<'h>)> {
    let changes = pod.changes_of(container);
    changes.filter(|(_, status)| status.restarts == number && status.is_running()).collect()
}

/// An instance that was shown as started because of its success stays so. Returns a change that may have been a race:
/// an older status was written after the success, and was soon corrected.
fn taken_back(
    clause: &Clause,
    startup: &ProbedLife<'_, '_>,
    success: Option<&Opening<'_, '_>>,
    seen: &mut Seen,
) -> Option<[EventId; 2]> {
    let shown = shows(startup.pod, &startup.container.name, startup.number);
    let settling = |revision: &Revision<'_>| {
        success.is_some_and(|success| {
            let most = clause.slack_us() + startup.noise(&success.at, &revision.at);
            startup.run.clocks.between(&success.at, &revision.at).is_some_and(|span| span.lo <= most)
        })
    };
    // A late revision may have been written before the success.
    let written_after = |revision: &Revision<'_>| {
        success.is_some_and(|success| {
            let since = startup.run.clocks.between(&success.at, &revision.at);
            since.is_some_and(|since| since.lo > startup.noise(&success.at, &revision.at))
        })
    };
    let earned = |(revision, status): &&(&Revision<'_>, ContainerSeen<'_>)| {
        status.started == Some(true) && written_after(revision)
    };
    let mut later = shown.iter().skip_while(|shown| !earned(shown));
    let (first, _) = later.next()?;
    let mut race = None;
    while let Some((back, _)) = later.find(|(_, status)| status.started == Some(false)) {
        let again = later.clone().find(|(_, status)| status.started == Some(true));
        if race.is_some() || !again.is_some_and(|(revision, _)| settling(revision)) {
            seen.violated(TAKEN_BACK, [first.id, back.id]);
            return None;
        }
        race = Some([first.id, back.id]);
    }
    race
}

/// `started` in the status is false until the startup probe has succeeded, and true soon after.
pub(super) fn started_is_published(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut races = Vec::new();
    let others = run.containers().filter(|(_, container)| container.kind != ContainerKind::Init);
    judge_at_rest(run, others, ("started", |_, of| of.started == Some(true)), seen);
    for startup in run.lives().of(ProbeKind::Startup).undisturbed() {
        let success = opening(&startup);
        races.extend(taken_back(clause, &startup, success.as_ref(), seen));
        for (revision, status) in shows(startup.pod, &startup.container.name, startup.number) {
            let early = is_before(&startup, revision, success.as_ref());
            match status.started {
                Some(true) if early => {
                    let finding = "`started` was true before the startup probe had succeeded".to_owned();
                    let shows = |status: &ContainerSeen<'_>| status.started == Some(true);
                    let early = Early { revision, opening: success.as_ref(), shows: &shows };
                    judge_shown_early(clause, &startup, &early, finding, seen);
                }
                Some(false) if early => {
                    seen.fine([startup.began.id, revision.id]);
                    seen.facet("started", "false");
                }
                _ => {}
            }
        }
        if let Some(success) = success.filter(|success| success.certain) {
            judge_published(clause, &startup, &success, seen);
        }
    }
    judge_races(TAKEN_BACK, &races, seen);
}

/// A revision shows `started: true` in time after the success.
fn judge_published(
    clause: &Clause,
    startup: &ProbedLife<'_, '_>,
    success: &Opening<'_, '_>,
    seen: &mut Seen,
) {
    let (pod, container, slack) = (startup.pod, startup.container, clause.slack_us());
    let mut shown = shows(pod, &container.name, startup.number)
        .into_iter()
        .filter(|(revision, _)| startup.run.clocks.order(&revision.at, &success.at) != Order::Before);
    let Some((revision, _)) = shown.find(|(_, status)| status.started == Some(true)) else {
        // If `started` was already published before this success, for example after an earlier success whose record was
        // lost, it need not be published again.
        let published = shows(pod, &container.name, startup.number)
            .last()
            .is_some_and(|(_, status)| status.started == Some(true));
        if !published && startup.lives_on() && startup.watched_for(&success.at, slack) {
            let finding = format!("`started` was not true within {} of the startup success", seconds(slack));
            let last = pod.revisions.iter().rfind(|revision| revision.container(&container.name).is_some());
            seen.violated(finding, [success.at.id].into_iter().chain(last.map(|last| last.id)));
        }
        return;
    };
    // The status is sent with the next change, so `started` may never be shown for an instance that ends at once.
    let quantity = "from the startup success to `started: true`";
    let fit = seen.within(startup.run, &pod.node, quantity, (&success.at, revision), in_seconds(slack));
    if fit == Some(Fit::Met) {
        seen.fine(success.probe.events().into_iter().chain([revision.id]));
        seen.facet("started", "true");
    }
}

/// At most the slack, with the value of the slack as the formula.
fn in_seconds(slack: i64) -> Bound {
    Bound::at_most(slack, seconds(slack))
}

/// A container without a startup probe counts as started as soon as it runs.
pub(super) fn absent_is_started(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        if !container.stays() || container.probe(ProbeKind::Startup).is_some() {
            continue;
        }
        let last = pod.restarts(&container.name).map_or(0, |(_, restarts)| restarts);
        // Only the restart counts that were shown are judged, and not all numbers up to the last count, because that
        // count may be wrong.
        let numbers: BTreeSet<u64> =
            pod.changes_of(&container.name).map(|(_, status)| status.restarts).collect();
        for number in numbers {
            let shown = shows(pod, &container.name, number);
            judge_unprobed(run, clause, (pod, container, number), (&shown, number == last), seen);
        }
    }
}

/// Judges one instance of a container without a startup probe, from its start, if that is known, or else from the first
/// revision that shows it as running.
fn judge_unprobed(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, number): (&PodLife<'_>, &ContainerLife<'_>, u64),
    (shown, is_last): (&[(&Revision<'_>, ContainerSeen<'_>)], bool),
    seen: &mut Seen,
) {
    let (began, slack) = (began(run, pod, container, number), clause.slack_us());
    let (Some((first, _)), Some((last, _))) = (shown.first(), shown.last()) else { return };
    let from = began.unwrap_or_else(|| At::of(*first));
    let quantity = "from the start of the container to";
    if let Some((started, _)) = shown.iter().find(|(_, status)| status.started == Some(true)) {
        let quantity = format!("{quantity} `started: true`");
        seen.within(run, &pod.node, quantity, (&from, *started), in_seconds(slack));
        let mut later = shown.iter().skip_while(|(revision, _)| revision.id < started.id);
        if let Some((back, _)) = later.find(|(_, status)| status.started == Some(false)) {
            seen.violated(TAKEN_BACK, [started.id, back.id]);
        }
    } else if is_last && run.watched_for(pod, &first.at, slack) {
        let finding = format!("without a startup probe, `started` was not true within {}", seconds(slack));
        seen.violated(finding, [from.id, first.id]);
    } else if !is_last
        && !run.node_was_touched()
        // The next revision after the last revision of this instance. The API would have shown any change in between.
        && let Some(next) = pod.revisions.iter().find(|next| next.id > last.id)
        && run.before_deletion(pod, &next.at)
    {
        let quantity = format!("{quantity} its end, without `started: true`");
        let measured = run.measure(quantity, &pod.node, &from, next, in_seconds(slack));
        let missed = measured.filter(|measured| measured.fit() == Fit::Missed);
        missed.into_iter().for_each(|measured| seen.measure(measured));
    }
}

/// The first readiness probe follows the startup success immediately, not after a period.
pub(super) fn readiness_follows(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    // After a restart, the kubelet waits for up to a period before it sends the first probe.
    if run.node_was_touched() {
        return;
    }
    for startup in run.lives().of(ProbeKind::Startup) {
        let Some(readiness) = startup.probed(ProbeKind::Readiness) else { continue };
        let Some(success) = success(&startup) else { continue };
        let delayed = success.at.at.hi - startup.began.at.lo < readiness.spec.initial_delay;
        if readiness.spec.period <= slack || delayed || !is_seen_at_success(&startup, &readiness) {
            continue;
        }
        match readiness.probes.first() {
            // The clauses of the gate judge a probe that comes before the success. After such a probe, readiness may
            // already be known.
            Some(first) if first.at.at.lo < success.at.at.hi => {}
            Some(first) => {
                if startup.before_deletion(&first.at) {
                    let quantity = "from the startup success to the first readiness probe";
                    startup.within(seen, quantity, (&success.at, first), in_seconds(slack));
                }
            }
            None => {
                let known = startup.lives_on() && startup.holes.is_empty();
                let known = known && !startup.has_strangers(readiness.spec.handler.port());
                if known && startup.watched_for(&success.at, slack) {
                    let finding =
                        format!("no readiness probe within {} of the startup success", seconds(slack));
                    seen.violated(finding, [success.at.id]);
                }
            }
        }
    }
}

/// Whether a readiness probe at the startup success would have been recorded: the probe uses the port that has just
/// answered, or runs a command.
fn is_seen_at_success(startup: &ProbedLife<'_, '_>, readiness: &ProbedLife<'_, '_>) -> bool {
    let port = readiness.spec.handler.port();
    let command = matches!(readiness.spec.handler, Handler::Exec { .. });
    command || (port.is_some() && port == startup.spec.handler.port())
}
