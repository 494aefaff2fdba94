//! Hand-written dry runs.

use probity_composer::Composer;
use serde_json::{Value, json};

use crate::tests::verdict;

const ONE: &str = "probe.handler.exactly-one";
const PORT: &str = "probe.grpc.port-required";

fn tried(clause: &str, probe: Value, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let spec = json!({ "containers": [{ "name": "c", "livenessProbe": probe }] });
    run.tried(0.0, "it", json!({ "kind": "Pod", "spec": spec }), code, message, Value::Null);
    verdict(&run.done(), clause)
}

#[test]
fn one_handler_is_accepted() {
    let one = || json!({ "tcpSocket": { "port": 80 } });
    assert_eq!(tried(ONE, one(), 201, ""), "holds");
    let refusal = "spec.containers[0].livenessProbe: Required value: must specify a handler type";
    assert_eq!(tried(ONE, one(), 422, refusal), "violated");
    assert_eq!(tried(ONE, one(), 403, "exceeded quota"), "inconclusive");
}

#[test]
fn a_policy_that_names_the_field_is_not_the_api_server() {
    let policy = "admission webhook \"v.example.com\" denied the request: livenessProbe needs a handler type";
    for code in [400, 422] {
        assert_eq!(tried(ONE, json!({ "tcpSocket": { "port": 80 } }), code, policy), "inconclusive");
        assert_eq!(tried(ONE, json!({ "periodSeconds": 1 }), code, policy), "inconclusive");
    }
    let policy = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: grpc.port must be 9090";
    assert_eq!(tried(PORT, grpc(json!({ "port": 1 })), 422, policy), "inconclusive");
    assert_eq!(tried(PORT, grpc(json!({ "port": 0 })), 422, policy), "inconclusive");
}

#[test]
fn none_and_two_are_refused() {
    let two = || json!({ "tcpSocket": { "port": 80 }, "exec": { "command": ["x"] } });
    let refusal =
        "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type";
    assert_eq!(tried(ONE, two(), 422, refusal), "holds");
    assert_eq!(tried(ONE, two(), 201, ""), "violated");
    assert_eq!(tried(ONE, json!({ "periodSeconds": 1 }), 201, ""), "violated");
    assert_eq!(tried(ONE, json!({}), 422, "spec.hostname: Invalid value"), "inconclusive");
}

#[test]
fn a_pod_without_probes_says_nothing() {
    let mut run = Composer::new(&[]);
    run.tried(0.0, "it", json!({ "spec": { "containers": [{ "name": "c" }] } }), 201, "", Value::Null);
    assert_eq!(verdict(&run.done(), ONE), "none");
}

fn grpc(action: Value) -> Value {
    json!({ "grpc": action })
}

#[test]
fn a_port_is_a_number_in_range() {
    let refusal = "spec.containers[0].livenessProbe.grpc.port: Invalid value";
    assert_eq!(tried(PORT, grpc(json!({ "port": 1 })), 201, ""), "holds");
    assert_eq!(tried(PORT, grpc(json!({ "port": 1 })), 422, refusal), "violated");
    assert_eq!(tried(PORT, grpc(json!({})), 422, refusal), "holds");
    assert_eq!(tried(PORT, grpc(json!({ "port": 65536 })), 201, ""), "violated");
    assert_eq!(
        tried(PORT, grpc(json!({ "port": "grpc" })), 400, "GRPCAction.grpc.port of type int32"),
        "holds"
    );
    assert_eq!(tried(PORT, grpc(json!({ "port": 0 })), 422, "spec.hostname"), "inconclusive");
}
