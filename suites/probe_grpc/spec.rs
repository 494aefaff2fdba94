//! What a `grpc` probe may say: a port, and no host.

use probity_model::timeline::{Handler, Through};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::probe_mechanism::probes_of;

/// A port is required, a number from 1 to 65535.
pub(super) fn port_required(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let fits = |grpc: &Value| {
        grpc.get("port").and_then(Value::as_i64).is_some_and(|port| (1..=65535).contains(&port))
    };
    trials(run, seen, "port", fits);
}

/// A host cannot be given; the pod's address is used, and named as the authority.
pub(super) fn no_host(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    trials(run, seen, "host", |grpc| grpc.get("host").is_none());
    for (pod, container, spec) in run.probes() {
        let Handler::Grpc { .. } = &spec.handler else { continue };
        let Some(ip) = pod.ip() else { continue };
        seen.applies();
        for attempt in &container.attempts {
            for probe in attempt.probes_of(spec.kind) {
                let Through::Request(at) = probe.through else { continue };
                let Some(asked) = attempt.requests.get(at) else { continue };
                let Some(connection) = attempt.connection(asked) else { continue };
                let Some(port) = connection.port() else { continue };
                let of = format!("the {} probe of {}/{}", spec.kind.word(), pod.key, container.name);
                let host = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
                let (expected, named) = (format!("{host}:{port}"), asked.header(":authority").next());
                if connection.address() != ip {
                    let finding = format!("{of} came to {} instead of {ip}", connection.address());
                    seen.violated(finding, [connection.id, asked.id]);
                } else if named != Some(expected.as_str()) {
                    let named = named.unwrap_or("nobody");
                    let finding = format!("{of} names {named} instead of {expected}");
                    seen.violated(finding, [asked.id]);
                } else {
                    seen.fine([connection.id, asked.id]);
                }
            }
        }
    }
}

/// Judges the trials of manifests with `grpc` probes: what does not fit is refused with a word of the field, and what
/// fits is not.
fn trials(run: &Timeline<'_>, seen: &mut Seen, field: &str, fits: impl Fn(&Value) -> bool) {
    for (id, tried) in &run.tried {
        let probes = probes_of(&tried.manifest);
        let checks: Vec<&Value> = probes.iter().filter_map(|written| written.probe.get("grpc")).collect();
        if checks.is_empty() {
            continue;
        }
        let wrong = checks.iter().find(|grpc| !fits(grpc));
        let named = tried.message.contains(&format!("grpc.{field}"));
        match (wrong, tried.code) {
            (Some(grpc), ..300) => {
                let finding = format!("`{}` was accepted: a {field} of {grpc}", tried.name);
                seen.violated(finding, [*id]);
            }
            (Some(_), 400 | 422) if named || tried.message.contains(field) => seen.fine([*id]),
            (Some(_), 400 | 422) => {
                let why =
                    format!("`{}` was refused without a word of {field}: {}", tried.name, tried.message);
                seen.doubt(Doubt::Ambiguous, why, [*id]);
            }
            (None, ..300) if field == "port" => seen.fine([*id]),
            (None, 422) if named => {
                let finding = format!("`{}` fits, and was refused: {}", tried.name, tried.message);
                seen.violated(finding, [*id]);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told};
    use serde_json::{Value, json};

    use crate::reading::scene::Scene;
    use crate::tests::verdict;

    const PORT: &str = "probe.grpc.port-required";
    const HOST: &str = "probe.grpc.no-host";

    fn tried(clause: &str, grpc: Value, code: u16, message: &str) -> &'static str {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "containers": [{ "name": "c", "livenessProbe": { "grpc": grpc } }] });
        run.tried(0.0, "it", json!({ "kind": "Pod", "spec": spec }), code, message, Value::Null);
        verdict(&run.done(), clause)
    }

    #[test]
    fn a_port_is_a_number_in_range() {
        let refusal = "spec.containers[0].livenessProbe.grpc.port: Invalid value";
        assert_eq!(tried(PORT, json!({ "port": 1 }), 201, ""), "holds");
        assert_eq!(tried(PORT, json!({ "port": 1 }), 422, refusal), "violated");
        assert_eq!(tried(PORT, json!({}), 422, refusal), "holds");
        assert_eq!(tried(PORT, json!({ "port": 65536 }), 201, ""), "violated");
        assert_eq!(
            tried(PORT, json!({ "port": "grpc" }), 400, "GRPCAction.grpc.port of type int32"),
            "holds"
        );
        assert_eq!(tried(PORT, json!({ "port": 0 }), 422, "spec.hostname"), "inconclusive");
    }

    #[test]
    fn a_host_is_refused() {
        let grpc = || json!({ "port": 1, "host": "x" });
        assert_eq!(tried(HOST, grpc(), 400, "unknown field livenessProbe.grpc.host"), "holds");
        assert_eq!(tried(HOST, grpc(), 201, ""), "violated");
    }

    fn named(authority: &str) -> &'static str {
        let mut scene = Scene::new(HOST, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &json!({}));
        let headers = vec![(":authority".to_owned(), authority.to_owned())];
        scene.run.call(2.0, "", &Told { headers, ..Told::get("/grpc.health.v1.Health/Check", "status 1") });
        scene.at(4.0)
    }

    #[test]
    fn the_pods_address_is_named() {
        assert_eq!(named("10.0.0.7:9090"), "holds");
        assert_eq!(named("localhost:9090"), "violated");
    }
}
