//! Events about failed lifecycle hooks: an event is recorded for each hook that fails, and for no other hook.

use probity_model::timeline::{At, ContainerLife, KubeEvent, Life, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::WARNING;
use super::excess::{Excess, instances, stops};
use super::tally::{Tally, Told};
use crate::reading::hooks::{HookKind, hook_run, is_refused};
use crate::reading::mains::lives_of;

/// The hooks, each with the reason of the event about its failure.
const HOOKS: [(&str, &str); 2] = [("postStart", "FailedPostStartHook"), ("preStop", "FailedPreStopHook")];

/// A hook that fails is reported, and a hook that succeeds is not.
pub(super) fn failed_ones_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        let mut excess = Excess::of(run, pod, &tally);
        for container in &pod.containers {
            for (field, reason) in HOOKS {
                judge(run, clause, (pod, container, field, reason), &tally, seen);
                if let Some(failed) = may_have_failed(run, (pod, container), field) {
                    excess.count(failed, |event| event.is_of(&container.name, reason));
                }
            }
        }
        excess.judge(clause, "failed hooks", seen);
    }
}

/// The runs of a hook that is a command of the target, or a request that was refused: the end of each, and whether it failed.
/// None if the hook is of another kind, or if its runs cannot be distinguished from those of another hook.
fn runs(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    field: &str,
) -> Option<Vec<(At, bool)>> {
    let hook = container.lifecycle(field)?;
    let lives = lives_of(run, pod, container);
    if is_refused(pod, hook) {
        return Some(lives.filter_map(|life| Some((refused(&life, field)?, true))).collect());
    }
    let same = |(other, _): &(&str, &str)| {
        *other != field && container.lifecycle(other).and_then(|of| of.get("exec")) == hook.get("exec")
    };
    if HookKind::of(hook) != Some(HookKind::Exec) || HOOKS.iter().any(same) {
        return None;
    }
    Some(lives.filter_map(|life| ended(&life, hook)).collect())
}

fn ended(life: &Life<'_, '_>, hook: &Value) -> Option<(At, bool)> {
    let done = hook_run(life, hook)?;
    Some((done.ended?, done.outcome? > 0))
}

/// The time by which a refused hook had failed in an instance. The stop signal shows this, because it follows a preStop
/// hook and a postStart hook that failed.
fn refused(life: &Life<'_, '_>, field: &str) -> Option<At> {
    let stop = if field == "preStop" { life.stop() } else { life.stopped_undeleted() };
    stop.filter(|_| life.holes.is_empty() && life.pod.grace() > 0).map(At::of)
}

/// In how many instances a hook can have failed: all except those in which it certainly succeeded. None if the hook may
/// have run more than once in an instance.
fn may_have_failed(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    field: &str,
) -> Option<u64> {
    let lives = instances(pod, container)?;
    stops(run, pod, container).filter(|stops| *stops <= 1)?;
    let runs = runs(run, (pod, container), field).unwrap_or_default();
    let succeeded = runs.iter().filter(|(_, failed)| !failed).count();
    Some(lives.saturating_sub(u64::try_from(succeeded).ok()?))
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, field, reason): (&PodLife<'_>, &ContainerLife<'_>, &str, &str),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let says = |event: &KubeEvent<'_>| event.is_of(&container.name, reason);
    let (reported, name) = (tally.nth(1, says), format!("{}/{}", pod.key, container.name));
    if let Some(event) = reported.filter(|_| container.lifecycle(field).is_none()) {
        seen.violated(format!("an event {reason} is about {name}, which has no such hook"), [event.id]);
    }
    let Some(runs) = runs(run, (pod, container), field) else { return };
    let failed = runs.iter().filter(|(_, failed)| *failed);
    for (nth, (at, _)) in (1..).zip(failed) {
        match tally.told(clause, at, (WARNING, nth), says) {
            Told::Yes(event) => {
                seen.fine([at.id, event]);
                seen.facet("failed", field);
            }
            Told::No => {
                let finding =
                    format!("the {field} hook of {name} failed, but no event {reason} reports this");
                seen.violated(finding, run.to_the_end([at.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
    let whole = container.attempts.iter().all(|attempt| attempt.holes.is_empty());
    let each = runs.len() == container.attempts.len() && whole;
    let Some((at, _)) = runs.first().filter(|_| each && !runs.iter().any(|(_, failed)| *failed)) else {
        return;
    };
    let finding = || format!("the {field} hook of {name} succeeded, but an event {reason} says otherwise");
    seen.check(reported.is_none(), finding, reported.map(|event| event.id).into_iter().chain([at.id]));
    seen.facet("succeeded", field);
}
