//! A server in the node's network that listens on the loopback address alone: only a probe with `host` finds it.

use std::net::IpAddr;

use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::port;
use crate::reading::arrivals::{Get, arrivals, gets, on_node_network};

/// With `host: 127.0.0.1` the probe arrives from there; without `host` it does not arrive, and fails.
pub(super) fn needs_host(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let arrivals = arrivals(run);
    for get in gets(run).into_iter().filter(|get| on_node_network(get.pod)) {
        let Some(listening) = on_loopback(&get) else { continue };
        let here = get.host.and_then(|host| host.parse::<IpAddr>().ok()).is_some_and(|ip| ip.is_loopback());
        if get.host.is_some() && !here {
            continue;
        }
        seen.applies();
        let own = arrivals.iter().filter(|arrival| std::ptr::eq(arrival.get.spec, get.spec));
        for arrival in own {
            let events = [listening, arrival.hit.connection.id, arrival.hit.asked.id];
            let peer = arrival.hit.connection.peer_address();
            if here && peer.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
                seen.fine(events);
            } else if here {
                seen.violated(format!("{} came to the loopback address from {peer}", get.words()), events);
            } else {
                seen.violated(
                    format!("{} has no host, and came to the loopback address", get.words()),
                    events,
                );
            }
        }
        if !here {
            fails(&get, listening, seen);
        }
    }
}

/// The probe that cannot arrive is recorded as a failure and never counts as a success.
fn fails(get: &Get<'_, '_>, listening: EventId, seen: &mut Seen) {
    if let Some(shown) = port::counted_as_success(get.pod, get.container, get.spec.kind) {
        let finding = format!("{} has no host, cannot arrive, and succeeded", get.words());
        seen.violated(finding, [listening, shown]);
    }
    let failed = format!("{} probe failed", get.spec.kind.word());
    let event = get.pod.events.iter().find(|event| {
        event.container == Some(get.container.name.as_str())
            && event.reason == "Unhealthy"
            && event.message.to_lowercase().contains(&failed)
    });
    if let Some(event) = event {
        seen.fine([listening, event.id]);
    }
}

/// The line by which a container of the pod opened the probe's port on the loopback address, and only there.
fn on_loopback(get: &Get<'_, '_>) -> Option<EventId> {
    let lines = get
        .pod
        .containers
        .iter()
        .flat_map(|container| &container.attempts)
        .flat_map(|attempt| &attempt.lines);
    let mut found = None;
    for line in lines {
        let Fact::Listening(listening) = &line.line.fact else { continue };
        let Some((host, port)) = listening.address.rsplit_once(':') else { continue };
        if port.parse().ok() != get.port.number || listening.state != "open" {
            continue;
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if !host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            return None;
        }
        found = found.or(Some(line.id));
    }
    found
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told, running_status};
    use serde_json::{Value, json};

    use crate::probe_http::address::reached::tests::opened;
    use crate::tests::verdict;

    const LOOPBACK: &str = "probe.http.host-localhost-hostnetwork";

    /// A pod in the node's network that listens on this address, with such a probe of the port 8080.
    fn listening_on(bind: &str, host: &Value) -> Composer {
        let get = json!({ "path": "/ready", "port": 8080, "host": host });
        let container = json!({ "name": "target", "readinessProbe": { "httpGet": get } });
        let mut run = Composer::new(&[LOOPBACK]);
        run.create(0.0, &json!({ "hostNetwork": true, "containers": [container] })).start(1.0, 0);
        opened(&mut run, 1.0, &format!("{bind}:8080"));
        run
    }

    fn probe_from(run: &mut Composer, peer: &str) {
        run.http(2.0, &Told { peer: format!("{peer}:40000"), ..Told::get("/ready", 200) });
    }

    #[test]
    fn a_probe_of_the_loopback_address_arrives_from_there() {
        let mut run = listening_on("127.0.0.1", &json!("127.0.0.1"));
        probe_from(&mut run, "127.0.0.1");
        assert_eq!(verdict(&run.done(), LOOPBACK), "holds");
    }

    #[test]
    fn a_probe_without_host_that_arrives_is_a_violation() {
        let mut run = listening_on("127.0.0.1", &Value::Null);
        probe_from(&mut run, "127.0.0.1");
        assert_eq!(verdict(&run.done(), LOOPBACK), "violated");
    }

    #[test]
    fn a_probe_without_host_fails() {
        let mut run = listening_on("127.0.0.1", &Value::Null);
        run.event(3.0, "Warning", "Unhealthy", "Readiness probe failed: connection refused");
        assert_eq!(verdict(&run.done(), LOOPBACK), "holds");
    }

    #[test]
    fn ready_without_an_arrival_is_a_violation() {
        let mut run = listening_on("127.0.0.1", &Value::Null);
        run.status(3.0, &running_status("target", 2.0, true, true, 0));
        assert_eq!(verdict(&run.done(), LOOPBACK), "violated");
    }

    #[test]
    fn a_server_on_all_addresses_is_not_spoken_of() {
        let mut run = listening_on("0.0.0.0", &Value::Null);
        probe_from(&mut run, "127.0.0.1");
        assert_eq!(verdict(&run.done(), LOOPBACK), "inconclusive");
    }
}
