use probity_composer::Told;
use probity_script::Endpoint;
use probity_script::witness::{Command, ExecEnded, ExecSeen, Fact, Stall};
use serde_json::json;

use crate::reading::scene::Scene;

const STATUS: &str = "probe.http.status-range";
const LATE: &str = "probe.exec.timeout-fails";
const SERVING: &str = "probe.grpc.serving-success";

/// Twelve probes that are answered with a status, on a node that is stalled for a while in the middle of them.
fn twelve(status: u16, ready: bool, held_up: f64) -> Scene {
    let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": status }));
    scene.probes(2..14, &[Told::get("/r", status)]).ready(2.4, ready);
    scene.run.noise(7.1, 7.1 + held_up);
    scene
}

#[test]
fn a_bad_status_is_bad_however_long_the_node_was_held_up() {
    for status in [404, 429, 500] {
        assert_eq!(twelve(status, true, 0.3).at(14.0), "violated", "{status}");
    }
    assert_eq!(twelve(404, false, 0.3).at(14.0), "holds");
}

#[test]
fn twelve_of_twelve_is_no_noise() {
    assert_eq!(twelve(204, false, 0.3).at(14.0), "violated");
    assert_eq!(twelve(204, true, 0.3).at(14.0), "holds");
}

/// A container that is not ready for one period between good answers, on a node that was stalled before it.
fn blip(held_up: f64) -> &'static str {
    let mut scene = twelve(200, true, held_up);
    scene.ready(8.3, false).ready(9.3, true);
    scene.at(14.0)
}

#[test]
fn noise_excuses_the_probe_that_it_is_as_long_as() {
    assert_eq!(blip(1.2), "inconclusive");
    assert_eq!(blip(0.3), "violated");
}

/// Commands that take four seconds each with a timeout of one second, and that all count as successes.
fn late_commands(held_up: f64) -> &'static str {
    let handler = json!({ "exec": { "command": ["/agnhost-rs", "exec", "x"] } });
    let plan = json!({ "exec": { "x": [{ "answer": { "exit": 0, "sleep": "4s" } }] } });
    let mut scene = Scene::new(LATE, "readinessProbe", &handler, &plan);
    for exec in 0..6_u32 {
        let at = f64::from(2 + 5 * exec);
        let args = ["/agnhost-rs", "exec", "x"].map(str::to_owned).to_vec();
        let command = Command { args, ..Command::default() };
        let (endpoint, answer) = (Endpoint::Exec("x".to_owned()), "0".to_owned());
        let exec = u64::from(exec);
        scene
            .run
            .fact(at, Fact::Exec(ExecSeen { exec, endpoint, probe: exec + 1, step: 0, answer, command }));
        let ended = ExecEnded { exec, exit: Some(0), signals: Vec::new(), lived_us: 4_000_000 };
        scene.run.fact(at + 4.0, Fact::ExecEnded(ended));
        scene.run.fact(at + 4.1, Fact::Stall(Stall { late_us: 0 }));
        scene.run.noise(at + 1.0, at + 1.0 + held_up);
    }
    scene.run.running(6.4, true, true, 0);
    scene.at(32.0)
}

#[test]
fn a_stall_of_milliseconds_does_not_excuse_seconds() {
    assert_eq!(late_commands(0.3), "violated");
    assert_eq!(late_commands(3.5), "inconclusive");
}

#[test]
fn a_number_that_is_no_status_is_no_success_on_a_busy_node_either() {
    let plan = json!({ "listeners": { "grpc": { "port": 9090, "protocol": "grpc" } } });
    let mut scene = Scene::new(SERVING, "readinessProbe", &json!({ "grpc": { "port": 9090 } }), &plan);
    for second in 2..14 {
        scene.run.grpc(f64::from(second), "", "status 77");
    }
    scene.run.running(2.4, true, true, 0).noise(5.2, 5.5);
    assert_eq!(scene.at(14.0), "violated");
}

/// A container that is shown as started before the only request of its startup probe, which is answered with 503 at 4 s.
fn inherited(later: Option<bool>, end: f64) -> &'static str {
    let mut scene = Scene::http(STATUS, "startupProbe", &json!({ "/r": 503 }));
    scene.probes(4..5, &[Told::get("/r", 503)]);
    if let Some(started) = later {
        scene.run.running(5.0, false, started, 0);
    }
    scene.at(end)
}

#[test]
fn a_state_from_before_the_startup_probe_is_no_result_of_it() {
    assert_eq!(inherited(None, 4.1), "inconclusive", "the result of the probe cannot show yet");
    assert_eq!(inherited(Some(false), 14.0), "holds");
    assert_eq!(inherited(Some(true), 14.0), "violated", "it is still shown as started");
    assert_eq!(inherited(None, 14.0), "violated", "it is still shown as started");
}
