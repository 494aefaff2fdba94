//! What events report, how often they occur, and which events follow starts, failures and waits.

use super::*;

/// The verdict on these events of a pod with three kinds of containers. The first event comes at 2 s, and the others
/// follow one per second.
fn judged(clause: &str, events: &[Value]) -> &'static str {
    let mut run = pod(clause, &three());
    for (at, event) in (2_u32..).zip(events) {
        told(&mut run, f64::from(at), event);
    }
    concluded(run, clause)
}

fn started(container: &str) -> Value {
    event(2.0, container, "Normal", "Started", "Container started")
}

fn failed() -> Value {
    event(2.0, "target", "Warning", "Unhealthy", "Readiness probe failed: 503")
}

#[test]
fn an_event_names_its_pod() {
    let clause = "report.event.object";
    let judged = |field: &str, value: Value| {
        judged(clause, &[started("target"), with(failed(), &format!("/involvedObject/{field}"), value)])
    };
    assert_eq!(judged("kind", json!("Pod")), "holds");
    assert_eq!(judged("uid", json!("uid-of-another")), "violated");
    assert_eq!(judged("apiVersion", Value::Null), "violated");
    assert_eq!(judged("kind", json!("Node")), "violated");
    assert_eq!(super::concluded(pod(clause, &three()), clause), "inconclusive", "there is no event");
}

#[test]
fn an_event_names_its_kubelet() {
    let clause = "report.event.source";
    assert_eq!(judged(clause, &[failed()]), "holds");
    assert_eq!(judged(clause, &[with(failed(), "/source/host", json!("node2"))]), "violated");
    assert_eq!(judged(clause, &[with(failed(), "/source/component", Value::Null)]), "violated");
    assert_eq!(judged(clause, &[with(failed(), "/reportingInstance", json!(""))]), "violated");
    let combined =
        with(failed(), "/message", json!("(combined from similar events): Readiness probe failed: 503"));
    assert_eq!(judged(clause, &[with(combined, "/reportingInstance", json!(""))]), "holds", "it is a copy");
    assert_eq!(judged(clause, &[]), "inconclusive");
}

#[test]
fn other_components_use_the_reasons_of_kubelets_too() {
    let clause = "report.event.source";
    let of_other = |reason: &str| {
        let event = event(2.0, "target", "Normal", reason, "Started by the queue");
        let event = with(event, "/source", json!({ "component": "queue-controller" }));
        with(event, "/involvedObject/fieldPath", Value::Null)
    };
    for reason in ["Started", "Created", "Killing"] {
        assert_eq!(judged(clause, &[failed(), of_other(reason)]), "holds");
        let path = json!("spec.containers{target}");
        let of_container = with(of_other(reason), "/involvedObject/fieldPath", path);
        assert_eq!(judged(clause, &[of_container]), "violated", "a kubelet with a wrong name");
        let on_node = with(of_other(reason), "/source", json!({ "component": "queue", "host": NODE }));
        assert_eq!(judged(clause, &[on_node]), "violated", "a kubelet that forgets the container");
        let other = with(of_other(reason), "/type", json!("Warning"));
        assert_ne!(judged("report.event.type", &[other]), "violated", "it is not a kubelet's");
    }
}

#[test]
fn an_event_names_its_container() {
    let clause = "report.event.field-path";
    let path =
        |text: &str| judged(clause, &[with(started("helper"), "/involvedObject/fieldPath", json!(text))]);
    assert_eq!(judged(clause, &["first", "helper", "target"].map(started)), "holds");
    assert_eq!(path("spec.containers{helper}"), "violated", "it is an init container");
    assert_eq!(path("spec.initContainers{other}"), "violated", "there is none of this name");
    assert_eq!(path(""), "violated");
    assert_eq!(path("spec.ephemeralContainers{debug}"), "violated", "none was added");
}

#[test]
fn an_event_names_the_ephemeral_container() {
    let clause = "report.event.field-path";
    let judged = |text: &str, gap: bool| {
        let mut spec = three();
        let mut run = pod(clause, &spec);
        spec["nodeName"] = json!(NODE);
        spec["ephemeralContainers"] = json!([{ "name": "debug" }]);
        run.pod_seen(1.0, &spec, &json!({ "phase": "Running" }), Change::Modified);
        if gap {
            run.gap(1.1, 1.9, "Pod");
        }
        told(&mut run, 2.0, &with(started("target"), "/involvedObject/fieldPath", json!(text)));
        concluded(run, clause)
    };
    assert_eq!(judged("spec.ephemeralContainers{debug}", false), "holds");
    assert_eq!(judged("spec.containers{debug}", false), "violated", "it is no main container");
    assert_eq!(judged("spec.ephemeralContainers{target}", false), "violated", "it is a main container");
    assert_eq!(judged("spec.ephemeralContainers{other}", false), "violated", "there is none of this name");
    assert_ne!(judged("spec.ephemeralContainers{other}", true), "violated", "it may have been added unseen");
}

#[test]
fn an_event_has_the_type_of_its_reason() {
    let clause = "report.event.type";
    assert_eq!(judged(clause, &[failed(), started("target")]), "holds");
    assert_eq!(judged(clause, &[with(failed(), "/type", json!("Normal"))]), "violated");
    assert_eq!(judged(clause, &[with(started("target"), "/type", json!("Warning"))]), "violated");
    let pull = |kind| event(2.0, "target", kind, "BackOff", "Back-off pulling image \"none\"");
    assert_eq!(judged(clause, &[pull("Normal")]), "holds");
    assert_eq!(judged(clause, &[pull("Warning")]), "violated", "it is not about a restart");
    for reason in ["Failed", "InspectFailed", "ErrImageNeverPull"] {
        let of = |kind| event(2.0, "target", kind, reason, "Error: none");
        assert_eq!(judged(clause, &[of("Warning")]), "holds", "{reason}");
        assert_eq!(judged(clause, &[of("Normal")]), "violated", "{reason}");
        let of_other = with(of("Normal"), "/source/component", json!("another"));
        assert_eq!(judged(clause, &[of_other]), "inconclusive", "{reason} of another component");
        let of_pod = with(of("Normal"), "/involvedObject/fieldPath", Value::Null);
        assert_ne!(
            judged(clause, &[of_pod]) == "violated",
            reason == "Failed",
            "{reason} of a pod as a whole"
        );
    }
}

#[test]
fn an_event_that_occurs_again_counts_up() {
    let clause = "report.event.count";
    let again = |count: u64, first: f64, last: f64| {
        let more = with(failed(), "/count", json!(count));
        let more = with(more, "/firstTimestamp", json!(timestamp(first)));
        judged(clause, &[failed(), with(more, "/lastTimestamp", json!(timestamp(last)))])
    };
    assert_eq!(again(2, 2.0, 3.0), "holds");
    assert_eq!(again(1, 2.0, 3.0), "violated", "its count stays");
    assert_eq!(again(2, 3.0, 3.0), "violated", "its first time moves");
    assert_eq!(again(2, 2.0, 1.0), "violated", "its last time goes back");
    assert_eq!(judged(clause, &[with(failed(), "/firstTimestamp", Value::Null)]), "violated");
    let in_future = with(failed(), "/lastTimestamp", json!(timestamp(9.0)));
    assert_eq!(judged(clause, &[in_future]), "violated", "it arrives before its last time");
    assert_eq!(judged(clause, &[]), "inconclusive");
    let shown_again: Vec<Value> = (0..2)
        .map(|_| {
            let mut event = failed();
            event["metadata"]["resourceVersion"] = json!("7");
            event
        })
        .collect();
    assert_eq!(judged(clause, &shown_again), "holds", "the watch started again");
}

#[test]
fn an_event_that_goes_on_to_occur_has_another_last_time() {
    let clause = "report.event.count";
    let judged = |last: f64| {
        let mut run = pod(clause, &three());
        for (at, count) in [(2.0, 1), (5.0, 2), (9.0, 3)] {
            let more = with(with(failed(), "/count", json!(count)), "/firstTimestamp", json!(timestamp(2.0)));
            let at_last = if count == 1 { 2.0 } else { last };
            told(&mut run, at, &with(more, "/lastTimestamp", json!(timestamp(at_last))));
        }
        concluded(run, clause)
    };
    assert_eq!(judged(5.0), "holds");
    assert_eq!(judged(2.0), "violated");
}

#[test]
fn no_more_failures_are_reported_than_there_were() {
    let clause = "report.event.unhealthy";
    let judged = |times: u64, status: u16| {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
        let mut run = pod(clause, &one(json!({ "name": "target", "readinessProbe": probe })));
        run.start(1.0, 0);
        for at in [2.0, 3.0] {
            run.probe(at, "/ready", status);
        }
        let says = "Readiness probe failed: HTTP probe failed with statuscode: 503";
        let event = event(2.0, "target", "Warning", "Unhealthy", says);
        told(&mut run, 3.5, &with(event, "/count", json!(times)));
        concluded(run, clause)
    };
    assert_eq!(judged(2, 503), "holds");
    assert_eq!(judged(4, 503), "violated");
    assert_eq!(judged(1, 200), "violated", "no probe got it");
}

#[test]
fn a_status_code_is_reported_no_more_often_than_it_came() {
    let clause = "report.event.unhealthy";
    let judged = |codes: [u16; 2]| {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
        let mut run = pod(clause, &one(json!({ "name": "target", "readinessProbe": probe })));
        run.start(1.0, 0);
        for (at, status) in [(2.0, 503), (3.0, 401)] {
            run.probe(at, "/ready", status);
        }
        for (at, code) in [2.2, 3.2].into_iter().zip(codes) {
            let says = format!("Readiness probe failed: HTTP probe failed with statuscode: {code}");
            let event = event(at, "target", "Warning", "Unhealthy", &says);
            told(&mut run, at, &with(event, "/metadata/name", json!(format!("pod.{at}"))));
        }
        concluded(run, clause)
    };
    assert_eq!(judged([503, 401]), "holds");
    assert_eq!(judged([503, 503]), "violated", "the second probe got another one");
}

#[test]
fn a_probe_that_leaves_no_record_is_reported_too() {
    let clause = "report.event.unhealthy";
    let judged = |handler: Value, message: &str, until: f64| {
        let mut probe = handler;
        probe["periodSeconds"] = json!(1);
        let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let spec = one(json!({ "name": "target", "env": env, "readinessProbe": probe }));
        let mut run = pod(clause, &spec);
        run.start(1.0, 0).running(1.2, false, true, 0);
        if !message.is_empty() {
            told(&mut run, 3.0, &event(3.0, "target", "Warning", "Unhealthy", message));
        }
        run.reading(until);
        verdict(&run.done(), clause)
    };
    let refused = "Readiness probe failed: dial tcp 10.0.0.7:8080: connect: connection refused";
    let errored = "Readiness probe errored and resulted in unknown state: no such file";
    let tcp = || json!({ "tcpSocket": { "port": 8080 } });
    assert_eq!(judged(tcp(), refused, 30.0), "holds");
    assert_eq!(judged(tcp(), "", 30.0), "violated");
    assert_eq!(judged(tcp(), "", 10.0), "inconclusive", "it may come later");
    for handler in [json!({ "exec": { "command": ["/no/such"] } }), json!({ "httpGet": { "port": "nope" } })]
    {
        assert_eq!(judged(handler.clone(), errored, 30.0), "holds", "{handler}");
        assert_eq!(judged(handler.clone(), "", 30.0), "violated", "{handler}");
    }
    let elsewhere = json!({ "tcpSocket": { "host": "10.0.0.9", "port": 8080 } });
    assert_eq!(judged(elsewhere, "", 30.0), "inconclusive", "somebody may listen there");
}

#[test]
fn failures_of_a_pod_that_terminates_are_reported_too() {
    let clause = "report.event.unhealthy";
    let judged = |events: u32, from: f64| {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
        let mut run = pod(clause, &one(json!({ "name": "target", "readinessProbe": probe })));
        run.start(1.0, 0);
        deletes(&mut run, 3.0);
        for at in [from, from + 1.0] {
            run.probe(at, "/ready", 503);
        }
        if events > 0 {
            told(&mut run, from + 1.5, &with(failed(), "/count", json!(events)));
        }
        stops(&mut run, 20.0);
        concluded(run, clause)
    };
    assert_eq!(judged(2, 5.0), "holds");
    assert_eq!(judged(1, 5.0), "violated");
    assert_eq!(judged(0, 5.0), "violated");
    assert_eq!(judged(0, 17.0), "inconclusive", "the process ends soon after the failures");
}

/// A readiness probe fails three times from 2 s on, and events come half a second later.
fn failing(clause: &str, events: u32, until: f64) -> Composer {
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "ready"] }, "periodSeconds": 1, "timeoutSeconds": 5 });
    let mut run = pod(clause, &one(json!({ "name": "target", "readinessProbe": probe })));
    run.start(1.0, 0);
    for nth in 0..3_u32 {
        let at = 2.0 + f64::from(nth);
        run.exec(at, "ready", Some(1));
        if nth < events {
            told(&mut run, at + 0.5, &with(failed(), "/count", json!(nth + 1)));
        }
    }
    run.reading(until);
    run
}

#[test]
fn each_failed_probe_is_reported() {
    let clause = "report.event.unhealthy";
    let judged = |events, until| verdict(&failing(clause, events, until).done(), clause);
    assert_eq!(judged(3, 30.0), "holds");
    assert_eq!(judged(2, 30.0), "violated", "the last one is not");
    assert_eq!(judged(0, 30.0), "violated");
    assert_eq!(judged(0, 6.0), "inconclusive", "the case ends too early");
    let mut many = failing(clause, 2, 5.0);
    let crowd = with(event(5.1, "target", "Warning", "ProbeWarning", "Readiness"), "/count", json!(20));
    told(&mut many, 5.1, &crowd);
    assert_eq!(concluded(many, clause), "holds", "events may have been dropped");
    let mut lost = failing(clause, 2, 5.0);
    lost.gap(4.0, 9.0, "Event");
    assert_eq!(concluded(lost, clause), "inconclusive", "it may have come while nobody listened");
}

#[test]
fn an_event_about_a_failure_names_a_probe_of_the_container() {
    let clause = "report.event.unhealthy-names-probe";
    assert_eq!(verdict(&failing(clause, 1, 30.0).done(), clause), "holds");
    let mut other = failing(clause, 0, 5.0);
    told(&mut other, 6.0, &with(failed(), "/message", json!("Liveness probe failed: 503")));
    assert_eq!(concluded(other, clause), "violated");
    assert_eq!(verdict(&failing(clause, 0, 30.0).done(), clause), "inconclusive");
}

#[test]
fn an_event_about_a_command_says_what_the_command_printed() {
    let clause = "report.event.unhealthy-names-probe";
    let judged = |printed: Value, says: &str| {
        let plan = json!({ "exec": { "ready": printed } }).to_string();
        let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
        let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "ready"] }, "periodSeconds": 1 });
        let target = json!({ "name": "target", "env": env, "readinessProbe": probe });
        let mut run = pod(clause, &one(target));
        run.start(1.0, 0).exec(2.0, "ready", Some(1));
        told(&mut run, 3.0, &with(failed(), "/message", json!(format!("Readiness probe failed: {says}"))));
        concluded(run, clause)
    };
    let both = || json!({ "exit": 1, "print": "out", "print-error": "not well" });
    assert_eq!(judged(both(), "out\nnot well"), "holds");
    assert_eq!(judged(both(), "out"), "violated", "standard error is missing");
    assert_eq!(judged(both(), "not well"), "violated");
    assert_eq!(judged(json!({ "exit": 1, "print-bytes": 100, "print-error": "x" }), ""), "holds");
}

/// A container that runs twice, with this number of Created and Started events.
fn twice(clause: &str, created: u32, started: u32) -> Composer {
    let mut run = pod(clause, &one(json!({ "name": "target" })));
    for nth in 0..2_u32 {
        let at = 1.0 + 4.0 * f64::from(nth);
        for (reason, times) in [("Created", created), ("Started", started)] {
            let event = event(at, "target", "Normal", reason, "Container");
            if nth < times {
                told(&mut run, at + 0.1, &with(event, "/count", json!(nth + 1)));
            }
        }
        run.start(at + 0.2, u64::from(nth)).running(at + 0.3, true, true, u64::from(nth));
        if nth == 0 {
            exits(&mut run, 3.0, 1);
        }
    }
    run
}

#[test]
fn each_start_is_reported() {
    let clause = "report.event.started-each-time";
    let judged = |created, started| concluded(twice(clause, created, started), clause);
    assert_eq!(judged(2, 2), "holds");
    assert_eq!(judged(2, 1), "violated");
    assert_eq!(judged(1, 2), "violated");
    assert_eq!(verdict(&twice(clause, 0, 0).done(), clause), "inconclusive", "the case ends too early");
}

#[test]
fn creations_are_reported_before_starts() {
    let clause = "report.event.created-before-started";
    assert_eq!(concluded(twice(clause, 2, 2), clause), "holds");
    assert_eq!(concluded(twice(clause, 1, 2), clause), "violated");
    assert_eq!(concluded(twice(clause, 0, 0), clause), "inconclusive");
    let mut early = pod(clause, &one(json!({ "name": "target" })));
    early.start(1.0, 0).running(1.5, true, true, 0);
    for reason in ["Created", "Started"] {
        told(&mut early, 2.0, &with(event(2.0, "target", "Normal", reason, ""), "/count", json!(2)));
    }
    exits(&mut early, 4.0, 1);
    assert_eq!(concluded(early, clause), "violated", "its first instance was still running");
}

#[test]
fn a_wait_for_the_back_off_is_reported() {
    let clause = "report.event.back-off";
    let waits =
        event(6.0, "target", "Warning", "BackOff", "Back-off restarting failed container target in pod pod");
    let judged_at = |at: Option<f64>, recorded: f64| {
        let waits = with(waits.clone(), "/lastTimestamp", json!(timestamp(recorded)));
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(1.0, 0).running(1.5, true, true, 0);
        if let Some(at) = at.filter(|at| *at < 3.0) {
            told(&mut run, at, &waits);
        }
        exits(&mut run, 4.0, 1);
        let status = json!({ "phase": "Running", "containerStatuses": [{
            "name": "target", "restartCount": 0, "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        }] });
        run.status(5.0, &status);
        if let Some(at) = at.filter(|at| *at > 3.0) {
            told(&mut run, at, &waits);
        }
        concluded(run, clause)
    };
    let judged = |at: Option<f64>| judged_at(at, at.unwrap_or_default());
    assert_eq!(judged(Some(6.0)), "holds");
    assert_eq!(judged(None), "violated");
    assert_eq!(judged(Some(20.0)), "violated", "it is late");
    assert_eq!(judged_at(Some(20.0), 6.0), "inconclusive", "it was recorded in time");
    assert_eq!(judged(Some(2.0)), "violated", "it is still running");
    assert_eq!(concluded(pod(clause, &three()), clause), "inconclusive");
}

#[test]
fn only_the_first_two_instances_have_had_nothing_to_wait_for() {
    let clause = "report.event.back-off";
    let waits =
        event(6.0, "target", "Warning", "BackOff", "Back-off restarting failed container target in pod pod");
    let judged = |first_heard: u64| {
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(1.0, first_heard).running(1.5, true, true, first_heard);
        told(&mut run, 2.0, &waits);
        exits(&mut run, 4.0, 1);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(0), "violated");
    assert_eq!(judged(2), "inconclusive", "the record of the earlier instances is missing");
}

#[test]
fn an_event_waits_for_those_that_its_kubelet_recorded_earlier() {
    let clause = "report.event.started-each-time";
    let slow = |earlier: f64, own: f64| {
        let mut run = pod(clause, &one(json!({ "name": "target" })));
        run.start(2.2, 0).running(2.3, true, true, 0);
        for (reason, recorded, shown) in [("Created", earlier, 12.0), ("Started", own, 12.1)] {
            told(&mut run, shown, &event(recorded, "target", "Normal", reason, "Container"));
        }
        concluded(run, clause)
    };
    assert_eq!(slow(0.0, 2.0), "holds", "the earlier event waited just as long");
    assert_ne!(slow(10.0, 2.0), "violated", "it was recorded in time");
    assert_eq!(slow(10.0, 10.0), "violated", "no earlier event was late");
}
