//! Documents that people write: plans and changes, in YAML or JSON, read strictly.
//!
//! Every error becomes a [`Problem`] with line, column, the wrong word and the closest valid one. The parser rejects
//! duplicate keys, unknown tags, words like `yes` for true, and documents that are too large, too deeply nested or have
//! too many aliases.

mod outline;
mod sentence;

use probity_script::problem::{Place, Problem, unpin};
use probity_script::{Change, Plan};
use serde::de::DeserializeOwned;
use serde_saphyr::options::{AliasLimits, MergeKeyPolicy};
use serde_saphyr::{Budget, Error, Location, Options};

use outline::Outline;

/// The largest document that is read, in bytes.
pub const LARGEST: usize = 1 << 20;

/// The end of a sentence about a line that contains an expression of a template. Without it, the sentence would be about
/// braces, and not about the actual mistake.
const TEMPLATE: &str = "; this looks like a template: render it first, for example with `helm template`";

/// Reads a document. `source` is its name in problems, and `what` is the kind of document that it should be, such as
/// `plan`.
///
/// # Errors
///
/// If the text is not such a document.
pub fn read<T: DeserializeOwned>(source: &str, what: &str, text: &str) -> Result<T, Box<Problem>> {
    if text.len() > LARGEST {
        let why = format!("the {what} is {} bytes long; at most {LARGEST} are read", text.len());
        return Err(Box::new(Problem::whole(source, why)));
    }
    if is_empty(text) {
        // Only a plan may be empty on purpose.
        let hint = if what == "plan" { "; write {} for an empty plan" } else { "" };
        let why = format!("the {what} is empty{hint}");
        return Err(Box::new(Problem::whole(source, why)));
    }
    serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| Box::new(explain(source, what, text, error.without_snippet())))
}

/// Reads a plan. The generated code that parses a plan is large. It is in this crate because this crate is built for
/// size.
///
/// # Errors
///
/// If the text is not a plan.
pub fn plan(source: &str, text: &str) -> Result<Plan, Box<Problem>> {
    read(source, "plan", text)
}

/// Reads a change of a plan.
///
/// # Errors
///
/// If the text is not a change.
pub fn change(source: &str, text: &str) -> Result<Change, Box<Problem>> {
    read(source, "change", text)
}

/// The problem of a part of a document that was parsed but is not valid, from a sentence that may be pinned.
#[must_use]
pub fn misfit(source: &str, text: &str, message: &str) -> Problem {
    let (sentence, path) = unpin(message);
    let place = Outline::of(text).and_then(|outline| outline.part(None, &path));
    with_place(Problem::whole(source, sentence), text, place)
}

/// Whether a text contains only comments and document markers.
fn is_empty(text: &str) -> bool {
    let bare = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
    };
    text.trim_start_matches('\u{feff}').lines().all(bare)
}

/// Strict options, with limits that no real plan reaches.
fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_reader_input_bytes = Some(LARGEST);
    budget.max_events = 100_000;
    budget.max_nodes = 50_000;
    budget.max_aliases = 1_000;
    budget.max_anchors = 1_000;
    budget.max_merge_keys = 1_000;
    budget.max_recorded_anchor_events = 50_000;
    budget.max_recorded_anchor_bytes = LARGEST;
    budget.max_total_scalar_bytes = LARGEST;
    budget.flow_nesting_limit = 64;
    let mut aliases = AliasLimits::default();
    aliases.max_total_replayed_events = 50_000;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits = aliases;
    options.merge_keys = MergeKeyPolicy::Error;
    options.strict_booleans = true;
    options.reject_unsupported_tags = true;
    options.with_snippet = false;
    options
}

/// Turns the parser's error into a problem, with the most precise place that can be found.
fn explain(source: &str, what: &str, text: &str, error: &Error) -> Problem {
    let outline = Outline::of(text);
    let location = error.location().filter(|location| *location != Location::UNKNOWN);
    let found = location.map(|location| place(text, location));
    // Answers are read through a map's key, so the parser reports some errors about a value at the place of its key.
    let value = || found.and_then(|found| outline.as_ref()?.value_of_key_at(found));
    let refined = match error {
        Error::Message { msg, .. } => {
            let path = unpin(msg).1;
            if path.is_empty() {
                None
            } else {
                outline.as_ref().and_then(|outline| outline.part(found, &path))
            }
        }
        Error::SerdeUnknownVariant { variant, .. } => {
            value().filter(|(_, scalar)| scalar == variant).map(|(place, _)| place)
        }
        Error::SerdeInvalidType { .. } | Error::SerdeInvalidValue { .. } => {
            value().filter(|(_, scalar)| !scalar.is_empty()).map(|(place, _)| place)
        }
        _ => None,
    };
    let place = refined.or(found);
    let written = place.map(|place| written_at(text, place)).unwrap_or_default();
    let problem = Problem::whole(source, sentence::of(error, what, &written));
    let problem = match error {
        Error::SerdeUnknownField { field: word, expected, .. }
        | Error::SerdeUnknownVariant { variant: word, expected, .. }
            if !sentence::is_quoted_number(word) =>
        {
            problem.word(word, expected.iter().copied())
        }
        _ => problem,
    };
    with_place(problem, text, place)
}

fn with_place(mut problem: Problem, text: &str, place: Option<Place>) -> Problem {
    // A sentence about the whole document gets the place of its beginning, because every problem must have a line and a
    // column.
    let place = place.unwrap_or(Place { line: 1, column: 1, width: 1 });
    let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    if line.contains("{{") && line.contains("}}") {
        problem.sentence.push_str(TEMPLATE);
    }
    problem.at(text, place)
}

/// Converts a place of the parser. It is on one line, and no wider than the line.
fn place(text: &str, location: Location) -> Place {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).max(1);
    let (line, column) = (number(location.line()), number(location.column()));
    let left = text.lines().nth(line - 1).map_or(1, |line| line.chars().count().saturating_sub(column - 1));
    let width = usize::try_from(location.span().len()).unwrap_or(1).clamp(1, left.max(1));
    Place { line, column, width }
}

/// What is written at a place.
fn written_at(text: &str, place: Place) -> String {
    let line = text.lines().nth(place.line - 1).unwrap_or_default();
    line.chars().skip(place.column - 1).take(place.width).collect()
}

#[cfg(test)]
mod tests;
