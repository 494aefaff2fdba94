//! Hand-written histories for the judges of classes and limits.

mod eviction;
mod exclusive;
mod preemption;

use std::collections::BTreeMap;

use probity_composer::{Composer, NODE};
use probity_model::history::Change;
use probity_script::Fact;
use probity_script::witness::{Consumed, Dump};
use serde_json::{Value, json};

use crate::tests::verdict;

/// A dry run of a pod with these containers, which is shown with a class.
fn classed(clause: &str, containers: &Value, class: &str) -> &'static str {
    stored(clause, containers, containers, class)
}

/// A dry run of a pod with these containers, which is stored with other containers and shown with a class.
fn stored(clause: &str, sent: &Value, stored: &Value, class: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let manifest = json!({ "kind": "Pod", "spec": { "containers": sent } });
    let stored = json!({ "spec": { "containers": stored }, "status": { "qosClass": class } });
    run.tried(1.0, "sent", manifest, 201, "", stored);
    verdict(&run.done(), clause)
}

fn limits(of: &Value) -> Value {
    json!([{ "name": "c", "resources": of }])
}

/// The verdicts on a correct history: one history may not show all facets of a clause.
const RIGHT: [&str; 2] = ["holds", "inconclusive"];

#[test]
fn a_class_that_the_containers_do_not_make_is_noticed() {
    let full = limits(&json!({ "limits": { "cpu": "1", "memory": "1Gi" } }));
    assert!(RIGHT.contains(&classed("qos.guaranteed", &full, "Guaranteed")));
    assert_eq!(classed("qos.guaranteed", &full, "Burstable"), "violated");
    let half = limits(&json!({ "limits": { "memory": "1Gi" } }));
    assert_eq!(classed("qos.guaranteed", &half, "Guaranteed"), "violated");
    assert!(RIGHT.contains(&classed("qos.burstable", &half, "Burstable")));
    assert_eq!(classed("qos.burstable", &half, "BestEffort"), "violated");
    let other = limits(&json!({ "requests": { "ephemeral-storage": "1Gi", "cpu": "0" } }));
    assert!(RIGHT.contains(&classed("qos.besteffort", &other, "BestEffort")));
    assert_eq!(classed("qos.besteffort", &other, "Burstable"), "violated");
}

#[test]
fn a_class_follows_from_the_containers_that_admission_left() {
    let clause = "qos.burstable";
    let (none, memory) = (limits(&json!({})), limits(&json!({ "requests": { "memory": "1Gi" } })));
    assert_ne!(
        stored("qos.besteffort", &none, &memory, "Burstable"),
        "violated",
        "a default of a LimitRange"
    );
    assert_eq!(stored(clause, &none, &memory, "Burstable"), "inconclusive");
    assert_eq!(stored(clause, &none, &memory, "BestEffort"), "violated", "not the class of what is stored");
    let full = limits(&json!({ "limits": { "cpu": "1", "memory": "1Gi" } }));
    let injected = json!([full[0], { "name": "proxy" }]);
    assert_eq!(
        stored("qos.guaranteed", &full, &injected, "Burstable"),
        "inconclusive",
        "an injected sidecar"
    );
    assert_eq!(stored("qos.guaranteed", &full, &injected, "Guaranteed"), "violated");
}

#[test]
fn a_class_that_changes_or_is_missing_is_noticed() {
    let clause = "qos.three-classes";
    let shown = |later: Value| {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "containers": [{ "name": "target" }] });
        run.pod_seen(0.1, &spec, &json!({ "phase": "Pending", "qosClass": "BestEffort" }), Change::Added);
        let conditions = json!([{ "type": "Initialized", "status": "True" }]);
        let status = json!({ "phase": "Running", "qosClass": later, "conditions": conditions });
        run.pod_seen(2.0, &spec, &status, Change::Modified);
        verdict(&run.done(), clause)
    };
    assert!(RIGHT.contains(&shown(json!("BestEffort"))));
    assert_eq!(shown(json!("Burstable")), "violated");
    assert_eq!(shown(json!(null)), "violated");
}

/// The verdict on a process with this score in a container with these resources, on a node whose pods can use 4000Mi.
fn scored(resources: &Value, score: i64) -> &'static str {
    scored_beside(resources, score, None)
}

/// The same if a Guaranteed pod on the same node has another score.
fn scored_beside(resources: &Value, score: i64, other: Option<i64>) -> &'static str {
    let clause = "qos.oom-score";
    let mut header = Composer::new(&[clause]).done().header;
    for facts in header.nodes.values_mut() {
        facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
    }
    let mut run = Composer::with_header(header);
    let limited = json!({ "limits": { "cpu": "50m", "memory": "64Mi" } });
    let other = other.map(|score| ("other", &limited, score));
    let pods = other.into_iter().chain([("pod", resources, score)]);
    for (at, (pod, resources, score)) in [0.0, 2.0].into_iter().zip(pods) {
        run.of(pod, "target");
        run.create(at, &json!({ "containers": [{ "name": "target", "resources": resources }] }));
        run.start(at + 1.0, 0);
        let files = BTreeMap::from([("/proc/self/oom_score_adj".to_owned(), format!("{score}\n"))]);
        run.fact(at + 1.1, Fact::Dump(Dump { files, ..Dump::default() }));
    }
    run.reading(5.0);
    verdict(&run.done(), clause)
}

/// The verdict on a sidecar without a request that has this score, beside main containers with these requests.
fn helper_scored(mains: [&str; 2], score: i64) -> &'static str {
    let clause = "qos.oom-score";
    let mut header = Composer::new(&[clause]).done().header;
    for facts in header.nodes.values_mut() {
        facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
    }
    let mut run = Composer::with_header(header);
    let main = |name: &str, request: &str| json!({ "name": name, "resources": { "requests": { "memory": request } } });
    let helper = json!([{ "name": "helper", "restartPolicy": "Always" }]);
    let containers = [main("one", mains[0]), main("two", mains[1])];
    run.of("pod", "helper").create(0.0, &json!({ "initContainers": helper, "containers": containers }));
    run.start(1.0, 0);
    let files = BTreeMap::from([("/proc/self/oom_score_adj".to_owned(), format!("{score}\n"))]);
    run.fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
    run.reading(5.0);
    verdict(&run.done(), clause)
}

/// The verdict on an ephemeral container that has this score, in a pod whose main container has these resources.
fn debugger_scored(resources: &Value, score: i64) -> &'static str {
    let clause = "qos.oom-score";
    let mut header = Composer::new(&[clause]).done().header;
    for facts in header.nodes.values_mut() {
        facts.allocatable.insert("memory".to_owned(), "4000Mi".to_owned());
    }
    let mut run = Composer::with_header(header);
    let target = json!({ "name": "target", "resources": resources });
    run.create(0.0, &json!({ "containers": [target] }));
    let debug = json!([{ "name": "debug" }]);
    let spec = json!({ "nodeName": NODE, "containers": [target], "ephemeralContainers": debug });
    run.pod_seen(1.0, &spec, &json!({ "phase": "Running" }), Change::Modified);
    run.of("pod", "debug").start(2.0, 0);
    let files = BTreeMap::from([("/proc/self/oom_score_adj".to_owned(), format!("{score}\n"))]);
    run.fact(2.1, Fact::Dump(Dump { files, ..Dump::default() }));
    run.reading(5.0);
    verdict(&run.done(), clause)
}

#[test]
fn an_ephemeral_container_has_the_class_of_its_pod() {
    let limited = json!({ "limits": { "cpu": "50m", "memory": "64Mi" } });
    let half = json!({ "requests": { "memory": "64Mi" } });
    assert!(RIGHT.contains(&debugger_scored(&limited, -997)));
    assert_eq!(debugger_scored(&limited, 1000), "violated");
    assert!(RIGHT.contains(&debugger_scored(&half, 999)));
    assert_eq!(debugger_scored(&half, 1000), "violated");
    assert!(RIGHT.contains(&debugger_scored(&json!({}), 1000)));
    assert_eq!(debugger_scored(&json!({}), 999), "violated");
}

#[test]
fn a_sidecar_is_protected_like_a_main_container() {
    assert!(RIGHT.contains(&helper_scored(["200Mi", "400Mi"], 950)));
    assert!(RIGHT.contains(&helper_scored(["200Mi", "400Mi"], 900)), "like the better protected one");
    assert_eq!(helper_scored(["200Mi", "400Mi"], 999), "violated", "its own request is zero");
    assert!(RIGHT.contains(&helper_scored(["0", "400Mi"], 999)), "one main container requests nothing");
}

#[test]
fn a_score_follows_from_the_request_and_not_from_the_limit() {
    let of = json!({ "requests": { "memory": "40Mi" }, "limits": { "memory": "200Mi" } });
    assert!(RIGHT.contains(&scored(&of, 990)));
    assert!(RIGHT.contains(&scored(&of, 995)), "the node has more memory than its pods can use");
    assert_eq!(scored(&of, 989), "violated");
    assert_eq!(scored(&of, 950), "violated", "the score for the limit");
    assert_eq!(scored(&of, 1000), "violated");
    let (limited, other) =
        (json!({ "limits": { "memory": "200Mi" } }), json!({ "requests": { "cpu": "10m" } }));
    assert!(RIGHT.contains(&scored(&limited, 950)), "the limit is the request");
    assert!(RIGHT.contains(&scored(&other, 999)));
    assert_eq!(scored(&other, 998), "violated");
}

#[test]
fn a_container_that_requests_most_of_the_memory_is_protected() {
    let most = json!({ "requests": { "memory": "2400Mi" } });
    assert!(RIGHT.contains(&scored(&most, 400)));
    assert!(RIGHT.contains(&scored(&most, 700)), "the node has more memory than its pods can use");
    assert_eq!(scored(&most, 399), "violated");
    assert_eq!(scored(&most, 999), "violated", "the request is ignored");
    let limited = json!({ "requests": { "memory": "0" }, "limits": { "memory": "2400Mi" } });
    assert!(RIGHT.contains(&scored(&limited, 999)), "it requests nothing");
}

#[test]
fn a_runtime_may_not_be_allowed_to_lower_scores() {
    let limited = json!({ "limits": { "cpu": "50m", "memory": "64Mi" } });
    for score in [-997, 0, 1] {
        assert!(RIGHT.contains(&scored(&limited, score)));
    }
    assert_eq!(scored(&limited, 200), "inconclusive", "it may be the score of the runtime");
    assert_eq!(scored_beside(&limited, 200, Some(200)), "inconclusive");
    assert_eq!(scored_beside(&limited, 200, Some(-997)), "violated", "the runtime can lower scores");
    assert_eq!(scored(&limited, 984), "violated", "the score of a Burstable pod");
    assert_eq!(scored(&limited, 999), "violated");
    assert_eq!(scored(&limited, 1000), "violated");
}

const MI: u64 = 1 << 20;

/// The verdict on a container with these resources that is planned to take 64 MiB of memory. It takes `taken` MiB, and
/// then the events of `then` follow.
fn taking(clause: &str, resources: &Value, taken: u64, then: impl Fn(&mut Composer)) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let plan = r#"{"process":{"consume":[{"memory":{"bytes":"64MiB"}}]}}"#;
    let target = json!({
        "name": "target", "env": [{ "name": "AGNHOST_PLAN", "value": plan }], "resources": resources,
    });
    run.create(0.0, &json!({ "containers": [target] })).start(1.0, 0).running(1.5, true, true, 0);
    run.fact(
        5.0,
        Fact::Consumed(Consumed { resource: "memory".to_owned(), amount: taken * MI, error: None }),
    );
    then(&mut run);
    verdict(&run.done(), clause)
}

fn goes_on(run: &mut Composer) {
    run.reading(40.0);
}

fn is_killed(run: &mut Composer) {
    run.left(6.0).start(7.0, 1).running(7.5, true, true, 1).reading(60.0);
}

fn stays_down(run: &mut Composer) {
    run.left(6.0);
    run.reading(60.0);
}

#[test]
fn memory_beyond_a_limit_and_within_it() {
    let small = json!({ "limits": { "cpu": "1", "memory": "32Mi" } });
    let large = json!({ "limits": { "cpu": "1", "memory": "128Mi" } });
    let clause = "qos.limit-exceeded-kills-container-only";
    assert!(RIGHT.contains(&taking(clause, &small, 30, is_killed)));
    assert_eq!(taking(clause, &small, 30, stays_down), "violated");
    assert_eq!(taking(clause, &small, 64, goes_on), "violated");
    let clause = "qos.guaranteed-protection";
    assert!(RIGHT.contains(&taking(clause, &large, 64, goes_on)));
    assert_eq!(taking(clause, &large, 64, is_killed), "violated");
    assert_eq!(taking(clause, &small, 64, goes_on), "violated");
    let clause = "qos.burstable-limit-default";
    let asked = json!({ "requests": { "memory": "16Mi" } });
    assert!(RIGHT.contains(&taking(clause, &asked, 64, goes_on)));
    assert_eq!(taking(clause, &asked, 64, is_killed), "violated");
}

/// The verdict on a container with a limit of half a CPU that used this many hundredths of a second of CPU time in ten
/// seconds.
fn burning(clause: &str, ticks: u64) -> &'static str {
    burning_under(clause, ticks, "50000 100000")
}

/// The same if the container finds this quota in its cgroup.
fn burning_under(clause: &str, ticks: u64, quota: &str) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let plan = r#"{"process":{"consume":[{"cpu":{"threads":1,"for":"30s"}}]}}"#;
    let target = json!({
        "name": "target", "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
        "resources": { "limits": { "cpu": "500m", "memory": "32Mi" } },
    });
    run.create(0.0, &json!({ "containers": [target] })).start(1.0, 0).running(1.5, true, true, 0);
    run.fact(2.0, Fact::Consumed(Consumed { resource: "cpu".to_owned(), amount: 1, error: None }));
    for (at, ticks) in [(3.0, 40), (13.0, 40 + ticks)] {
        let stat = format!("1 (a b) S 0 0 0 0 0 0 0 0 0 0 {ticks} 0 0 0");
        let quota = ("/sys/fs/cgroup/cpu.max".to_owned(), quota.to_owned());
        let files = BTreeMap::from([("/proc/self/stat".to_owned(), stat), quota]);
        run.fact(at, Fact::Dump(Dump { files, ..Dump::default() }));
    }
    run.reading(20.0);
    verdict(&run.done(), clause)
}

#[test]
fn processor_time_is_compared_with_the_limit() {
    let clause = "qos.guaranteed-protection";
    assert!(RIGHT.contains(&burning(clause, 500)));
    assert_eq!(burning(clause, 540), "violated");
    assert_eq!(burning(clause, 1000), "violated");
    let clause = "qos.limit-exceeded-kills-container-only";
    assert_eq!(burning(clause, 500), "diverges");
    assert_eq!(burning(clause, 1000), "violated");
    assert_eq!(burning(clause, 100), "inconclusive", "it was not held back by its limit");
}

#[test]
fn a_node_may_enforce_no_cpu_limits() {
    for clause in ["qos.guaranteed-protection", "qos.limit-exceeded-kills-container-only"] {
        assert_eq!(burning_under(clause, 1000, "max 100000"), "inconclusive");
        assert_eq!(burning_under(clause, 1000, "55000 100000"), "violated", "a limit, but a wrong one");
    }
}

/// The verdict on a pod whose two containers request 100m of CPU each, under a quota of `hard`. `refused` is the
/// amount in the message of the API server if it rejects the pod.
fn under_a_quota(hard: &str, refused: Option<&str>) -> &'static str {
    beside_another(hard, refused, Some("100m"))
}

/// Like [`under_a_quota`]. Another pod, which requests 100m and to which the quota does not apply, is stored with this
/// request, if it is stored.
fn beside_another(hard: &str, refused: Option<&str>, other: Option<&str>) -> &'static str {
    let clause = "qos.pod-sums";
    let mut run = Composer::new(&[clause]);
    let status = json!({ "hard": { "requests.cpu": hard }, "used": { "requests.cpu": "0" } });
    run.sighting(0.5, "ResourceQuota", "sums", Change::Added, json!({ "status": status }));
    let one = |name: &str, cpu: &str| json!({ "name": name, "resources": { "requests": { "cpu": cpu } } });
    let alone = |cpu: &str| json!({ "kind": "Pod", "spec": { "containers": [one("c", cpu)] } });
    if let Some(cpu) = other {
        run.tried(0.8, "other", alone("100m"), 201, "", alone(cpu));
    }
    let manifest = json!({ "kind": "Pod", "spec": { "containers": [one("c", "100m"), one("d", "100m")] } });
    let stored = if refused.is_some() { Value::Null } else { manifest.clone() };
    let code = if refused.is_some() { 403 } else { 201 };
    let message = refused.map_or_else(String::new, |asked| {
        format!("exceeded quota: sums, requested: requests.cpu={asked}, used: requests.cpu=0, limited: requests.cpu={hard}")
    });
    run.tried(1.0, "sent", manifest, code, &message, stored);
    verdict(&run.done(), clause)
}

#[test]
fn a_quota_counts_what_admission_left() {
    let with = |other| beside_another("200m", Some("500m"), other);
    assert_eq!(with(Some("100m")), "violated", "the other pod was stored as it was sent");
    assert_eq!(with(Some("250m")), "inconclusive", "admission raises requests");
    assert_eq!(with(None), "inconclusive", "nothing shows what admission does");
    assert_eq!(beside_another("199m", None, None), "violated", "the pod itself was stored as it was sent");
}

#[test]
fn a_quota_counts_the_sum_of_the_containers() {
    assert!(RIGHT.contains(&under_a_quota("200m", None)));
    assert_eq!(under_a_quota("199m", None), "violated");
    assert_eq!(under_a_quota("200m", Some("200m")), "violated");
    assert!(RIGHT.contains(&under_a_quota("199m", Some("200m"))));
    assert_eq!(under_a_quota("199m", Some("300m")), "violated");
}
