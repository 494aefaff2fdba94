//! What the answers to health checks mean: SERVING is a success, and nothing else is, be it a status, an error or nobody.

use probity_model::timeline::{ContainerLife, Handler, ProbeKind};
use probity_model::{Clause, Seen, Timeline};
use probity_script::Protocol;

use crate::reading::answers::{Answer, Answers, of_others};
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, UnreachableProbe, there};

/// Whether an answer is SERVING, as the target writes it.
pub(crate) fn is_serving(word: &str) -> bool {
    ["serving", "status 1"].contains(&word)
}

/// Whether an answer is the error of a service that is not known.
fn is_not_found(word: &str) -> bool {
    ["not-found", "code 5"].contains(&word)
}

/// Whether an answer is the error of a server without the health protocol.
fn is_unimplemented(word: &str) -> bool {
    ["unimplemented", "code 12"].contains(&word)
}

/// SERVING is a success, and every other answer a failure.
pub(crate) fn serving_alone_succeeds(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| Some(is_serving(word)));
}

/// NOT_FOUND is a failure.
pub(super) fn wrong_service_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| is_not_found(word).then_some(false));
}

/// UNIMPLEMENTED is a failure, and so is a port at which no gRPC is spoken.
pub(super) fn unimplemented_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| is_unimplemented(word).then_some(false));
    in_vain(run, clause, seen, "whose port speaks no gRPC", |there| match there {
        There::Listener(listener) => listener.protocol != Protocol::Grpc && listener.tls.is_none(),
        There::Nobody | There::Unknown => false,
    });
}

/// A port that nobody opened is a failure.
pub(super) fn wrong_port_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    in_vain(run, clause, seen, "whose port nobody opened", |there| *there == There::Nobody);
}

/// A server that speaks TLS alone is not understood.
pub(super) fn plaintext_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    in_vain(run, clause, seen, "whose port speaks TLS", |there| match there {
        There::Listener(listener) => listener.protocol == Protocol::Grpc && listener.tls.is_some(),
        There::Nobody | There::Unknown => false,
    });
    for (_, container, spec) in run.probes() {
        let Handler::Grpc { port, .. } = &spec.handler else { continue };
        let connections = container.attempts.iter().flat_map(|attempt| &attempt.connections);
        let secured =
            connections.filter(|connection| connection.port() == port.number).find_map(|connection| {
                let (id, tls) = connection.tls.as_ref()?;
                tls.error.is_none().then_some([connection.id, *id])
            });
        let others = container.probes.iter().any(|other| {
            matches!(other.handler, Handler::Http { .. }) && other.handler.port() == port.number
        });
        if let Some(events) = secured.filter(|_| !others) {
            let of = format!("the {} probe of {}", spec.kind.word(), container.name);
            seen.violated(format!("{of} came over TLS"), events);
        }
    }
}

/// Checks of all three kinds work beside one another on one port.
pub(super) fn three_kinds_at_one_port(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |container, word| has_all_three(container).then_some(is_serving(word)));
}

/// Whether all probes of a container are health checks at the same port.
fn has_all_three(container: &ContainerLife<'_>) -> bool {
    let port = |kind: ProbeKind| match &container.probe(kind)?.handler {
        Handler::Grpc { port, .. } => port.number,
        _ => None,
    };
    let ports = ProbeKind::ALL.map(port);
    ports.iter().all(|of| of.is_some() && *of == ports[0])
}

/// Judges each run of checks by what their answer means; none says nothing.
fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    means: impl Fn(&ContainerLife<'_>, &str) -> Option<bool>,
) {
    let of_grpc = |answers: &Answers<'_, '_>| matches!(answers.course.spec.handler, Handler::Grpc { .. });
    for answers in of_others(run).iter().filter(|answers| of_grpc(answers)) {
        answers.judge(run, clause, seen, |exchange| match answers.told(exchange)? {
            Answer::Health(word) => {
                let success = means(answers.course.container, word)?;
                Some((success, format!("were answered with `{word}`")))
            }
            _ => None,
        });
    }
}

/// Judges the checks that are in vain for this reason.
fn in_vain(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, why: &str, fits: impl Fn(&There) -> bool) {
    for (pod, container, spec) in run.probes() {
        let Handler::Grpc { port, .. } = &spec.handler else { continue };
        if port.number.is_some_and(|port| fits(&there(pod, port))) {
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::reading::scene::Scene;

    const SERVING: &str = "probe.grpc.serving-success";
    const SERVICE: &str = "probe.grpc.wrong-service-fails";
    const NONE: &str = "probe.grpc.unimplemented-fails";
    const PORT: &str = "probe.grpc.wrong-port-fails";
    const TLS: &str = "probe.grpc.plaintext-only";
    const THREE: &str = "probe.grpc.uses-same-endpoint-three-kinds";

    fn scene(clause: &str, listener: &Value) -> Scene {
        let plan = json!({ "listeners": { "grpc": listener } });
        Scene::new(clause, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &plan)
    }

    fn answered(clause: &str, answer: &str, ready: bool) -> &'static str {
        let mut scene = scene(clause, &json!({ "port": 9090, "protocol": "grpc" }));
        for second in 2..18 {
            scene.run.grpc(f64::from(second), "", answer);
        }
        scene.run.running(2.4, ready, true, 0);
        scene.at(18.0)
    }

    #[test]
    fn serving_is_success_and_nothing_else_is() {
        for word in ["serving", "status 1"] {
            assert_eq!(answered(SERVING, word, true), "holds", "{word}");
            assert_eq!(answered(SERVING, word, false), "violated", "{word}");
        }
        for word in ["status 2", "status 0", "status 77", "not-found", "code 14", "close"] {
            assert_eq!(answered(SERVING, word, false), "holds", "{word}");
            assert_eq!(answered(SERVING, word, true), "violated", "{word}");
        }
        assert_eq!(answered(SERVING, "half-frame", true), "inconclusive");
    }

    #[test]
    fn errors_are_failures() {
        for (clause, word) in [(SERVICE, "not-found"), (NONE, "unimplemented")] {
            assert_eq!(answered(clause, word, false), "holds");
            assert_eq!(answered(clause, word, true), "violated");
            assert_eq!(answered(clause, "status 1", true), "inconclusive");
        }
    }

    fn vain(clause: &str, listener: &Value, says: &str, ready: bool) -> &'static str {
        let mut scene = scene(clause, listener);
        scene.run.running(3.0, ready, true, 0).event(4.0, "Warning", "Unhealthy", says);
        scene.at(9.0)
    }

    #[test]
    fn nobody_who_could_answer_is_a_failure() {
        let failed = "Readiness probe failed: timeout: failed to connect service";
        let errored = "Readiness probe errored and resulted in unknown state";
        for (clause, listener) in [
            (PORT, json!({ "port": 9091, "protocol": "grpc" })),
            (NONE, json!({ "port": 9090 })),
            (TLS, json!({ "port": 9090, "protocol": "grpc", "tls": {} })),
        ] {
            assert_eq!(vain(clause, &listener, failed, false), "holds", "{clause}");
            assert_eq!(vain(clause, &listener, failed, true), "violated", "{clause}");
            assert_eq!(vain(clause, &listener, errored, false), "violated", "{clause}");
            assert_eq!(
                vain(clause, &json!({ "port": 9090, "protocol": "grpc" }), failed, false),
                "inconclusive"
            );
        }
    }

    /// A sidecar that asks in vain for its liveness, beside a main container that only sleeps, until this second.
    fn vain_sidecar(main: &Value, end: f64) -> &'static str {
        let plan = json!({ "listeners": { "grpc": { "port": 9091, "protocol": "grpc" } } });
        let env = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
        let probe = json!({ "grpc": { "port": 9090 }, "periodSeconds": 1, "failureThreshold": 2 });
        let side = json!({ "name": "target", "restartPolicy": "Always", "env": env, "livenessProbe": probe });
        let mut run = probity_composer::Composer::new(&[PORT]);
        run.create(0.0, &json!({ "initContainers": [side], "containers": [main] })).start(1.0, 0);
        let status = probity_composer::running_status("main", 2.0, true, true, 0);
        run.status(2.1, &status);
        run.event(4.0, "Warning", "Unhealthy", "Liveness probe failed: timeout").reading(end);
        crate::tests::verdict(&run.done(), PORT)
    }

    #[test]
    fn a_sidecar_whose_probe_is_in_vain_is_killed_beside_a_container_that_sleeps() {
        let sleeps = json!({ "name": "main", "args": ["pause"] });
        assert_eq!(vain_sidecar(&sleeps, 6.0), "holds");
        assert_eq!(vain_sidecar(&sleeps, 60.0), "violated");
        assert_eq!(vain_sidecar(&json!({ "name": "main", "image": "other" }), 60.0), "inconclusive");
    }

    fn three(ready: bool) -> &'static str {
        let check =
            |service: &str| json!({ "grpc": { "port": 9090, "service": service }, "periodSeconds": 1 });
        let container = json!({
            "name": "target", "startupProbe": check("s"), "livenessProbe": check("l"), "readinessProbe": check("r"),
        });
        let mut run = probity_composer::Composer::new(&[THREE]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, false, 0);
        run.grpc(2.0, "s", "status 1");
        run.running(2.2, false, true, 0);
        for second in 3..18 {
            run.grpc(f64::from(second), "l", "status 1");
            run.grpc(f64::from(second) + 0.1, "r", "status 1");
        }
        run.running(3.4, ready, true, 0).reading(18.0);
        crate::tests::verdict(&run.done(), THREE)
    }

    #[test]
    fn three_kinds_on_one_port_work() {
        assert_eq!(three(true), "holds");
        assert_eq!(three(false), "violated");
        assert_eq!(answered(THREE, "status 1", false), "inconclusive");
    }
}
