//! TCP probes send nothing. Their port may be a number or a name.

use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{Completion, Connection, Handler, ProbeKind, ProbedLife, Through};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::{Closed, Ending};

use crate::reading::ports::stays_open;
use crate::reading::unvisited::must_be_visited;

/// A probe sends nothing and closes its connection immediately.
pub(super) fn says_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().of_each(&ProbeKind::ALL).only(has_the_port_alone) {
        let mine = life.probes.iter().filter(|probe| probe.is(life.spec.kind));
        for connection in mine.filter_map(|probe| life.connection_of(probe)) {
            let Some(closed) = closed_by_peer(connection) else {
                judge_open(clause, &life, connection, seen);
                continue;
            };
            if closed.received > 0 {
                let finding = format!("{} sent {} bytes", life.words(), closed.received);
                seen.violated(finding, [connection.id, closed.at.id]);
            } else if closed.how == Ending::PeerReset && closed.sent == 0 {
                let finding = format!("{} reset its connection instead of closing it", life.words());
                seen.violated(finding, [connection.id, closed.at.id]);
            } else {
                let quantity = format!("how long a connection of {} lasted", life.words());
                let bound = Bound::at_most(clause.slack_us(), "slack");
                life.within(seen, quantity, (connection, closed), bound);
            }
        }
    }
}

/// A connection that the target leaves open for its peer to close does not stay open.
fn judge_open(clause: &Clause, life: &ProbedLife<'_, '_>, connection: &Connection<'_>, seen: &mut Seen) {
    let open_for = clause.tolerance_us("open");
    let served = connection.accepted.answer == "serve";
    let of = (life.pod, life.attempt);
    if served && stays_open(life.run, of, connection, (&connection.at, open_for)) {
        let finding =
            format!("a connection of {} was still open {} after it began", life.words(), seconds(open_for));
        seen.violated(finding, [connection.id].into_iter().chain(life.last_line().map(|line| line.id)));
    }
}

/// Whether the probe is a TCP probe and no other probe has its port. Otherwise a bare connection may be an interrupted
/// one of the other probe.
fn has_the_port_alone(life: &ProbedLife<'_, '_>) -> bool {
    let Handler::Tcp { port, .. } = &life.spec.handler else { return false };
    life.container.probes.iter().filter(|other| other.handler.port() == port.number).count() == 1
}

/// The end of a connection that the target left open for its peer to close.
fn closed_by_peer<'t, 'h>(connection: &'t Connection<'h>) -> Option<&'t Completion<'h, Closed>> {
    let by_peer = |how: Ending| matches!(how, Ending::PeerClosed | Ending::PeerReset);
    let served = connection.accepted.answer == "serve";
    connection.closed.as_ref().filter(|closed| served && by_peer(closed.how))
}

/// A port may be a number or the name of a port of the container.
pub(super) fn number_or_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        if !matches!(&spec.handler, Handler::Tcp { port, host: None } if port.number.is_some()) {
            continue;
        }
        must_be_visited(run, clause, seen, (pod, container, spec));
        let probes = container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind));
        let bare = probes.filter(|probe| matches!(probe.through, Through::Connection(_)));
        seen.fine(bare.map(|probe| probe.id));
    }
}

#[cfg(test)]
mod tests;
