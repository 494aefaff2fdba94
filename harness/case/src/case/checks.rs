//! Checks of a case as it is written. Each check stands alone, so that an author sees everything that is wrong at once.
//!
//! A problem that would only follow from another one is not reported: what a part means is checked only if its structure is
//! valid. All sentences are pinned to their places in the file.

use std::collections::BTreeMap;

use probity_model::clause::{Catalogue, ClauseId};
use probity_script::Plan;
use probity_script::problem::pin;
use serde_json::Value;

use super::{CasePod, WrittenCase};
use crate::hint::HintKind;
use crate::manifest::{FINALIZERS, variants};
use crate::names::{Places, below, containers, did_you_mean, no_clause};
use crate::pod_rules;
use crate::reported::Reported;
use crate::workload::Workload;

/// The problems of a case's name and story, and of its choice of parts.
pub(super) fn of_head(written: &WrittenCase) -> Vec<String> {
    let checks = [
        check_name(&written.case),
        check_parts(written),
        check_story(&written.story),
        written.reported.as_ref().map_or(Ok(()), Reported::check),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

/// The problems of a pod that can be found without a server: of its structure, and of plans that belong to no container.
pub(super) fn of_pod(pod: &CasePod, path: &[String]) -> Vec<String> {
    let at = |rest: &[&str]| [path, &rest.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>()].concat();
    if let Some(kind) = pod.pod.get("kind").and_then(Value::as_str)
        && kind != "Pod"
    {
        return vec![pin(&format!("this is a {kind}; only a Pod is allowed here"), &at(&["pod", "kind"]))];
    }
    let problems = pod_rules::problems(&pod.pod, false, &at(&["pod"]));
    if !problems.is_empty() {
        return problems;
    }
    let spec = &pod.pod["spec"];
    let checks = [
        check_finalizers(&pod.pod, &at(&["pod", "metadata", "finalizers"])),
        check_containers("pod", spec, &pod.target, &at(&["pod", "spec"]), &at(&["target"])),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

/// The problems of workloads.
pub(super) fn of_workloads(
    workloads: &BTreeMap<String, Workload>,
    pods: &BTreeMap<String, CasePod>,
) -> Vec<String> {
    let problems = |(key, workload): (&String, &Workload)| {
        if pods.contains_key(key) {
            let why = format!("a pod also has the key `{key}`: use unique keys");
            return vec![pin(&why, &["workloads", key])];
        }
        workload.problems(key)
    };
    workloads.iter().flat_map(problems).collect()
}

/// The problems of steps and expectations, of the names in them, and of acknowledged hints. The pods of the case must be
/// valid.
pub(super) fn of_names(
    written: &WrittenCase,
    pods: &BTreeMap<String, CasePod>,
    places: &Places<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (at, step) in written.steps.iter().enumerate() {
        let checked = step.check(pods, &written.workloads).and_then(|()| places.check_step(step));
        found.extend(checked.err().map(|why| below(&["steps", &at.to_string()], &why)));
    }
    for (at, expectation) in written.expect.iter().enumerate() {
        let checked = expectation.check().and_then(|()| places.check_expectation(expectation));
        found.extend(checked.err().map(|why| below(&["expect", &at.to_string()], &why)));
    }
    // A mark may only seem to be unused because the step or the expectation that uses it is wrong.
    if found.is_empty() {
        found.extend(places.check_marks(&written.expect).err());
        found.extend(places.check_placeholders().err());
    }
    let unexplained = written.acknowledged.iter().filter(|(_, because)| because.trim().is_empty());
    let explain =
        |(kind, _): (&HintKind, &String)| pin("explain why this is intended", &["acknowledged", kind.word()]);
    found.extend(unexplained.map(explain));
    found
}

/// The clauses that do not exist or have no judge.
pub(super) fn of_clauses(judges: &[ClauseId], catalogue: &Catalogue) -> Vec<String> {
    let problem = |(at, id): (usize, &ClauseId)| {
        let wrong = id.as_str();
        let why = match catalogue.get(id) {
            None => no_clause(wrong, catalogue),
            Some(clause) => format!("the clause `{wrong}` has no judge: {}", clause.untestable.as_ref()?),
        };
        Some(pin(&why, &["judges".to_owned(), at.to_string()]))
    };
    judges.iter().enumerate().filter_map(problem).collect()
}

/// Checks that the case has something to test, and that its pods are written in one of the two possible ways.
fn check_parts(written: &WrittenCase) -> Result<(), String> {
    let WrittenCase { pod, pods, target, workloads, objects, steps, .. } = written;
    if pod.is_some() && !pods.is_empty() {
        return Err(pin("write either `pod` or `pods`", &["pod"]));
    }
    if pod.is_none() && !target.is_empty() {
        return Err(pin("`target` belongs to `pod`; with `pods`, each pod has its own", &["target"]));
    }
    let has_pods = pod.is_some() || !pods.is_empty() || !workloads.is_empty();
    if has_pods || !objects.is_empty() || !steps.is_empty() {
        return Ok(());
    }
    let why = "this case tests nothing, because it has no pod, workload, object or step: add a `pod` with a probe, and \
               under `target` a plan for its container";
    Err(pin(why, &["case"]))
}

fn check_story(story: &str) -> Result<(), String> {
    match story.trim() {
        "" => Err(pin("the story is empty: explain why this case would expose a fault", &["story"])),
        _ => Ok(()),
    }
}

/// Rejects a name that is not valid as the name of a file and of a test.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
    };
    if name.contains('/') && name.split('/').all(plain) {
        return Ok(());
    }
    let why = "write `chapter/what-it-shows`: at least two words, separated by slashes, of letters, digits, dashes, \
               dots and underscores";
    Err(pin(&format!("`{name}` is not a valid case name; {why}"), &["case"]))
}

/// Checks that the harness can remove all finalizers of a pod.
fn check_finalizers(pod: &Value, path: &[String]) -> Result<(), String> {
    let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    let foreign = |name: &&str| !name.starts_with(FINALIZERS);
    match finalizers.filter_map(Value::as_str).find(foreign) {
        Some(name) => {
            let why = format!(
                "nothing would remove the finalizer `{name}`; its name must begin with `{FINALIZERS}`"
            );
            Err(pin(&why, path))
        }
        None => Ok(()),
    }
}

/// Checks that the spec of a pod or a template has containers, and that each plan belongs to one of them.
pub(crate) fn check_containers(
    what: &str,
    spec: &Value,
    plans: &BTreeMap<String, Plan>,
    at_spec: &[String],
    at_plans: &[String],
) -> Result<(), String> {
    let names: Vec<&str> = containers(spec).collect();
    if names.is_empty() {
        return Err(pin(&format!("a {what} needs at least one container with a name"), at_spec));
    }
    variants::check(spec, at_spec)?;
    if let Some(name) = plans.keys().find(|name| !names.contains(&name.as_str())) {
        let hint = did_you_mean(name, names.iter().copied());
        let path = [at_plans, std::slice::from_ref(name)].concat();
        return Err(pin(&format!("the {what} has no container `{name}`{hint}"), &path));
    }
    Ok(())
}
