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
mod tests;
