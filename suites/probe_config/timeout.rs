//! The timeout of a probe: the kubelet accepts an answer that comes earlier, and at the timeout it closes a probe that
//! has no answer.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{NEAR, TO_CONNECT, UNKNOWN_LIFE};
use probity_model::timeline::{Asked, At, Connection, Handler, Line, Probe, ProbeKind, ProbedLife};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::schedule::{countable, countable_of_all};
use crate::reading::http::exchanges::scheme;
use crate::reading::ports::listening;

/// How a target handles a connection on which it never sends anything.
const HELD: &str = "hold";

/// Judges the timeouts of HTTP probes.
pub(super) fn http(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let is_http = |handler: &Handler| matches!(handler, Handler::Http { .. });
    judge_requests(run, clause, seen, is_http);
    for life in countable_of_all(run) {
        judge_handshakes(clause, &life, seen);
    }
    let lives = run.lives().of_each(&ProbeKind::ALL).undisturbed().whole().asked_alone();
    for life in lives.only(|life| life.container.probes.len() == 1 && is_http(&life.spec.handler)) {
        judge_led(clause, &life, seen);
    }
}

/// The timeout includes the TLS handshake: if the target does not answer the handshake, the probe fails at the timeout,
/// and the next probe comes within a period. The client may close the connection much later.
fn judge_handshakes(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    if scheme(&life.spec.handler).as_deref() != Some("https") {
        return;
    }
    let to_port = |of: &&Connection<'_>| of.port() == life.spec.handler.port();
    let connections: Vec<&Connection<'_>> = life.connections.iter().filter(to_port).collect();
    for pair in connections.windows(2) {
        let [silent, next] = pair else { continue };
        let unanswered = silent.requests == 0 && silent.accepted.answer == HELD;
        if !unanswered || !was_not_stopped(life, &At::of(*next)) {
            continue;
        }
        let slack = clause.slack_us();
        let most = life.spec.timeout + life.spec.period + slack;
        let bound = Bound::at_most(most, format!("timeoutSeconds + periodSeconds + {}", seconds(slack)));
        let quantity =
            format!("from a TLS handshake of {} without an answer to the next connection", life.words());
        life.within(seen, quantity, (*silent, *next), bound);
    }
}

/// A probe that follows redirects has one timeout for all of its requests: the last answer that the kubelet accepts
/// comes within this time.
fn judge_led(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let chains = life.requests.chunk_by(|_, next| next.followed()).filter(|chain| chain.len() > 1);
    for chain in chains {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else { continue };
        let Some(answer) = last.answer.as_ref().filter(|answer| answer.error.is_none()) else { continue };
        let start = life.connection(first).map_or_else(|| At::of(first), At::of);
        let slack = clause.slack_us();
        let bound = Bound::at_most(life.spec.timeout + slack, format!("timeoutSeconds + {}", seconds(slack)));
        let quantity = format!("from the arrival of {} to the answer after the last redirect", life.words());
        let measured = life.run.measure(quantity, &life.node, &start, &answer.at, bound);
        if let Some(measured) = measured.filter(|measured| measured.fit() == Fit::Missed) {
            seen.measure(measured);
        }
    }
}

/// Judges the timeouts of gRPC probes, and of TCP probes whose connections no process accepts.
pub(super) fn tcp_and_grpc(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_requests(run, clause, seen, |handler| matches!(handler, Handler::Grpc { .. }));
    for kind in ProbeKind::ALL {
        let all = countable(run, kind);
        for life in all.iter().filter(|life| matches!(life.spec.handler, Handler::Tcp { .. })) {
            judge_full(clause, life, seen);
        }
    }
}

fn judge_requests(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, of: impl Fn(&Handler) -> bool) {
    for life in countable_of_all(run).iter().filter(|life| of(&life.spec.handler)) {
        // A gRPC client tries to connect until the timeout, so the first probe of an instance may have begun before the
        // port was open, or even before the instance.
        let waits = matches!(life.spec.handler, Handler::Grpc { .. });
        for probe in life.probes.iter().skip(usize::from(waits)) {
            let Some(asked) = life.request(probe) else { continue };
            if undisturbed(life, asked) {
                judge_answer(clause, life, (&start(life, probe, asked), asked), seen);
            }
        }
    }
}

/// The first record of a probe's start: its connection, if it made one. Between the connection and the request, either
/// side may have been stalled.
fn start(life: &ProbedLife<'_, '_>, probe: &Probe<'_>, asked: &Asked<'_>) -> At {
    let connection = life.connection(asked).filter(|_| asked.request.nth == 1);
    connection.map_or_else(|| At::of(probe), At::of)
}

/// Whether only the probe itself ended the request: the container was not being stopped.
fn undisturbed(life: &ProbedLife<'_, '_>, asked: &Asked<'_>) -> bool {
    asked.answer.as_ref().is_some_and(|answer| was_not_stopped(life, &answer.at))
}

/// Whether the container was not yet being stopped.
fn was_not_stopped(life: &ProbedLife<'_, '_>, at: &At) -> bool {
    let stopped = life.stop().is_some_and(|signal| signal.at.at.lo <= at.at.hi);
    !stopped && life.before_deletion(at)
}

fn judge_answer(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    (start, asked): (&At, &Asked<'_>),
    seen: &mut Seen,
) {
    let Some(answer) = &asked.answer else { return };
    let answered = &answer.at;
    let timeout = life.spec.timeout;
    let took = answered.at.hi - start.at.lo;
    match &answer.error {
        None if took < timeout - NEAR => {
            if took > clause.tolerance_part(timeout, "part-of-timeout") {
                seen.fine([start.id, asked.id, answered.id]);
                seen.facet("answer", "taken");
            }
        }
        None if works_on(life, asked) => {}
        None => judge_wait(clause, life, (start, asked.id, answered), Wait::Accepted, seen),
        Some(why) if why.contains("gave up") => {
            let wait = if answer.written == 0 { Wait::GivenUp } else { Wait::CutOff };
            judge_wait(clause, life, (start, asked.id, answered), wait, seen);
        }
        Some(_) => {}
    }
}

/// Whether the target may have kept working after the client had closed the connection, as an application does: the
/// answer was queued for a worker, or waited for another service.
fn works_on(life: &ProbedLife<'_, '_>, asked: &Asked<'_>) -> bool {
    let endpoint = asked.request.endpoint.as_ref();
    let called = life.lines.iter().any(|line| match &line.line.fact {
        Fact::Call(call) => endpoint.is_some_and(|endpoint| call.by == endpoint.to_string()),
        _ => false,
    });
    let port = life.spec.handler.port();
    let pooled = life.container.plan().is_some_and(|plan| {
        plan.listeners.values().any(|listener| Some(listener.port) == port && listener.workers.is_some())
    });
    called || pooled
}

/// How a kubelet's wait for an answer ended.
#[derive(Clone, Copy, PartialEq)]
enum Wait {
    /// The kubelet accepted an answer.
    Accepted,
    /// The kubelet closed the connection before any answer.
    GivenUp,
    /// The kubelet closed the connection during the answer, perhaps because it had read enough of the answer.
    CutOff,
}

/// Judges how long the kubelet waited for a probe that got no complete answer in time.
fn judge_wait(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    (start, asked, answered): (&At, EventId, &At),
    wait: Wait,
    seen: &mut Seen,
) {
    let given_up_in = clause.tolerances.contains_key("given-up").then(|| clause.tolerance_us("given-up"));
    let (timeout, slack) = (life.spec.timeout, given_up_in.unwrap_or_else(|| clause.slack_us()));
    let most = Bound::at_most(timeout + slack, format!("timeoutSeconds + {}", seconds(slack)));
    let formula = format!("timeoutSeconds - {}", seconds(TO_CONNECT));
    // If the node was stalled for this long, the connection may have been delayed for longer than the recorded stalls:
    // stalls are measured on one thread, and other work waits for that thread.
    let dated = life.run.stalled_at(start) <= TO_CONNECT;
    let (what, bound) = match wait {
        Wait::GivenUp if dated => {
            ("until the kubelet closed it", most.and_at_least(timeout - TO_CONNECT, formula))
        }
        Wait::GivenUp => ("until the kubelet closed it", most),
        Wait::CutOff => ("until the kubelet closed it during the answer", most),
        Wait::Accepted => ("to an answer that the kubelet still accepted", most),
    };
    let quantity = format!("from the arrival of {} {what}", life.words());
    let measured = match wait {
        Wait::GivenUp => life.run.measure_due(quantity, &life.node, (start, answered), timeout, bound),
        _ => life.run.measure(quantity, &life.node, start, answered, bound),
    };
    // An answer that comes at about the timeout may have been accepted or not.
    let telling = measured.filter(|measured| wait == Wait::GivenUp || measured.observed.lo > timeout + slack);
    if let Some(mut measured) = telling {
        measured.events = vec![start.id, asked, answered.id];
        if wait == Wait::GivenUp && measured.fit() == Fit::Met {
            seen.facet("answer", "given-up");
            if let Some(scheme) = scheme(&life.spec.handler) {
                seen.facet("scheme", scheme);
            }
        }
        seen.measure(measured);
    }
}

/// If a port no longer accepts connections, each probe fails with a timeout, and the stop signal or a not-ready status
/// follows.
fn judge_full(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some((_, full)) = listening(life).find(|(state, _)| *state == "full") else { return };
    let after = |(state, line): (&str, &Line<'_>)| state != "full" && line.at.at.lo > full.at.at.lo;
    let started =
        life.spec.kind == ProbeKind::Startup && life.probes.iter().any(|probe| probe.passed == Some(true));
    if listening(life).any(after) || started {
        return;
    }
    let (spec, slack, pace) = (life.spec, clause.slack_us(), life.pace());
    let most = spec.failures * pace + spec.timeout + slack;
    let (effect, words) = match spec.kind {
        ProbeKind::Readiness => (shown_unready(life, full), "shown as not ready"),
        _ => (life.stopped_undeleted().map(At::of), "stopped"),
    };
    let Some(effect) = effect else {
        let silent = life.holes.is_empty() && life.watched_for(&full.at, most + UNKNOWN_LIFE);
        if silent && life.lives_on() && !life.run.node_was_touched() {
            let finding = format!(
                "{} could not connect for longer than {}, but the container was not {words}",
                life.words(),
                seconds(most)
            );
            seen.violated(finding, life.run.to_the_end([full.id]));
        }
        return;
    };
    let bound = Bound::at_most(
        most,
        format!("failureThreshold × periodSeconds + timeoutSeconds + {}", seconds(slack)),
    )
    .and_at_least(
        (spec.failures - 1) * pace + spec.timeout - clause.tolerance_us("full-port"),
        "(failureThreshold - 1) × periodSeconds + timeoutSeconds - 0.5 s",
    );
    let quantity =
        format!("from the moment when a port stopped accepting connections until a container was {words}");
    if life.within(seen, quantity, (full, &effect), bound) == Some(Fit::Met) {
        seen.facet("mechanism", "tcp");
    }
}

/// The first revision that shows an instance as not ready after it was ready and its port had stopped accepting
/// connections.
fn shown_unready(life: &ProbedLife<'_, '_>, full: &Line<'_>) -> Option<At> {
    let mut shown = life.revisions().skip_while(|(_, status)| !status.ready);
    let unready = shown.find(|(revision, status)| !status.ready && life.run.before(&full.at, &revision.at));
    let unready = unready.filter(|(revision, _)| life.before_deletion(&revision.at));
    unready.map(|(revision, _)| At::of(revision))
}
