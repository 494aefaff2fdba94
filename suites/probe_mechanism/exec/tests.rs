use probity_script::Endpoint;
use probity_script::witness::{Command, Dump, ExecEnded, ExecSeen, Fact};
use serde_json::{Value, json};

use crate::reading::scene::Scene;

const ZERO: &str = "probe.exec.exit-zero";
const INSIDE: &str = "probe.exec.runs-inside-container";
const LATE: &str = "probe.exec.timeout-fails";
const FORK: &str = "probe.exec.fork-then-exit-fails";
const SPAWN: &str = "probe.exec.spawn-error-not-counted";

fn exec(clause: &str, probe: &str, answer: Value) -> Scene {
    let handler = json!({ "exec": { "command": ["/agnhost-rs", "exec", "x"] } });
    Scene::new(clause, probe, &handler, &json!({ "exec": { "x": [{ "answer": answer }] } }))
}

fn exits(clause: &str, answer: Value, exit: u8, ready: bool) -> &'static str {
    let mut scene = exec(clause, "readinessProbe", answer);
    for second in 2..12 {
        scene.run.exec(f64::from(second), "x", Some(exit));
    }
    scene.run.running(2.4, ready, true, 0);
    scene.at(12.0)
}

#[test]
fn zero_is_success_and_nothing_else_is() {
    assert_eq!(exits(ZERO, json!(0), 0, true), "holds");
    assert_eq!(exits(ZERO, json!(0), 0, false), "violated");
    assert_eq!(exits(ZERO, json!(3), 3, false), "holds");
    assert_eq!(exits(ZERO, json!(3), 3, true), "violated");
}

#[test]
fn a_child_left_behind_says_nothing_of_success() {
    assert_eq!(exits(ZERO, json!({ "exit": 0, "fork": "10s" }), 0, false), "inconclusive");
}

#[test]
fn a_child_left_behind_does_not_excuse_a_failure() {
    let told = json!({ "exit": 1, "fork": "10s" });
    assert_eq!(exits(FORK, told.clone(), 1, false), "holds");
    assert_eq!(exits(FORK, told, 1, true), "violated");
    assert_eq!(exits(FORK, json!(1), 1, true), "inconclusive");
}

fn hangs(end: f64) -> Scene {
    let mut scene = exec(LATE, "livenessProbe", json!("hang"));
    let command =
        Command { args: ["/agnhost-rs", "exec", "x"].map(str::to_owned).to_vec(), ..Command::default() };
    let endpoint = Endpoint::Exec("x".to_owned());
    let answer = "hang".to_owned();
    scene.run.fact(2.0, Fact::Exec(ExecSeen { exec: 0, endpoint, probe: 1, step: 0, answer, command }));
    let ended = ExecEnded { exec: 0, exit: None, signals: Vec::new(), lived_us: 1_000_000 };
    scene.run.fact(end, Fact::ExecEnded(ended));
    scene.run.fact(end + 0.1, Fact::Stall(probity_script::witness::Stall { late_us: 0 }));
    scene
}

#[test]
fn a_command_that_is_cut_off_kills() {
    let mut scene = hangs(3.0);
    scene.killed(3.2);
    assert_eq!(scene.at(12.0), "holds");
    assert_eq!(hangs(3.0).at(20.0), "violated");
    assert_eq!(hangs(3.0).at(3.5), "inconclusive");
}

#[test]
fn a_command_is_not_left_running_long_after_the_timeout() {
    let mut scene = hangs(7.0);
    scene.killed(7.2);
    assert_eq!(scene.at(12.0), "violated");
}

#[test]
fn a_command_that_ends_in_time_says_nothing_of_the_timeout() {
    assert_eq!(exits(LATE, json!(1), 1, false), "inconclusive");
}

fn runs(pid: u64, host: &str) -> &'static str {
    given(|command| Command { host: host.to_owned(), ..command }, pid)
}

/// Judges a command that ran in its container and whose record is changed by `of`.
fn given(of: impl Fn(Command) -> Command, pid: u64) -> &'static str {
    let mut scene = exec(INSIDE, "readinessProbe", json!(0));
    let namespaces =
        |pid: u64| SHAREDS.map(|kind| (kind.to_owned(), if kind == "pid" { pid } else { 7 })).into();
    scene
        .run
        .fact(1.1, Fact::Dump(Dump { namespaces: namespaces(1), ids: vec![1000, 2000], ..Dump::default() }));
    let command = of(Command {
        args: ["/agnhost-rs", "exec", "x"].map(str::to_owned).to_vec(),
        ids: (1000, 2000),
        namespaces: namespaces(pid),
        ..Command::default()
    });
    let endpoint = Endpoint::Exec("x".to_owned());
    let answer = "0".to_owned();
    scene.run.fact(2.0, Fact::Exec(ExecSeen { exec: 0, endpoint, probe: 1, step: 0, answer, command }));
    scene.at(4.0)
}

const SHAREDS: [&str; 5] = super::SHARED;

#[test]
fn the_same_namespaces_hold_and_others_do_not() {
    assert_eq!(runs(1, "pod"), "holds");
    assert_eq!(runs(2, "pod"), "violated");
    assert_eq!(runs(1, "node1"), "violated");
}

#[test]
fn a_command_has_the_user_the_folder_and_the_environment_of_its_container() {
    let with = |name: &str, value: &str| {
        given(|command| Command { env: [(name.to_owned(), value.to_owned())].into(), ..command }, 1)
    };
    let plan = json!({ "exec": { "x": [{ "answer": 0 }] } }).to_string();
    assert_eq!(with("AGNHOST_PLAN", &plan), "holds");
    assert_eq!(
        with("AGNHOST_PLAN", &format!("{}...", &plan[..9])),
        "holds",
        "the value was too long to be recorded whole"
    );
    assert_eq!(with("AGNHOST_PLAN", "{}"), "violated");
    assert_eq!(with("PATH", "/bin"), "violated", "the command lacks the variable of the container");
    let of_user = |ids| given(|command| Command { ids, ..command }, 1);
    assert_eq!(of_user((0, 0)), "violated");
    assert_eq!(of_user((1000, 0)), "violated");
    let folder = |cwd: &str| given(|command| Command { cwd: cwd.to_owned(), ..command }, 1);
    assert_eq!(folder("/"), "holds");
    assert_eq!(folder("/tmp"), "violated");
}

#[test]
fn without_the_containers_own_namespaces_nothing_is_shown() {
    let mut scene = exec(INSIDE, "readinessProbe", json!(0));
    scene.run.exec(2.0, "x", Some(0));
    assert_eq!(scene.at(4.0), "inconclusive");
}

fn missing(reason: &str, says: &str, ready: bool) -> &'static str {
    let handler = json!({ "exec": { "command": ["/no/such"] } });
    let mut scene = Scene::new(SPAWN, "readinessProbe", &handler, &json!({}));
    scene.run.running(3.0, ready, true, 0).event(4.0, "Warning", reason, says);
    scene.at(8.0)
}

#[test]
fn a_missing_command_is_an_error() {
    let error = "Readiness probe errored and resulted in unknown state: no such file";
    assert_eq!(missing("Unhealthy", error, false), "holds");
    assert_eq!(missing("Unhealthy", error, true), "violated");
    assert_eq!(missing("Unhealthy", "Readiness probe failed: no such file", false), "violated");
    assert_eq!(missing("Pulled", "image", false), "inconclusive");
}

/// One command every five seconds hangs and is killed after the given time. The timeout is one second.
fn ended_after(spans: &[f64]) -> &'static str {
    ended_on_busy_node(spans, None)
}

/// The same, and the node is stalled between these two times after the start of each command.
fn ended_on_busy_node(spans: &[f64], stalled: Option<(f64, f64)>) -> &'static str {
    let mut scene = exec(LATE, "readinessProbe", json!("hang"));
    for (nth, span) in (0_u32..).zip(spans) {
        let (at, exec) = (2.0 + 5.0 * f64::from(nth), u64::from(nth));
        let command =
            Command { args: ["/agnhost-rs", "exec", "x"].map(str::to_owned).to_vec(), ..Command::default() };
        let (endpoint, answer) = (Endpoint::Exec("x".to_owned()), "hang".to_owned());
        let probe = exec + 1;
        scene.run.fact(at, Fact::Exec(ExecSeen { exec, endpoint, probe, step: 0, answer, command }));
        let lived_us = 1_000_000;
        scene
            .run
            .fact(at + span, Fact::ExecEnded(ExecEnded { exec, exit: None, signals: Vec::new(), lived_us }));
        if let Some((from, to)) = stalled {
            scene.run.noise(at + from, at + to);
        }
    }
    scene.run.running(2.4, false, true, 0);
    scene.at(40.0)
}

#[test]
fn a_stall_while_commands_run_leaves_a_late_end_open() {
    let late = [2.0, 2.0, 2.0, 2.0];
    assert_eq!(ended_on_busy_node(&late, Some((0.1, 0.8))), "inconclusive", "the runtime may count later");
    assert_ne!(
        ended_on_busy_node(&late, Some((0.8, 1.95))),
        "violated",
        "the end came late because of the stall"
    );
    assert_ne!(ended_on_busy_node(&[1.0, 1.0, 1.0, 1.0], Some((0.1, 0.8))), "violated");
}

#[test]
fn several_commands_tell_the_timeout_more_exactly_than_one() {
    assert_eq!(ended_after(&[1.0, 2.9, 1.0, 1.0]), "holds", "only one command was killed late");
    assert_eq!(ended_after(&[2.0, 2.0, 2.0, 2.0]), "violated", "all commands were killed a second late");
    assert_eq!(ended_after(&[0.5, 0.5, 0.5, 0.5]), "violated", "all commands were killed early");
    assert_eq!(ended_after(&[2.0, 2.0]), "holds", "two commands are too few");
}
