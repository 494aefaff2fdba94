//! The documentation's promises for each fault if settings affect each other.

use super::*;
use probity_model::Interval;

/// A container with only a liveness probe.
fn only_live() -> Value {
    json!({ "name": "c", "ports": [{ "containerPort": 80 }], "livenessProbe": { "httpGet": { "port": 80 } } })
}

fn open(promise: &Promise) -> &str {
    assert!(promise.is_open(), "{promise:?}");
    &promise.formula
}

#[test]
fn without_a_readiness_probe_nothing_is_said_of_a_kill_that_may_go_by_unseen() {
    let stand = stand(&only_live());
    for fault in [Fault::Hang, Fault::Errors, Fault::Overload] {
        assert!(open(&expected(&stand, fault, Quantity::Unready)).contains("unnoticed"), "{fault:?}");
    }
    assert!(open(&expected(&stand, Fault::Hang, Quantity::ReadyAgain)).contains("unnoticed"));
    assert_eq!(expected(&stand, Fault::DependencyLoss, Quantity::Unready).span, NEVER);
    let ends = workload(&json!({ "restartPolicy": "Never", "containers": [only_live()] }));
    let ends = StandIn::of(&ends).unwrap();
    assert_eq!(seconds(&expected(&ends, Fault::Hang, Quantity::Unready)), (21, 31), "it stays away");
}

#[test]
fn a_start_that_is_killed_was_ready_before_unless_a_probe_held_it_back() {
    let (start, ready) = (Fault::SlowStart, Quantity::Ready);
    assert_eq!(seconds(&expected(&stand(&slow()), start, ready)), (0, 0));
    for field in ["readinessProbe", "startupProbe"] {
        let mut held = slow();
        held[field] = json!({ "httpGet": { "port": 80 }, "periodSeconds": 2 });
        assert_eq!(expected(&stand(&held), start, ready).span, NEVER, "{field}");
    }
}

#[test]
fn clients_ask_for_what_no_probe_and_no_hook_asks() {
    let url = |container: &Value| {
        let trial = trial(&stand(container), Fault::Overload, 0).unwrap();
        serde_json::to_value(&trial.case.pods["client"].target).unwrap()["client"]["process"]["clients"][0]["url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(url(&only_live()).ends_with("/try"), "a probe at / keeps its own answer");
    let mut same = only_live();
    same["livenessProbe"]["httpGet"]["path"] = json!("/try?deep=1");
    same["lifecycle"] = json!({ "preStop": { "httpGet": { "path": "/try-2", "port": 80 } } });
    assert!(url(&same).ends_with("/try-3"));
}

#[test]
fn a_trial_waits_for_the_slowest_container_of_the_pod() {
    let slow = |seconds: i64| json!({ "httpGet": { "port": 81 }, "initialDelaySeconds": seconds, "periodSeconds": 5 });
    let takes = |spec: &Value| {
        let stand = StandIn::of(&workload(spec)).unwrap();
        assert_eq!(stand.subject, "web");
        trial(&stand, Fault::Calm, 0).unwrap().takes.span.hi / SECOND
    };
    let alone = takes(&json!({ "containers": [web()] }));
    let beside = json!({ "name": "b", "readinessProbe": slow(60) });
    assert_eq!(takes(&json!({ "containers": [web(), beside] })), alone + 65 - 10);
    let before = json!({ "name": "b", "restartPolicy": "Always", "startupProbe": slow(60) });
    assert_eq!(takes(&json!({ "containers": [web()], "initContainers": [before] })), alone + 65);
}

#[test]
fn what_a_hook_alone_asks_stays_well_while_the_rest_is_ill() {
    let ill = |path: &str| {
        let mut container = web();
        container["lifecycle"] = json!({ "preStop": { "httpGet": { "path": path, "port": "http" } } });
        let trial = trial(&stand(&container), Fault::Hang, 0).unwrap();
        let changes = trial.case.steps.iter().map(|step| serde_json::to_value(step).unwrap());
        let change = changes.into_iter().find(|step| step.get("change").is_some()).unwrap();
        change["change"]["to"]["listeners"]["port-8080"]["paths"].clone()
    };
    let paths = ill("/drain");
    assert!(paths.get("/drain").is_none() && paths.get("/live").is_some(), "{paths}");
    assert!(ill("/live").get("/live").is_some(), "a probe asks it, too");
}

#[test]
fn a_post_start_hook_that_meets_closed_ports_leaves_nothing_to_promise() {
    let mut container = web();
    container["lifecycle"] = json!({ "postStart": { "httpGet": { "path": "/hello", "port": "http" } } });
    let stand = stand(&container);
    for quantity in [Quantity::Ready, Quantity::Killed, Quantity::Restarts] {
        assert!(open(&expected(&stand, Fault::SlowStart, quantity)).contains("postStart hook"));
    }
    assert_eq!(seconds(&expected(&stand, Fault::Calm, Quantity::Ready)), (0, 10));
}

#[test]
fn a_hook_is_cut_by_the_grace_of_the_probe_that_kills() {
    let mut container = web();
    container["lifecycle"] = json!({ "preStop": { "sleep": { "seconds": 20 } } });
    let killed = |container: &Value| seconds(&expected(&stand(container), Fault::Hang, Quantity::Killed));
    assert_eq!(killed(&container), (41, 51));
    container["livenessProbe"]["terminationGracePeriodSeconds"] = json!(5);
    assert_eq!(killed(&container), (26, 36));
    let said = remarks(&stand(&container), 0);
    let away = said.iter().find(|remark| remark.clause == "scenario.liveness.restart-downtime").unwrap();
    assert!(away.says.contains("5.0 s of grace"), "{}", away.says);
}

#[test]
fn probes_begin_after_the_post_start_hook() {
    let mut container = slow();
    container["lifecycle"] = json!({ "postStart": { "sleep": { "seconds": 7 } } });
    let killed = expected(&stand(&container), Fault::SlowStart, Quantity::Killed);
    assert_eq!(seconds(&killed), (4, 13));
}

#[test]
fn a_start_that_no_probe_holds_back_is_watched_until_it_is_over() {
    let container =
        json!({ "name": "c", "livenessProbe": { "httpGet": { "port": 80 }, "timeoutSeconds": 4 } });
    let trial = trial(&stand(&container), Fault::SlowStart, 18 * SECOND).unwrap();
    let last = serde_json::to_value(trial.case.steps.last().unwrap()).unwrap();
    assert_eq!(last, json!({ "watch": "32s" }), "the start, one period and one timeout");
    let of = |quantity: Quantity| expected(&stand(&container), Fault::SlowStart, quantity);
    assert_eq!(of(Quantity::Killed).span, NEVER);
    assert_eq!(of(Quantity::Restarts).span, Interval::point(0));
}

#[test]
fn a_hook_that_the_grace_period_cuts_off_does_not_keep_a_pod_serving() {
    let lost = |grace: i64| {
        let mut container = web();
        // The API server rejects a `sleep` that is longer than the grace period, but not a command.
        container["lifecycle"] = json!({ "preStop": { "exec": { "command": ["sleep", "10"] } } });
        let spec = json!({ "terminationGracePeriodSeconds": grace, "containers": [container] });
        expected(&StandIn::of(&workload(&spec)).unwrap(), Fault::SlowShutdown, Quantity::Lost)
    };
    assert_eq!(lost(30).span, Interval::point(0));
    assert!(lost(2).is_open());
}
