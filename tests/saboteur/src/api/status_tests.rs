use std::time::Duration;

use serde_json::{Value, json};

use super::{Case, Decision, faults};
use crate::api::writer::Timing;
use crate::board::Board;
use crate::defect::ContainerKind;

fn board(defect: &str) -> Board {
    let board = Board::default();
    match serde_saphyr::from_str(defect) {
        Ok(defect) => board.put(defect),
        Err(error) => panic!("{error}"),
    }
    board.learn_kind("run-1", "probe", "side", ContainerKind::Sidecar);
    board.learn_kind("run-1", "probe", "main", ContainerKind::Main);
    board
}

fn status() -> Value {
    json!({
        "phase": "Running",
        "initContainerStatuses": [{"name": "side", "ready": true, "restartCount": 1}],
        "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0}],
    })
}

fn decide(board: &Board, is_written: bool) -> Decision {
    let status = status();
    let case = Case { board, namespace: "run-1", pod: "probe", status: &status, is_written };
    case.decide(faults(board, "run-1", "probe"))
}

#[test]
fn a_pod_of_another_namespace_has_no_faults() {
    let board = board("{ name: d, on: { namespace: run-2 }, fault: { api: { status: { does: lost } } } }");
    assert!(faults(&board, "run-1", "probe").is_empty());
    assert_eq!(faults(&board, "run-2", "probe").len(), 1);
}

#[test]
fn only_sidecars_are_altered() {
    let words = "{ name: d, on: { namespace: run-1, kind: sidecar }, fault: { api: { status: { does: { alter: { containers: [{ set: { ready: false } }] } } } } } }";
    let decision = decide(&board(words), false);
    assert_eq!(decision.timing, Timing::Now);
    assert_eq!(decision.status["initContainerStatuses"][0]["ready"], false);
    assert_eq!(decision.status["containerStatuses"][0]["ready"], true);
}

#[test]
fn one_status_in_three_is_lost() {
    let board = board(
        "{ name: d, on: { namespace: run-1 }, when: { every: 3 }, fault: { api: { status: { does: lost } } } }",
    );
    let timings: Vec<_> = (0..6).map(|_| decide(&board, true).timing).collect();
    let lost = |timing: &Timing| *timing == Timing::Lost;
    assert_eq!(timings.iter().map(lost).collect::<Vec<_>>(), [false, false, true, false, false, true]);
}

#[test]
fn a_status_without_what_is_asked_for_is_no_occasion() {
    let board = board(
        "{ name: d, on: { namespace: run-1 }, fault: { api: { status: { if: { container: { ready: false } }, does: { late: { by: 3s } } } } } }",
    );
    assert_eq!(decide(&board, true).timing, Timing::Now);
    assert_eq!(board.counts()[0].occasions, 0);
}

#[test]
fn a_status_is_late_by_as_much_as_is_said() {
    let board = board(
        "{ name: d, on: { namespace: run-1 }, fault: { api: { status: { does: { late: { by: 3s } } } } } }",
    );
    assert_eq!(decide(&board, true).timing, Timing::Late(Duration::from_secs(3)));
}

#[test]
fn only_the_first_status_of_a_frozen_pod_is_written() {
    let board = board("{ name: d, on: { namespace: run-1 }, fault: { api: { status: { does: frozen } } } }");
    assert_eq!(decide(&board, false).timing, Timing::Now);
    assert_eq!(decide(&board, true).timing, Timing::Lost);
}

#[test]
fn a_restarted_container_alone_is_struck() {
    let words = "{ name: d, on: { namespace: run-1, restarted: true }, fault: { api: { status: { does: { alter: { containers: [{ add: { restartCount: 5 } }] } } } } } }";
    let decision = decide(&board(words), false);
    assert_eq!(decision.status["initContainerStatuses"][0]["restartCount"], 6);
    assert_eq!(decision.status["containerStatuses"][0]["restartCount"], 0);
}

#[test]
fn a_glitch_that_changes_nothing_is_none() {
    let words = "{ name: d, on: { namespace: run-1 }, fault: { api: { status: { does: { glitch: { alter: { pod: [{ set: { phase: Running } }] }, for: 1s } } } } } }";
    assert_eq!(decide(&board(words), false).timing, Timing::Now);
}
