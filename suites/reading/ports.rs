//! The states of a port, as its target records them, and connections that stay open.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, Attempt, Connection, Line, PodLife, ProbedLife};
use probity_model::{Seen, Timeline};
use probity_script::Fact;
use probity_script::witness::{Ending, Listening};

/// The states of the probe's port, in order.
pub(crate) fn listening<'t, 'h>(
    life: &ProbedLife<'t, 'h>,
) -> impl Iterator<Item = (&'h str, &'t Line<'h>)> + use<'t, 'h> {
    let port = life.spec.handler.port();
    let at = move |state: &Listening| {
        let of = state.address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        of.is_some() && of == port
    };
    // A closed port no longer has an address, only the name of its listener.
    let mut names: Vec<&'h str> = Vec::new();
    life.attempt.lines.iter().filter_map(move |line| match &line.line.fact {
        Fact::Listening(state) if at(state) => {
            names.push(&state.listener);
            Some((state.state.as_str(), line))
        }
        Fact::Listening(state) if names.contains(&state.listener.as_str()) => {
            Some((state.state.as_str(), line))
        }
        _ => None,
    })
}

/// Whether a line says that a port was opened.
pub(crate) fn opens(line: &Line<'_>, port: u16) -> bool {
    match &line.line.fact {
        Fact::Listening(of) => of.state == "open" && of.address.ends_with(&format!(":{port}")),
        _ => false,
    }
}

/// Whether the probe's port was open in all of its states: a closed port refuses probes, which leave no record.
pub(crate) fn was_always_open(life: &ProbedLife<'_, '_>) -> bool {
    listening(life).all(|(state, _)| state == "open")
}

/// How the target treats a connection on which it reads requests.
const SERVED: &str = "serve";

/// The connections that the target accepted, but on which it read no request, as its plan says: a probe may have failed on
/// them unseen.
pub(crate) fn unserved<'t, 'h>(attempt: &'t Attempt<'h>) -> impl Iterator<Item = &'t Connection<'h>> {
    attempt.connections.iter().filter(|of| of.accepted.answer != SERVED)
}

/// Whether a connection was still open this long after an instant, and nothing can have hidden its end: the process kept
/// running, and all of its lines arrived.
pub(crate) fn stays_open(
    run: &Timeline<'_>,
    (pod, attempt): (&PodLife<'_>, &Attempt<'_>),
    connection: &Connection<'_>,
    (since, span): (&Stamp, i64),
) -> bool {
    connection.closed.is_none()
        && attempt.holes.is_empty()
        && attempt.lives_on()
        && !run.lost_a_node()
        && run.watched_for(pod, since, span)
}

/// Reports a violation if the peer closed a connection long after an answer, which is later than this time allows.
pub(crate) fn judge_late_end(
    run: &Timeline<'_>,
    attempt: &Attempt<'_>,
    connection: &Connection<'_>,
    (answered, open_for, words): (&At, i64, String),
    seen: &mut Seen,
) {
    let by_peer = |how: Ending| matches!(how, Ending::PeerClosed | Ending::PeerReset);
    let Some(closed) = connection.closed.as_ref().filter(|closed| by_peer(closed.how)) else { return };
    let bound = Bound::at_most(open_for, format!("{} after the answer", seconds(open_for)));
    let quantity = format!("from the answer to {words} to the end of the connection");
    let measured = run.measure(quantity, &attempt.node, answered, closed, bound);
    if let Some(late) = measured.filter(|measured| measured.fit() == Fit::Missed) {
        seen.measure(late);
    }
}
