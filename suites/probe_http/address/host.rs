//! Which host a probe goes to: the pod's address, unless `host` names another; and which host it names.

use std::net::IpAddr;

use probity_model::timeline::{Asked, Connection};
use probity_model::{Clause, Seen, Timeline};

use super::{port, reached};
use crate::reading::arrivals::{Arrival, Get, arrivals, gets, has_ip, hits, on_node_network};

/// Without `host`, a probe goes to the pod's address, and its Host header says so unless `httpHeaders` has one.
pub(super) fn pod_ip_by_default(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for get in gets(run).iter().filter(|get| get.host.is_none() && get.port.number.is_some()) {
        seen.applies();
        reached::must_be(run, clause, seen, get.pod, get.container, get.spec);
    }
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.host.is_none()) {
        let Some(at_own_ip) = came_to_own_ip(&arrival) else { continue };
        let (hit, words) = (&arrival.hit, arrival.get.words());
        let events = [hit.connection.id, hit.asked.id];
        if !at_own_ip {
            let finding = format!("{words} has no host, and came to {}", hit.connection.address());
            seen.violated(finding, events);
            continue;
        }
        let hosts = hit.hosts();
        let expected = authority(hit.connection.address(), hit.port);
        if names_no_host(&arrival.get) && hosts != [expected.as_str()] {
            let finding = format!("{words} names the host {} instead of {expected}", list(&hosts));
            seen.violated(finding, events);
        } else {
            seen.fine(events);
        }
    }
}

/// A Host header changes what is named, and not where the probe goes.
pub(super) fn virtual_host(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.host.is_none()) {
        let wanted: Vec<&str> = arrival.get.sets("Host").collect();
        let [wanted] = wanted.as_slice() else { continue };
        if wanted.trim().is_empty() {
            continue;
        }
        seen.applies();
        let Some(at_own_ip) = came_to_own_ip(&arrival) else { continue };
        let (hit, words) = (&arrival.hit, arrival.get.words());
        let events = [hit.connection.id, hit.asked.id];
        let hosts = hit.hosts();
        if !at_own_ip {
            let finding = format!("{words} sets a Host header, and came to {}", hit.connection.address());
            seen.violated(finding, events);
        } else if hosts != [wanted.trim()] {
            let finding = format!("{words} names the host {} instead of {wanted}", list(&hosts));
            seen.violated(finding, events);
        } else {
            seen.fine(events);
        }
    }
}

/// With `host`, a probe goes to that address, and its answers count for the pod that it is written in.
pub(super) fn field_overrides_address(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let (gets, hits) = (gets(run), hits(run));
    for get in &gets {
        let Some(ip) = get.host.and_then(|host| host.parse::<IpAddr>().ok()) else { continue };
        if !leads_somewhere(run, get, ip) || !is_unique(get, &gets) {
            continue;
        }
        seen.applies();
        for hit in hits.iter().filter(|hit| is_of(hit.asked, hit.port, get)) {
            let events = [hit.connection.id, hit.asked.id];
            let at = hit.connection.address();
            if at.parse::<IpAddr>() == Ok(ip) {
                seen.fine(events);
            } else {
                let finding = format!("{} has the host {ip}, and came to {at}", get.words());
                seen.violated(finding, events);
            }
        }
        let shown = port::counted_as_success(get.pod, get.container, get.spec.kind);
        if let Some(shown) = shown.filter(|_| never_passed(run, get, ip)) {
            let finding = format!("{} succeeded, and nobody at {ip} answered with success", get.words());
            seen.violated(finding, [shown]);
        }
    }
}

/// Whether every answer of the pods at an address is known, and none of them was a success. Whoever asked counts.
fn never_passed(run: &Timeline<'_>, get: &Get<'_, '_>, ip: IpAddr) -> bool {
    let there = run.pods.iter().filter(|pod| has_ip(pod, ip) || (ip.is_loopback() && on_node_network(pod)));
    let mut attempts = there.flat_map(|pod| pod.containers.iter().flat_map(|container| &container.attempts));
    attempts.all(|attempt| {
        let port =
            |asked: &Asked<'_>| attempt.connection(asked).and_then(Connection::port).unwrap_or_default();
        let passed = |asked: &&Asked<'_>| asked.status().is_none_or(|status| status < 400);
        attempt.holes.is_empty()
            && !attempt.requests.iter().filter(passed).any(|asked| is_of(asked, port(asked), get))
    })
}

/// Whether an address is one where we would see the probe: another pod's, or the node's own loopback.
fn leads_somewhere(run: &Timeline<'_>, get: &Get<'_, '_>, ip: IpAddr) -> bool {
    match ip.is_loopback() {
        true => on_node_network(get.pod),
        false => !has_ip(get.pod, ip) && run.pods.iter().any(|pod| has_ip(pod, ip)),
    }
}

fn is_unique(get: &Get<'_, '_>, gets: &[Get<'_, '_>]) -> bool {
    let same = |other: &&Get<'_, '_>| {
        other.port.number == get.port.number
            && other.path.trim_start_matches('/') == get.path.trim_start_matches('/')
    };
    gets.iter().filter(same).count() == 1
}

fn is_of(asked: &Asked<'_>, port: u16, get: &Get<'_, '_>) -> bool {
    let target = asked.request.target.trim_start_matches('/');
    get.port.number == Some(port) && target == get.path.trim_start_matches('/')
}

/// Whether a probe came to an address of the pod that it is written in; none if no such address was ever shown.
fn came_to_own_ip(arrival: &Arrival<'_, '_>) -> Option<bool> {
    let ip = arrival.hit.connection.address().parse::<IpAddr>().ok()?;
    arrival.get.pod.ip()?;
    Some(has_ip(arrival.get.pod, ip))
}

fn names_no_host(get: &Get<'_, '_>) -> bool {
    get.sets("Host").next().is_none()
}

/// `10.0.0.7:8080`, `[fd00::7]:8080`
fn authority(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn list(hosts: &[&str]) -> String {
    if hosts.is_empty() { "(none)".to_owned() } else { hosts.join(" and ") }
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told};
    use serde_json::{Value, json};

    use crate::tests::verdict;

    const DEFAULT: &str = "probe.http.host-default-pod-ip";
    const FIELD: &str = "probe.http.host-field-overrides-address";
    const VHOST: &str = "probe.http.vhost-via-header";

    fn pod(get: &Value) -> Value {
        json!({ "containers": [{ "name": "target", "readinessProbe": { "httpGet": get, "periodSeconds": 1 } }] })
    }

    /// A pod at 10.0.0.7 that is asked once, by a request that names this host.
    fn asked_for(clause: &str, get: &Value, host: &str) -> &'static str {
        let mut run = Composer::new(&[clause]);
        run.create(0.0, &pod(get)).start(1.0, 0).running(1.5, false, true, 0);
        let mut told = Told::get("/ready", 200);
        told.headers[0].1 = host.to_owned();
        run.http(2.0, &told);
        verdict(&run.done(), clause)
    }

    #[test]
    fn the_pod_ip_and_port_hold() {
        let get = json!({ "path": "/ready", "port": 8080 });
        assert_eq!(asked_for(DEFAULT, &get, "10.0.0.7:8080"), "holds");
    }

    #[test]
    fn another_host_header_is_a_violation() {
        let get = json!({ "path": "/ready", "port": 8080 });
        assert_eq!(asked_for(DEFAULT, &get, "localhost:8080"), "violated");
    }

    #[test]
    fn a_probe_at_another_address_than_the_pods_is_a_violation() {
        let mut run = Composer::new(&[DEFAULT]);
        let status = json!({ "phase": "Running", "podIP": "192.0.2.7" });
        run.create(0.0, &pod(&json!({ "path": "/ready", "port": 8080 }))).start(1.0, 0).status(1.5, &status);
        run.probe(2.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), DEFAULT), "violated");
    }

    #[test]
    fn nobody_at_an_open_port_is_a_violation() {
        let mut run = crate::probe_http::address::reached::tests::listening(
            DEFAULT,
            &json!({ "path": "/ready", "port": 8080 }),
        );
        run.running(60.0, false, true, 0);
        assert_eq!(verdict(&run.done(), DEFAULT), "violated");
    }

    #[test]
    fn a_probe_with_a_host_says_nothing_of_the_default() {
        let get = json!({ "path": "/ready", "port": 8080, "host": "192.0.2.9" });
        assert_eq!(asked_for(DEFAULT, &get, "192.0.2.9:8080"), "inconclusive");
    }

    #[test]
    fn the_host_header_of_the_spec_holds() {
        let headers = json!([{ "name": "Host", "value": "app.example" }]);
        let get = json!({ "path": "/ready", "port": 8080, "httpHeaders": headers });
        assert_eq!(asked_for(VHOST, &get, "app.example"), "holds");
        assert_eq!(asked_for(VHOST, &get, "10.0.0.7:8080"), "violated");
    }

    #[test]
    fn no_host_header_in_the_spec_says_nothing_of_virtual_hosts() {
        assert_eq!(
            asked_for(VHOST, &json!({ "path": "/ready", "port": 8080 }), "10.0.0.7:8080"),
            "inconclusive"
        );
    }

    fn seen_at(ip: &str, ready: bool) -> Value {
        json!({ "phase": "Running", "podIP": ip, "containerStatuses": [{ "name": "target", "ready": ready }] })
    }

    /// Pod `a` has its readiness probe at pod `b`. What the targets see comes to 10.0.0.7.
    fn two_pods(ip_of_a: &str, ip_of_b: &str) -> Composer {
        let mut run = Composer::new(&[FIELD]);
        let probing = pod(&json!({ "path": "/for-a", "port": 8080, "host": ip_of_b }));
        let probed = json!({ "containers": [{ "name": "target" }] });
        for (name, ip, spec) in [("a", ip_of_a, probing), ("b", ip_of_b, probed)] {
            run.of(name, "target").create(0.0, &spec).status(0.5, &seen_at(ip, false)).start(1.0, 0);
        }
        run
    }

    #[test]
    fn a_probe_at_the_pod_that_host_names_holds() {
        let mut run = two_pods("10.0.0.6", "10.0.0.7");
        run.of("b", "target").probe(2.0, "/for-a", 200);
        run.of("a", "target").status(3.0, &seen_at("10.0.0.6", true));
        assert_eq!(verdict(&run.done(), FIELD), "holds");
    }

    #[test]
    fn a_probe_at_its_own_pod_in_spite_of_host_is_a_violation() {
        let mut run = two_pods("10.0.0.7", "10.0.0.6");
        run.of("a", "target").probe(2.0, "/for-a", 200);
        assert_eq!(verdict(&run.done(), FIELD), "violated");
    }

    #[test]
    fn ready_without_a_success_at_that_host_is_a_violation() {
        let mut run = two_pods("10.0.0.6", "10.0.0.7");
        run.of("b", "target").probe(2.0, "/for-a", 503);
        run.of("a", "target").status(3.0, &seen_at("10.0.0.6", true));
        assert_eq!(verdict(&run.done(), FIELD), "violated");
    }

    #[test]
    fn a_host_that_nobody_of_ours_has_says_nothing() {
        let get = json!({ "path": "/ready", "port": 8080, "host": "192.0.2.9" });
        assert_eq!(asked_for(FIELD, &get, "10.0.0.7:8080"), "inconclusive");
    }
}
