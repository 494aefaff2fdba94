//! Damages to container instances, which end too early, too late, without a stop signal, or not at all.

use probity_model::history::Happening;
use probity_model::timeline::{ContainerSeen, Probe, ProbeKind, Revision, State};
use probity_model::{EventId, History, Stamp, Timeline};
use probity_script::witness::{Entry, Fact};
use serde_json::{Value, json};

use super::copy::Copy;
use super::course::{Course, SECOND, courses};
use super::{Damage, violated};

const EXACT: &[&str] = &["probe.failure-threshold.exact-count"];

pub(crate) const ALL: &[Damage] = &[
    violated("the stop signal comes one failure too early", EXACT, one_less),
    violated("the stop signal comes one failure too late", EXACT, one_more),
    violated("the stop signal comes ten seconds late", EXACT, late_stop),
    violated(
        "failures stop nobody",
        &["probe.failure-threshold.exact-count", "probe.liveness.failure-restarts-container"],
        no_stop,
    ),
    violated(
        "a container that failed is killed without a stop signal",
        &["probe.liveness.kill-is-graceful"],
        no_signal,
    ),
    violated(
        "a container is started again under Never",
        &[
            "probe.liveness.needs-restarting-policy",
            "probe.startup.failure-never-policy",
            "probe.liveness.self-crash-needs-no-probe",
        ],
        again_under_never,
    ),
    violated("the grace period is cut to a half", GRACE, half_of_grace),
    violated(
        "a liveness probe goes on after the failure that counts",
        &["probe.failure-threshold.exact-count", "prober.worker.onhold-after-liveness-failure"],
        goes_on,
    ),
    violated(
        "a container that failed is not started again",
        &["probe.liveness.failure-restarts-container", "probe.liveness.needs-restarting-policy"],
        no_next_life,
    ),
];

const GRACE: &[&str] =
    &["probe.tgps.default-inherits", "probe.tgps.liveness-override", "probe.tgps.startup-override"];

/// A liveness or startup probe that reached its failure threshold, with the failures and the stop signal after them.
pub(crate) fn spent<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (Course<'t, 'h>, Vec<&'t Probe<'h>>, EventId, i64)> {
    courses(run).filter(|course| course.spec.kind != ProbeKind::Readiness && !course.is_command()).filter_map(
        |course| {
            let (stop, at) = course.attempt.stop_signal()?;
            let mut failures: Vec<_> =
                course.before(at).rev().take_while(|probe| probe.passed == Some(false)).collect();
            failures.reverse();
            let enough = i64::try_from(failures.len()) == Ok(course.spec.failures);
            let at = at.at.lo;
            let soon = failures.last().is_some_and(|last| at - last.at.at.lo < SECOND);
            (enough && soon).then_some((course, failures, stop, at))
        },
    )
}

/// The first failure is dropped, so that there is one failure too few between the last success and the stop signal.
fn one_less(run: &Timeline<'_>) -> Option<History> {
    let after_success = |(course, failures, ..): &(Course<'_, '_>, Vec<&Probe<'_>>, EventId, i64)| {
        course.spec.failures > 1 && course.spec.period >= SECOND && course.probes.len() > failures.len()
    };
    let (course, failures, ..) = spent(run).find(after_success)?;
    let passed = course.before(&failures[0].at).next_back()?;
    Copy::of(run)
        .without(course.exchange(failures[0]))
        .doubled(course.exchange(passed), course.gap(passed, failures[0]))
        .done()
}

/// Another failure comes a period after the last failure, and all later events come later.
fn one_more(run: &Timeline<'_>) -> Option<History> {
    let (course, failures, stop, _) = spent(run).next()?;
    let last = failures.last()?;
    let period = course.spec.period;
    let copy = Copy::of(run).doubled(course.exchange(last), period);
    rest_later(copy, run, &course, stop, period + SECOND / 2).done()
}

/// Moves the rest of an instance from an event on.
pub(crate) fn rest_later(
    copy: Copy,
    run: &Timeline<'_>,
    course: &Course<'_, '_>,
    from: EventId,
    by: i64,
) -> Copy {
    let rest = course.attempt.lines.iter().map(|line| line.id).filter(|id| *id >= from);
    let left = left(run, course);
    copy.moved(rest.chain(left), by)
}

/// The event that shows the end of an instance.
fn left(run: &Timeline<'_>, course: &Course<'_, '_>) -> Option<EventId> {
    let boot = course.attempt.boot;
    run.history.events().find_map(|(id, event)| match &event.what {
        Happening::Witness(heard) => {
            matches!(&heard.entry, Entry::Left { boot: of, .. } if of == boot).then_some(id)
        }
        _ => None,
    })
}

fn late_stop(run: &Timeline<'_>) -> Option<History> {
    let (course, _, stop, _) = spent(run).find(|(course, _, _, at)| {
        let late = Stamp::node(&course.attempt.node, at + 12 * SECOND);
        let in_time = run.clocks.on_harness(&late).is_some_and(|late| late.hi < run.ended_us);
        course.pod.containers.len() == 1 && in_time && run.before_deletion(course.pod, &late)
    })?;
    rest_later(Copy::of(run), run, &course, stop, 10 * SECOND).done()
}

/// The instance keeps running without the stop signal, until after the end of the case.
fn no_stop(run: &Timeline<'_>) -> Option<History> {
    let (course, _, stop, _) = spent(run).find(|(course, failures, ..)| {
        let failed = failures.last().and_then(|last| run.clocks.on_harness(&last.at));
        let lasts = failed.is_some_and(|failed| run.ended_us - failed.hi > 6 * SECOND);
        course.pod.containers.len() == 1 && lasts
    })?;
    let later: Vec<EventId> = course
        .container
        .attempts
        .iter()
        .filter(|next| next.number > course.attempt.number)
        .flat_map(|next| next.lines.iter().map(|line| line.id))
        .collect();
    let rest: Vec<EventId> =
        course.attempt.lines.iter().map(|line| line.id).filter(|id| *id >= stop).collect();
    Copy::of(run).without(rest).without(left(run, &course)).without(later).done()
}

/// The process got no signal and did not exit by itself, and the status shows that it was killed.
fn no_signal(run: &Timeline<'_>) -> Option<History> {
    let (course, ..) = spent(run).find(|(course, ..)| course.attempt.number == 0)?;
    let gone = course.lines(|fact| match fact {
        Fact::Signal(_) | Fact::Exiting(_) => true,
        Fact::Mark(mark) => mark.by == "SIGTERM",
        _ => false,
    });
    let copy = Copy::of(run).without(gone);
    course
        .pod
        .revisions
        .iter()
        .fold(copy, |copy, revision| {
            copy.status(revision.id, &course.container.name, |status| {
                for state in ["state", "lastState"] {
                    if status[state].get("terminated").is_some() {
                        status[state]["terminated"]["exitCode"] = 137.into();
                    }
                }
            })
        })
        .done()
}

/// The events of a container and its pod after an end. If the end comes later, these events come later, too.
pub(crate) fn what_follows(run: &Timeline<'_>, course: &Course<'_, '_>, end: EventId) -> Vec<EventId> {
    let heard = run.history.events().filter(|(id, event)| match &event.what {
        Happening::Witness(heard) => {
            *id > end && heard.uid == course.pod.uid && heard.container == course.container.name
        }
        _ => false,
    });
    let shown = course.pod.revisions.iter().map(|shown| shown.id).filter(|id| *id > end);
    heard.map(|(id, _)| id).chain(shown).collect()
}

/// An instance that was killed at the end of its grace period ends earlier, by half of the grace period.
fn half_of_grace(run: &Timeline<'_>) -> Option<History> {
    let (course, .., at) = spent(run).find(|(course, .., at)| {
        let lasted = course.attempt.last_line().is_some_and(|line| line.at.at.lo > at + SECOND);
        let exits = !course.lines(|fact| matches!(fact, Fact::Exiting(_))).is_empty();
        lasted && !exits && course.attempt.ended.is_some()
    })?;
    let half = course.spec.grace.unwrap_or_else(|| course.pod.grace()) / 2;
    let gone = course.attempt.lines.iter().filter(|line| line.at.at.lo > at + half).map(|line| line.id);
    Copy::of(run).without(gone).moved(left(run, &course), -half).done()
}

fn goes_on(run: &Timeline<'_>) -> Option<History> {
    let (course, failures, _, stop) = spent(run).find(|(course, _, _, at)| {
        course.attempt.last_line().is_some_and(|line| line.at.at.lo > at + 2 * SECOND)
    })?;
    let last = failures.last()?;
    Copy::of(run).doubled(course.exchange(last), stop + SECOND - last.at.at.lo).done()
}

/// The container leaves no records after its end, and the pod has ended.
fn no_next_life(run: &Timeline<'_>) -> Option<History> {
    let (course, last) = spent(run).find_map(|(course, ..)| {
        let own = course.container.spec.get("restartPolicy").is_some();
        let always = course.pod.restart_policy() == "Always" && course.pod.containers.len() == 1 && !own;
        let number = course.attempt.number;
        let of_this = |revision: &&Revision<'_>| {
            let ended = course.attempt.ended.as_ref().is_some_and(|ended| revision.id > ended.id);
            ended && shows(revision, &course, |status| status.restarts <= number) && !revision.terminating()
        };
        let last = course.pod.revisions.iter().rfind(of_this)?.id;
        always.then_some((course, last))
    })?;
    let number = course.attempt.number;
    let later = course.container.attempts.iter().filter(|next| next.number > number);
    let lines: Vec<EventId> = later.flat_map(|next| next.lines.iter().map(|line| line.id)).collect();
    let shown = course.pod.revisions.iter();
    let shown = shown.filter(|revision| shows(revision, &course, |status| status.restarts > number));
    let shown: Vec<EventId> = shown.map(|revision| revision.id).collect();
    let over = |object: &mut Value| object["status"]["phase"] = "Succeeded".into();
    Copy::of(run).without(lines).without(shown).object(last, over).done()
}

/// The last revision shows another running instance.
fn again_under_never(run: &Timeline<'_>) -> Option<History> {
    let (pod, container, last) = run.containers().find_map(|(pod, container)| {
        let ended = |revision: &&Revision<'_>| {
            let status = revision.container(&container.name);
            status.is_some_and(|status| matches!(status.state, State::Terminated { .. }))
        };
        let last = pod.revisions.iter().find(ended).filter(|_| pod.restart_policy() == "Never")?;
        Some((pod, container, last))
    })?;
    let later = pod.revisions.iter().filter(|revision| revision.id >= last.id);
    later
        .fold(Copy::of(run), |copy, revision| {
            copy.status(revision.id, &container.name, |status| {
                let ended = status["state"].take();
                status["lastState"] = ended;
                status["state"] = json!({ "running": { "startedAt": "2026-11-21T10:48:40Z" } });
                status["restartCount"] = 1.into();
            })
        })
        .done()
}

fn shows(
    revision: &Revision<'_>,
    course: &Course<'_, '_>,
    what: impl FnOnce(&ContainerSeen<'_>) -> bool,
) -> bool {
    revision.container(&course.container.name).is_some_and(|status| what(&status))
}
