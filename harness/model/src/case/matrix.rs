//! The matrix of a case: literal values in the place of `${axis}`, before the text is read, so that line numbers stay.

use probity_document as document;
use probity_script::problem::{Problem, pin};
use serde_json::Value;

use super::CaseName;

/// The axes of a matrix, in the order of their names.
pub(super) type Axes = Vec<(String, Vec<Value>)>;

/// One combination: a value for each axis.
pub(super) type Variant = Vec<(String, Value)>;

/// Reads the axes. A text without the word has none; anything else about it is left to the strict reading.
pub(super) fn axes(source: &str, text: &str) -> Result<Axes, Box<Problem>> {
    if !text.lines().any(|line| line.starts_with("matrix:")) {
        return Ok(Vec::new());
    }
    let raw: Value = document::read(source, "case", text)?;
    let Some(matrix) = raw.get("matrix").and_then(Value::as_object) else { return Ok(Vec::new()) };
    let misfit =
        |why: &str, axis: &str| Box::new(document::misfit(source, text, &pin(why, &["matrix", axis])));
    matrix
        .iter()
        .map(|(axis, values)| {
            let values = values.as_array().filter(|values| !values.is_empty());
            let values = values.ok_or_else(|| misfit("an axis is a list of at least one value", axis))?;
            if !text.contains(&placeholder(axis)) {
                return Err(misfit(&format!("`{}` stands nowhere in the case", placeholder(axis)), axis));
            }
            Ok((axis.clone(), values.clone()))
        })
        .collect()
}

/// Every combination, the first axis slowest; one empty combination without axes.
pub(super) fn combinations(axes: &Axes) -> Vec<Variant> {
    axes.iter().fold(vec![Vec::new()], |variants, (axis, values)| {
        let with = |variant: &Variant, value: &Value| {
            let mut variant = variant.clone();
            variant.push((axis.clone(), value.clone()));
            variant
        };
        variants.iter().flat_map(|variant| values.iter().map(|value| with(variant, value))).collect()
    })
}

/// Writes the values in.
pub(super) fn fill(text: &str, variant: &Variant) -> String {
    variant
        .iter()
        .fold(text.to_owned(), |text, (axis, value)| text.replace(&placeholder(axis), &literal(value)))
}

/// The name of a variant.
pub(super) fn name(case: &str, variant: &Variant) -> CaseName {
    let suffix: String = variant.iter().map(|(axis, value)| format!("/{axis}={}", literal(value))).collect();
    CaseName(format!("{case}{suffix}"))
}

fn placeholder(axis: &str) -> String {
    format!("${{{axis}}}")
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
