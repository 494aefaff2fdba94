//! How a pod is read: which pods are accepted, and which are rejected.

use super::*;

fn exec(command: &str) -> Value {
    json!({ "exec": { "command": ["sh", "-c", command] } })
}

#[test]
fn http_and_grpc_at_one_port_are_refused_whichever_comes_first() {
    let (http, grpc) = (json!({ "httpGet": { "port": 80 } }), json!({ "grpc": { "port": 80 } }));
    let both = |first: &Value, second: &Value| {
        refusal(&json!({ "containers": [{ "name": "c", "livenessProbe": first, "readinessProbe": second }] }))
    };
    let said = both(&http, &grpc);
    assert!(said.contains("port 80 with HTTP and with gRPC"), "{said}");
    assert!(said.ends_with("(at /spec/containers/0/readinessProbe/grpc/port)"), "{said}");
    assert!(both(&grpc, &http).contains("with gRPC and with HTTP"));
    let hooked = json!({ "name": "c", "livenessProbe": grpc, "lifecycle": { "preStop": http } });
    let said = refusal(&json!({ "containers": [hooked] }));
    assert!(said.ends_with("(at /spec/containers/0/lifecycle/preStop/httpGet/port)"), "{said}");
    stand(&json!({ "name": "c", "livenessProbe": grpc, "readinessProbe": { "tcpSocket": { "port": 80 } } }));
}

#[test]
fn a_command_is_shared_by_what_it_says_and_not_by_a_word_in_it() {
    let stand = stand(&json!({ "name": "c", "livenessProbe": exec("sort by name"),
        "readinessProbe": exec("sort by name"), "startupProbe": exec("sort by date") }));
    assert!(stand.share(ProbeKind::Liveness, ProbeKind::Readiness));
    assert!(!stand.share(ProbeKind::Liveness, ProbeKind::Startup));
}

#[test]
fn a_hook_sleeps_as_long_as_its_command_says_rounded_up() {
    for (command, seconds) in [
        ("sleep 15", 15),
        ("sleep 15s", 15),
        ("sleep 1m && sleep 2", 62),
        ("/bin/sleep 0.5", 1),
        ("sleep 1.5m", 90),
        ("sleep .5", 1),
        ("sleep forever", 0),
        ("sleep s", 0),
        ("sleep 99999999999999999999", 0),
    ] {
        let hook = json!({ "name": "c", "lifecycle": { "preStop": exec(command) } });
        assert_eq!(stand(&hook).pre_stop, Some(seconds * SECOND), "{command}");
    }
}

#[test]
fn probes_that_ask_one_port_by_different_words_do_not_ask_the_same() {
    let stand = stand(&json!({ "name": "c", "livenessProbe": { "tcpSocket": { "port": 80 } },
        "readinessProbe": { "grpc": { "port": 80 } } }));
    assert!(!stand.share(ProbeKind::Liveness, ProbeKind::Readiness));
}

#[test]
fn numbers_are_as_large_as_kubernetes_takes_them_and_no_sum_overflows() {
    let most = i64::from(i32::MAX);
    let probe = |fields: &[(&str, i64)]| {
        let mut probe = json!({ "httpGet": { "port": 80 } });
        for (field, value) in fields {
            probe[*field] = json!(value);
        }
        let mut ready = probe.clone();
        ready.as_object_mut().unwrap().remove("terminationGracePeriodSeconds");
        json!({ "name": "c", "livenessProbe": probe, "readinessProbe": ready })
    };
    for field in ["periodSeconds", "initialDelaySeconds", "terminationGracePeriodSeconds"] {
        let said = refusal(&json!({ "containers": [probe(&[(field, most + 1)])] }));
        assert!(said.contains(&format!("`{field}` is 2147483648; it must be at most 2147483647")), "{said}");
        assert!(said.ends_with(&format!("(at /spec/containers/0/livenessProbe/{field})")), "{said}");
    }
    let said =
        refusal(&json!({ "containers": [probe(&[("periodSeconds", most), ("failureThreshold", most)])] }));
    assert!(said.contains("a thousand years"), "{said}");
    let grace = json!({ "terminationGracePeriodSeconds": most + 1, "containers": [web()] });
    assert!(refusal(&grace).ends_with("(at /spec/terminationGracePeriodSeconds)"));
    for field in
        ["failureThreshold", "initialDelaySeconds", "timeoutSeconds", "terminationGracePeriodSeconds"]
    {
        let stand = stand(&probe(&[(field, most / 5)]));
        for fault in Fault::ALL {
            trial(&stand, fault, 20 * SECOND).unwrap();
            assert!(!remarks(&stand, 20 * SECOND).is_empty());
        }
    }
}

#[test]
fn a_field_that_is_null_counts_as_absent() {
    let mut container = web();
    for field in ["startupProbe", "lifecycle", "livenesProbe"] {
        container[field] = Value::Null;
    }
    container["livenessProbe"]["tcpSocket"] = Value::Null;
    container["livenessProbe"]["periodSeconds"] = Value::Null;
    let spec =
        json!({ "containers": [container], "initContainers": null, "terminationGracePeriodSeconds": null });
    let stand = StandIn::of(&workload(&spec)).unwrap();
    assert_eq!((stand.probes.len(), stand.grace, stand.pre_stop), (2, 30 * SECOND, None));
    assert!(!serde_json::to_string(&stand.pod.pod).unwrap().contains("null"));
    let empty = json!({ "kind": "Deployment", "spec": { "template": null } });
    assert!(Workload::of(&empty).unwrap_err().contains("has no pod template"));
}

#[test]
fn a_probe_at_another_containers_port_is_refused_by_that_reason() {
    let probes = json!({ "name": "a", "livenessProbe": { "httpGet": { "port": 9090 } } });
    let declares = json!({ "name": "b", "ports": [{ "containerPort": 9090 }] });
    for (containers, at) in [([&probes, &declares], 0), ([&declares, &probes], 1)] {
        let said = refusal(&json!({ "containers": containers }));
        assert!(said.contains("port 9090 belongs to container `b`"), "{said}");
        assert!(said.ends_with(&format!("(at /spec/containers/{at}/livenessProbe/httpGet/port)")), "{said}");
    }
}

#[test]
fn labels_and_annotations_that_are_left_out_are_told() {
    let told = |metadata: Value| -> Vec<String> {
        let pod = json!({ "kind": "Pod", "metadata": metadata, "spec": { "containers": [{ "name": "c" }] } });
        let stand = StandIn::of(&Workload::of(&pod).unwrap().unwrap()).unwrap();
        stand.notes.into_iter().map(|note| note.field).filter(|field| field.starts_with("metadata")).collect()
    };
    let both = json!({ "labels": { "a": "b" }, "annotations": { "c": "d" } });
    assert_eq!(told(both), ["metadata.labels, metadata.annotations"]);
    assert!(told(json!({ "labels": {}, "name": "n" })).is_empty());
}
