//! Restarts that a container's own restart policy and its rules decide.

use probity_model::measure::Fit;
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::expected::exit_of;
use super::policy::exits;
use crate::reading::ends::{End, is_undivided};
use crate::reading::rules::{knows, operator, rules};
use crate::reading::termination::may_be_stopped_again;

/// A container's own policy decides, and not the policy of its pod.
pub(super) fn own_policy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, line, code) in exits(run).filter(|(life, ..)| !life.pod.restarts_as_one()) {
        if !rules(life.container).is_empty() {
            continue;
        }
        let (kind, pod) = (life.container.kind, life.pod.restart_policy());
        let Some(own) = life.container.spec.get("restartPolicy").and_then(Value::as_str) else { continue };
        let restarts = comes_back(kind, own, code);
        // If the pod's policy has the same result, nothing shows which of them applies.
        if kind == ContainerKind::Sidecar || restarts == comes_back(kind, pod, code) {
            continue;
        }
        let why = format!("its restartPolicy is {own} and its pod's restartPolicy is {pod}");
        if judge(clause, &life, (&At::of(line), code), (restarts, &why), seen) {
            seen.facet("own", own);
            seen.facet("container", kind.word());
        }
    }
}

/// The instances that the kernel killed because they needed more memory than their limit. They count as exits with the status
/// of their signal.
fn killed_for_memory<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Life<'t, 'h>, At, u8)> {
    let lives = run.lives().whole().only(|life| {
        let touched = life.pod.had_deadline() || life.run.node_was_touched();
        life.is_numbered() && !touched && life.exited_by_itself().is_none()
    });
    lives.into_iter().filter_map(|life| {
        let (at, code) = exit_of(&life)?;
        Some((life, at, code))
    })
}

/// The first rule that applies to the exit status restarts the container; if there is none, its policy decides.
pub(super) fn exit_codes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let exits = exits(run).map(|(life, line, code)| (life, At::of(line), code));
    let ends = exits.chain(killed_for_memory(run));
    for (life, at, code) in ends.filter(|(life, ..)| !life.pod.restarts_as_one()) {
        let (rules, policy) = (rules(life.container), life.policy());
        let Some(first) = rules.first() else { continue };
        let matching = rules.iter().find(|rule| knows(rule, code));
        let (restarts, why) = match matching {
            Some(_) => (true, "a rule requires a restart".to_owned()),
            None => (
                comes_back(life.container.kind, policy, code),
                format!("no rule matches this status, and its restartPolicy is {policy}"),
            ),
        };
        if judge(clause, &life, (&at, code), (restarts, &why), seen) {
            seen.facet("operator", operator(matching.unwrap_or(first)));
            seen.facet("status", if matching.is_some() { "known" } else { "unknown" });
            seen.facet("container", life.container.kind.word());
        }
    }
}

/// Whether a policy restarts a container; an init container that has succeeded never restarts.
fn comes_back(kind: ContainerKind, policy: &str, code: u8) -> bool {
    match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => code != 0 || kind != ContainerKind::Init,
    }
}

/// Judges whether the first restart of a container came at once; `None` if it is not known when the restart was due.
fn judge_first(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) -> Option<bool> {
    let first = life.number == 0 && is_undivided(life) && life.pod.containers.len() == 1;
    let (end, next) = (End::of(life).filter(|_| first)?, life.next().filter(|next| next.is_numbered())?);
    let quantity = format!("from the exit of {} to its restart", life.name());
    let fit = life.within(seen, quantity, (end.at(), &next.attempt.began), clause.in_time())?;
    Some(fit == Fit::Met)
}

/// Judges whether a container restarted as it must; returns whether the history shows that it did.
fn judge(
    clause: &Clause,
    life: &Life<'_, '_>,
    (exit, code): (&At, u8),
    (restarts, why): (bool, &str),
    seen: &mut Seen,
) -> bool {
    let (run, name) = (life.run, life.name());
    let over = life.pod.over().filter(|over| life.before_deletion(&over.at));
    match (restarts, life.lives_again()) {
        (true, Some(again)) => {
            if let Some(in_time) = judge_first(clause, life, seen) {
                return in_time;
            }
            seen.fine([exit.id, again]);
            return true;
        }
        (false, Some(_)) if life.policy() != "Never" && may_be_stopped_again(life, exit) => {}
        (false, Some(again)) => {
            let finding = format!("{name} exited with {code} and restarted, although {why}");
            seen.violated(finding, [exit.id, again]);
        }
        (true, None) if life.pod.was_ended_from_outside() => {}
        (true, None) => {
            // Only the first restart comes at once.
            let late = life.number == 0 && is_undivided(life) && life.watched_for(exit, clause.slack_us());
            if let Some(over) = over.map(|over| over.id).or_else(|| run.last_event().filter(|_| late)) {
                let finding = format!("{name} exited with {code} and did not restart, although {why}");
                seen.violated(finding, [exit.id, over]);
            }
        }
        (false, None) => {
            let quiet = life.number == 0 && life.watched_for(exit, clause.slack_us());
            let end = over.map(At::of).map(|over| over.id).or_else(|| run.last_event().filter(|_| quiet));
            if let Some(end) = end {
                seen.fine([exit.id, end]);
                return true;
            }
        }
    }
    false
}
