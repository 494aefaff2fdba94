//! Hand-written histories of pods whose containers all restart.

use probity_composer::Composer;
use probity_script::witness::{Exiting, Fact};
use serde_json::json;

use crate::tests::verdict;

const ALL: &str = "restart.rules.all-containers";
const PLACE: &str = "restart.rules.all-in-place";
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

/// A container exits with a status at 5 s. The init container begins again at `again`, and the main containers begin
/// again at `others`.
fn restarted(
    clause: &str,
    code: u8,
    again: Option<f64>,
    others: Option<f64>,
    (number, address): (u64, &str),
) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let rule = json!({ "action": "RestartAllContainers", "exitCodes": { "operator": "In", "values": [88] } });
    let main = json!({ "name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule] });
    let inits = [json!({ "name": "one" })];
    run.create(0.0, &json!({ "initContainers": inits, "containers": [main, { "name": "other" }] }));
    run.of("pod", "one").start(1.0, 0);
    leaves(&mut run, "one", 2.0, 0);
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
