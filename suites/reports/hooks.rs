//! Events about failed lifecycle hooks: for those that fail, and for no other.

use probity_model::timeline::{At, ContainerLife, KubeEvent, Life, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::WARNING;
use super::tally::{Tally, Told};
use crate::reading::hooks::{HookKind, hook_run};
use crate::reading::mains::lives_of;

/// The hooks, each with the reason of the event about its failure.
const HOOKS: [(&str, &str); 2] = [("postStart", "FailedPostStartHook"), ("preStop", "FailedPreStopHook")];

/// A hook that fails is reported, and one that does not is not.
pub(super) fn failed_ones_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            for (field, reason) in HOOKS {
                judge(run, clause, (pod, container, field, reason), &tally, seen);
            }
        }
    }
}

/// The runs of a hook that is a command of the target: the end of each, and its exit status. None if it is another hook, or if
/// the runs cannot be told from those of another one.
fn runs(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    field: &str,
) -> Option<Vec<(At, u16)>> {
    let hook = container.lifecycle(field)?;
    let same = |(other, _): &(&str, &str)| {
        *other != field && container.lifecycle(other).and_then(|of| of.get("exec")) == hook.get("exec")
    };
    if HookKind::of(hook) != Some(HookKind::Exec) || HOOKS.iter().any(same) {
        return None;
    }
    let lives = lives_of(run, pod, container);
    Some(lives.filter_map(|life| ended(&life, hook)).collect())
}

fn ended(life: &Life<'_, '_>, hook: &Value) -> Option<(At, u16)> {
    let done = hook_run(life, hook)?;
    Some((done.ended?, done.outcome?))
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
    let failed = runs.iter().filter(|(_, exit)| *exit > 0);
    for (nth, (at, _)) in (1..).zip(failed) {
        match tally.told(clause, at, (WARNING, nth), says) {
            Told::Yes(event) => {
                seen.fine([at.id, event]);
                seen.facet("failed", field);
            }
            Told::No => {
                let finding = format!("the {field} hook of {name} failed, and no event {reason} says so");
                seen.violated(finding, [Some(at.id), run.last_event()].into_iter().flatten());
                return;
            }
            Told::Unknown => return,
        }
    }
    let whole = container.attempts.iter().all(|attempt| attempt.holes.is_empty());
    let each = runs.len() == container.attempts.len() && whole;
    let Some((at, _)) = runs.first().filter(|_| each && runs.iter().all(|(_, exit)| *exit == 0)) else {
        return;
    };
    let finding = || format!("the {field} hook of {name} succeeded, and an event {reason} says otherwise");
    seen.check(reported.is_none(), finding, reported.map(|event| event.id).into_iter().chain([at.id]));
    seen.facet("succeeded", field);
}
