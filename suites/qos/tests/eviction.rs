//! Hand-written histories of nodes that are short of memory.

use probity_model::history::CONFIGURE_KUBELET;
use serde_json::json;

use crate::reading::shortage::scene::{Scene, Uses, status};

const ORDER: &str = "qos.eviction-order";
const PRIORITY: &str = "qos.eviction-priority";
const CANDIDATE: &str = "qos.request-exceeded-candidate";
/// One percent of this is 40 MiB.
const SMALL: &str = "4000Mi";
const LARGE: &str = "400Gi";

/// The verdict on four pods on a node that is short of memory from 5 s to 40 s. The pods in `gone` are evicted, one
/// every five seconds from 10 s on.
fn order(hungry: Uses, gone: &[&str]) -> &'static str {
    let pods = [
        ("hungry", hungry),
        ("unclassed", Uses::Unclassed(80)),
        ("modest", Uses::Burstable(8, 40)),
        ("guaranteed", Uses::Guaranteed(32, 8)),
    ];
    let mut scene = Scene::new(ORDER, SMALL, &pods);
    scene.keeps_free(5.0, "99%");
    let mut at = 10.0;
    for name in gone {
        scene.evicted(at, name);
        at += 5.0;
    }
    scene.restored(40.0).at(60.0)
}

#[test]
fn pods_of_a_class_go_before_those_of_the_next() {
    let much = || Uses::Burstable(8, 192);
    assert_eq!(order(much(), &["unclassed", "hungry", "modest"]), "holds");
    assert_eq!(order(much(), &["unclassed", "modest"]), "holds", "pods of one class are not compared");
    assert_eq!(order(much(), &["guaranteed", "unclassed"]), "violated", "it used less than it requested");
    assert_eq!(order(much(), &["modest", "unclassed"]), "violated", "it exceeded its request by less");
    assert_eq!(order(much(), &[]), "inconclusive");
}

#[test]
fn a_burstable_pod_that_exceeds_its_request_by_more_goes_first_in_the_reference_implementation() {
    assert_eq!(order(Uses::Burstable(8, 192), &["hungry", "unclassed"]), "diverges");
    assert_eq!(order(Uses::Burstable(8, 98), &["hungry", "unclassed"]), "inconclusive", "by about as much");
}

#[test]
fn a_burstable_pod_of_a_lower_priority_goes_first_in_the_reference_implementation() {
    let judged = |hungry: i64, unclassed: i64| {
        let mut scene = Scene::new(ORDER, SMALL, &[]);
        scene.add_of(hungry, "hungry", &Uses::Burstable(8, 192));
        scene.add_of(unclassed, "unclassed", &Uses::Unclassed(80));
        scene.keeps_free(5.0, "99%").evicted(10.0, "hungry").evicted(15.0, "unclassed");
        scene.restored(40.0).at(60.0)
    };
    assert_eq!(judged(-1, 0), "diverges");
    assert_eq!(judged(1, 0), "violated");
}

#[test]
fn a_pod_of_a_higher_priority_stays_longer() {
    let judged = |gone: &[&str]| {
        let mut scene = Scene::new(PRIORITY, SMALL, &[]);
        scene.add_of(-1000, "hungry", &Uses::Burstable(8, 192));
        scene.add_of(-1000, "unclassed", &Uses::Unclassed(80));
        scene.add_of(-1000, "within", &Uses::Burstable(32, 8));
        scene.add_of(0, "important", &Uses::Unclassed(120));
        scene.keeps_free(5.0, "99%");
        for (at, name) in [10.0, 15.0, 20.0].into_iter().zip(gone) {
            scene.evicted(at, name);
        }
        scene.restored(40.0).at(60.0)
    };
    assert_eq!(judged(&["hungry", "unclassed"]), "holds");
    assert_eq!(judged(&["unclassed", "hungry", "important"]), "holds");
    assert_eq!(judged(&["hungry", "important"]), "violated");
    assert_eq!(judged(&["important", "hungry", "unclassed"]), "violated");
    assert_eq!(judged(&[]), "inconclusive");
}

/// Pods above and below their requests on a node with this much memory.
fn candidates(memory: &str) -> Scene {
    let pods = [
        ("hungry", Uses::Burstable(8, 192)),
        ("unclassed", Uses::Unclassed(80)),
        ("within", Uses::Burstable(32, 8)),
        ("guaranteed", Uses::Guaranteed(32, 8)),
    ];
    let mut scene = Scene::new(CANDIDATE, memory, &pods);
    scene.keeps_free(5.0, "99%");
    scene
}

#[test]
fn pods_above_their_requests_are_evicted_with_all_their_containers() {
    let judged = |gone: &[&str]| {
        let mut scene = candidates(SMALL);
        for (at, name) in [10.0, 15.0].into_iter().zip(gone) {
            scene.evicted(at, name);
        }
        scene.restored(40.0).at(60.0)
    };
    assert_eq!(judged(&["hungry", "unclassed"]), "holds");
    assert_eq!(judged(&["unclassed", "hungry"]), "holds", "the order is for another clause");
    assert_eq!(judged(&["hungry"]), "inconclusive", "no BestEffort pod was evicted");
    assert_eq!(judged(&["within", "hungry"]), "violated");
    assert_eq!(judged(&["hungry", "guaranteed"]), "violated", "the other one was above its requests");
    let mut scene = candidates(SMALL);
    scene.evicted(10.0, "hungry").evicted(15.0, "unclassed").evicted(20.0, "within");
    assert_eq!(
        scene.restored(40.0).at(60.0),
        "inconclusive",
        "nobody else was left, and none of its class stayed"
    );
}

#[test]
fn a_container_that_goes_on_or_comes_back_is_noticed() {
    let failed = status("Failed", Some("Evicted"), Some("TerminationByKubelet"));
    let mut scene = candidates(SMALL);
    scene.killed(10.0, "hungry", "target").shown(11.5, "hungry", &failed);
    assert_eq!(scene.restored(40.0).at(60.0), "violated", "the other container of the pod goes on");
    let mut scene = candidates(SMALL);
    scene.killed(10.0, "hungry", "target").killed(10.0, "hungry", "side");
    scene.run.start(13.0, 1);
    assert_eq!(scene.restored(40.0).at(60.0), "violated");
    let mut scene = candidates(SMALL);
    scene.evicted(10.0, "hungry").evicted(15.0, "unclassed").restored(17.0);
    assert_eq!(scene.at(18.0), "inconclusive", "the last one was not watched for long enough");
}

#[test]
fn that_nobody_is_evicted_counts_only_if_memory_was_surely_short() {
    assert_eq!(candidates(SMALL).at(200.0), "violated");
    assert_eq!(candidates(LARGE).at(200.0), "inconclusive", "the node has enough memory");
    assert_eq!(candidates(SMALL).restored(30.0).at(200.0), "inconclusive", "it was short for 25 s only");
}

#[test]
fn a_configuration_that_nothing_proves_shows_nothing() {
    for (memory, starts, judged) in [
        ("memory.available", 2, "violated"),
        ("memory.available", 1, "inconclusive"),
        ("nodefs.available", 2, "none"),
    ] {
        let pods = [("hungry", Uses::Burstable(8, 192)), ("within", Uses::Burstable(32, 8))];
        let mut scene = Scene::new(CANDIDATE, SMALL, &pods);
        scene.kubelet(5.0, CONFIGURE_KUBELET, Some(json!({ "evictionHard": { memory: "99%" } })), starts);
        scene.evicted(10.0, "within");
        let verdict = scene.restored(40.0).at(60.0);
        assert!(verdict == judged || (judged == "none" && verdict == "inconclusive"), "{memory}: {verdict}");
    }
}
