//! Hand-written histories of the control groups of pods with init containers.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, DESCRIBE_POD, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const CGROUP: &str = "init.resources.cgroup";

fn container(name: &str, cpu: &str, memory: &str) -> Value {
    json!({ "name": name, "resources": { "requests": { "cpu": "100m" }, "limits": { "cpu": cpu, "memory": memory } } })
}

/// The control group of a pod has this quota and this memory in MiB.
fn described(run: &mut Composer, pod: &str, quota: Option<i64>, memory: i64) {
    described_at(run, 5.0, pod, (quota, memory));
}

fn described_at(run: &mut Composer, at: f64, pod: &str, (quota, memory): (Option<i64>, i64)) {
    let cgroup = json!({
        "version": 1, "cpuShares": 204, "cpuQuota": quota, "cpuPeriod": 100_000, "memoryLimit": memory << 20,
    });
    let output = Some(json!({ "sandboxes": [], "containers": [], "cgroup": cgroup }));
    let (node, verb, uid) = (NODE.to_owned(), DESCRIBE_POD.to_owned(), Some(format!("uid-{pod}")));
    run.deed(at, Did::NodeVerb { node, verb, uid, input: None, exit: Some(0), output, proof: None });
}

/// One pod whose init container needs more, and one whose main containers together need more.
fn judged(of_init: (Option<i64>, i64), of_sum: (Option<i64>, i64)) -> &'static str {
    let mut run = Composer::new(&[CGROUP]);
    let mains = [container("a", "200m", "64Mi"), container("b", "100m", "64Mi")];
    for (pod, init) in
        [("init", container("prepare", "400m", "256Mi")), ("sum", container("prepare", "200m", "64Mi"))]
    {
        run.of(pod, "a").create(0.0, &json!({ "initContainers": [init], "containers": mains }));
    }
    described(&mut run, "init", of_init.0, of_init.1);
    described(&mut run, "sum", of_sum.0, of_sum.1);
    run.reading(10.0);
    verdict(&run.done(), CGROUP)
}

#[test]
fn the_control_group_has_the_effective_limits() {
    let (init, sum) = ((Some(40_000), 256), (Some(30_000), 128));
    assert_eq!(judged(init, sum), "holds");
    assert_eq!(judged((Some(30_000), 256), sum), "violated", "the main containers only");
    assert_eq!(judged((Some(40_000), 128), sum), "violated");
    assert_eq!(judged(init, (Some(50_000), 128)), "violated", "all containers at once");
    assert_eq!(judged(init, (None, 128)), "violated", "no limit");
    assert_eq!(judged((None, 256), (None, 128)), "inconclusive", "the node may enforce no CPU limits");
    assert_eq!(judged((None, 256), (None, 64)), "violated", "the memory");
}

#[test]
fn a_pod_without_a_control_group_or_without_limits_shows_nothing() {
    let mut run = Composer::new(&[CGROUP]);
    let plain = json!({ "initContainers": [{ "name": "a" }], "containers": [{ "name": "b" }] });
    run.of("p", "b").create(0.0, &plain);
    described(&mut run, "p", None, 64);
    assert_eq!(verdict(&run.done(), CGROUP), "inconclusive");
    let mut run = Composer::new(&[CGROUP]);
    run.of("p", "b").create(0.0, &json!({ "initContainers": [container("a", "1", "64Mi")], "containers": [container("b", "1", "64Mi")] }));
    let (node, verb, uid) = (NODE.to_owned(), DESCRIBE_POD.to_owned(), Some("uid-p".to_owned()));
    let output = Some(json!({ "sandboxes": [], "containers": [], "cgroup": null }));
    run.deed(5.0, Did::NodeVerb { node, verb, uid, input: None, exit: Some(0), output, proof: None });
    assert_eq!(verdict(&run.done(), CGROUP), "inconclusive");
}

/// A pod whose main container has both limits, and whose init container has only these. The control group of the pod has this
/// CPU quota and this memory limit.
fn partly_limited(limits: &Value, quota: &Value, memory: &Value) -> &'static str {
    let mut run = Composer::new(&[CGROUP]);
    let init = json!({ "name": "prepare", "resources": { "limits": limits } });
    let spec = json!({ "initContainers": [init], "containers": [container("a", "200m", "64Mi")] });
    run.of("pod", "a").create(0.0, &spec);
    let cgroup = json!({ "version": 1, "cpuQuota": quota, "cpuPeriod": 100_000, "memoryLimit": memory });
    let output = Some(json!({ "sandboxes": [], "containers": [], "cgroup": cgroup }));
    let (node, verb, uid) = (NODE.to_owned(), DESCRIBE_POD.to_owned(), Some("uid-pod".to_owned()));
    run.deed(5.0, Did::NodeVerb { node, verb, uid, input: None, exit: Some(0), output, proof: None });
    run.reading(10.0);
    verdict(&run.done(), CGROUP)
}

#[test]
fn a_missing_memory_limit_counts_as_the_highest() {
    let judged = |limit: Value| partly_limited(&json!({ "cpu": "100m" }), &json!(20_000), &limit);
    assert_eq!(judged(Value::Null), "holds");
    assert_eq!(judged(json!(64 << 20)), "violated", "the limit of the main container");
}

#[test]
fn a_missing_cpu_limit_counts_as_the_highest() {
    let judged = |quota: Value| partly_limited(&json!({ "memory": "64Mi" }), &quota, &json!(64 << 20));
    assert_eq!(judged(Value::Null), "holds");
    assert_eq!(judged(json!(-1)), "holds");
    assert_eq!(judged(json!(20_000)), "violated", "the limit of the main container");
}

#[test]
fn a_resize_changes_the_control_group() {
    let judged = |at: f64, quota: i64, conditions: Value| {
        let mut run = Composer::new(&[CGROUP]);
        let spec = |cpu: &str| {
            json!({ "initContainers": [container("prepare", "200m", "64Mi")],
                "containers": [container("a", cpu, "64Mi"), container("b", "100m", "64Mi")] })
        };
        run.of("sum", "a").create(0.0, &spec("200m"));
        run.status(1.0, &json!({ "phase": "Running" }));
        let patch = json!({ "spec": { "containers": [{ "name": "a", "resources": { "limits": { "cpu": "300m" } } }] } });
        let (kind, name, subresource) = ("Pod".to_owned(), "sum".to_owned(), "resize".to_owned());
        run.deed(6.0, Did::Patched { kind, name, patch, subresource });
        let status = json!({ "phase": "Running", "conditions": conditions });
        run.pod_seen(6.1, &spec("300m"), &status, Change::Modified);
        described_at(&mut run, at, "sum", (Some(quota), 128));
        run.reading(40.0);
        verdict(&run.done(), CGROUP)
    };
    let none = || json!([]);
    assert_eq!(judged(20.0, 40_000, none()), "holds");
    assert_eq!(judged(20.0, 30_000, none()), "violated", "it keeps the old sum");
    assert_eq!(judged(10.0, 30_000, none()), "inconclusive", "the kubelet may still be at it");
    let waits = json!([{ "type": "PodResizePending", "status": "True", "reason": "Deferred" }]);
    assert_eq!(judged(20.0, 30_000, waits), "inconclusive");
}
