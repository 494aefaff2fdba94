//! The program as the first process of a container: signals have no default dispositions, and it inherits orphans.
//!
//! These tests need their own process namespace. If the system does not provide one, they report this and stop.

use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use probity_script::Fact;
use probity_script::witness::Dump;

use crate::serving::{PROGRAM, Serving};

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

fn namespaces_are_to_be_had() -> bool {
    let had = unshare().arg("true").output().is_ok_and(|output| output.status.success());
    if !had {
        let _ = writeln!(std::io::stderr().lock(), "skipped: no process namespace is to be had here");
    }
    had
}

/// A process that is the first of its namespace.
struct First {
    serving: Serving,
    pid: Pid,
}

impl First {
    fn start(plan: &str) -> Option<Self> {
        if !namespaces_are_to_be_had() {
            return None;
        }
        let mut command = unshare();
        command.arg(PROGRAM);
        let mut serving = Serving::start_by(command, plan, &[]);
        let line = serving.wait_for(|fact| matches!(fact, Fact::Started(_)));
        assert!(matches!(line.fact, Fact::Started(started) if started.pid == 1));
        let outer = serving.child.id();
        let inner = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
        Some(Self { serving, pid: Pid::from_raw(inner.trim().parse().unwrap()) })
    }

    /// Runs the program in the same namespaces.
    fn enter(&self, args: &[&str]) -> std::process::Output {
        let mut command = Command::new("nsenter");
        command.args([
            "--target",
            &self.pid.to_string(),
            "--user",
            "--pid",
            "--mount",
            "--preserve-credentials",
        ]);
        command.arg(PROGRAM).args(args).env("AGNHOST_SOCKET", &self.serving.socket).output().unwrap()
    }

    /// Leaves an orphan behind, like an exec probe that starts a process and does not wait for it.
    fn leave_orphan(&mut self) {
        let output = self.enter(&["exec", "--fork", "50ms"]);
        assert!(output.status.success(), "{output:?}");
        self.serving.wait_for(|fact| matches!(fact, Fact::Child(seen) if seen.event == "started"));
    }

    fn zombies(&self) -> usize {
        let output = self.enter(&["dump"]);
        let dump: Dump = serde_json::from_slice(&output.stdout).unwrap();
        dump.processes.iter().filter(|process| process.state == "Z" && process.parent == 1).count()
    }
}

#[test]
fn it_is_stopped_by_a_signal_although_nothing_has_a_default_there() {
    let Some(mut first) = First::start("process: { on-stop: [{ answer: ignore, times: 1 }, { answer: 3 }] }")
    else {
        return;
    };
    for _ in 0..2 {
        kill(first.pid, Signal::SIGTERM).unwrap();
        first.serving.wait_for(|fact| matches!(fact, Fact::Signal(seen) if seen.signal == "SIGTERM"));
    }
    assert_eq!(first.serving.end().code(), Some(3));
}

#[test]
fn it_reaps_orphans() {
    let Some(mut first) = First::start("process: { children: [{ name: own, lives: 20ms }] }") else { return };
    first
        .serving
        .wait_for(|fact| matches!(fact, Fact::Child(seen) if seen.name == "own" && seen.event == "ended"));
    first.leave_orphan();
    let line = first.serving.wait_for(|fact| matches!(fact, Fact::Child(seen) if seen.event == "reaped"));
    assert!(
        matches!(line.fact, Fact::Child(seen) if seen.name == "orphan" && seen.status.as_deref() == Some("exit 0"))
    );
    assert_eq!(first.zombies(), 0);
}

#[test]
fn it_lets_zombies_gather_if_the_plan_says_so() {
    let Some(mut first) = First::start("process: { reap: false, children: [{ name: own, lives: 20ms }] }")
    else {
        return;
    };
    first
        .serving
        .wait_for(|fact| matches!(fact, Fact::Child(seen) if seen.name == "own" && seen.event == "ended"));
    first.leave_orphan();
    first.leave_orphan();
    let deadline = Instant::now() + Duration::from_secs(10);
    while first.zombies() < 2 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(first.zombies(), 2, "its own child is reaped, orphans are not");
}

#[test]
fn it_exits_with_the_status_of_a_kill_that_it_cannot_commit() {
    for (way, code) in [("kill", 137), ("abort", 134), ("segfault", 139)] {
        let plan = format!("process: {{ exit: [{{ after: 200ms, way: {way} }}] }}");
        let Some(mut first) = First::start(&plan) else { return };
        assert_eq!(first.serving.end().code(), Some(code), "{way}");
        assert_eq!(first.serving.last_words(), [(u8::try_from(code).unwrap(), "plan")]);
    }
}
