//! Pods that a kubelet evicts because its node is short of memory.

use probity_script::witness::{Exiting, Fact};
use serde_json::Value;

use crate::reading::shortage::scene::{Scene, Uses, status};

const CLAUSE: &str = "disruptiontarget.kubelet";
const REASON: &str = "TerminationByKubelet";

fn scene() -> Scene {
    let pods = [("hungry", Uses::Burstable(8, 192)), ("within", Uses::Burstable(32, 8))];
    let mut scene = Scene::new(CLAUSE, "4000Mi", &pods);
    scene.keeps_free(5.0, "99%");
    scene
}

/// A pod is evicted at 10 s, and is then shown in these revisions, one each second.
fn evicted(shown: &[Value]) -> &'static str {
    let mut scene = scene();
    scene.killed(10.0, "hungry", "target").killed(10.0, "hungry", "side");
    for (second, status) in shown.iter().enumerate() {
        scene.shown(10.5 + second as f64, "hungry", status);
    }
    scene.restored(20.0).at(60.0)
}

#[test]
fn an_evicted_pod_says_so_with_its_last_phase() {
    let right = || status("Failed", Some("Evicted"), Some(REASON));
    let running = || status("Running", None, None);
    assert_eq!(evicted(&[running(), right()]), "holds");
    assert_eq!(evicted(&[running(), right(), right()]), "holds");
    assert_eq!(evicted(&[status("Failed", Some("Evicted"), None)]), "violated", "no condition");
    assert_eq!(evicted(&[status("Failed", Some("Evicted"), Some("EvictionByEvictionAPI"))]), "violated");
    assert_eq!(evicted(&[status("Failed", None, Some(REASON))]), "violated", "no reason");
    assert_eq!(evicted(&[status("Succeeded", None, None)]), "violated", "it was killed");
    assert_eq!(evicted(&[status("Running", None, Some(REASON)), right()]), "violated", "too early");
    assert_eq!(evicted(&[right(), status("Failed", Some("Evicted"), None)]), "violated", "not for long");
    assert_eq!(evicted(&[running()]), "violated", "it is never shown as over");
}

#[test]
fn a_pod_that_stays_does_not_say_that_it_goes() {
    let mut run = scene();
    run.evicted(10.0, "hungry").shown(12.0, "within", &status("Running", None, Some(REASON)));
    assert_eq!(run.restored(20.0).at(60.0), "violated");
    assert_eq!(scene().restored(20.0).at(60.0), "inconclusive", "nobody was evicted");
}

#[test]
fn the_end_of_a_pod_that_was_not_heard_of_yet_or_exits_with_success_shows_nothing() {
    let mut run = scene();
    run.killed(10.0, "hungry", "target").killed(10.0, "hungry", "side");
    assert_eq!(run.at(15.0), "inconclusive");
    let mut run = scene();
    for container in ["target", "side"] {
        run.run.of("hungry", container).signal(10.0, "SIGTERM");
        run.run.fact(10.1, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
        run.run.left(10.2);
    }
    run.shown(11.0, "hungry", &status("Succeeded", None, None));
    assert_eq!(run.restored(20.0).at(60.0), "inconclusive", "another clause judges that");
}

#[test]
fn a_pod_that_is_evicted_after_the_settings_were_restored_has_another_cause() {
    let mut run = scene();
    run.restored(8.0).evicted(10.0, "hungry");
    assert_eq!(run.at(60.0), "inconclusive");
}
