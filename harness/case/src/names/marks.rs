//! Checks marks: a mark that a plan uses in `since` must be set somewhere, and a mark that a step sets must be used.

use std::collections::BTreeSet;

use probity_model::expectation::{Expectation, Occurrence, Since};
use probity_script::Plan;
use probity_script::problem::pin;
use serde_json::Value;

use super::places::Places;
use super::there_is;
use crate::pod_rules::SIGNALS;
use crate::step::Step;

impl Places<'_> {
    /// Checks all marks of a case. Errors are pinned to their places in the case.
    pub(crate) fn check_marks(&self, expect: &[Expectation]) -> Result<(), String> {
        let plans = self.plans();
        let mut waited: BTreeSet<String> = BTreeSet::new();
        let mut set: BTreeSet<String> = SIGNALS.iter().map(|signal| signal.to_lowercase()).collect();
        for (_, plan) in &plans {
            walk(plan, &mut |field, value| match field {
                "since" => {
                    waited.extend(value.as_object().into_iter().flatten().map(|(name, _)| name.clone()))
                }
                "mark" => set.extend(value.as_str().map(str::to_owned)),
                _ => {}
            });
        }
        let of_step = |step: &Step| if let Step::Mark(mark) = step { Some(mark.name.clone()) } else { None };
        let by_steps: BTreeSet<String> = self.steps.iter().filter_map(of_step).collect();
        set.extend(by_steps.iter().cloned());
        // A command in a container can set any mark.
        let by_command = self.steps.iter().any(|step| matches!(step, Step::Exec(_)));
        for (path, plan) in &plans {
            let mut unknown = None;
            walk(plan, &mut |field, value| {
                let names = value.as_object().filter(|_| field == "since").into_iter().flatten();
                unknown = unknown
                    .take()
                    .or_else(|| names.map(|(name, _)| name.clone()).find(|name| !set.contains(name)));
            });
            if let Some(name) = unknown.filter(|_| !by_command) {
                let known = by_steps.iter().map(String::as_str).chain(["sigterm"]);
                let why =
                    format!("neither a step nor an answer sets the mark `{name}`{}", there_is(&name, known));
                return Err(pin(&why, path));
            }
        }
        waited.extend(expect.iter().flat_map(Expectation::occurrences).filter_map(mark_of));
        let unused = self
            .steps
            .iter()
            .enumerate()
            .find_map(|(at, step)| Some((at, of_step(step)?)).filter(|(_, name)| !waited.contains(name)));
        match unused {
            Some((at, name)) => {
                let hint = there_is(&name, waited.iter().map(String::as_str));
                let why = format!("neither a plan nor an expectation uses the mark `{name}`{hint}");
                Err(pin(&why, &["steps", &at.to_string(), "mark", "name"]))
            }
            None => Ok(()),
        }
    }

    /// Every plan of the case as it would be written, with its place.
    fn plans(&self) -> Vec<(Vec<String>, Value)> {
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let written = |plan: &Plan| serde_json::to_value(plan).unwrap_or_default();
        let mut all = Vec::new();
        for (key, pod) in self.pods {
            all.extend(
                pod.target.iter().map(|(name, plan)| (self.path(key, &["target", name]), written(plan))),
            );
        }
        for (key, of) in self.workloads {
            let plans = of.target.iter();
            all.extend(plans.map(|(name, plan)| (path(&["workloads", key, "target", name]), written(plan))));
        }
        for (at, step) in self.steps.iter().enumerate() {
            let at = at.to_string();
            match step {
                Step::Change(of) => all.push((
                    path(&["steps", &at, "change"]),
                    serde_json::to_value(&of.to).unwrap_or_default(),
                )),
                Step::Update(of) => all
                    .extend(of.target.values().map(|plan| (path(&["steps", &at, "update"]), written(plan)))),
                _ => {}
            }
        }
        all
    }
}

/// The mark from which an occurrence is counted.
fn mark_of(of: &Occurrence) -> Option<String> {
    match of {
        Occurrence::Only(only) => match &only.since {
            Some(Since::Mark(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Calls `see` for each field of a document.
fn walk(value: &Value, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| {
            see(field, value);
            walk(value, see);
        }),
        Value::Array(values) => values.iter().for_each(|value| walk(value, see)),
        _ => {}
    }
}
