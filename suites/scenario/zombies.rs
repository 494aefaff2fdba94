//! Zombies: child processes of exec probes' commands that remain if the container's first process does not reap them.
//!
//! They are counted in the dumps that the case requests from the target, which show its processes and their states. A
//! container whose target is not the first process is left out: another process gets its orphans.

use probity_model::clause::micros;
use probity_model::measure::{Bound, Measurement};
use probity_model::timeline::{Attempt, Life, Line};
use probity_model::{Clause, Judge, Seen, Timeline};
use probity_script::Plan;
use probity_script::witness::{Dump, Fact};
use serde_json::Value;

use crate::reading::commands;

pub(super) const JUDGES: &[Judge] = &[Judge { clause: "scenario.exec.zombies", judge: zombies }];

fn zombies(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().whole().only(|life| is_first(life)) {
        let shared = life.pod.spec.get("shareProcessNamespace").and_then(Value::as_bool) == Some(true);
        let plan = life.container.plan().filter(|_| !shared);
        if let Some((plan, (line, dump))) = plan.zip(last_dump(life.attempt)) {
            judge_dump(clause, &life, &plan, (line, dump), seen);
        }
    }
}

/// Whether the target is the first process of its container.
fn is_first(attempt: &Attempt<'_>) -> bool {
    matches!(attempt.lines.first().map(|line| &line.line.fact), Some(Fact::Started(started)) if started.pid == 1)
}

fn last_dump<'t, 'h>(attempt: &'t Attempt<'h>) -> Option<(&'t Line<'h>, &'h Dump)> {
    attempt.lines.iter().rev().find_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line, dump)),
        _ => None,
    })
}

fn judge_dump(
    clause: &Clause,
    life: &Life<'_, '_>,
    plan: &Plan,
    (line, dump): (&Line<'_>, &Dump),
    seen: &mut Seen,
) {
    let left = life.commands.iter().filter(|command| {
        let lives = commands::settings(plan, command).and_then(|settings| settings.fork);
        let ended = command.ended.as_ref().filter(|ended| ended.exit.is_some());
        let (Some(lives), Some(ended)) = (lives, ended) else { return false };
        let gone = ended.at.later(micros(lives)).later(clause.tolerance_us("end-of-a-child"));
        gone.at.hi < line.at.at.lo
    });
    let left: Vec<_> = left.collect();
    let count = i64::try_from(left.len()).unwrap_or(i64::MAX);
    let Some(first) = left.first().filter(|_| left.len() >= clause.tolerance_times("children")) else {
        return;
    };
    let bound = if plan.process.reap {
        Bound::at_most(clause.tolerance_multiple(1, "just-ended"), "one child process that is being reaped")
    } else {
        let least = clause.tolerance_part(count, "part-of-children");
        Bound::at_least(least, "half of the orphaned child processes that have exited")
    };
    let zombies = dump.processes.iter().filter(|process| process.state.starts_with('Z')).count();
    let quantity =
        format!("zombies in `{}` after {count} commands that left a child process", life.container.name);
    seen.measure(Measurement::count(quantity, zombies, bound, vec![first.id, line.id]));
}
