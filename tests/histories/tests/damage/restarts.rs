//! Damages to restarts of kubelets: a restarted kubelet forgets or repeats something, or does everything at once.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::{Did, RESTART_KUBELET};
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, Revision};
use probity_model::{EventId, History, Timeline};
use serde_json::{Value, json};

use super::copy::{Copy, revised, write_status};
use super::course::{Course, SECOND, of_kind};
use super::{Damage, violated};

const KEPT: &str = "prober.kubelet-restart.status-kept";

pub(crate) const ALL: &[Damage] = &[
    violated("a container is shown as not ready after a restart of its kubelet", &[KEPT], |run| {
        shown_otherwise(run, |status| status["ready"] = false.into())
    }),
    violated("a container is shown as not started after a restart of its kubelet", &[KEPT], |run| {
        shown_otherwise(run, |status| status["started"] = false.into())
    }),
    violated("a restart of a kubelet counts as one of its containers", &[KEPT], |run| {
        shown_otherwise(run, |status| {
            status["restartCount"] = 1.into();
            status["lastState"] = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        })
    }),
    violated(
        "a container that fails before and after a restart of its kubelet is stopped six seconds late",
        &["prober.kubelet-restart.failures-still-kill"],
        stopped_late,
    ),
    violated(
        "a restarted kubelet probes all containers at once",
        &["prober.worker.restart-jitter"],
        all_at_once,
    ),
];

/// The time at which a kubelet had restarted.
fn restart(run: &Timeline<'_>) -> Option<Stamp> {
    let restarts = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if verb == RESTART_KUBELET);
    let (id, _) = run.deeds.iter().find(|(_, deed)| restarts(&deed.did))?;
    Some(run.heard(*id))
}

/// Three seconds after the restart, a revision shows a container that has been ready for ten seconds in a different
/// state.
fn shown_otherwise(run: &Timeline<'_>, change: impl Fn(&mut Value)) -> Option<History> {
    let restart = restart(run)?;
    let (course, last) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let last = shown(&course, &restart, run)?;
        let ready = last.container(&course.container.name).is_some_and(|status| status.ready);
        let old = run.clocks.between(&course.attempt.began, &restart)?.lo > 11 * SECOND;
        (ready && old && last.is("Ready") == Some(true)).then_some((course, last))
    })?;
    let mut event = revised(run.history.get(last.id)?, restart.at.hi + 3 * SECOND);
    write_status(&mut event, &course.container.name, change);
    Copy::of(run).with(event).done()
}

/// The last revision of a pod before a time.
fn shown<'t, 'h>(course: &Course<'t, 'h>, by: &Stamp, run: &Timeline<'_>) -> Option<&'t Revision<'h>> {
    course.pod.revisions.iter().take_while(|of| run.before(&of.at, by)).last()
}

fn stopped_late(run: &Timeline<'_>) -> Option<History> {
    let restart = restart(run)?;
    let ill = of_kind(run, ProbeKind::Liveness).filter(|course| {
        let fails =
            |probe: &&Probe<'_>| course.attempt.result(probe, course.spec).outcome() == ProbeOutcome::Failure;
        let (after, before): (Vec<_>, Vec<_>) =
            course.probes.iter().copied().partition(|probe| run.before(&restart, &probe.at));
        let stopped = course.attempt.stop().is_some_and(|stop| run.before(&restart, &stop.at));
        stopped && before.last().is_some_and(fails) && after.first().is_some_and(fails)
    });
    let course = ill.into_iter().next()?;
    let stop = course.attempt.stop()?;
    let late = |at: &Stamp| run.clocks.order(at, &stop.at) != Order::Before;
    let lines = course.attempt.lines.iter().filter(|line| late(&line.at)).map(|line| line.id);
    let ends = course.attempt.ended.as_ref().map(|ended| ended.id);
    Copy::of(run).moved(lines.chain(ends), 6 * SECOND).done()
}

/// After the restart, the first probes of all containers come at the same time.
fn all_at_once(run: &Timeline<'_>) -> Option<History> {
    let restart = restart(run)?;
    let firsts: Vec<(i64, Vec<EventId>)> = of_kind(run, ProbeKind::Readiness)
        .filter_map(|course| {
            let first = course.probes.iter().find(|probe| run.before(&restart, &probe.at))?;
            let slow = course.spec.period >= 20 * SECOND;
            slow.then(|| (first.at.at.lo, course.exchange(first)))
        })
        .collect();
    let earliest = firsts.iter().map(|(at, _)| *at).min().filter(|_| firsts.len() > 5)?;
    let to_first =
        |copy: Copy, (at, ids): &(i64, Vec<EventId>)| copy.moved(ids.iter().copied(), earliest - at);
    firsts.iter().fold(Copy::of(run), to_first).done()
}
