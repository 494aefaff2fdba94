//! Exec probes: the command runs inside the container, and only its exit status decides, if it comes within the
//! timeout.

use std::collections::BTreeMap;

use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::TO_END_A_COMMAND;
use probity_model::timeline::{Executed, Handler, Life, Line, ProbeAnswer, ProbedLife};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::{Dump, Fact};
use serde_json::Value;

use crate::reading::answers::of_others;
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{has_no_command, judge_unreachable};

/// The namespaces that all processes of a container share.
const SHARED: [&str; 5] = ["pid", "net", "mnt", "uts", "ipc"];

/// A command that exits with 0 is a success, and a command that exits with any other status is a failure.
pub(super) fn exit_zero(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        answers.judge(clause, seen, |exchange| match answers.exit(exchange)? {
            // A child that the command leaves behind can hold the command's output open, and then the runtime waits for
            // the child.
            (0, Some(false)) => Some((CountsAs::Success, "exited with status 0".to_owned())),
            (1.., Some(false) | None) => Some((CountsAs::Failure, "exited with a nonzero status".to_owned())),
            _ => None,
        });
    }
}

/// A command that takes longer than the timeout is a failure.
pub(super) fn timeout_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        if matches!(answers.course.spec.handler, Handler::Exec { .. }) {
            answers.judge(clause, seen, |exchange| {
                let late = answers.answer(exchange)? == ProbeAnswer::TooLate;
                late.then(|| (CountsAs::Failure, "took longer than the timeout".to_owned()))
            });
            judge_given_up(clause, &answers.course, seen);
        }
    }
}

/// A command that exceeds the timeout does not keep running: the runtime kills it.
fn judge_given_up(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let mut all = Vec::new();
    for command in life.probes.iter().filter_map(|probe| life.command(probe)) {
        let Some(ended) = command.ended.as_ref().filter(|ended| ended.exit.is_none()) else { continue };
        if life.stop().is_some_and(|stop| stop.at.at.lo <= ended.at.at.hi) {
            continue;
        }
        let formula = format!("timeoutSeconds + {} for the runtime", seconds(TO_END_A_COMMAND));
        let bound = Bound::at_most(life.spec.timeout + TO_END_A_COMMAND, formula);
        let (kind, of) = (life.spec.kind.word(), life.name());
        let quantity = format!("how long a {kind} command of {of} ran before it was killed");
        // A runtime begins to count when its start of the command returns, which may be long after the command has begun.
        match life.run.measure(quantity, &life.node, command, ended, bound) {
            Some(measured) if measured.fit() == Fit::Met => {
                all.push(measured.clone());
                seen.note(measured);
            }
            Some(measured) => seen.measure(measured),
            None => {}
        }
    }
    judge_all_given_up(clause, life, &all, seen);
}

/// The time that a runtime takes to start and to end a command varies: the shortest and the longest of several commands
/// show the timeout more precisely than a single command. Time that noise after the timeout may have added is not
/// counted.
fn judge_all_given_up(clause: &Clause, life: &ProbedLife<'_, '_>, all: &[Measurement], seen: &mut Seen) {
    if all.len() < clause.tolerance_times("several") {
        return;
    }
    let (timeout, late, early) =
        (life.spec.timeout, clause.tolerance_us("all-late"), clause.tolerance_us("all-early"));
    let (kind, of, many) = (life.spec.kind.word(), life.name(), all.len());
    let shortest = all.iter().min_by_key(|one| one.observed.lo.saturating_sub(one.noise));
    let longest = all.iter().max_by_key(|one| one.observed.hi);
    let most = Bound::at_most(timeout + late, format!("timeoutSeconds + {}", seconds(late)));
    let least = Bound::at_least(timeout - early, format!("timeoutSeconds - {}", seconds(early)));
    for (word, one, bound) in [("shortest", shortest, most), ("longest", longest, least)] {
        let Some(one) = one else { continue };
        let quantity =
            format!("how long the {word} of {many} {kind} commands of {of} ran before it was killed");
        seen.measure(Measurement { quantity, bound, ..one.clone() });
    }
}

/// A command that fails is a failure, even if it leaves a child process behind.
pub(super) fn fork_then_exit_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_others(run) {
        answers.judge(clause, seen, |exchange| {
            let failed = matches!(answers.exit(exchange)?, (1.., Some(true)));
            let words = "left a child behind and exited with a nonzero status";
            failed.then(|| (CountsAs::Failure, words.to_owned()))
        });
    }
}

/// A command that does not exist is an error, which has no effect.
pub(super) fn spawn_error_not_counted(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_unreachable(run, clause, seen, ("whose command is missing", CountsAs::Nothing), has_no_command);
}

/// A command runs in the namespaces of its container. Only a target that records its own namespaces can prove this. The
/// host name can only disprove it.
pub(super) fn runs_inside(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in run.lives() {
        for command in life.probes.iter().filter_map(|probe| life.command(probe)) {
            compare(&life, command, seen);
        }
    }
}

fn compare(life: &Life<'_, '_>, command: &Executed<'_>, seen: &mut Seen) {
    let (of, inside) = (life.name(), &command.seen.command);
    let host = life.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Started(started) => Some((line.id, started.host.as_str())),
        _ => None,
    });
    if let Some((id, host)) = host.filter(|(_, host)| !inside.host.is_empty() && inside.host != *host) {
        let finding =
            format!("a command of {of} sees the host name {}, but its container sees {host}", inside.host);
        seen.violated(finding, [id, command.id]);
    }
    if let Some(wrong) = misgiven(life, command) {
        seen.violated(format!("a command of {of} {wrong}"), [life.began.id, command.id]);
    }
    let Some((line, dump)) = life.lines.iter().find_map(dump) else { return };
    if let &[user, group, ..] = dump.ids.as_slice()
        && (user, group) != inside.ids
    {
        let (seen_user, seen_group) = inside.ids;
        let finding = format!(
            "a command of {of} runs as {seen_user}:{seen_group}, and its container as {user}:{group}"
        );
        seen.violated(finding, [line.id, command.id]);
    }
    let (same, differ) = compared(&inside.namespaces, &dump.namespaces);
    if let Some(kind) = differ.first() {
        let finding = format!("a command of {of} runs in a different {kind} namespace than its container");
        seen.violated(finding, [line.id, command.id]);
    } else if same.contains(&"net") && same.contains(&"mnt") {
        seen.fine([line.id, command.id]);
        seen.facet("user", if has_user(life) { "of-the-container" } else { "of-the-pod" });
    }
}

/// Whether a container sets its own user, instead of the user of its pod or its image.
fn has_user(life: &Life<'_, '_>) -> bool {
    life.container.spec["securityContext"]["runAsUser"].is_number()
}

/// The end of a value that the target truncated in its record.
const CUT: &str = "...";

/// The difference between the environment of a command and its container's spec: the working directory, or a variable
/// with a literal value.
fn misgiven(life: &Life<'_, '_>, command: &Executed<'_>) -> Option<String> {
    let (spec, inside) = (life.container.spec, &command.seen.command);
    // The images of targets do not set a working directory.
    let plain = spec["workingDir"].as_str().is_none_or(str::is_empty);
    if plain && !["", "/"].contains(&inside.cwd.as_str()) {
        return Some(format!("runs in the folder {}", inside.cwd));
    }
    let variables = spec["env"].as_array().into_iter().flatten();
    let literal = |of: &Value| Some((of["name"].as_str()?.to_owned(), of["value"].as_str()?.to_owned()));
    // If a name has several values, the last value counts. A dollar sign in a value may refer to another variable.
    let literals: BTreeMap<String, String> = variables.filter_map(literal).collect();
    let plain = literals.into_iter().filter(|(_, value)| !value.contains('$'));
    let differs = |name: &str, value: &str| match inside.env.get(name) {
        Some(own) => own != value && !own.strip_suffix(CUT).is_some_and(|part| value.starts_with(part)),
        None => true,
    };
    // A record without any environment comes from a target that does not record the environment.
    let mut known = plain.filter(|_| !inside.env.is_empty());
    let (name, _) = known.find(|(name, value)| differs(name, value))?;
    Some(format!("does not have the variable {name} as its container's spec defines it"))
}

/// The record of what the first process of the container sees from inside.
fn dump<'t, 'h>(line: &'t Line<'h>) -> Option<(&'t Line<'h>, &'h Dump)> {
    match &line.line.fact {
        Fact::Dump(dump) => Some((line, dump)),
        _ => None,
    }
}

/// The namespaces that two processes share, and those in which they differ.
fn compared(
    one: &BTreeMap<String, u64>,
    other: &BTreeMap<String, u64>,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let known = SHARED.into_iter().filter(|kind| one.contains_key(*kind) && other.contains_key(*kind));
    known.partition(|kind| one.get(*kind) == other.get(*kind))
}

#[cfg(test)]
mod tests;
