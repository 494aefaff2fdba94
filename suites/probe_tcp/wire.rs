//! What TCP probes leave on the wire, and the forms of their port.

use probity_model::measure::Bound;
use probity_model::timeline::{Connection, Handler, Through};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Ending;

use crate::reading::unvisited::must_be_visited;

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
        must_be_visited(run, clause, seen, (pod, container, spec));
        for probe in container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind)) {
            if matches!(probe.through, Through::Connection(_)) {
                seen.fine([probe.id]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_composer::Told;
    use probity_script::witness::{Closed, Ending, Fact, Listening};
    use serde_json::json;

    use crate::reading::scene::Scene;

    const SILENT: &str = "probe.tcp.no-payload";
    const FORMS: &str = "probe.tcp.port-forms";

    fn scene(clause: &str) -> Scene {
        Scene::new(clause, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}))
    }

    fn lived(took: f64, ending: Ending) -> &'static str {
        let mut scene = scene(SILENT);
        scene.run.tcp(2.0, &Told { took, ending, ..Told::get("", "") });
        scene.at(6.0)
    }

    #[test]
    fn a_connection_that_ends_at_once_holds() {
        assert_eq!(lived(0.001, Ending::PeerClosed), "holds");
        assert_eq!(lived(3.0, Ending::PeerClosed), "violated");
        assert_eq!(lived(0.001, Ending::WeClosed), "inconclusive");
    }

    #[test]
    fn a_connection_that_is_kept_on_a_busy_node_is_doubt() {
        let mut scene = scene(SILENT);
        scene.run.tcp(2.0, &Told { took: 3.0, ending: Ending::PeerClosed, ..Told::get("", "") });
        scene.run.noise(2.1, 4.9);
        assert_eq!(scene.at(6.0), "inconclusive");
    }

    #[test]
    fn bytes_are_a_violation() {
        let mut scene = scene(SILENT);
        scene.run.tcp(2.0, &Told { ending: Ending::WeClosed, ..Told::get("", "") });
        let accepted = Fact::Accepted(probity_script::witness::Accepted {
            conn: 9,
            listener: "web".to_owned(),
            peer: "10.0.0.1:40009".to_owned(),
            local: "10.0.0.7:8080".to_owned(),
            step: 0,
            answer: "serve".to_owned(),
        });
        scene.run.fact(3.0, accepted);
        let how = Ending::PeerClosed;
        scene.run.fact(
            3.001,
            Fact::Closed(Closed { conn: 9, how, received: 3, sent: 0, lived_us: 1000, error: None }),
        );
        assert_eq!(scene.at(6.0), "violated");
    }

    #[test]
    fn a_port_is_found_or_it_is_not() {
        let mut there = scene(FORMS);
        there.run.tcp(2.0, &Told::get("", ""));
        assert_eq!(there.at(4.0), "holds");
        let mut nowhere = scene(FORMS);
        let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
        nowhere.run.fact(1.1, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
        nowhere.run.running(40.0, false, true, 0);
        assert_eq!(nowhere.at(60.0), "violated");
        assert_eq!(scene(FORMS).at(2.0), "inconclusive");
    }
}
