//! How the API server handles the fields.

use probity_composer::Composer;
use probity_model::history::Did;
use serde_json::{Value, json};

use super::{http, spec, verdict};

const DEFAULTS: &str = "probe.config.defaults";
const MINIMUMS: &str = "probe.config.minimums";
const ONE: &str = "probe.success-threshold.liveness-startup-must-be-1";
const REFUSED: &str = "probe.tgps.readiness-refused";
const FIXED: &str = "probe.config.immutable";
const STAYS: &str = "probe.tgps.always-honoured-if-present";

fn manifest(kind: &str, probe: &Value) -> Value {
    json!({ "kind": "Pod", "spec": { "containers": [{ "name": "c", kind: probe }] } })
}

/// A dry run with one field of a probe, and the stored value.
fn tried(clause: &str, kind: &str, field: &str, value: i64, code: u16, stored: Option<i64>) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let message = match code {
        422 => format!("spec.containers[0].{kind}.{field}: Invalid value"),
        _ => String::new(),
    };
    let stored = stored.map_or(Value::Null, |stored| manifest(kind, &json!({ field: stored })));
    run.tried(0.0, "trial", manifest(kind, &json!({ field: value })), code, &message, stored);
    verdict(&run.done(), clause)
}

fn read_back(probe: &Value) -> &'static str {
    let mut run = Composer::new(&[DEFAULTS]);
    let sent = manifest("livenessProbe", &json!({ "tcpSocket": { "port": 80 } }));
    run.tried(0.0, "plain", sent, 201, "", manifest("livenessProbe", probe));
    verdict(&run.done(), DEFAULTS)
}

#[test]
fn what_is_not_written_is_read_back_as_its_default() {
    let all =
        json!({ "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3 });
    assert_eq!(read_back(&all), "holds");
    for (field, value) in
        [("periodSeconds", 1), ("failureThreshold", 1), ("terminationGracePeriodSeconds", 30)]
    {
        let mut other = all.clone();
        other[field] = json!(value);
        assert_eq!(read_back(&other), "violated", "{field}");
    }
}

#[test]
fn admission_may_fill_in_what_is_not_written() {
    let judged = |containers: &[Value]| {
        let mut run = Composer::new(&[DEFAULTS]);
        let spec = json!({ "containers": [{ "name": "c", "image": "registry/c:1" }] });
        let stored = json!({ "terminationGracePeriodSeconds": 25, "containers": containers });
        let pod = |spec: Value| json!({ "kind": "Pod", "spec": spec });
        run.tried(0.0, "plain", pod(spec), 201, "", pod(stored));
        verdict(&run.done(), DEFAULTS)
    };
    let as_sent = json!({ "name": "c", "image": "registry/c:1" });
    assert_eq!(judged(std::slice::from_ref(&as_sent)), "violated");
    assert_eq!(judged(&[as_sent, json!({ "name": "proxy" })]), "inconclusive", "an injected sidecar");
    let asks = json!({ "requests": { "cpu": "50m" } });
    let raised = json!({ "name": "c", "image": "registry/c:1", "resources": asks });
    assert_eq!(judged(&[raised]), "inconclusive", "a raised request");
    assert_eq!(judged(&[json!({ "name": "c", "image": "mirror/c:1" })]), "inconclusive", "another registry");
}

#[test]
fn less_than_the_least_is_refused_by_name() {
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", -1, 422, None), "holds");
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", -1, 201, Some(-1)), "violated");
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", 1, 422, None), "violated");
    assert_eq!(tried(MINIMUMS, "livenessProbe", "initialDelaySeconds", 0, 201, Some(0)), "holds");
    assert_eq!(tried(MINIMUMS, "startupProbe", "terminationGracePeriodSeconds", 0, 201, Some(0)), "violated");
    assert_eq!(tried(MINIMUMS, "startupProbe", "successThreshold", 2, 422, None), "inconclusive");
}

#[test]
fn zero_that_is_replaced_is_the_catalogued_behavior() {
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", 0, 201, Some(10)), "diverges");
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", 0, 201, Some(0)), "violated");
    assert_eq!(tried(MINIMUMS, "livenessProbe", "periodSeconds", 0, 422, None), "holds");
}

#[test]
fn two_successes_are_for_readiness_only() {
    assert_eq!(tried(ONE, "livenessProbe", "successThreshold", 2, 422, None), "holds");
    assert_eq!(tried(ONE, "startupProbe", "successThreshold", 2, 201, Some(2)), "violated");
    assert_eq!(tried(ONE, "readinessProbe", "successThreshold", 2, 201, Some(2)), "holds");
    assert_eq!(tried(ONE, "readinessProbe", "successThreshold", 2, 422, None), "violated");
    assert_eq!(tried(ONE, "livenessProbe", "successThreshold", 2, 403, None), "inconclusive");
}

#[test]
fn readiness_has_no_grace_period() {
    let field = "terminationGracePeriodSeconds";
    assert_eq!(tried(REFUSED, "readinessProbe", field, 5, 422, None), "holds");
    assert_eq!(tried(REFUSED, "readinessProbe", field, 5, 201, Some(5)), "violated");
    assert_eq!(tried(REFUSED, "livenessProbe", field, 5, 201, Some(5)), "holds");
    assert_eq!(tried(REFUSED, "livenessProbe", field, 5, 500, None), "inconclusive");
}

fn patched(clause: &str, refusal: Option<&str>) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &spec(json!({ "livenessProbe": http(json!({ "terminationGracePeriodSeconds": 5 })) })));
    let patch =
        json!({ "spec": { "containers": [{ "livenessProbe": { "terminationGracePeriodSeconds": 9 } }] } });
    let did = match refusal {
        Some(why) => Did::Failed {
            what: "patch patch:  spec:  livenessProbe:  terminationGracePeriodSeconds: 9".to_owned(),
            why: why.to_owned(),
        },
        None => {
            Did::Patched { kind: "Pod".to_owned(), name: "pod".to_owned(), patch, subresource: String::new() }
        }
    };
    run.deed(1.0, did);
    verdict(&run.done(), clause)
}

#[test]
fn a_patch_of_a_probe_is_refused() {
    for clause in [FIXED, STAYS] {
        assert_eq!(patched(clause, Some("Forbidden: pod updates may not change fields other than")), "holds");
        assert_eq!(patched(clause, Some("connection refused")), "inconclusive");
        assert_eq!(patched(clause, None), "violated");
    }
}

#[test]
fn a_revision_with_other_probes_is_a_violation() {
    let mut run = Composer::new(&[]);
    run.create(0.0, &spec(json!({ "livenessProbe": http(json!({})) })));
    let other = spec(json!({ "livenessProbe": http(json!({ "periodSeconds": 5 })) }));
    run.pod_seen(1.0, &other, &json!({}), probity_model::history::Change::Modified);
    assert_eq!(verdict(&run.done(), FIXED), "violated");
}
