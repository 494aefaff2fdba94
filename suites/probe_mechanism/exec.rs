//! Commands as probes: the exit status alone decides, within the timeout, inside the container.

use std::collections::BTreeMap;

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{Attempt, Executed, Handler, ProbeSpec, Through};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Dump, Fact};

use crate::reading::answers::{Answer, of_others};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::UnreachableProbe;

/// The namespaces that every process of a container has in common.
const SHARED: [&str; 5] = ["pid", "net", "mnt", "uts", "ipc"];

/// The names that the target's program has in its image.
const PROGRAMS: [&str; 3] = ["agnhost-rs", "agnhost", "agnhost-2"];

/// A command that ends with 0 is a success, and with anything else a failure.
pub(super) fn exit_zero(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        answers.judge(run, clause, seen, |exchange| match answers.told(exchange)? {
            // A child that is left behind may hold the command's output open, and the runtime wait for it.
            Answer::Exited { status: 0, leaves_child: Some(false) } => {
                Some((true, "ended with status 0".to_owned()))
            }
            Answer::Exited { status: 1.., leaves_child: Some(false) | None } => {
                Some((false, "ended with another status than 0".to_owned()))
            }
            _ => None,
        });
    }
}

/// A command that takes longer than the timeout is a failure.
pub(super) fn timeout_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        if !matches!(answers.course.spec.handler, Handler::Exec { .. }) {
            continue;
        }
        answers.judge(run, clause, seen, |exchange| {
            let late = answers.told(exchange)? == &Answer::TooLate;
            late.then(|| (false, "took longer than the timeout".to_owned()))
        });
        judge_given_up(run, &answers.course, seen);
    }
}

/// The runtime starts a process to kill another, which took up to two seconds where both cores were busy.
const TO_GIVE_UP: i64 = 3_000_000;

/// A command that is too late is not left running: the runtime ends it.
fn judge_given_up(run: &Timeline<'_>, course: &Exchanges<'_, '_>, seen: &mut Seen) {
    let (attempt, spec) = (course.attempt, course.spec);
    let commands = attempt.probes_of(spec.kind).filter_map(|probe| match probe.through {
        Through::Command(at) => attempt.commands.get(at),
        _ => None,
    });
    for command in commands {
        let Some(ended) = &command.ended else { continue };
        let stopped = attempt.stop_signal().is_some_and(|(_, stop)| stop.at.lo <= ended.at.at.hi);
        if ended.exit.is_some() || stopped {
            continue;
        }
        let words = seconds(TO_GIVE_UP);
        let bound =
            Bound::at_most(spec.timeout + TO_GIVE_UP, format!("timeoutSeconds + {words} for the runtime"));
        let of = format!("{}/{}", course.pod.key, course.container.name);
        let quantity = format!("how long a {} command of {of} ran until it was ended", spec.kind.word());
        let ends = ((command.id, &command.at), (ended.at.id, &*ended.at));
        match run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
            Some(measured) if measured.fit() == Fit::Met => seen.note(measured),
            Some(measured) => seen.measure(measured),
            None => {}
        }
    }
}

/// A command that fails is a failure, though it leaves a child behind.
pub(super) fn fork_then_exit_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        answers.judge(run, clause, seen, |exchange| match answers.told(exchange)? {
            Answer::Exited { status: 1.., leaves_child: Some(true) } => {
                Some((false, "left a child behind and ended with another status than 0".to_owned()))
            }
            _ => None,
        });
    }
}

/// A command that is not there is an error, which counts for nothing.
pub(super) fn spawn_error_not_counted(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        if container.plan().is_some() && is_missing(spec) {
            let vain = UnreachableProbe { pod, container, spec };
            vain.judge(run, clause, seen, "whose command is missing", CountsAs::Nothing);
        }
    }
}

/// Whether the command of a probe is none that a target's image has.
pub(super) fn is_missing(spec: &ProbeSpec) -> bool {
    let Handler::Exec { command } = &spec.handler else { return false };
    let Some(program) = command.first() else { return false };
    program.starts_with('/')
        && !PROGRAMS.contains(&program.trim_start_matches('/'))
        && !program.starts_with("/proc/")
}

/// A command runs in the namespaces of its container. It takes a target that tells its own to see it; the host name
/// alone can only refute it.
pub(super) fn runs_inside(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        for attempt in &container.attempts {
            let of = format!("{}/{}", pod.key, container.name);
            let commands = attempt.probes.iter().filter_map(|probe| match probe.through {
                Through::Command(at) => attempt.commands.get(at),
                _ => None,
            });
            for command in commands {
                seen.applies();
                compare(&of, attempt, command, seen);
            }
        }
    }
}

fn compare(of: &str, attempt: &Attempt<'_>, command: &Executed<'_>, seen: &mut Seen) {
    let said = &command.seen.command;
    let host = attempt.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Started(started) => Some((line.id, started.host.as_str())),
        _ => None,
    });
    if let Some((id, host)) = host
        && !said.host.is_empty()
        && said.host != host
    {
        let finding = format!("a command of {of} sees the host name {}, and its container {host}", said.host);
        seen.violated(finding, [id, command.id]);
    }
    let Some((id, dump)) = dump(attempt) else { return };
    let (other, same) = differing(&said.namespaces, &dump.namespaces);
    match other {
        Some(kind) => {
            let finding = format!("a command of {of} runs in another {kind} namespace than its container");
            seen.violated(finding, [id, command.id]);
        }
        None if same.contains(&"net") && same.contains(&"mnt") => seen.fine([id, command.id]),
        None => {}
    }
}

/// What the container looks like from inside, as its first process wrote it down.
fn dump<'h>(attempt: &Attempt<'h>) -> Option<(EventId, &'h Dump)> {
    attempt.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line.id, dump)),
        _ => None,
    })
}

/// The first namespace in which two processes differ, and those that they share.
fn differing(
    one: &BTreeMap<String, u64>,
    other: &BTreeMap<String, u64>,
) -> (Option<&'static str>, Vec<&'static str>) {
    let both = |kind: &&&'static str| one.contains_key(**kind) && other.contains_key(**kind);
    let (same, differ): (Vec<&'static str>, Vec<&'static str>) =
        SHARED.iter().filter(both).copied().partition(|kind| one.get(*kind) == other.get(*kind));
    (differ.first().copied(), same)
}

#[cfg(test)]
mod tests {
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
        let mut scene = exec(INSIDE, "readinessProbe", json!(0));
        let namespaces =
            |pid: u64| SHAREDS.map(|kind| (kind.to_owned(), if kind == "pid" { pid } else { 7 })).into();
        scene.run.fact(1.1, Fact::Dump(Dump { namespaces: namespaces(1), ..Dump::default() }));
        let command = Command {
            args: ["/agnhost-rs", "exec", "x"].map(str::to_owned).to_vec(),
            host: host.to_owned(),
            namespaces: namespaces(pid),
            ..Command::default()
        };
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
}
