//! The timeout: a probe that has no answer by then is given up, at that time, and one that has it in time is not.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{Asked, Handler, Probe, ProbeKind};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::course::{Course, SECOND, courses};
use crate::reading::kill::before_deletion;
use crate::reading::tolerance::NEAR;

/// A probe's clock starts before the target sees it, by the time that a connection takes where nobody is held up.
const TO_CONNECT: i64 = 150_000;

/// A kill is done by the pod's worker, which took up to three seconds to come to it in runs that kept both cores busy.
const TO_STOP: i64 = 2 * SECOND;

/// HTTP probes.
pub(super) fn http(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_requests(run, clause, seen, |handler| matches!(handler, Handler::Http { .. }));
}

/// Calls of gRPC, and connections that nobody takes.
pub(super) fn tcp_and_grpc(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_requests(run, clause, seen, |handler| matches!(handler, Handler::Grpc { .. }));
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        let all = courses(run, kind);
        for course in all.iter().filter(|course| matches!(course.spec.handler, Handler::Tcp { .. })) {
            judge_full(run, clause, course, seen);
        }
    }
}

fn judge_requests(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, of: impl Fn(&Handler) -> bool) {
    let all = ProbeKind::ALL.into_iter().flat_map(|kind| courses(run, kind));
    for course in all.filter(|course| of(&course.spec.handler)) {
        for probe in &course.probes {
            let Some(asked) = course.attempt.request(probe) else { continue };
            if undisturbed(run, &course, asked) {
                judge_answer(run, clause, &course, (start(&course, probe, asked), asked), seen);
            }
        }
    }
}

/// Where a probe's clock is first seen to run: at its connection, when it made one. Between that and its request, both
/// sides may have been held up.
fn start(course: &Course<'_, '_>, probe: &Probe<'_>, asked: &Asked<'_>) -> (EventId, Stamp) {
    match course.attempt.connection(asked).filter(|_| asked.request.nth == 1) {
        Some(connection) => (connection.id, connection.at.clone()),
        None => (probe.id, probe.at.clone()),
    }
}

/// Whether nothing but the probe itself ended the request: the container was not being stopped.
fn undisturbed(run: &Timeline<'_>, course: &Course<'_, '_>, asked: &Asked<'_>) -> bool {
    let Some((_, at, _)) = &asked.answer else { return false };
    let stopped = course.attempt.stop_signal().is_some_and(|(_, signal)| signal.at.lo <= at.at.hi);
    !stopped && before_deletion(run, course.pod, at)
}

fn judge_answer(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    (start, asked): ((EventId, Stamp), &Asked<'_>),
    seen: &mut Seen,
) {
    let Some((id, at, answer)) = &asked.answer else { return };
    let timeout = course.spec.timeout;
    let took = at.at.hi - start.1.at.lo;
    match &answer.error {
        None if took < timeout - NEAR => {
            if took > timeout / 4 {
                seen.fine([start.0, *id]);
            }
        }
        None if works_on(course, asked) => {}
        None => judge_wait(run, clause, course, &start, (*id, at), false, seen),
        Some(why) if why.contains("gave up") && answer.written == 0 => {
            judge_wait(run, clause, course, &start, (*id, at), true, seen);
        }
        Some(_) => {}
    }
}

/// Whether the target may have worked on after the other side had gone, as an application does: its answer stood in the
/// queue of a pool of workers, or waited for another service.
fn works_on(course: &Course<'_, '_>, asked: &Asked<'_>) -> bool {
    let endpoint = asked.request.endpoint.as_ref();
    let called = course.attempt.lines.iter().any(|line| match &line.line.fact {
        Fact::Call(call) => endpoint.is_some_and(|endpoint| call.by == endpoint.to_string()),
        _ => false,
    });
    let port = course.spec.handler.port();
    let pooled = course.container.plan().is_some_and(|plan| {
        plan.listeners.values().any(|listener| Some(listener.port) == port && listener.workers.is_some())
    });
    called || pooled
}

/// How long a probe was waited for that had no answer in time.
fn judge_wait(
    run: &Timeline<'_>,
    clause: &Clause,
    course: &Course<'_, '_>,
    (from, since): &(EventId, Stamp),
    (id, at): (EventId, &Stamp),
    given_up: bool,
    seen: &mut Seen,
) {
    let (timeout, slack) = (course.spec.timeout, clause.slack_us());
    let most = Bound::at_most(timeout + slack, format!("timeoutSeconds + {}", seconds(slack)));
    let formula = format!("timeoutSeconds - {}", seconds(TO_CONNECT));
    // A node that was held up that long may have held the connection up for longer than its stalls tell: they are those
    // of one thread, and what waits for that thread comes after it.
    let dated = run.held_up_at(&course.attempt.node, since) <= TO_CONNECT;
    let (what, bound) = match given_up {
        true if dated => ("to its being given up", most.and_at_least(timeout - TO_CONNECT, formula)),
        true => ("to its being given up", most),
        false => ("to an answer that was still taken", most),
    };
    let quantity = format!("from the arrival of {} {what}", course.words());
    let ends = ((*from, since), (id, at));
    let Some(measured) = run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound) else { return };
    // An answer about as late as the timeout may have been taken or not.
    if given_up || measured.observed.lo > timeout + slack {
        seen.applies();
        seen.measure(measured);
    }
}

/// A port that takes no connections any more: each probe fails by its timeout, and so the stop signal follows.
fn judge_full(run: &Timeline<'_>, clause: &Clause, course: &Course<'_, '_>, seen: &mut Seen) {
    let Some((_, full)) = course.listening().find(|(state, _)| *state == "full") else { return };
    let after = |(state, line): &(&str, &probity_model::timeline::Line<'_>)| {
        *state != "full" && line.at.at.lo > full.at.at.lo
    };
    if course.listening().any(|turn| after(&turn)) || course.spec.kind == ProbeKind::Startup && passed(course)
    {
        return;
    }
    seen.applies();
    let Some((id, stop)) =
        course.attempt.stop_signal().filter(|(_, at)| before_deletion(run, course.pod, at))
    else {
        return;
    };
    let (spec, slack) = (course.spec, clause.slack_us() + TO_STOP);
    let pace = spec.period.max(spec.timeout);
    let bound = Bound::at_most(
        spec.failures * pace + spec.timeout + slack,
        format!("failureThreshold × periodSeconds + timeoutSeconds + {}", seconds(slack)),
    )
    .and_at_least(
        (spec.failures - 1) * pace + spec.timeout - SECOND / 2,
        "(failureThreshold - 1) × periodSeconds + timeoutSeconds - 0.5 s".to_owned(),
    );
    let quantity = "from a port's taking no more connections to the stop signal";
    let ends = ((full.id, &full.at), (id, stop));
    if let Some(measured) = run.measure(quantity, &course.attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

fn passed(course: &Course<'_, '_>) -> bool {
    course.probes.iter().any(|probe| probe.passed == Some(true))
}
