//! Damages to faults and their consequences, in cases about dependencies, defaults, Services and shared endpoints. The
//! effect of a failing probe is missing, comes too late, or comes without a fault.

use probity_model::timeline::{Probe, ProbeKind};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::{Ending, Fact};

use super::copy::{Copy, revised, write_condition, write_status};
use super::course::{Course, SECOND, courses, of_kind};
use super::lives::{rest_later, spent};
use super::statuses::shown;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "ready stays, though the backend of the readiness endpoint is gone",
        &["probe.readiness.backend-dependency"],
        |run| stays_ready(run, "probe.readiness.backend-dependency"),
    ),
    violated(
        "ready stays, though a slow dependency makes the answers late",
        &["scenario.dependency.latency-spike"],
        |run| stays_ready(run, "scenario.dependency.latency-spike"),
    ),
    violated(
        "a container is not ready twelve seconds after a fault by default",
        &["scenario.defaults.unavailable-after-30s"],
        unready_too_soon,
    ),
    violated(
        "ready stays until liveness kills, though both ask the same",
        &["probe.pair.same-endpoint-higher-threshold"],
        |run| stays_ready(run, "probe.pair.same-endpoint-higher-threshold"),
    ),
    violated(
        "the stop signal after default failures comes twenty seconds late",
        &["scenario.defaults.liveness-kill-30s"],
        |run| stops_late(run, "scenario.defaults.liveness-kill-30s", 20 * SECOND),
    ),
    violated(
        "one of many containers that lost their dependency is stopped ten seconds late",
        &["scenario.dependency.liveness-all-restart"],
        |run| stops_late(run, "scenario.dependency.liveness-all-restart", 10 * SECOND),
    ),
    violated(
        "a fault that is over in time makes the container not ready",
        &["probe.timing.fault-shorter-than-window", "probe.failure-threshold.consecutive"],
        short_fault_counts,
    ),
    violated(
        "a request comes through a service long after the pod is not ready",
        &["probe.readiness.service-traffic-stops"],
        traffic_goes_on,
    ),
    violated("liveness waits for readiness", &["probe.liveness.independent-of-readiness"], liveness_waits),
    violated(
        "a probe whose answers break off is tried twice only",
        &["prober.retry.three-on-error"],
        tried_twice,
    ),
    violated(
        "a body beyond the limit is read to its end",
        &["probe.http.body.abrupt-close"],
        read_to_the_end,
    ),
];

/// Whether the case was written for a clause.
fn is_for(run: &Timeline<'_>, clause: &str) -> bool {
    run.history.header.judges.iter().any(|of| of.as_str() == clause)
}

/// The instances that became not ready in a case about a clause, with the revisions that show the change.
fn falls<'t, 'h>(
    run: &'t Timeline<'h>,
    clause: &str,
) -> impl Iterator<Item = (Course<'t, 'h>, Vec<EventId>)> + use<'t, 'h> {
    let written = is_for(run, clause);
    of_kind(run, ProbeKind::Readiness).filter(move |_| written).filter_map(|course| {
        let states: Vec<_> = shown(&course).collect();
        let at = states.windows(2).position(|pair| pair[0].1.ready && !pair[1].1.ready)? + 1;
        let down = states[at..].iter().take_while(|(_, status)| !status.ready);
        let ids = down.map(|(revision, _)| revision.id).collect();
        Some((course, ids))
    })
}

/// In a case about a clause, no revision shows any longer that an instance became not ready.
fn stays_ready(run: &Timeline<'_>, clause: &str) -> Option<History> {
    let mut all: Vec<_> = falls(run, clause).collect();
    all.sort_by_key(|(course, _)| course.lines(|fact| matches!(fact, Fact::Call(_))).is_empty());
    let (course, ids) = all.into_iter().next()?;
    let copy = ids.iter().fold(Copy::of(run), |copy, id| {
        let copy = copy.status(*id, &course.container.name, |status| status["ready"] = true.into());
        copy.condition(*id, "Ready", true).condition(*id, "ContainersReady", true)
    });
    copy.done()
}

/// The first revision that shows that a container is no longer ready comes twelve seconds after the change of its answers.
fn unready_too_soon(run: &Timeline<'_>) -> Option<History> {
    let (id, by) = falls(run, "scenario.defaults.unavailable-after-30s").find_map(|(course, ids)| {
        let changed = course.lines(|fact| matches!(fact, Fact::Change(_)));
        let (changed, down) = (run.history.get(*changed.last()?)?.us, ids.first()?);
        let by = changed + 12 * SECOND - run.history.get(*down)?.us;
        (by < -6 * SECOND).then_some((*down, by))
    })?;
    Copy::of(run).moved([id], by).done()
}

/// In a case about a clause, an instance whose probe failed too often is stopped later.
fn stops_late(run: &Timeline<'_>, clause: &str, by: i64) -> Option<History> {
    let (course, _, stop, _) = spent(run).find(|_| is_for(run, clause))?;
    rest_later(Copy::of(run), run, &course, stop, by).done()
}

/// Between a failure that does not count yet and the success after it, a revision shows the container as not ready.
fn short_fault_counts(run: &Timeline<'_>) -> Option<History> {
    let (course, model, failed) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let at = course.probes.windows(2).enumerate().position(|(at, pair)| {
            let row =
                course.probes[..=at].iter().rev().take_while(|probe| probe.passed == Some(false)).count();
            let short = row > 0 && i64::try_from(row).is_ok_and(|row| row < course.spec.failures);
            short && row <= at && pair[1].passed == Some(true)
        })?;
        let (failed, next) = (course.probes[at], course.probes[at + 1]);
        let own = course.probes.iter().all(|probe| probe.is(ProbeKind::Readiness));
        let room = course.gap(failed, next) > SECOND * 7 / 10 && course.spec.failures > 1 && own;
        let us = run.history.get(failed.id)?.us;
        let model = shown(&course).rfind(|(shown, status)| status.ready && shown.at.at.lo < us)?;
        let model = model.0.id;
        room.then_some((course, model, us))
    })?;
    let mut event = revised(run.history.get(model)?, failed + SECOND / 3);
    write_status(&mut event, &course.container.name, |status| status["ready"] = false.into());
    write_condition(&mut event, "Ready", false);
    write_condition(&mut event, "ContainersReady", false);
    Copy::of(run).with(event).done()
}

/// The last request that reached a pod through a Service before the pod was shown as not ready comes again, much later,
/// and no slice shows the pod as not ready: if the slices changed, the proxy of the node might gather its changes.
fn traffic_goes_on(run: &Timeline<'_>) -> Option<History> {
    let (course, conn, by) =
        falls(run, "probe.readiness.service-traffic-stops").find_map(|(course, ids)| {
            let down = run.history.get(*ids.first()?)?.us;
            let before = |id: EventId| run.history.get(id).is_some_and(|event| event.us < down);
            let ip = course.pod.ip()?;
            let brought = course.attempt.requests.iter().rfind(|asked| {
                let named = asked.header("host").next().is_some_and(|host| !host.starts_with(ip));
                asked.from_our_client() && named && before(asked.id)
            })?;
            let by = down - run.history.get(brought.id)?.us + 7 * SECOND;
            Some((course, brought.request.conn, by))
        })?;
    let slices = run.services.iter().flat_map(|service| &service.slices);
    let unready =
        slices.filter(|slice| slice.of_pod(&course.pod.name).is_some_and(|of| of.ready == Some(false)));
    let unready: Vec<EventId> = unready.map(|slice| slice.id).collect();
    Copy::of(run).without(unready).doubled(course.connection(conn), by).done()
}

/// No liveness probe comes before the first readiness probe that passes.
fn liveness_waits(run: &Timeline<'_>) -> Option<History> {
    let (liveness, early) = of_kind(run, ProbeKind::Liveness).find_map(|liveness| {
        let readiness = of_kind(run, ProbeKind::Readiness).find(|readiness| {
            std::ptr::eq(readiness.attempt, liveness.attempt)
                && readiness.spec.handler.port() == liveness.spec.handler.port()
                && readiness.spec.handler != liveness.spec.handler
        })?;
        let ready = readiness.probes.iter().position(|probe| probe.passed != Some(false));
        let until = ready.map_or(i64::MAX, |at| readiness.probes[at].at.at.lo);
        let early: Vec<&Probe<'_>> =
            liveness.probes.iter().copied().filter(|probe| probe.at.at.lo < until).collect();
        let span = early.first().zip(early.last()).map_or(0, |(first, last)| liveness.gap(first, last));
        let own = liveness.probes.iter().all(|probe| probe.is(ProbeKind::Liveness));
        (span > 6 * SECOND + liveness.spec.period && own && !liveness.is_gated()).then_some((liveness, early))
    })?;
    Copy::of(run).without(liveness.exchanges(&early)).done()
}

/// The last of every three attempts of a probe is left out.
fn tried_twice(run: &Timeline<'_>) -> Option<History> {
    let gone = courses(run).filter(|course| course.spec.kind != ProbeKind::Readiness).find_map(|course| {
        let close = |one: &&Probe<'_>, next: &&Probe<'_>| course.gap(one, next) < SECOND / 5;
        let tries: Vec<&[&Probe<'_>]> = course.probes.chunk_by(close).filter(|of| of.len() == 3).collect();
        let last: Vec<&Probe<'_>> = tries.iter().filter_map(|of| of.last().copied()).collect();
        (last.len() > 1).then(|| course.exchanges(&last))
    })?;
    Copy::of(run).without(gone).done()
}

/// Answers that were cut off because the client stopped reading are read completely.
fn read_to_the_end(run: &Timeline<'_>) -> Option<History> {
    let broken = |fact: &Fact| match fact {
        Fact::Answer(answer) => answer.error.as_ref().is_some_and(|why| {
            let why = why.to_ascii_lowercase();
            why.contains("reset") || why.contains("broken pipe")
        }),
        _ => false,
    };
    let course = courses(run).find(|course| course.is_http() && course.lines(broken).len() > 1)?;
    let whole = |copy: Copy, id: EventId| {
        copy.line(id, |line| {
            if let Fact::Answer(answer) = &mut line.fact {
                answer.error = None;
                answer.written = 64 << 20;
            }
        })
    };
    let closed = course.lines(|fact| matches!(fact, Fact::Closed(_)));
    let copy = closed.into_iter().fold(Copy::of(run), |copy, id| {
        copy.line(id, |line| {
            if let Fact::Closed(closed) = &mut line.fact {
                closed.how = Ending::PeerClosed;
            }
        })
    });
    course.lines(broken).into_iter().fold(copy, whole).done()
}
