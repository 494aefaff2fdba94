//! How a kubelet counts: what it takes an answer for, and when a run of failures has used up the tolerance.
//!
//! Only what is certain counts. Where the answer alone does not tell (a redirect, a body that broke off, an answer about
//! as late as the timeout, an endpoint that two probes share), the result is unclear, and no count goes across it.

use probity_model::EventId;
use probity_model::clocks::Stamp;
use probity_model::measure::Interval;
use probity_model::timeline::{Attempt, Handler, PodLife, Probe, ProbeSpec, Through};

/// An answer may be this much earlier or later than the timeout and still fall on either side of it, in microseconds:
/// the kubelet's clock for a probe starts before the probe arrives.
pub(crate) const NEAR: i64 = 100_000;

/// What a kubelet makes of one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A success.
    Passed,
    /// A failure, by its answer or for want of one in time.
    Failed,
    /// It cannot be told.
    Unclear,
}

/// What a kubelet makes of this probe.
pub(crate) fn outcome(attempt: &Attempt<'_>, spec: &ProbeSpec, probe: &Probe<'_>) -> Outcome {
    // An answer is written down after it was sent, on a node that is held up long after.
    let took = probe.settled.as_ref().map(|(_, settled)| settled.at.minus(probe.at.at));
    match (probe.passed, took) {
        (Some(false), _) => Outcome::Failed,
        (_, Some(took)) if took.lo > spec.timeout + NEAR => Outcome::Failed,
        (Some(true), Some(took)) if took.hi < spec.timeout - NEAR => Outcome::Passed,
        (None, None) if unanswered(attempt, spec, probe) => Outcome::Failed,
        _ => Outcome::Unclear,
    }
}

/// Whether the other side went before there was an answer: on a busy node a probe arrives late, and is given up the sooner.
fn given_up(attempt: &Attempt<'_>, probe: &Probe<'_>) -> bool {
    let answer = attempt.request(probe).and_then(|asked| asked.answer.as_ref());
    answer.is_some_and(|(_, _, answer)| {
        answer.written == 0 && answer.error.as_deref().is_some_and(|why| why.contains("gave up"))
    })
}

/// Whether the probe ended by the timeout: nothing came, or nothing came in time.
pub(crate) fn timed_out(attempt: &Attempt<'_>, spec: &ProbeSpec, probe: &Probe<'_>) -> bool {
    match &probe.settled {
        Some((_, settled)) => {
            settled.at.hi - probe.at.at.lo >= spec.timeout - NEAR || given_up(attempt, probe)
        }
        None => unanswered(attempt, spec, probe),
    }
}

/// The target went on for longer than the timeout and gave no answer. Lost lines could have told of one.
fn unanswered(attempt: &Attempt<'_>, spec: &ProbeSpec, probe: &Probe<'_>) -> bool {
    let past = probe.at.at.hi + spec.timeout + NEAR;
    attempt.holes.is_empty() && attempt.last_line().is_some_and(|line| line.at.at.lo > past)
}

/// When the kubelet had the result: the answer, or the timeout if that came first.
pub(crate) fn resulted(spec: &ProbeSpec, probe: &Probe<'_>) -> Stamp {
    let late = probe.at.at.plus(Interval::point(spec.timeout));
    let at = probe.settled.as_ref().map_or(late, |(_, settled)| Interval {
        lo: settled.at.lo.min(late.lo),
        hi: settled.at.hi.min(late.hi),
    });
    Stamp { clock: probe.at.clock.clone(), at }
}

/// A run of failures as long as the probe's `failureThreshold`.
pub(crate) struct Exhausted<'t, 'h> {
    /// The failures.
    pub(crate) failures: Vec<&'t Probe<'h>>,
    /// When the last one was a result.
    pub(crate) at: Stamp,
}

impl Exhausted<'_, '_> {
    /// The events of the failures.
    pub(crate) fn events(&self) -> Vec<EventId> {
        self.failures.iter().flat_map(|probe| probe.events()).collect()
    }
}

/// The first run of certain failures in a life that uses up the tolerance of a probe.
pub(crate) fn exhausted<'t, 'h>(attempt: &'t Attempt<'h>, spec: &ProbeSpec) -> Option<Exhausted<'t, 'h>> {
    let wanted = usize::try_from(spec.failures).ok()?;
    let mut failures = Vec::new();
    for probe in attempt.probes.iter().filter(|probe| probe.can_be(spec.kind)) {
        if !probe.is(spec.kind) || outcome(attempt, spec, probe) != Outcome::Failed {
            failures.clear();
            continue;
        }
        failures.push(probe);
        if failures.len() == wanted {
            return Some(Exhausted { failures, at: resulted(spec, probe) });
        }
    }
    None
}

/// Whether every probe of this spec that reaches anything leaves a trace in the container's own target: it is sent to
/// the pod itself, to a port that no other container of the pod holds, or runs a command that the target writes down.
pub(crate) fn leaves_a_trace(pod: &PodLife<'_>, container: &str, spec: &ProbeSpec) -> bool {
    match &spec.handler {
        Handler::Exec { command } => command.get(1).is_some_and(|word| word == "exec"),
        Handler::Http { host: Some(_), .. } | Handler::Tcp { host: Some(_), .. } => false,
        handler => handler.port().is_some_and(|port| {
            let others = pod.containers.iter().filter(|other| other.name != container);
            !others.flat_map(|other| &other.attempts).any(|attempt| holds_port(attempt, port))
        }),
    }
}

/// Whether a life accepted connections on a port.
pub(crate) fn holds_port(attempt: &Attempt<'_>, port: u16) -> bool {
    attempt.connections.iter().any(|connection| connection.port() == Some(port))
}

/// Whether requests came to a port that match no probe of the container, and are not of our own clients: a path may have
/// been sent in another form than it is written in.
pub(crate) fn strangers(attempt: &Attempt<'_>, port: Option<u16>) -> bool {
    attempt.requests.iter().enumerate().any(|(at, asked)| {
        let connection = asked.connection.and_then(|at| attempt.connections.get(at));
        let there = port.is_none() || connection.and_then(|connection| connection.port()) == port;
        let known = attempt.probes.iter().any(|probe| probe.through == Through::Request(at));
        there && !known && asked.request.hop.is_none() && !asked.from_our_client()
    })
}

/// Who sent a probe, where that is seen.
pub(crate) fn peer<'t>(attempt: &'t Attempt<'_>, probe: &Probe<'_>) -> Option<&'t str> {
    let connection = match probe.through {
        Through::Request(at) => attempt.requests.get(at)?.connection?,
        Through::Connection(at) => at,
        Through::Command(_) => return None,
    };
    attempt.connections.get(connection).map(|connection| connection.peer_address())
}
