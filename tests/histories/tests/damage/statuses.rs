//! Statuses of pods that contradict the targets' records.

use probity_model::clocks::Order;
use probity_model::timeline::{ContainerKind, ContainerSeen, Probe, ProbeKind, Revision, State};
use probity_model::{EventId, History, Timeline};

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "ready is shown before a readiness probe has passed",
        &["probe.readiness.starts-unready"],
        ready_early,
    ),
    violated(
        "the condition Ready is shown before a readiness probe has passed",
        &["probe.readiness.starts-unready", "probe.scope.pod-ready-iff-all-containers"],
        condition_early,
    ),
    violated(
        "ready is never shown, though readiness probes pass",
        &["prober.sync.readiness-status-path"],
        never_ready,
    ),
    violated("ready is shown seven seconds late", &["prober.sync.readiness-status-path"], ready_late),
    violated(
        "ready stays, though readiness probes fail",
        &["probe.readiness.failure-marks-unready"],
        |run| down_ignored(run, 0),
    ),
    violated("not ready is shown five seconds late", &["probe.readiness.failure-marks-unready"], |run| {
        down_ignored(run, 5 * SECOND)
    }),
    violated("readiness does not come back", &["probe.readiness.recovers"], no_recovery),
    violated(
        "a container without a readiness probe is not ready",
        &["probe.readiness.absent-means-ready"],
        absent_unready,
    ),
    violated(
        "a container without a startup probe is not started",
        &["probe.startup.absent-means-started"],
        absent_unstarted,
    ),
    violated(
        "started is shown before the startup probe has passed",
        &["probe.startup.started-field"],
        started_early,
    ),
    violated(
        "started is never shown, though the startup probe passed",
        &["probe.startup.started-field"],
        never_started,
    ),
    violated(
        "the condition ContainersReady is True beside a container that is not ready",
        &["probe.scope.pod-ready-iff-all-containers"],
        |run| half_ready(run, "ContainersReady"),
    ),
    violated(
        "the condition Ready is True beside a container that is not ready",
        &["probe.scope.pod-ready-iff-all-containers"],
        |run| half_ready(run, "Ready"),
    ),
    violated(
        "the condition Ready stays False, though all containers are ready",
        &["probe.scope.pod-ready-iff-all-containers"],
        never_whole,
    ),
    violated(
        "a new life is shown ready from its first revision on",
        &["prober.worker.new-container-resets-result"],
        ready_anew,
    ),
    violated(
        "a container that has ended is shown ready",
        &["prober.worker.non-running-sets-failure"],
        ready_dead,
    ),
    violated("each probe writes a status", &["prober.result.published-on-change"], chatty),
];

/// The revisions of a course's pod that show its instance running.
pub(crate) fn shown<'t, 'h>(
    course: &Course<'t, 'h>,
) -> impl DoubleEndedIterator<Item = (&'t Revision<'h>, ContainerSeen<'h>)> {
    let (name, number) = (course.container.name.clone(), course.attempt.number);
    course.pod.revisions.iter().filter(|revision| !revision.gone).filter_map(move |revision| {
        let status = revision.container(&name)?;
        let runs = matches!(status.state, State::Running { .. }) && status.restarts == number;
        runs.then_some((revision, status))
    })
}

/// Writes one field of a container's status in several revisions.
fn all_say(run: &Timeline<'_>, container: &str, ids: &[EventId], field: &str, to: bool) -> Option<History> {
    if ids.is_empty() {
        return None;
    }
    let write = |copy: Copy, id: &EventId| copy.status(*id, container, |status| status[field] = to.into());
    ids.iter().fold(Copy::of(run), write).done()
}

/// The first revision that shows an instance running before its first readiness probe came.
fn before_readiness<'t, 'h>(run: &'t Timeline<'h>) -> Option<(Course<'t, 'h>, EventId)> {
    let own = |course: &Course<'_, '_>| course.attempt.number == 0 && course.spec.handler.host().is_none();
    of_kind(run, ProbeKind::Readiness).filter(own).find_map(|course| {
        let first = course.probes.first()?;
        let early = |(revision, status): &(&Revision<'_>, ContainerSeen<'_>)| {
            !status.ready && run.clocks.order(&revision.at, &first.at) == Order::Before
        };
        let (revision, _) = shown(&course).find(early)?;
        Some((course, revision.id))
    })
}

fn ready_early(run: &Timeline<'_>) -> Option<History> {
    let (course, id) = before_readiness(run)?;
    all_say(run, &course.container.name, &[id], "ready", true)
}

fn condition_early(run: &Timeline<'_>) -> Option<History> {
    let (_, id) = before_readiness(run)?;
    Copy::of(run).condition(id, "Ready", true).condition(id, "ContainersReady", true).done()
}

/// A readiness probe that passed for at least this long.
fn passing<'t, 'h>(run: &'t Timeline<'h>, long: i64) -> Option<Course<'t, 'h>> {
    of_kind(run, ProbeKind::Readiness).find(|course| {
        let span =
            course.probes.first().zip(course.probes.last()).map(|(first, last)| course.gap(first, last));
        let all = course.probes.iter().all(|probe| probe.passed == Some(true));
        let ready = shown(course).any(|(_, status)| status.ready);
        all && ready && span.is_some_and(|span| span > long)
    })
}

fn never_ready(run: &Timeline<'_>) -> Option<History> {
    let course = passing(run, 5 * SECOND)?;
    let ids: Vec<_> = shown(&course).map(|(revision, _)| revision.id).collect();
    all_say(run, &course.container.name, &ids, "ready", false)
}

fn ready_late(run: &Timeline<'_>) -> Option<History> {
    let course = passing(run, 10 * SECOND).filter(|course| course.pod.containers.len() == 1)?;
    // An instance that was never shown as not ready may have been ready immediately.
    let (first, unready) = shown(&course).next()?;
    let known = run.clocks.order(&first.at, &course.probes.first()?.at) == Order::Before;
    if unready.ready || !known {
        return None;
    }
    let from = shown(&course).find(|(_, status)| status.ready)?.0;
    if !run.before_deletion(course.pod, &from.at.later(8 * SECOND)) {
        return None;
    }
    let late = course.pod.revisions.iter().map(|revision| revision.id).filter(|id| *id >= from.id);
    Copy::of(run).moved(late, 7 * SECOND).done()
}

/// The revision in which a container became not ready because of its probe, which keeps failing for five seconds, and the
/// later revisions that also show this.
pub(crate) fn downs<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Course<'t, 'h>, Vec<EventId>)> {
    of_kind(run, ProbeKind::Readiness).filter_map(|course| {
        let states: Vec<_> = shown(&course).collect();
        let at = states.windows(2).position(|pair| pair[0].1.ready && !pair[1].1.ready)? + 1;
        let down = states[at..].iter().take_while(|(_, status)| !status.ready);
        let ids: Vec<_> = down.map(|(revision, _)| revision.id).collect();
        let shown = states[at].0;
        let later = |probe: &&&Probe<'_>| run.clocks.order(&shown.at, &probe.at) == Order::Before;
        let failing = course.probes.iter().filter(later).take_while(|probe| probe.passed == Some(false));
        let lasts = failing.last().is_some_and(|last| run.at_least(&shown.at, &last.at) > 5 * SECOND);
        let own = course.spec.handler.host().is_none() && !run.node_was_touched();
        (lasts && own && run.before_deletion(course.pod, &shown.at.later(6 * SECOND)))
            .then_some((course, ids))
    })
}

/// The first of these changes to not ready for which all probes were answered at once.
pub(crate) fn down<'t, 'h>(run: &'t Timeline<'h>) -> Option<(Course<'t, 'h>, Vec<EventId>)> {
    downs(run).find(|(course, _)| course.is_quick())
}

/// A change to not ready is not shown, or is shown later.
fn down_ignored(run: &Timeline<'_>, late: i64) -> Option<History> {
    let (course, ids) = down(run)?;
    if late > 0 {
        return Copy::of(run).moved(ids, late).done();
    }
    let copy = ids.iter().fold(Copy::of(run), |copy, id| {
        let copy = copy.status(*id, &course.container.name, |status| status["ready"] = true.into());
        copy.condition(*id, "Ready", true).condition(*id, "ContainersReady", true)
    });
    copy.done()
}

fn no_recovery(run: &Timeline<'_>) -> Option<History> {
    let (course, ids) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let states: Vec<_> = shown(&course).collect();
        let down = states.windows(2).position(|pair| pair[0].1.ready && !pair[1].1.ready)?;
        let up = states[down + 1..].iter().skip_while(|(_, status)| !status.ready);
        let ids: Vec<_> = up.map(|(revision, _)| revision.id).collect();
        (!ids.is_empty()).then_some((course, ids))
    })?;
    all_say(run, &course.container.name, &ids, "ready", false)
}

/// The revisions of the first instance of a container without a probe of this kind.
fn unprobed(run: &Timeline<'_>, kind: ProbeKind) -> Option<(String, Vec<EventId>)> {
    run.containers().filter(|(_, container)| container.kind == ContainerKind::Main).find_map(
        |(pod, container)| {
            let runs = |revision: &&Revision<'_>| {
                let status = revision.container(&container.name);
                status.is_some_and(|status| {
                    matches!(status.state, State::Running { .. }) && status.restarts == 0
                })
            };
            let ids: Vec<_> = pod.revisions.iter().filter(runs).map(|revision| revision.id).collect();
            let first = run.history.get(*ids.first()?)?.us;
            let other = |revision: &&Revision<'_>| Some(&revision.id) > ids.last();
            let until = pod.revisions.iter().find(other).map_or(run.ended_us, |other| other.at.at.lo);
            let asked = pod.deleted.and_then(|id| run.history.get(id)).map_or(i64::MAX, |event| event.us);
            let long = until.min(asked) - first > 10 * SECOND;
            (container.probe(kind).is_none() && long).then(|| (container.name.clone(), ids))
        },
    )
}

fn absent_unready(run: &Timeline<'_>) -> Option<History> {
    let (container, ids) = unprobed(run, ProbeKind::Readiness)?;
    all_say(run, &container, &ids, "ready", false)
}

fn absent_unstarted(run: &Timeline<'_>) -> Option<History> {
    let (container, ids) = unprobed(run, ProbeKind::Startup)?;
    all_say(run, &container, &ids, "started", false)
}

fn started_early(run: &Timeline<'_>) -> Option<History> {
    let (course, id) = of_kind(run, ProbeKind::Startup).find_map(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup)?;
        let early = |(revision, _): &(&Revision<'_>, ContainerSeen<'_>)| {
            run.clocks.order(&revision.at, &success.at) == Order::Before
        };
        let (revision, _) = shown(&course).find(early)?;
        Some((course, revision.id))
    })?;
    all_say(run, &course.container.name, &[id], "started", true)
}

fn never_started(run: &Timeline<'_>) -> Option<History> {
    let course = of_kind(run, ProbeKind::Startup).find(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup);
        let at = success.and_then(|success| run.clocks.on_harness(&success.at));
        let inherited = course.attempt.number > 0;
        let lasts = success.is_some_and(|of| course.goes_on(run, of.at.at.lo, 4 * SECOND));
        lasts && !inherited && at.is_some_and(|at| run.ended_us - at.hi > 6 * SECOND)
    })?;
    let ids: Vec<_> = shown(&course).map(|(revision, _)| revision.id).collect();
    all_say(run, &course.container.name, &ids, "started", false)
}

fn half_ready(run: &Timeline<'_>, condition: &str) -> Option<History> {
    let id = run.pods.iter().filter(|pod| pod.containers.len() > 1).find_map(|pod| {
        let mixed = |revision: &&Revision<'_>| {
            let main = pod.containers.iter().filter(|container| container.kind == ContainerKind::Main);
            let ready: Vec<bool> =
                main.filter_map(|of| revision.container(&of.name)).map(|of| of.ready).collect();
            ready.contains(&true) && ready.contains(&false)
        };
        pod.revisions.iter().find(mixed).map(|revision| revision.id)
    })?;
    Copy::of(run).condition(id, condition, true).done()
}

fn never_whole(run: &Timeline<'_>) -> Option<History> {
    let course = passing(run, 8 * SECOND)?;
    let ids = shown(&course).map(|(revision, _)| revision.id);
    ids.fold(Copy::of(run), |copy, id| {
        copy.condition(id, "Ready", false).condition(id, "ContainersReady", false)
    })
    .done()
}

fn ready_anew(run: &Timeline<'_>) -> Option<History> {
    let (course, id) =
        of_kind(run, ProbeKind::Readiness).filter(|course| course.attempt.number > 0).find_map(|course| {
            let first = course.probes.first()?;
            let (revision, status) = shown(&course).next()?;
            let early = run.clocks.order(&revision.at, &first.at) == Order::Before && !status.ready;
            early.then_some((course, revision.id))
        })?;
    all_say(run, &course.container.name, &[id], "ready", true)
}

fn ready_dead(run: &Timeline<'_>) -> Option<History> {
    let (name, id) =
        courses(run).filter(|course| course.spec.kind == ProbeKind::Readiness).find_map(|course| {
            let dead = |revision: &&Revision<'_>| {
                let status = revision.container(&course.container.name);
                status.is_some_and(|status| matches!(status.state, State::Terminated { .. }))
            };
            let id = course.pod.revisions.iter().find(dead)?.id;
            Some((course.container.name.clone(), id))
        })?;
    all_say(run, &name, &[id], "ready", true)
}

/// After each probe there is a revision that differs from the previous one only in its number.
fn chatty(run: &Timeline<'_>) -> Option<History> {
    let course = passing(run, 15 * SECOND).filter(|course| course.probes.len() > 12)?;
    let model = shown(&course).rfind(|(_, status)| status.ready)?.0.id;
    let event = run.history.get(model)?;
    let later = course
        .probes
        .iter()
        .filter_map(|probe| run.history.get(probe.id))
        .filter(|heard| heard.us > event.us);
    let later: Vec<_> = later.collect();
    if later.len() < 10 {
        return None;
    }
    later
        .into_iter()
        .fold(Copy::of(run), |copy, heard| copy.with(super::copy::revised(event, heard.us + SECOND / 10)))
        .done()
}
