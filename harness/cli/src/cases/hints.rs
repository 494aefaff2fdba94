//! What is allowed in a case but probably not meant. Each hint has its place and says what will happen.
//!
//! A case may want exactly that (a probe of a port where nothing listens is a fine case), so hints fail nothing unless
//! `--strict` is given.

use probity_case::Case;
use probity_script::problem::Problem;

use super::book::CaseFile;
use super::pods::{self, DescribedContainer};

/// The hints for all cases of a file, each once.
pub(crate) fn of(file: &CaseFile) -> Vec<Problem> {
    let mut hints: Vec<Problem> = Vec::new();
    for (why, path) in file.cases.iter().flat_map(|case| of_case(case, &file.text)) {
        let hint = file.problem(&why, &path);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

/// A sentence, and the path of the field that it is about.
type Hint = (String, Vec<String>);

fn of_case(case: &Case, text: &str) -> Vec<Hint> {
    let described = pods::described(case);
    let containers = || described.iter().flat_map(pods::DescribedPod::containers);
    let mut hints: Vec<Hint> = containers().flat_map(|container| of_container(&container, text)).collect();
    // A plan that no kubelet asks is usually a slip in a name.
    let asked = containers()
        .any(|container| !container.probes().is_empty() || container.value.get("lifecycle").is_some());
    if let Some(planned) = described.iter().find(|pod| !pod.plans.is_empty())
        && !asked
        && case.judges.is_empty()
    {
        hints.push(("no container of the case has a probe or a hook".to_owned(), planned.path(text)));
    }
    hints
}

fn of_container(container: &DescribedContainer<'_>, text: &str) -> Vec<Hint> {
    let mut hints = Vec::new();
    if let Some(plan) = container.plan {
        for field in ["image", "command", "args"] {
            if container.value.get(field).is_some() {
                let why = format!("`{field}` is replaced, since the container is a target with a plan");
                hints.push((why, container.path(text, &[field])));
            }
        }
        for probe in container.probes() {
            if let Some(why) = pods::unanswered(plan, &probe.handler) {
                hints.push((why, container.path(text, &[probe.kind.field()])));
            }
        }
    } else if container.value.get("image").is_none() && !container.probes().is_empty() {
        let why = format!(
            "`{}` has probes but neither an image nor a plan under `target`: it will only sleep and answer nothing",
            container.name
        );
        hints.push((why, container.path(text, &["name"])));
    }
    hints
}
