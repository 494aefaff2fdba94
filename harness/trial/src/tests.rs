#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;
use probity_composer::Composer;
use probity_model::History;
use probity_model::measure::Fit;
use probity_model::timeline::{Handler, ProbeKind};
use probity_script::Endpoint;
use probity_script::witness::{ChangeSeen, Fact};

mod promises;
mod reading;
mod seeing;

const SECOND: i64 = 1_000_000;

fn workload(spec: &Value) -> Workload {
    Workload::of(&json!({ "kind": "Pod", "metadata": { "name": "mine" }, "spec": spec })).unwrap().unwrap()
}

fn stand(container: &Value) -> StandIn {
    StandIn::of(&workload(&json!({ "containers": [container] }))).unwrap()
}

/// A container whose probes have their defaults.
fn web() -> Value {
    json!({
        "name": "web", "image": "web:1", "env": [{ "name": "A", "value": "b" }],
        "ports": [{ "name": "http", "containerPort": 8080 }],
        "livenessProbe": { "httpGet": { "path": "/live", "port": "http", "host": "elsewhere" } },
        "readinessProbe": { "httpGet": { "path": "/ready?full=1", "port": "http" } }
    })
}

fn refusal(spec: &Value) -> String {
    StandIn::of(&workload(spec)).unwrap_err()
}

fn expected(stand: &StandIn, fault: Fault, quantity: Quantity) -> Promise {
    let trial = trial(stand, fault, 20 * SECOND).unwrap();
    trial.promised.into_iter().find(|one| one.quantity == quantity).unwrap().promise
}

fn seconds(promise: &Promise) -> (i64, i64) {
    assert!(promise.span != NEVER && !promise.is_open(), "{promise:?}");
    (promise.span.lo / SECOND, promise.span.hi / SECOND)
}

#[test]
fn a_pod_keeps_its_probes_and_ports_and_says_what_it_lost() {
    let mut spec = json!({
        "volumes": [], "nodeSelector": { "disk": "ssd" }, "terminationGracePeriodSeconds": 12,
        "initContainers": [{ "name": "once", "image": "x", "command": ["migrate"] }],
    });
    spec["containers"] = json!([web()]);
    let stand = StandIn::of(&workload(&spec)).unwrap();
    let made = &stand.pod.pod["spec"];
    assert_eq!(made["terminationGracePeriodSeconds"], 12);
    assert_eq!(made["containers"][0]["ports"], web()["ports"]);
    assert_eq!(made["containers"][0]["readinessProbe"], web()["readinessProbe"]);
    assert!(made["containers"][0]["livenessProbe"]["httpGet"].get("host").is_none());
    assert!(made.get("volumes").is_none() && made["containers"][0].get("env").is_none());
    let fields: Vec<&str> = stand.notes.iter().map(|note| note.field.as_str()).collect();
    for field in [
        "volumes",
        "nodeSelector",
        "containers[web].env",
        "containers[web].image",
        "containers[web].livenessProbe.httpGet.host",
        "containers[once].command, image",
    ] {
        assert!(fields.contains(&field), "{field} in {fields:?}");
    }
    assert_eq!(stand.traffic.port, 8080);
    assert!(stand.plan().listeners["port-8080"].paths.contains_key("/ready"), "without its query");
    assert_eq!(stand.pod.target["once"].process.exit.len(), 1, "an init container ends");
}

#[test]
fn commands_are_answered_by_the_plan_and_shared_ones_stay_shared() {
    let exec = |command: &str| json!({ "exec": { "command": [command] } });
    let stand = stand(&json!({ "name": "c", "livenessProbe": exec("check"), "readinessProbe": exec("check"),
        "startupProbe": exec("other"),
        "lifecycle": { "preStop": { "exec": { "command": ["sh", "-c", "sleep 7 && quit"] } } } }));
    let command = |kind: ProbeKind| match &stand.probe(kind).unwrap().handler {
        Handler::Exec { command } => command.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(command(ProbeKind::Startup), "/agnhost-rs exec startup-c");
    assert_eq!(command(ProbeKind::Liveness), command(ProbeKind::Readiness));
    assert!(stand.share(ProbeKind::Liveness, ProbeKind::Readiness));
    assert_eq!(stand.pre_stop, Some(7 * SECOND));
    let names: Vec<String> = stand.plan().exec.into_keys().collect();
    assert_eq!(names, ["liveness-c", "pre-stop-c", "startup-c"]);
}

#[test]
fn what_cannot_be_meant_is_refused_at_its_place() {
    let with = |field: &str, value: Value| {
        let mut container = web();
        container[field] = value;
        refusal(&json!({ "containers": [container] }))
    };
    let said = with("livenesProbe", json!({}));
    assert_eq!(
        said,
        "a container has no field `livenesProbe`; did you mean `livenessProbe`? (at /spec/containers/0/livenesProbe/@key)"
    );
    let said = with("livenessProbe", json!({ "httpGet": { "port": "htp" } }));
    assert_eq!(
        said,
        "container `web` has no port `htp`; it has http; did you mean `http`? (at /spec/containers/0/livenessProbe/httpGet/port)"
    );
    let said = with("livenessProbe", json!({ "httpGet": { "port": 1 }, "tcpSocket": { "port": 1 } }));
    assert!(said.contains("this one has 2"), "{said}");
    let said = with("livenessProbe", json!({ "tcpSocket": { "port": 1 }, "periodSeconds": "soon" }));
    assert!(said.contains("`periodSeconds` must be a whole number"), "{said}");
    let said = with("livenessProbe", json!({ "tcpSocket": { "port": 1 }, "periodSecond": 3 }));
    assert!(said.contains("did you mean `periodSeconds`?"), "{said}");
    assert!(refusal(&json!({ "containers": [] })).contains("at least one container"));
    assert!(refusal(&json!({ "containers": [web(), web()] })).contains("two containers are called"));
    assert!(Workload::of(&json!([1])).is_err());
    assert_eq!(Workload::of(&json!({ "kind": "ConfigMap" })).unwrap(), None);
}

#[test]
fn every_fault_of_every_sort_of_pod_can_be_arranged() {
    let grpc = json!({ "name": "g", "livenessProbe": { "grpc": { "port": 9090 } },
        "readinessProbe": { "grpc": { "port": 9090, "service": "s" } } });
    let tcp = json!({ "name": "t", "livenessProbe": { "tcpSocket": { "port": 80 } } });
    let exec = json!({ "name": "e", "readinessProbe": { "exec": { "command": ["x"] } } });
    let tls = json!({ "name": "h", "readinessProbe": { "httpGet": { "port": 8443, "scheme": "HTTPS" } } });
    for container in [web(), grpc, tcp, exec, tls, json!({ "name": "bare" })] {
        let stand = stand(&container);
        for fault in Fault::ALL {
            let trial = trial(&stand, fault, 20 * SECOND).unwrap();
            assert!(trial.promised.len() >= 3 && trial.takes.span.hi > 0, "{fault:?}");
            let text = serde_json::to_string(&trial.case.pods).unwrap();
            assert!(!text.contains("null,"), "{fault:?} {text}");
        }
    }
}

#[test]
fn a_pod_without_probes_is_promised_that_nobody_notices() {
    let stand = stand(&json!({ "name": "bare" }));
    for quantity in [Quantity::Unready, Quantity::Killed] {
        assert_eq!(expected(&stand, Fault::Hang, quantity).span, NEVER);
    }
    let clauses: Vec<&str> = remarks(&stand, 0).iter().map(|remark| remark.clause).collect();
    assert!(clauses.contains(&"probe.liveness.absent-means-success"), "{clauses:?}");
}

#[test]
fn what_is_promised_follows_from_how_each_probe_asks() {
    let stand = stand(&web());
    assert_eq!(seconds(&expected(&stand, Fault::Hang, Quantity::Killed)), (21, 31));
    assert_eq!(seconds(&expected(&stand, Fault::Errors, Quantity::Killed)), (20, 30));
    assert_eq!(seconds(&expected(&stand, Fault::Hang, Quantity::Downtime)), (21, 41));
    assert_eq!(expected(&stand, Fault::DependencyLoss, Quantity::Killed).span, NEVER);
    assert_eq!(expected(&stand, Fault::Flapping, Quantity::Killed).span, NEVER);
    let tcp = self::stand(&json!({ "name": "t", "livenessProbe": { "tcpSocket": { "port": 80 } } }));
    assert_eq!(expected(&tcp, Fault::Hang, Quantity::Killed).span, NEVER);
    assert_eq!(seconds(&expected(&self::stand(&slow()), Fault::SlowStart, Quantity::Killed)), (4, 6));
}

/// A container that is given four to six seconds to start.
fn slow() -> Value {
    json!({ "name": "s", "livenessProbe": { "httpGet": { "port": 80 }, "periodSeconds": 2 } })
}

/// A history of a hang that begins at second 5. The container is killed `killed` seconds later.
fn hang(stand: &StandIn, killed: f64) -> (Trial, History) {
    let trial = trial(stand, Fault::Hang, 0).unwrap();
    let spec = stand.pod.pod["spec"].clone();
    let mut run = Composer::new(&[]);
    run.of("app", "web");
    run.create(0.0, &spec).reading(0.1);
    run.start(1.0, 0).running(2.0, true, true, 0);
    let endpoints = vec!["port-8080:/live".parse::<Endpoint>().unwrap()];
    run.fact(5.0, Fact::Change(ChangeSeen { endpoints, change: String::new() }));
    run.running(5.0 + 25.0, false, true, 0);
    run.signal(5.0 + killed, "SIGTERM");
    run.start(5.0 + killed + 1.0, 1).running(5.0 + killed + 4.0, true, true, 1).reading(60.0);
    (trial, run.done())
}

fn row(trial: &Trial, history: &History, quantity: Quantity) -> Observation {
    let result = TrialResult::of(trial, history);
    result.observations.into_iter().find(|row| row.promised.quantity == quantity).unwrap()
}

#[test]
fn what_is_within_the_promise_is_kept_and_what_is_not_is_named() {
    let stand = stand(&web());
    for (killed, fit) in
        [(20.5, Some(Fit::Missed)), (21.5, Some(Fit::Met)), (30.9, Some(Fit::Met)), (35.0, Some(Fit::Missed))]
    {
        let (trial, history) = hang(&stand, killed);
        let row = row(&trial, &history, Quantity::Killed);
        assert_eq!(row.fit, fit, "{killed} {row:?}");
        assert_eq!(row.events.len(), 2);
    }
    let (trial, history) = hang(&stand, 25.0);
    assert_eq!(row(&trial, &history, Quantity::Restarts).fit, Some(Fit::Met));
    assert_eq!(row(&trial, &history, Quantity::Unready).fit, Some(Fit::Met));
    assert_eq!(row(&trial, &history, Quantity::ReadyAgain).fit, Some(Fit::Met));
    assert!(row(&trial, &history, Quantity::Lost).seen.is_err());
}

#[test]
fn an_arithmetic_error_in_a_promise_shows_as_a_mismatch() {
    let stand = stand(&web());
    // A calculation that forgets that the probe needs three failures promises a third of the time.
    let wrong = [("one period", 0, 10), ("a period too much", 32, 42)];
    for (error, lo, hi) in wrong {
        let (mut trial, history) = hang(&stand, 25.0);
        for promised in trial.promised.iter_mut().filter(|one| one.quantity == Quantity::Killed) {
            promised.promise = Promise::new(lo * SECOND, hi * SECOND, error);
        }
        assert_eq!(row(&trial, &history, Quantity::Killed).fit, Some(Fit::Missed), "{error}");
        assert_eq!(TrialResult::of(&trial, &history).fit(), Fit::Missed, "{error}");
    }
}

#[test]
fn a_kubelet_that_never_acts_breaks_the_promise_and_silence_of_the_target_does_not() {
    let stand = stand(&web());
    let (trial, _) = hang(&stand, 25.0);
    let nothing = Composer::new(&[]).done();
    let outcome = TrialResult::of(&trial, &nothing);
    assert!(
        outcome.observations.iter().all(|row| matches!(row.fit, Some(Fit::Undecided) | None)),
        "{outcome:?}"
    );
    let (_, history) = hang(&stand, 500.0);
    assert_eq!(row(&trial, &history, Quantity::Killed).fit, Some(Fit::Missed));
}

#[test]
fn each_remark_has_its_reason() {
    let clauses = |container: &Value, boot: i64| -> Vec<&'static str> {
        remarks(&stand(container), boot * SECOND).iter().map(|remark| remark.clause).collect()
    };
    let shared = json!({ "name": "c", "livenessProbe": { "httpGet": { "port": 80 } },
        "readinessProbe": { "httpGet": { "port": 80 } } });
    let same = "probe.pair.same-endpoint-higher-threshold";
    assert!(clauses(&shared, 0).contains(&same));
    assert!(!clauses(&web(), 0).contains(&same));
    let start = "probe.startup.slow-start-protection";
    assert!(clauses(&slow(), 20).contains(&start) && !clauses(&slow(), 1).contains(&start));
    let mut gentle = web();
    gentle["lifecycle"] = json!({ "preStop": { "sleep": { "seconds": 5 } } });
    let drain = "probe.readiness.no-auto-unready-on-delete";
    assert!(clauses(&web(), 0).contains(&drain) && !clauses(&gentle, 0).contains(&drain));
}
