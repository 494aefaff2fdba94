use serde_json::json;

use super::{Fits, Mechanism, Probe, ProbeKind, Probes, Seen, probes_of};
use crate::defect::ContainerKind;
use crate::pods::fault::Of;

fn pod() -> serde_json::Value {
    json!({"spec": {
        "initContainers": [
            {"name": "side", "restartPolicy": "Always", "livenessProbe": {"tcpSocket": {"port": 9}}},
            {"name": "first"},
        ],
        "containers": [{
            "name": "main",
            "ports": [{"name": "web", "containerPort": 8080}],
            "livenessProbe": {"httpGet": {"path": "/live?a=1", "port": "web"}},
            "readinessProbe": {"httpGet": {"port": 8080, "scheme": "HTTPS"}},
            "startupProbe": {"grpc": {"port": 8080, "service": "s"}},
        }],
    }})
}

#[test]
fn a_specification_says_who_may_ask_at_a_port() {
    let probes = probes_of(&pod());
    let found: Vec<_> = probes.iter().map(|probe| (probe.probe, probe.by, probe.port, probe.kind)).collect();
    assert_eq!(
        found,
        [
            (ProbeKind::Liveness, Mechanism::Tcp, 9, ContainerKind::Sidecar),
            (ProbeKind::Startup, Mechanism::Grpc, 8080, ContainerKind::Main),
            (ProbeKind::Liveness, Mechanism::Http, 8080, ContainerKind::Main),
            (ProbeKind::Readiness, Mechanism::Https, 8080, ContainerKind::Main),
        ]
    );
    assert_eq!(probes[2].path.as_deref(), Some("/live"));
    assert_eq!(probes[3].path.as_deref(), Some("/"));
    assert_eq!(probes[1].service.as_deref(), Some("s"));
}

#[test]
fn candidates_become_fewer_while_a_connection_is_read() {
    let book = Probes::default();
    book.learn("n", "p", probes_of(&pod()));
    let mut seen = Seen { port: 8080, ..Seen::default() };
    assert_eq!(book.candidates("n", "p", &seen).len(), 3);
    seen.by = Some(Mechanism::Http);
    assert_eq!(book.candidates("n", "p", &seen).len(), 1);
    seen.path = Some("/other".into());
    assert_eq!(book.candidates("n", "p", &seen), []);
    book.forget("n", "p");
    assert_eq!(book.candidates("n", "p", &Seen { port: 8080, ..Seen::default() }), []);
}

#[test]
fn without_a_specification_a_path_is_undecided_until_it_is_read() {
    let of = Of { path: Some("/live".into()), ..Of::default() };
    let mut seen = Seen { port: 1, ..Seen::default() };
    assert_eq!(seen.fits(&of, None), Fits::Maybe);
    seen.by = Some(Mechanism::Tcp);
    assert_eq!(seen.fits(&of, None), Fits::No, "a TCP probe has no path");
    seen.by = Some(Mechanism::Http);
    seen.path = Some("/live".into());
    assert_eq!(seen.fits(&of, None), Fits::Yes);
    seen.path = Some("/ready".into());
    assert_eq!(seen.fits(&of, None), Fits::No);
}

#[test]
fn a_kind_is_told_by_the_specification_alone() {
    let of = Of { probe: Some(ProbeKind::Liveness), ..Of::default() };
    let seen = Seen { port: 8080, ..Seen::default() };
    assert_eq!(seen.fits(&of, None), Fits::No);
    let probes = probes_of(&pod());
    let liveness: Vec<&Probe> =
        probes.iter().filter(|probe| seen.fits(&of, Some(probe)) == Fits::Yes).collect();
    assert_eq!(liveness.len(), 2);
}
