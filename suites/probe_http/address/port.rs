//! Which port a probe goes to: a number in range, or the name of one that the container declares.

use probity_model::timeline::{ContainerLife, Handler, PodLife, Port, ProbeKind, ProbeSpec, Through};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::reached;
use crate::reading::arrivals::{arrivals, elsewhere};
use crate::refusals;

/// A probe whose port is the name of a declared port goes to that port.
pub(super) fn by_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Some(number) = port_of(spec).filter(|port| is_name(port)).and_then(|port| port.number) else {
            continue;
        };
        seen.applies();
        reached::must_be(run, clause, seen, pod, container, spec);
        let shared = container.probes.iter().filter(|other| other.handler.port() == Some(number)).count() > 1;
        if matches!(spec.handler, Handler::Tcp { .. }) && !shared {
            let bare = container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind));
            let bare = bare.filter(|probe| matches!(probe.through, Through::Connection(_)));
            seen_some(seen, bare.map(|probe| probe.id));
        }
    }
    let named = arrivals(run).into_iter().filter(|arrival| is_name(arrival.get.port));
    for arrival in named.filter(|arrival| arrival.get.port.number.is_some()) {
        seen.fine([arrival.hit.connection.id, arrival.hit.asked.id]);
    }
    for arrival in elsewhere(run).into_iter().filter(|arrival| is_name(arrival.get.port)) {
        let Some(number) = arrival.get.port.number else { continue };
        let (words, name, at) = (arrival.get.words(), &arrival.get.port.written, arrival.hit.port);
        let finding = format!("{words} has the port {name}, which is {number}, and came to {at}");
        seen.violated(finding, [arrival.hit.connection.id, arrival.hit.asked.id]);
    }
}

/// A name that the container does not declare is accepted, if it can name a port at all; no such probe arrives
/// anywhere, each is recorded as an error, and none counts.
pub(super) fn undeclared_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for (pod, container, spec) in run.probes() {
        let Some(port) = port_of(spec).filter(|port| is_name(port) && port.number.is_none()) else {
            continue;
        };
        seen.applies();
        let about = |reason: &str, says: &str| {
            let says = says.to_owned();
            let of = pod.events.iter().filter(|event| event.container == Some(container.name.as_str()));
            of.filter(|event| event.reason == reason)
                .find(|event| event.message.to_lowercase().contains(&says))
                .map(|event| event.id)
        };
        let word = spec.kind.word();
        let kind = format!("{} probe of {}/{}", word, pod.key, container.name);
        if let Some(id) = about("Unhealthy", &format!("{word} probe failed")) {
            seen.violated(format!("the {kind} failed, though its port {} is nowhere", port.written), [id]);
        }
        if let Some(id) = about("Killing", &format!("failed {word} probe")) {
            seen.violated(format!("the {kind} killed, though its port {} is nowhere", port.written), [id]);
        }
        if let Some(id) = counted_as_success(pod, container, spec.kind) {
            seen.violated(format!("the {kind} counted, though its port {} is nowhere", port.written), [id]);
        }
        seen_some(seen, about("Unhealthy", &format!("{word} probe errored")));
    }
    for arrival in elsewhere(run).into_iter().filter(|arrival| is_name(arrival.get.port)) {
        if arrival.get.port.number.is_none() {
            let (words, name, at) = (arrival.get.words(), &arrival.get.port.written, arrival.hit.port);
            let finding = format!("{words} came to {at}, though nothing declares its port {name}");
            seen.violated(finding, [arrival.hit.connection.id, arrival.hit.asked.id]);
        }
    }
}

/// The revision that shows what only a success of such a probe can bring about.
pub(super) fn counted_as_success(
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    kind: ProbeKind,
) -> Option<EventId> {
    let shown = pod.revisions.iter().find(|shown| {
        shown.container(&container.name).is_some_and(|status| match kind {
            ProbeKind::Readiness => status.ready,
            ProbeKind::Startup => status.started == Some(true),
            ProbeKind::Liveness => false,
        })
    });
    shown.map(|shown| shown.id)
}

fn seen_some(seen: &mut Seen, events: impl IntoIterator<Item = EventId>) {
    for id in events {
        seen.fine([id]);
    }
}

fn port_of(spec: &ProbeSpec) -> Option<&Port> {
    match &spec.handler {
        Handler::Http { port, .. } | Handler::Tcp { port, .. } => Some(port),
        _ => None,
    }
}

/// Whether a port is written as a name: digits in a text are a number.
fn is_name(port: &Port) -> bool {
    !port.written.is_empty() && port.written.parse::<i64>().is_err()
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told};
    use serde_json::{Value, json};

    use crate::probe_http::address::reached::tests::listening;
    use crate::tests::verdict;

    const RANGE: &str = "probe.http.port-number-range";
    const NAME: &str = "probe.http.port-by-name";
    const NOWHERE: &str = "probe.http.port-name-unresolvable";

    fn pod(probe: &Value) -> Value {
        let ports = json!([{ "name": "web", "containerPort": 8080 }]);
        json!({ "kind": "Pod", "spec": { "containers": [{ "name": "target", "ports": ports, "readinessProbe": probe }] } })
    }

    fn tried(clause: &str, port: &Value, code: u16, message: &str) -> &'static str {
        let mut run = Composer::new(&[clause]);
        run.tried(0.0, "port", pod(&json!({ "tcpSocket": { "port": port } })), code, message, Value::Null);
        verdict(&run.done(), clause)
    }

    fn named(port: &str) -> Composer {
        listening(NAME, &json!({ "path": "/ready", "port": port }))
    }

    fn nowhere(event: &str, ready: bool) -> Composer {
        let mut run = listening(NOWHERE, &json!({ "path": "/ready", "port": "nope" }));
        run.running(3.0, ready, true, 0).event(4.0, "Warning", "Unhealthy", event);
        run
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let refusal = "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 0";
        assert_eq!(tried(RANGE, &json!(0), 422, refusal), "holds");
        assert_eq!(tried(RANGE, &json!(65536), 422, refusal), "holds");
        assert_eq!(tried(RANGE, &json!(65535), 201, ""), "holds");
        assert_eq!(tried(RANGE, &json!(-1), 201, ""), "violated");
        assert_eq!(tried(RANGE, &json!(1), 422, refusal), "violated");
        assert_eq!(tried(RANGE, &json!(0), 422, "spec.hostname: Invalid value"), "inconclusive");
    }

    #[test]
    fn a_probe_at_the_declared_port_holds() {
        let mut run = named("web");
        run.probe(2.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), NAME), "holds");
    }

    #[test]
    fn a_probe_at_another_port_is_a_violation() {
        let mut run = named("web");
        run.http(2.0, &Told { port: 9090, ..Told::get("/ready", 200) });
        assert_eq!(verdict(&run.done(), NAME), "violated");
    }

    #[test]
    fn a_name_that_is_not_probed_yet_is_doubt() {
        let mut run = named("web");
        run.running(4.0, false, true, 0);
        assert_eq!(verdict(&run.done(), NAME), "inconclusive");
    }

    #[test]
    fn a_tcp_probe_at_the_declared_port_holds() {
        let mut run = Composer::new(&[NAME]);
        run.create(0.0, &pod(&json!({ "tcpSocket": { "port": "web" } }))["spec"]).start(1.0, 0);
        run.connection(2.0, "web", 8080);
        assert_eq!(verdict(&run.done(), NAME), "holds");
    }

    #[test]
    fn a_number_says_nothing_of_names() {
        let mut run = Composer::new(&[]);
        run.create(0.0, &pod(&json!({ "httpGet": { "path": "/ready", "port": 8080 } }))["spec"])
            .start(1.0, 0);
        run.probe(2.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), NAME), "none");
    }

    #[test]
    fn an_undeclared_name_is_an_error_that_does_not_count() {
        let event = "Readiness probe errored and resulted in unknown state: port nope not found";
        assert_eq!(verdict(&nowhere(event, false).done(), NOWHERE), "holds");
        assert_eq!(verdict(&nowhere(event, true).done(), NOWHERE), "violated");
    }

    #[test]
    fn an_undeclared_name_that_fails_is_a_violation() {
        let event = "Readiness probe failed: connection refused";
        assert_eq!(verdict(&nowhere(event, false).done(), NOWHERE), "violated");
    }

    #[test]
    fn an_undeclared_name_that_arrives_is_a_violation() {
        let mut run = nowhere("Readiness probe errored", false);
        run.probe(5.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), NOWHERE), "violated");
    }

    #[test]
    fn what_cannot_name_a_port_is_refused() {
        let refusal = "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value";
        assert_eq!(tried(NOWHERE, &json!("bad_name"), 201, ""), "violated");
        assert_eq!(tried(NOWHERE, &json!("good-name"), 422, refusal), "violated");
        assert_eq!(tried(NOWHERE, &json!("bad_name"), 422, refusal), "inconclusive");
    }
}
