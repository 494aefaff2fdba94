//! Zombies: what the commands of exec probes leave behind if the container's first process does not reap.
//!
//! Counted in the dumps that the case requests from the target, which show its processes and their states. A container
//! whose target is not the first process is left out: another process gets its orphans.

use probity_model::clause::micros;
use probity_model::measure::{Bound, Measurement};
use probity_model::timeline::{Attempt, ContainerLife, Line};
use probity_model::{Clause, Judge, Seen, Timeline};
use probity_script::witness::{Dump, Fact};
use probity_script::{Endpoint, Plan};

use super::course;

pub(super) const JUDGES: &[Judge] = &[Judge { clause: "scenario.exec.zombies", judge: zombies }];

/// The least number of children that must have been left behind and have ended.
const ENOUGH: i64 = 4;
/// Children that just ended may be seen before they are reaped.
const JUST_ENDED: i64 = 1;
/// How long after its time a child has surely ended.
const MARGIN: i64 = 1_000_000;

fn zombies(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let shared = pod.spec.get("shareProcessNamespace").and_then(serde_json::Value::as_bool) == Some(true);
        let Some(plan) = container.plan().filter(|_| !shared) else { continue };
        for attempt in container.attempts.iter().filter(|of| of.holes.is_empty() && is_first(of)) {
            if let Some((line, dump)) = last_dump(attempt) {
                count(seen, (container, attempt), &plan, (line, dump));
            }
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

fn count(
    seen: &mut Seen,
    (container, attempt): (&ContainerLife<'_>, &Attempt<'_>),
    plan: &Plan,
    (line, dump): (&Line<'_>, &Dump),
) {
    let left = attempt.commands.iter().filter(|command| {
        let Endpoint::Exec(name) = &command.seen.endpoint else { return false };
        let step = plan.exec.get(name).and_then(|script| script.steps().get(command.seen.step));
        let lives = step.and_then(|step| step.answer.settings()?.fork);
        let ended = command.ended.as_ref().filter(|ended| ended.exit.is_some());
        let (Some(lives), Some(ended)) = (lives, ended) else { return false };
        ended.at.at.hi + micros(lives) + MARGIN < line.at.at.lo
    });
    let left: Vec<_> = left.collect();
    let number = i64::try_from(left.len()).unwrap_or(i64::MAX);
    let (Some(first), true) = (left.first(), number >= ENOUGH) else { return };
    let zombies = dump.processes.iter().filter(|process| process.state.starts_with('Z')).count();
    let bound = if plan.process.reap {
        Bound::at_most(JUST_ENDED, "one that is just being reaped")
    } else {
        Bound::at_least(number / 2, "half of the children that were left behind and have ended")
    };
    let quantity = format!("zombies in `{}` after {number} commands that left a child", container.name);
    let zombies = i64::try_from(zombies).unwrap_or(i64::MAX);
    seen.measure(Measurement { bound, ..course::count(&quantity, zombies, vec![first.id, line.id]) });
}
