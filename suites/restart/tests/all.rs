//! Hand-written histories of pods whose containers all restart.

use probity_composer::Composer;
use probity_script::witness::{Exiting, Fact};
use serde_json::json;

use crate::tests::verdict;

const ALL: &str = "restart.rules.all-containers";
const PLACE: &str = "restart.rules.all-in-place";
const ANNOUNCED: &str = "restart.rules.all-announced";
/// The right number of the second instance, and the right address of the pod.
const KEPT: (u64, &str) = (1, "10.0.0.7");

fn leaves(run: &mut Composer, container: &str, at: f64, code: u8) {
    run.of("pod", container).fact(at, Fact::Exiting(Exiting { code, why: "plan".to_owned() }));
    run.left(at + 0.01);
}

fn shows(run: &mut Composer, at: f64, address: &str, restarts: u64) {
    let status = |name: &str| json!({ "name": name, "restartCount": restarts, "ready": true, "started": true, "state": { "running": {} } });
    let mains = [status("main"), status("other")];
    run.status(at, &json!({ "phase": "Running", "podIP": address, "containerStatuses": mains }));
}

/// A pod whose init container has completed at 2 s. `main` has a rule that restarts all containers.
fn initialized(clause: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    let rule = json!({ "action": "RestartAllContainers", "exitCodes": { "operator": "In", "values": [88] } });
    let main = json!({ "name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule] });
    let inits = [json!({ "name": "one" })];
    run.create(0.0, &json!({ "initContainers": inits, "containers": [main, { "name": "other" }] }));
    run.of("pod", "one").start(1.0, 0);
    leaves(&mut run, "one", 2.0, 0);
    run
}

/// A container exits with a status at 5 s. The init container begins again at `again`, and the main containers begin
/// again at `others`.
fn restarted(
    clause: &str,
    code: u8,
    again: Option<f64>,
    others: Option<f64>,
    (number, address): (u64, &str),
) -> &'static str {
    let mut run = initialized(clause);
    run.of("pod", "main").start(3.0, 0).of("pod", "other").start(3.1, 0);
    shows(&mut run, 3.5, "10.0.0.7", 0);
    leaves(&mut run, "main", 5.0, code);
    if let Some(at) = again {
        run.of("pod", "one").start(at, number);
        leaves(&mut run, "one", at + 1.0, 0);
    }
    if let Some(at) = others {
        run.of("pod", "main").start(at, number).of("pod", "other").start(at + 0.1, number);
        shows(&mut run, at + 0.5, address, 1);
    }
    run.reading(60.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_rule_restarts_all_containers_in_their_order() {
    assert_eq!(restarted(ALL, 88, Some(7.0), Some(9.0), KEPT), "holds");
    assert_eq!(
        restarted(ALL, 88, None, Some(9.0), KEPT),
        "violated",
        "the init container does not run again"
    );
    assert_eq!(restarted(ALL, 88, Some(7.0), None, KEPT), "violated", "the main containers do not run again");
    assert_eq!(
        restarted(ALL, 88, Some(9.0), Some(9.2), KEPT),
        "violated",
        "they do not wait for the init container"
    );
}

/// `other` starts for the first time after `main`, whose rule restarts all containers, has exited.
fn slow_start(stopped: u64) -> &'static str {
    let mut run = initialized(ALL);
    run.of("pod", "main").start(3.0, 0);
    shows(&mut run, 3.5, "10.0.0.7", 0);
    leaves(&mut run, "main", 5.0, 88);
    run.of("pod", "other").start(5.4, 0).signal(6.0, "SIGTERM");
    leaves(&mut run, "other", 6.1, 0);
    run.of("pod", "one").start(7.0, 1);
    leaves(&mut run, "one", 8.0, 0);
    run.of("pod", "main").start(9.0, 1).of("pod", "other").start(9.1, 1);
    shows(&mut run, 9.5, "10.0.0.7", 1);
    if stopped == 1 {
        run.of("pod", "other").signal(12.0, "SIGTERM");
        leaves(&mut run, "other", 12.1, 0);
    }
    run.reading(60.0);
    verdict(&run.done(), ALL)
}

#[test]
fn a_first_instance_that_begins_after_the_exit_is_not_a_restart() {
    assert_eq!(slow_start(0), "holds");
    assert_eq!(slow_start(1), "violated", "the second instance is stopped although no container exited");
}

#[test]
fn a_status_that_no_rule_knows_restarts_no_other_container() {
    assert_eq!(restarted(ALL, 1, None, None, KEPT), "holds");
    assert_eq!(restarted(ALL, 1, Some(7.0), Some(9.0), KEPT), "violated");
}

#[test]
fn the_pod_and_its_volumes_stay() {
    assert_eq!(restarted(PLACE, 88, Some(7.0), Some(9.0), KEPT), "holds");
    assert_eq!(
        restarted(PLACE, 88, Some(7.0), Some(9.0), (5, "10.0.0.7")),
        "violated",
        "the volume has another count of instances"
    );
    assert_eq!(restarted(PLACE, 88, Some(7.0), Some(9.0), (1, "10.0.0.8")), "violated", "another address");
    assert_eq!(restarted(PLACE, 1, None, None, KEPT), "inconclusive");
}

/// All containers of a pod restart twice. `begins` is the time from an exit to the status in which the condition is True;
/// `ends` says whether the condition becomes False after each restart.
fn announced(begins: Option<f64>, ends: bool, early: bool) -> &'static str {
    announced_with(begins, ends, early, true)
}

/// Like [`announced`]; `written` says whether a status in which the condition is False is written during each restart,
/// if `begins` is None.
fn announced_with(begins: Option<f64>, ends: bool, early: bool, written: bool) -> &'static str {
    let mut run = Composer::new(&[ANNOUNCED]);
    let rule = json!({ "action": "RestartAllContainers", "exitCodes": { "operator": "In", "values": [88] } });
    let main = json!({ "name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule] });
    run.create(0.0, &json!({ "containers": [main] }));
    run.of("pod", "main").start(1.0, 0);
    let tells = |run: &mut Composer, at: f64, restarts: u64, restarting: bool| {
        let status = if restarting { "True" } else { "False" };
        let main = json!({ "name": "main", "restartCount": restarts, "ready": true, "started": true, "state": { "running": {} } });
        let condition = json!({ "type": "AllContainersRestarting", "status": status });
        run.status(
            at,
            &json!({ "phase": "Running", "conditions": [condition], "containerStatuses": [main] }),
        );
    };
    tells(&mut run, 1.5, 0, early);
    for (round, exit) in [(0, 10.0), (1, 30.0)] {
        leaves(&mut run, "main", exit, 88);
        if let Some(begins) = begins {
            tells(&mut run, exit + begins, round, true);
        } else if written {
            tells(&mut run, exit + 0.2, round, false);
        }
        run.of("pod", "main").start(exit + 1.0, round + 1);
        tells(&mut run, exit + 1.5, round + 1, !ends && begins.is_some());
    }
    run.reading(60.0);
    verdict(&run.done(), ANNOUNCED)
}

#[test]
fn a_condition_tells_that_all_containers_restart() {
    assert_eq!(announced(Some(0.2), true, false), "holds");
    assert_eq!(announced(None, true, false), "violated", "the condition is never True");
    let slow = announced_with(None, true, false, false);
    assert_ne!(slow, "violated", "a slow kubelet wrote no status during the restarts");
    assert_eq!(announced(Some(0.2), false, false), "violated", "the condition stays True");
    assert_eq!(announced(Some(0.2), true, true), "violated", "the condition is True before the exit");
}
