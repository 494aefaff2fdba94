//! The names inside a case: everything that steps, waits and expectations name must exist.
//!
//! With an unknown name, a wait would time out, or an expectation would always hold without proving anything. So an
//! unknown container, pod, endpoint, mark, signal, phase or verb is rejected, and the error suggests a similar name. The
//! reasons of events are not checked: a kubelet may use reasons that are not listed here.

mod expectations;
mod marks;
pub(crate) mod node_verbs;
mod placeholders;
mod places;
#[cfg(test)]
mod tests;

use probity_model::Catalogue;
pub(crate) use probity_script::problem::did_you_mean;
use probity_script::problem::{pin, unpin};
use serde_json::Value;

pub(crate) use places::Places;

/// The phases of a pod.
pub const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// The statuses of a condition.
pub const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// The subresources that a step can patch.
pub const SUBRESOURCES: [&str; 3] = ["status", "resize", "ephemeralcontainers"];

/// Says that there is no clause with this name, and where to find the right one.
#[must_use]
pub fn no_clause(wrong: &str, catalogue: &Catalogue) -> String {
    let hint = match did_you_mean(wrong, catalogue.iter().map(|clause| clause.id.as_str())) {
        near if near.is_empty() => "; `probity list --clauses` shows all clauses".to_owned(),
        near => near,
    };
    format!("there is no clause `{wrong}`{hint}")
}

/// The known words and the word that was probably intended, as the end of a sentence.
pub(crate) fn there_is<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = did_you_mean(wrong, known.iter().copied());
    match known.len() {
        0 => "; there is none".to_owned(),
        1..=12 => format!("; there is {}{hint}", known.join(", ")),
        _ => hint,
    }
}

/// The maximum number of words that an error lists: all verbs for nodes, but not all signals.
const LISTED: usize = 20;

/// Rejects a word that is not one of these.
pub(crate) fn one_of(what: &str, word: &str, known: &[&str], path: &[&str]) -> Result<(), String> {
    if known.contains(&word) {
        return Ok(());
    }
    let list = if known.len() > LISTED { String::new() } else { format!(" ({})", known.join(", ")) };
    let hint = did_you_mean(word, known.iter().copied());
    Err(pin(&format!("`{word}` is not {what}{list}{hint}"), path))
}

/// Prefixes the pinned path of a sentence with the path of the part that contains it.
pub(crate) fn below(path: &[&str], why: &str) -> String {
    let (sentence, inside) = unpin(why);
    let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).chain(inside).collect();
    pin(sentence, &path)
}

/// The names of the containers of a pod's spec, init containers first.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &str> {
    ["initContainers", "containers"]
        .into_iter()
        .filter_map(|list| spec[list].as_array())
        .flatten()
        .filter_map(|container| container["name"].as_str())
}
