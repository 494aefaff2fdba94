//! Hand-written histories for the judges of evictions and budgets.

mod controllers;
mod critical;
mod drains;
mod ends;
mod kubelet;
mod targets;

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const LIMITS: &str = "pdb.limits-voluntary";
const ONE: &str = "pdb.example-one-at-a-time";
const SELECTOR: &str = "pdb.selector";
const INVOLUNTARY: &str = "pdb.involuntary-counts";
const DELETE: &str = "pdb.direct-delete-ignores";
const DEFAULT: &str = "pdb.unhealthy-default";
const ALWAYS: &str = "pdb.unhealthy-alwaysallow";
const BYPASS: &str = "eviction.pending-terminal-bypass";

/// The refusal of an API server with too many requests.
const BUSY: &str = "429: Too many requests, please try again later.";

/// A history of evictions that a test writes event by event.
struct Story {
    run: Composer,
    names: Vec<String>,
}

fn object(name: &str, labels: &Value, status: &Value, going: bool) -> Value {
    let mut object = json!({
        "metadata": { "name": name, "uid": format!("uid-{name}"), "labels": labels },
        "spec": { "nodeName": NODE, "containers": [{ "name": "main" }] }, "status": status,
    });
    if going {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    object
}

fn running(ready: bool) -> Value {
    let word = if ready { "True" } else { "False" };
    json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": word }] })
}

impl Story {
    /// A budget that needs this number of pods with the label. Pods with these names exist and are ready from 1 s on.
    fn of(clause: &str, needed: u64, names: &[&str]) -> Self {
        let mut story = Self { run: Composer::new(&[clause]), names: Vec::new() };
        story.budget("web", needed, &json!({ "app": "web" }), &json!(null));
        for name in names {
            story.pod(1.0, name, &running(true), false);
        }
        story
    }

    fn budget(&mut self, name: &str, needed: u64, labels: &Value, policy: &Value) {
        let mut spec = json!({ "minAvailable": needed, "selector": { "matchLabels": labels } });
        if !policy.is_null() {
            spec["unhealthyPodEvictionPolicy"] = policy.clone();
        }
        self.budget_of(name, &spec);
    }

    fn budget_of(&mut self, name: &str, spec: &Value) {
        let manifest = json!({ "metadata": { "name": name }, "spec": spec });
        let (kind, name) = ("PodDisruptionBudget".to_owned(), name.to_owned());
        self.run.deed(0.1, Did::Created { kind, name, manifest });
    }

    fn pod(&mut self, at: f64, name: &str, status: &Value, going: bool) {
        self.labeled(at, name, &json!({ "app": "web" }), status, going);
    }

    fn labeled(&mut self, at: f64, name: &str, labels: &Value, status: &Value, going: bool) {
        let new = !self.names.iter().any(|known| known == name);
        let change = if new { Change::Added } else { Change::Modified };
        self.names.push(name.to_owned());
        self.run.sighting(at, "Pod", name, change, object(name, labels, status, going));
    }

    /// Adds a status of the budget.
    fn count(&mut self, at: f64, healthy: u64, allowed: u64) {
        let status = json!({ "currentHealthy": healthy, "disruptionsAllowed": allowed });
        let budget = json!({ "metadata": { "name": "web" }, "status": status });
        self.run.sighting(at, "PodDisruptionBudget", "web", Change::Modified, budget);
    }

    fn granted(&mut self, at: f64, name: &str) {
        self.run.deed(at, Did::Evicted { pod: name.to_owned(), refused: None, code: None, cause: None });
    }

    fn refused(&mut self, at: f64, name: &str, code: u16) {
        let (refused, cause) = (Some("no".to_owned()), (code == 429).then(|| "DisruptionBudget".to_owned()));
        self.run.deed(at, Did::Evicted { pod: name.to_owned(), refused, code: Some(code), cause });
    }

    /// An eviction was refused with 429 and this message, but without a cause.
    fn refused_without_cause(&mut self, at: f64, name: &str, why: &str) {
        let (refused, code) = (Some(why.to_owned()), Some(429));
        self.run.deed(at, Did::Evicted { pod: name.to_owned(), refused, code, cause: None });
    }

    fn deleted(&mut self, at: f64, name: &str) {
        self.run.deed(at, Did::Deleted { kind: "Pod".to_owned(), name: name.to_owned(), grace: None });
    }

    fn verdict(mut self, end: f64, clause: &str) -> &'static str {
        self.run.reading(end);
        verdict(&self.run.done(), clause)
    }
}

/// Two of three pods are needed. One is evicted at 10 s. The eviction of another pod is requested at once, and again
/// when a fourth pod is ready.
fn limited(first: bool, second: u16, third: bool) -> &'static str {
    let mut story = Story::of(LIMITS, 2, &["a", "b", "c"]);
    let answer = |story: &mut Story, at: f64, granted: bool, name: &str| match granted {
        true => story.granted(at, name),
        false => story.refused(at, name, 429),
    };
    answer(&mut story, 10.0, first, "a");
    if second == 0 {
        story.granted(10.1, "b")
    } else {
        story.refused(10.1, "b", second)
    }
    story.pod(13.0, "d", &running(true), false);
    answer(&mut story, 20.0, third, "b");
    story.verdict(30.0, LIMITS)
}

#[test]
fn evictions_are_limited() {
    assert_eq!(limited(true, 429, true), "holds");
    assert_eq!(limited(true, 0, true), "violated", "both were evicted");
    assert_eq!(limited(true, 409, true), "violated", "the wrong code");
    assert_eq!(limited(false, 429, true), "violated", "one could be spared");
    assert_eq!(limited(true, 429, false), "violated", "there is a replacement");
}

#[test]
fn a_refusal_names_its_cause() {
    let judged = |why: &str| {
        let mut story = Story::of(LIMITS, 3, &["a", "b", "c"]);
        story.refused_without_cause(10.0, "a", why);
        story.verdict(20.0, LIMITS)
    };
    let of_budget = "429: Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!(judged(of_budget), "violated");
    assert_eq!(judged(BUSY), "inconclusive", "the API server did not look at the eviction");
}

#[test]
fn an_api_server_with_too_many_requests_says_nothing_about_budgets() {
    let mut room = Story::of(LIMITS, 2, &["a", "b", "c"]);
    room.refused_without_cause(10.0, "a", BUSY);
    room.granted(12.0, "a");
    assert_eq!(room.verdict(20.0, LIMITS), "holds");
    let mut outside = Story::of(SELECTOR, 2, &["a", "b"]);
    outside.labeled(1.0, "other", &json!({ "app": "other" }), &running(true), false);
    outside.refused_without_cause(10.0, "other", BUSY);
    assert_eq!(outside.verdict(20.0, SELECTOR), "inconclusive");
    let mut twice = Story::of(SELECTOR, 2, &["a", "b"]);
    twice.budget("again", 1, &json!({ "app": "web" }), &json!(null));
    twice.refused_without_cause(10.0, "a", BUSY);
    assert_eq!(twice.verdict(20.0, SELECTOR), "inconclusive");
    let mut unready = Story::of(DEFAULT, 2, &["a", "b"]);
    unready.pod(1.0, "ill", &running(false), false);
    unready.refused_without_cause(10.0, "ill", BUSY);
    assert_eq!(unready.verdict(20.0, DEFAULT), "inconclusive");
}

#[test]
fn what_is_not_certain_is_not_judged() {
    let mut new = Story::of(LIMITS, 2, &["a", "b"]);
    new.pod(9.0, "c", &running(true), false);
    new.refused(10.0, "a", 429);
    assert_eq!(new.verdict(20.0, LIMITS), "inconclusive", "a budget may not have counted the third pod yet");
    let mut failed = Story::of(LIMITS, 2, &["a", "b", "c"]);
    failed.refused(10.0, "a", 504);
    assert_eq!(failed.verdict(20.0, LIMITS), "inconclusive", "the API server was in trouble");
    let mut changed = Story::of(LIMITS, 2, &["a", "b", "c"]);
    let (kind, name, patch) = ("PodDisruptionBudget".to_owned(), "web".to_owned(), json!({}));
    changed.run.deed(5.0, Did::Patched { kind, name, patch, subresource: String::new() });
    changed.refused(10.0, "a", 429);
    assert_eq!(changed.verdict(20.0, LIMITS), "inconclusive", "the budget was changed");
}

/// Four of five pods are needed; the budget's status shows how many can be evicted, and two evictions are requested.
fn of_five(allowed: u64, second: bool) -> &'static str {
    let mut story = Story::of(ONE, 4, &["a", "b", "c", "d", "e"]);
    story.count(1.5, 5, allowed);
    story.granted(10.0, "b");
    if second {
        story.granted(10.1, "d")
    } else {
        story.refused(10.1, "d", 429)
    }
    story.verdict(20.0, ONE)
}

#[test]
fn one_at_a_time() {
    assert_eq!(of_five(1, false), "holds");
    assert_eq!(of_five(2, false), "violated");
    assert_eq!(of_five(1, true), "violated");
}

/// The API server's answers to the eviction of a pod without the label, and of a pod under two budgets.
fn selected(outside: u16, twice: u16) -> &'static str {
    let mut story = Story::of(SELECTOR, 2, &["a"]);
    story.budget("other", 0, &json!({ "also": "web" }), &json!(null));
    story.labeled(1.0, "outside", &json!({}), &running(true), false);
    story.labeled(1.0, "twice", &json!({ "app": "web", "also": "web" }), &running(true), false);
    let mut answer = |at: f64, name: &str, code: u16| match code {
        0 => story.granted(at, name),
        _ => story.refused(at, name, code),
    };
    answer(10.0, "a", 429);
    answer(10.1, "outside", outside);
    answer(10.2, "twice", twice);
    story.verdict(20.0, SELECTOR)
}

#[test]
fn a_budget_is_for_the_pods_that_it_selects() {
    assert_eq!(selected(0, 500), "holds");
    assert_eq!(selected(429, 500), "violated");
    assert_eq!(selected(0, 429), "violated");
    assert_eq!(selected(0, 0), "violated");
}

/// A budget needs one pod with the label, and its selector also has this expression about the role. The API server refuses
/// the eviction of a pod without a role, and answers that of a pod whose role is `spare` with this code.
fn by_role(operator: &str, answer: u16) -> &'static str {
    let mut story = Story { run: Composer::new(&[SELECTOR]), names: Vec::new() };
    let expression = json!({ "key": "role", "operator": operator, "values": ["spare"] });
    let selector = json!({ "matchLabels": { "app": "web" }, "matchExpressions": [expression] });
    story.budget_of("web", &json!({ "minAvailable": 1, "selector": selector }));
    story.pod(1.0, "a", &running(true), false);
    story.labeled(1.0, "spare", &json!({ "app": "web", "role": "spare" }), &running(true), false);
    story.refused(10.0, "a", 429);
    match answer {
        0 => story.granted(10.1, "spare"),
        _ => story.refused(10.1, "spare", answer),
    }
    story.verdict(20.0, SELECTOR)
}

#[test]
fn expressions_of_a_selector_count() {
    assert_eq!(by_role("NotIn", 0), "holds");
    assert_eq!(by_role("NotIn", 429), "violated", "the budget does not select it");
    assert_eq!(by_role("Exists", 429), "violated", "the budget does not select the other pod");
    assert_eq!(by_role("Near", 429), "inconclusive", "nobody knows this operator");
}

#[test]
fn a_pod_whose_labels_change_leaves_nothing_certain() {
    let judged = |later: &Value| {
        let mut story = Story::of(SELECTOR, 1, &["a"]);
        story.labeled(1.0, "b", &json!({}), &running(true), false);
        story.labeled(5.0, "b", later, &running(true), false);
        story.refused(20.0, "b", 429);
        story.verdict(30.0, SELECTOR)
    };
    assert_eq!(judged(&json!({ "other": "label" })), "violated", "the budget never selects it");
    assert_eq!(judged(&json!({ "app": "web" })), "inconclusive");
}

/// One of three pods is not ready from 10 s on. The budget's status shows this from the given time on, and the eviction
/// of another pod is requested.
fn unready(counted: Option<f64>, granted: bool) -> &'static str {
    let mut story = Story::of(INVOLUNTARY, 2, &["a", "b", "c"]);
    story.count(1.5, 3, 1);
    story.pod(10.0, "b", &running(false), false);
    match counted {
        Some(at) if at < 20.0 => story.count(at, 2, 0),
        _ => {}
    }
    if granted {
        story.granted(20.0, "a")
    } else {
        story.refused(20.0, "a", 429)
    }
    if let Some(at) = counted.filter(|at| *at > 20.0) {
        story.count(at, 2, 0);
    }
    story.verdict(40.0, INVOLUNTARY)
}

#[test]
fn pods_that_are_not_ready_count() {
    assert_eq!(unready(Some(10.2), false), "holds");
    assert_eq!(unready(Some(30.0), false), "violated");
    assert_eq!(unready(None, false), "violated");
    assert_eq!(unready(Some(10.2), true), "violated");
}

/// A budget allows no disruption. At 11 s a pod is deleted. The pod terminates at the given time, or not at all, or the
/// request is refused.
fn removed(going: Option<f64>, refused: bool) -> &'static str {
    let mut story = Story::of(DELETE, 2, &["a", "b"]);
    story.refused(10.0, "a", 429);
    if refused {
        let why = "failed to delete Pod b: the API server answered 429 TooManyRequests: no".to_owned();
        story.run.deed(11.0, Did::Failed { what: "delete the pod b".to_owned(), why });
    } else {
        story.deleted(11.0, "b");
    }
    if let Some(at) = going {
        story.pod(at, "b", &running(true), true);
    }
    story.verdict(30.0, DELETE)
}

#[test]
fn deletions_are_not_limited() {
    assert_eq!(removed(Some(11.1), false), "holds");
    assert_eq!(removed(Some(19.0), false), "violated");
    assert_eq!(removed(None, false), "violated");
    assert_eq!(removed(None, true), "violated");
}

/// Two pods are needed, and `healthy` pods of four are ready. The eviction of a pod that is not ready is requested.
fn ill(clause: &str, policy: &Value, healthy: u64, granted: bool) -> Story {
    let mut story = Story { run: Composer::new(&[clause]), names: Vec::new() };
    story.budget("web", 2, &json!({ "app": "web" }), policy);
    for (name, number) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
        story.pod(1.0, name, &running(number <= healthy), false);
    }
    if granted {
        story.granted(10.0, "d")
    } else {
        story.refused(10.0, "d", 429)
    }
    story
}

#[test]
fn pods_that_are_not_ready_wait_for_the_budget() {
    let judged =
        |healthy: u64, granted: bool| ill(DEFAULT, &json!(null), healthy, granted).verdict(20.0, DEFAULT);
    assert_eq!(judged(1, false), "holds");
    assert_eq!(judged(1, true), "violated");
    assert_eq!(judged(2, true), "holds");
    assert_eq!(judged(2, false), "violated");
    let spared = |granted: bool| {
        let mut story = ill(DEFAULT, &json!(null), 3, true);
        if granted {
            story.granted(10.1, "a")
        } else {
            story.refused(10.1, "a", 429)
        }
        story.verdict(20.0, DEFAULT)
    };
    assert_eq!(spared(true), "holds");
    assert_eq!(spared(false), "violated", "the first eviction used up the budget");
}

#[test]
fn pods_that_are_not_ready_always_go() {
    let policy = json!("AlwaysAllow");
    let judged = |granted: bool| ill(ALWAYS, &policy, 1, granted).verdict(20.0, ALWAYS);
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
    let healthy = |granted: bool| {
        let mut story = ill(ALWAYS, &policy, 1, true);
        if granted {
            story.granted(10.1, "a")
        } else {
            story.refused(10.1, "a", 429)
        }
        story.verdict(20.0, ALWAYS)
    };
    assert_eq!(healthy(false), "holds");
    assert_eq!(healthy(true), "violated");
    assert_eq!(ill(DEFAULT, &policy, 1, true).verdict(20.0, DEFAULT), "inconclusive", "another policy");
}

#[test]
fn pods_that_are_of_no_use_are_evicted() {
    let judged = |status: &Value, going: bool, granted: bool| {
        let mut story = Story::of(BYPASS, 1, &["healthy"]);
        story.pod(1.0, "idle", status, going);
        if granted {
            story.granted(10.0, "idle")
        } else {
            story.refused(10.0, "idle", 429)
        }
        story.verdict(20.0, BYPASS)
    };
    let pending = json!({ "phase": "Pending" });
    assert_eq!(judged(&pending, false, true), "holds");
    assert_eq!(judged(&pending, false, false), "violated");
    assert_eq!(judged(&json!({ "phase": "Succeeded" }), false, false), "violated");
    assert_eq!(judged(&running(true), true, false), "violated");
    assert_eq!(judged(&running(true), true, true), "holds");
    assert_eq!(judged(&running(true), false, false), "inconclusive", "the pod is healthy");
}
