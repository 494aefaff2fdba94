//! What is allowed in a case but probably not meant. Each hint has its place and says what will happen.
//!
//! A case may want exactly that (a probe of a port where nothing listens is a fine case), so hints fail nothing unless
//! `--strict` asks for it.

use probity_case::Case;
use probity_case::masked;
use probity_document as document;
use probity_script::problem::{Problem, pin};

use crate::book::CaseFile;
use crate::pods::{self, Container};

/// The hints for all cases of a file, each once.
pub(crate) fn of(file: &CaseFile) -> Vec<Problem> {
    let plain = masked(&file.text);
    let mut hints: Vec<Problem> = Vec::new();
    for (why, path) in file.cases.iter().flat_map(|case| of_case(case, &file.text)) {
        let found = document::misfit(&file.source, &plain, &pin(&why, &path));
        let hint = match found.place {
            Some(place) => Problem::whole(&file.source, why).at(&file.text, place),
            None => found,
        };
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

type Hint = (String, Vec<String>);

fn of_case(case: &Case, text: &str) -> Vec<Hint> {
    let mut hints = Vec::new();
    for pod in pods::described(case) {
        for container in pod.containers() {
            hints.extend(of_container(&container, text));
        }
    }
    hints.extend(nobody_asks(case, text));
    hints
}

fn of_container(container: &Container<'_>, text: &str) -> Vec<Hint> {
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
            "`{}` has probes but neither an image nor a plan under `target`: it will only sleep, and answer nothing",
            container.name
        );
        hints.push((why, container.path(text, &["name"])));
    }
    hints
}

/// Plans for which no kubelet asks anything are usually a slip in a name.
fn nobody_asks(case: &Case, text: &str) -> Option<Hint> {
    let asked = |container: &Container<'_>| {
        !container.probes().is_empty() || container.value.get("lifecycle").is_some()
    };
    let described = pods::described(case);
    let any = described.iter().any(|pod| pod.containers().iter().any(asked));
    let planned = described.iter().find(|pod| !pod.plans.is_empty())?;
    (!any && case.judges.is_empty())
        .then(|| ("no container of the case has a probe or a hook".to_owned(), planned.path(text)))
}
