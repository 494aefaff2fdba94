//! Where TCP probes go: the pod's address, unless `host` says otherwise; and that a Service's name is no such host.

use std::net::IpAddr;

use probity_model::timeline::Handler;
use probity_model::{Clause, Seen, Timeline};

use crate::probe_mechanism::tcp_at_pod_ip;
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::UnreachableProbe;
use crate::reading::unvisited::must_be_visited;

/// Without `host`, a probe comes to the pod's address.
pub(super) fn pod_ip_by_default(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        if matches!(&spec.handler, Handler::Tcp { host: None, port } if port.number.is_some()) {
            seen.applies();
            must_be_visited(run, clause, seen, (pod, container, spec));
        }
    }
    tcp_at_pod_ip(run, seen);
}

/// The name of a Service leads nowhere from a node, so such a probe fails.
pub(super) fn service_name_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { host: Some(host), .. } = &spec.handler else { continue };
        if names_a_service(host) {
            let why = "whose host is the name of a Service";
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

/// Whether a host is a name that only the cluster's DNS can know.
fn names_a_service(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.parse::<IpAddr>().is_err() && (host.ends_with(".svc") || host.ends_with(".svc.cluster.local"))
}

#[cfg(test)]
mod tests {
    use probity_composer::Told;
    use serde_json::json;

    use crate::reading::scene::Scene;

    const HOST: &str = "probe.tcp.default-host";
    const NAME: &str = "probe.tcp.host-service-name-unusable";

    fn scene() -> Scene {
        Scene::new(HOST, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}))
    }

    #[test]
    fn a_connection_to_the_pods_address_holds() {
        let mut scene = scene();
        scene.run.tcp(2.0, &Told::get("", ""));
        assert_eq!(scene.at(4.0), "holds");
    }

    #[test]
    fn connections_to_another_address_alone_are_a_violation() {
        let mut scene = scene();
        for second in 2..5 {
            let local = "10.0.0.8".to_owned();
            scene.run.tcp(f64::from(second), &Told { local, ..Told::get("", "") });
        }
        assert_eq!(scene.at(6.0), "violated");
    }

    #[test]
    fn without_a_connection_nothing_is_shown() {
        assert_eq!(scene().at(4.0), "inconclusive");
    }

    fn named(host: &str, ready: bool) -> &'static str {
        let handler = json!({ "tcpSocket": { "port": 80, "host": host } });
        let mut scene = Scene::new(NAME, "readinessProbe", &handler, &json!({}));
        let says = "Readiness probe failed: dial tcp: lookup web.default.svc: no such host";
        scene.run.running(3.0, ready, true, 0).event(3.1, "Warning", "Unhealthy", says);
        scene.at(9.0)
    }

    #[test]
    fn the_name_of_a_service_fails() {
        assert_eq!(named("web.default.svc", false), "holds");
        assert_eq!(named("web.default.svc", true), "violated");
    }

    #[test]
    fn an_address_says_nothing_of_names() {
        let handler = json!({ "tcpSocket": { "port": 80, "host": "10.0.0.9" } });
        assert_eq!(Scene::new(NAME, "readinessProbe", &handler, &json!({})).at(9.0), "inconclusive");
    }
}
