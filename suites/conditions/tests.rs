//! Hand-written histories for the judges of conditions.

mod contradictions;
mod gates;
mod kept;
mod labels;
mod lasting;
mod scheduled;

use probity_composer::{Composer, timestamp};
use probity_model::history::{Change, Did};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const FIVE: [&str; 5] = super::KUBELETS;
const GATE: &str = "example.com/gate";
const OTHER: &str = "example.com/other";

/// A status of a pod: its phase, whether its only container is ready, and its conditions with their statuses.
fn status(phase: &str, ready: bool, conditions: &[(&str, &str)]) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status)| {
            let reason = match (*kind, *status) {
                ("Initialized", "False") => json!("ContainersNotInitialized"),
                ("Ready" | "ContainersReady", "False") => json!(match phase {
                    "Succeeded" => "PodCompleted",
                    "Failed" => "PodFailed",
                    _ => "ContainersNotReady",
                }),
                _ => Value::Null,
            };
            json!({
                "type": kind, "status": status, "reason": reason, "lastTransitionTime": timestamp(1.0),
                "message": (*status != "True").then_some(match *kind {
                    "Initialized" => "containers with incomplete status: [first helper]",
                    _ => "containers with unready status: [target], and incomplete: [first helper]",
                }),
            })
        })
        .collect();
    let waits = phase == "Pending";
    let state =
        if waits { json!({ "waiting": {} }) } else { json!({ "running": { "startedAt": timestamp(1.0) } }) };
    json!({
        "phase": phase, "podIP": "10.0.0.7", "startTime": timestamp(0.5), "conditions": conditions,
        "containerStatuses": [{
            "name": "target", "ready": ready, "started": true, "restartCount": 0, "containerID": "containerd://target-0",
            "state": state, "lastState": {},
        }],
    })
}

/// A status in which all five conditions are True.
fn whole() -> Value {
    status("Running", true, &FIVE.map(|kind| (kind, "True")))
}

fn ready_as(containers: &'static str, pod: &'static str, more: &[(&'static str, &'static str)]) -> Value {
    let of_five = [("PodScheduled", "True"), (super::NETWORK, "True"), ("Initialized", "True")];
    let all = [&of_five[..], &[("ContainersReady", containers), ("Ready", pod)], more].concat();
    status("Running", containers == "True", &all)
}

fn plain() -> Value {
    json!({ "containers": [{ "name": "target" }] })
}

fn pod(clause: &str, spec: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, spec);
    run
}

/// Judges these statuses of a pod: the first at 2 s, and then one each second.
fn judged(clause: &str, spec: &Value, statuses: &[Value]) -> &'static str {
    let mut run = pod(clause, spec);
    for (at, status) in (2_u32..).zip(statuses) {
        run.status(f64::from(at), status);
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

fn without(mut status: Value, kind: &str) -> Value {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    status["conditions"] = conditions.into_iter().filter(|condition| condition["type"] != kind).collect();
    status
}

/// A status in which one field of a condition has a different value.
fn with(mut status: Value, kind: &str, field: &str, value: Value) -> Value {
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        if condition["type"] == kind {
            condition[field] = value.clone();
        }
    }
    status
}

#[test]
fn the_five_conditions_are_in_every_status_of_a_kubelet() {
    let clause = "pod.condition.set-of-five";
    assert_eq!(judged(clause, &plain(), &[whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[whole(), without(whole(), "PodScheduled")]), "violated");
    assert_eq!(
        judged(clause, &plain(), &[json!({ "phase": "Pending" })]),
        "inconclusive",
        "no kubelet wrote it"
    );
    assert_eq!(judged(clause, &plain(), &[ready_as("False", "False", &[])]), "inconclusive", "never ready");
}

#[test]
fn the_network_is_told_in_every_phase() {
    let clause = "ptsc.present";
    assert_eq!(judged(clause, &plain(), &[whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[]), "inconclusive", "no kubelet wrote anything");
    let phases =
        ["Pending", "Running", "Succeeded"].map(|phase| status(phase, false, &[(super::NETWORK, "True")]));
    assert_eq!(
        judged(clause, &plain(), &[&phases[..], &[without(whole(), super::NETWORK)]].concat()),
        "violated"
    );
}

#[test]
fn a_condition_has_a_status_a_time_and_a_reason_of_one_word() {
    let clause = "pod.condition.fields";
    let both = || [ready_as("False", "False", &[]), whole()];
    let spoiled = |field, value| {
        judged(clause, &plain(), &[with(ready_as("False", "False", &[]), "Ready", field, value), whole()])
    };
    assert_eq!(judged(clause, &plain(), &both()), "holds");
    assert_eq!(spoiled("status", json!("maybe")), "violated");
    assert_eq!(spoiled("reason", json!("not ready yet")), "violated");
    assert_eq!(spoiled("lastTransitionTime", Value::Null), "violated");
    let true_for = |reason: &str| {
        judged(
            clause,
            &plain(),
            &[ready_as("False", "False", &[]), with(whole(), "Ready", "reason", json!(reason))],
        )
    };
    assert_eq!(
        true_for("ContainersNotReady"),
        "violated",
        "the condition kept the reason from when it was False"
    );
    assert_eq!(true_for("VendorSaysSo"), "holds", "a reason of another vendor");
    let done = with(whole(), "Initialized", "reason", json!("PodCompleted"));
    assert_eq!(judged(clause, &plain(), &[ready_as("False", "False", &[]), done]), "holds");
    assert_eq!(judged(clause, &plain(), &[whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[]), "inconclusive", "no kubelet wrote anything");
}

#[test]
fn the_time_of_a_condition_is_that_of_its_change() {
    let clause = "pod.condition.transition-time";
    let at = |status, second| with(status, "Ready", "lastTransitionTime", json!(timestamp(second)));
    let low = || at(ready_as("True", "False", &[]), 1.0);
    let other = || with(low(), "Ready", "reason", json!("ReadinessGatesNotReady"));
    let high = |second| at(ready_as("True", "True", &[]), second);
    let fell = || at(ready_as("True", "False", &[]), 5.0);
    assert_eq!(judged(clause, &plain(), &[low(), other(), high(4.0), fell()]), "holds");
    for (second, why) in [(-5.0, "it kept the old time"), (40.0, "it is still to come")] {
        assert_eq!(judged(clause, &plain(), &[low(), other(), high(second), fell()]), "violated", "{why}");
    }
    let moved = || at(ready_as("True", "False", &[]), 3.0);
    assert_eq!(judged(clause, &plain(), &[low(), moved()]), "violated", "the status did not change");
    let taken_back = [low(), moved(), high(5.0)];
    assert_eq!(judged(clause, &plain(), &taken_back), "holds", "it may have been ready, unseen");
    for (field, value) in [("restartCount", json!(1)), ("started", json!(false)), ("containerID", json!("b"))]
    {
        let mut again = moved();
        again["containerStatuses"][0][field] = value;
        assert_ne!(judged(clause, &plain(), &[low(), again]), "violated", "it may have been ready: {field}");
    }
    assert_eq!(judged(clause, &plain(), &[low()]), "inconclusive");
}

#[test]
fn containers_are_ready_together_and_the_others_are_named() {
    let clause = "pod.condition.containersready";
    let low = || ready_as("False", "False", &[]);
    assert_eq!(judged(clause, &plain(), &[low(), whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[]), "inconclusive", "no kubelet wrote anything");
    let mut wrong = whole();
    wrong["containerStatuses"][0]["ready"] = json!(false);
    assert_eq!(judged(clause, &plain(), &[low(), wrong]), "violated");
    let mut wrong = low();
    wrong["containerStatuses"][0]["ready"] = json!(true);
    assert_eq!(judged(clause, &plain(), &[wrong, whole()]), "violated");
    assert_eq!(
        judged(clause, &plain(), &[with(low(), "ContainersReady", "message", json!("some"))]),
        "violated"
    );
}

/// A pod with an init container that runs from 1 s to 4 s, whose statuses come at 2 s and at 4.5 s.
fn staged(during: Value, after: Value) -> &'static str {
    let clause = "pod.condition.initialized";
    let spec = json!({ "initContainers": [{ "name": "first" }], "containers": [{ "name": "target" }] });
    let mut run = pod(clause, &spec);
    run.of("pod", "first").start(1.0, 0).status(2.0, &during);
    run.fact(4.0, Fact::Exiting(Exiting { code: 0, why: "plan".to_owned() }));
    run.left(4.1);
    run.of("pod", "target").status(4.5, &after).start(5.0, 0).reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_is_initialized_after_its_last_init_container() {
    let low = || status("Pending", false, &[("Initialized", "False")]);
    let high = || status("Running", true, &[("Initialized", "True")]);
    assert_eq!(staged(low(), high()), "holds");
    assert_eq!(staged(high(), high()), "violated");
    assert_eq!(staged(low(), low()), "violated");
    assert_eq!(staged(with(low(), "Initialized", "reason", Value::Null), high()), "violated");
}

#[test]
fn a_pod_that_is_over_is_not_ready() {
    let clause = "pod.condition.terminal-not-ready";
    let over =
        |phase, containers, pod| status(phase, false, &[("ContainersReady", containers), ("Ready", pod)]);
    assert_eq!(judged(clause, &plain(), &[over("Failed", "False", "True")]), "violated");
    let unexplained = with(over("Failed", "False", "False"), "Ready", "reason", json!("ContainersNotReady"));
    assert_eq!(judged(clause, &plain(), &[unexplained]), "violated");
    assert_eq!(judged(clause, &plain(), &[over("Failed", "False", "False")]), "holds");
    assert_eq!(judged(clause, &plain(), &[whole()]), "inconclusive", "the pod has not ended");
    assert_eq!(
        judged(clause, &plain(), &[over("Succeeded", "False", "False"), over("Failed", "False", "False")]),
        "holds"
    );
}

/// Judges a pod of a Service with these statuses, whose endpoint becomes ready or not ready at these times.
fn served(statuses: &[(f64, Value)], entries: &[(f64, bool)]) -> &'static str {
    let clause = "pod.condition.ready";
    let mut run = Composer::new(&[clause]);
    let manifest = json!({ "spec": { "selector": { "probity.dev/pod": "pod" } } });
    run.deed(0.0, Did::Created { kind: "Service".to_owned(), name: "web".to_owned(), manifest });
    run.create(
        0.0,
        &json!({ "readinessGates": [{ "conditionType": GATE }], "containers": [{ "name": "target" }] }),
    );
    for second in 1..30 {
        let at = f64::from(second);
        for (_, status) in statuses.iter().filter(|(when, _)| (when - at).abs() < f64::EPSILON) {
            run.status(at, status);
        }
        for (_, ready) in entries.iter().filter(|(when, _)| (when - at).abs() < f64::EPSILON) {
            run.slice(at + 0.1, "web", &json!({ "ready": ready, "serving": ready, "terminating": false }));
        }
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn an_endpoint_follows_the_condition_of_its_pod() {
    let (low, high) = (|at| (at, ready_as("True", "False", &[])), |at| (at, ready_as("True", "True", &[])));
    let course = || [low(2.0), high(8.0), low(14.0)];
    assert_eq!(served(&course(), &[(2.0, false), (8.0, true), (14.0, false)]), "holds");
    assert_eq!(served(&course(), &[(2.0, false), (8.0, true)]), "violated", "the endpoint stays ready");
    assert_eq!(served(&course(), &[(2.0, false)]), "violated", "the endpoint is never ready");
    assert_eq!(
        served(&[low(2.0)], &[(2.0, false), (9.0, true)]),
        "violated",
        "the endpoint is ready, but the pod is not"
    );
    assert_eq!(served(&[], &[]), "inconclusive");
}

/// The harness patches a condition into the pod.
fn patch(run: &mut Composer, at: f64, kind: &str, status: &str, subresource: &str) {
    let patch = json!({ "status": { "conditions": [{ "type": kind, "status": status }] } });
    let (of, name, subresource) = ("Pod".to_owned(), "pod".to_owned(), subresource.to_owned());
    run.deed(at, Did::Patched { kind: of, name, patch, subresource });
}

#[test]
fn conditions_of_others_survive_the_updates_of_the_kubelet() {
    let clause = "pod.condition.custom-preserved";
    let judged = |kept: usize| {
        let mut run = pod(clause, &plain());
        run.status(1.5, &ready_as("False", "False", &[]));
        let values = [("a", "True"), ("b", "False"), ("c", "Unknown")];
        for (kind, value) in values {
            patch(&mut run, 2.0, kind, value, "status");
        }
        for (number, at) in (0_u32..5).enumerate() {
            let word = if at % 2 == 0 { "False" } else { "True" };
            let own = if number < kept { &values[..] } else { &[] };
            run.status(3.0 + f64::from(at), &ready_as(word, word, own));
        }
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(5), "holds");
    assert_eq!(judged(2), "violated");
    assert_eq!(judged(0), "inconclusive", "the conditions were never shown");
}

#[test]
fn the_kubelet_sets_no_generation_in_the_conditions_of_others() {
    let clause = "pod.condition.custom-preserved";
    let judged = |generation: Option<u64>| {
        let mut run = pod(clause, &plain());
        run.status(1.5, &ready_as("False", "False", &[]));
        patch(&mut run, 2.0, "a", "True", "status");
        for at in 0_u32..5 {
            let word = if at % 2 == 0 { "False" } else { "True" };
            let mut shown = ready_as(word, word, &[("a", "True")]);
            let own = shown["conditions"].as_array_mut().and_then(|all| all.last_mut());
            if let Some((condition, generation)) = own.zip(generation).filter(|_| at > 0) {
                condition["observedGeneration"] = json!(generation);
            }
            run.status(3.0 + f64::from(at), &shown);
        }
        verdict(&run.done(), clause)
    };
    assert_ne!(judged(None), "violated");
    assert_eq!(judged(Some(1)), "violated");
}

#[test]
fn a_patch_of_the_status_sets_what_a_patch_of_the_pod_does_not() {
    let clause = "readinessgate.set-by-patch";
    let judged = |by_status: bool, by_pod: bool| {
        let mut run = pod(clause, &plain());
        run.status(1.0, &whole());
        patch(&mut run, 2.0, "a", "True", "status");
        patch(&mut run, 2.0, "b", "True", "");
        let own: Vec<(&str, &str)> = [("a", by_status), ("b", by_pod)]
            .into_iter()
            .filter(|(_, is)| *is)
            .map(|(kind, _)| (kind, "True"))
            .collect();
        run.status(2.5, &ready_as("True", "True", &own)).reading(30.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(true, false), "holds");
    assert_eq!(judged(false, false), "violated");
    assert_eq!(judged(true, true), "violated");
    assert_eq!(verdict(&pod(clause, &plain()).done(), clause), "inconclusive");
}

/// A pod that waits for a ConfigMap that does not exist.
fn unmounted(inits: bool) -> Value {
    let mut spec = plain();
    spec["volumes"] = json!([{ "name": "v", "configMap": { "name": "none" } }]);
    if inits {
        spec["initContainers"] = json!([{ "name": "first" }]);
    }
    spec
}

fn pending(network: &'static str, initialized: &'static str) -> Value {
    let mut shown = status("Pending", false, &[(super::NETWORK, network), ("Initialized", initialized)]);
    shown["containerStatuses"][0]["containerID"] = json!("");
    shown
}

#[test]
fn without_its_volumes_a_pod_has_no_network_and_is_initialized_only_without_init_containers() {
    let network = |status| judged("ptsc.false-before-sandbox", &unmounted(false), &[status]);
    assert_eq!(network(pending("False", "True")), "holds");
    assert_eq!(judged("ptsc.false-before-sandbox", &plain(), &[whole()]), "inconclusive", "with volumes");
    assert_eq!(network(pending("True", "True")), "violated");
    let (none, some) = ("ptsc.initialized-order-no-init", "ptsc.initialized-order-init");
    assert_eq!(judged(none, &unmounted(false), &[pending("False", "True")]), "holds");
    assert_eq!(judged(none, &unmounted(false), &[pending("False", "False")]), "violated");
    assert_eq!(judged(none, &plain(), &[pending("True", "True")]), "inconclusive");
    assert_eq!(judged(some, &unmounted(true), &[pending("False", "True")]), "violated");
    assert_eq!(judged(some, &unmounted(true), &[pending("False", "False")]), "holds");
    assert_eq!(judged(some, &plain(), &[whole()]), "inconclusive", "it has no init containers");
}

#[test]
fn a_pod_that_starts_has_its_network_first() {
    let clause = "ptsc.initialized-order-init";
    let spec = json!({ "initContainers": [{ "name": "first" }], "containers": [{ "name": "target" }] });
    let at = |second| with(whole(), "Initialized", "lastTransitionTime", json!(timestamp(second)));
    assert_eq!(
        judged(clause, &spec, &[pending("True", "False"), at(4.0)]),
        "violated",
        "ready before it is initialized"
    );
    assert_eq!(judged(clause, &spec, &[at(-1.0)]), "violated", "initialized before it has its network");
    assert_eq!(judged(clause, &spec, &[at(1.0)]), "holds");
}

#[test]
fn the_network_is_there_before_an_image_is_asked_for() {
    let clause = "ptsc.true-after-sandbox";
    let unpulled = |network| {
        let mut status = status("Pending", false, &[(super::NETWORK, network)]);
        status["containerStatuses"][0]["state"] = json!({ "waiting": { "reason": "ErrImagePull" } });
        status
    };
    assert_eq!(judged(clause, &plain(), &[unpulled("True"), whole()]), "holds");
    assert_eq!(judged(clause, &plain(), &[unpulled("False"), whole()]), "violated");
    assert_eq!(
        judged(clause, &plain(), &[with(whole(), super::NETWORK, "status", json!("False"))]),
        "violated"
    );
    assert_eq!(judged(clause, &plain(), &[]), "inconclusive", "no kubelet wrote anything");
}

#[test]
fn the_network_goes_with_the_pod() {
    let clause = "ptsc.false-after-sandbox-loss";
    let over = |phase, network| status(phase, false, &[(super::NETWORK, network)]);
    assert_eq!(judged(clause, &plain(), &[over("Failed", "False")]), "holds");
    assert_eq!(judged(clause, &plain(), &[whole()]), "inconclusive", "the pod has not ended");
    assert_eq!(judged(clause, &plain(), &[over("Failed", "True")]), "violated");
    let late: Vec<Value> = (0..7).map(|_| over("Failed", "True")).chain([over("Failed", "False")]).collect();
    assert_eq!(judged(clause, &plain(), &late), "violated");
}
