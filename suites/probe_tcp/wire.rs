//! What TCP probes leave on the wire, and the forms of their port.

use probity_model::measure::Bound;
use probity_model::timeline::{Connection, Handler, Through};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Ending;

use crate::probe_http::address::reached;

/// A probe says nothing, and closes its connection at once.
pub(super) fn says_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { port, .. } = &spec.handler else { continue };
        // Where others probe the same port, a bare connection may be theirs, cut short.
        let shared = container.probes.iter().filter(|other| other.handler.port() == port.number).count() > 1;
        let of = format!("the {} probe of {}/{}", spec.kind.word(), pod.key, container.name);
        for attempt in container.attempts.iter().filter(|_| !shared) {
            seen.applies();
            for probe in attempt.probes_of(spec.kind) {
                let Through::Connection(at) = probe.through else { continue };
                let Some(connection) = attempt.connections.get(at) else { continue };
                let Some((id, at, closed)) = ended_by_peer(connection) else { continue };
                if closed.received > 0 {
                    let finding = format!("{of} sent {} bytes", closed.received);
                    seen.violated(finding, [connection.id, id]);
                    continue;
                }
                let bound = Bound::at_most(clause.slack_us(), "slack");
                let quantity = format!("how long a connection of {of} lived");
                let (from, to) = ((connection.id, &connection.at), (id, at));
                if let Some(measured) = run.measure(quantity, &attempt.node, from, to, bound) {
                    seen.measure(measured);
                }
            }
        }
    }
}

/// The end of a connection that the target left to its peer.
fn ended_by_peer<'t>(
    connection: &'t Connection<'_>,
) -> Option<(probity_model::EventId, &'t probity_model::Stamp, &'t probity_script::witness::Closed)> {
    let closed = connection.closed.as_ref()?;
    let by_peer = matches!(closed.how, Ending::PeerClosed | Ending::PeerReset);
    (by_peer && connection.accepted.answer == "serve").then_some((
        closed.at.id,
        &closed.at.stamp,
        closed.record,
    ))
}

/// A port may be a number or the name of a port of the container.
pub(super) fn number_or_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { port, host: None } = &spec.handler else { continue };
        if port.number.is_none() {
            continue;
        }
        seen.applies();
        reached::must_be(run, clause, seen, pod, container, spec);
        for probe in container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind)) {
            if matches!(probe.through, Through::Connection(_)) {
                seen.fine([probe.id]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
