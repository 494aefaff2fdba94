//! The matrix of a case. It replaces `${axis}` with literal values before the text is read, so that line numbers stay the
//! same. The axis `container-kind` needs no placeholder: it decides which list of the pod contains the containers.

use probity_document as document;
use probity_script::problem::{Place, Problem, pin};
use serde_json::Value;

use crate::name::CaseName;
use crate::role::{self, ContainerRole};

/// The maximum number of cases that one file can define. A small file from an untrusted source must not exhaust the
/// memory.
const MOST: usize = 1000;

/// The axes of a matrix, in the order of their names.
pub(super) type Axes = Vec<(String, Vec<Value>)>;

/// One combination: a value for each axis.
pub(super) type Variant = Vec<(String, Value)>;

/// Reads the axes. The name in `${…}` must be the name of an axis, because the parser would treat `${…}` with any other
/// name as a string. The rest of the case is checked later, when it is parsed strictly.
pub(super) fn axes(source: &str, text: &str) -> Result<Axes, Box<Problem>> {
    let block = matrix_alone(text);
    let raw: Value =
        if block.trim().is_empty() { Value::Null } else { document::read(source, "case", &block)? };
    let misfit =
        |why: &str, axis: &str| Box::new(document::misfit(source, &block, &pin(why, &["matrix", axis])));
    let mut axes = Axes::new();
    for (axis, values) in raw.get("matrix").and_then(Value::as_object).into_iter().flatten() {
        let values = values.as_array().filter(|values| !values.is_empty());
        let values = values.ok_or_else(|| misfit("an axis must be a list with at least one value", axis))?;
        if ["node", "run"].contains(&axis.as_str()) {
            return Err(misfit(
                "case names use this word for the node or the number of a run; choose another name",
                axis,
            ));
        }
        for (at, value) in values.iter().enumerate() {
            let path = ["matrix", axis, &at.to_string()].map(str::to_owned);
            check_value(axis, value)
                .map_err(|why| Box::new(document::misfit(source, &block, &pin(&why, &path))))?;
        }
        if axis != role::AXIS && !text.contains(&placeholder(axis)) {
            return Err(misfit(&format!("`{}` does not occur in the case", placeholder(axis)), axis));
        }
        axes.push((axis.clone(), values.clone()));
        let cases = axes.iter().fold(1, |cases: usize, (_, values)| cases.saturating_mul(values.len()));
        if cases > MOST {
            return Err(misfit(
                &format!("the matrix defines {cases} cases; a file can define at most {MOST}"),
                axis,
            ));
        }
    }
    match placeholders(text).into_iter().find(|(_, name)| !axes.iter().any(|(axis, _)| axis == name)) {
        Some((place, name)) => Err(unknown(source, text, place, name, &axes)),
        None => Ok(axes),
    }
}

/// Checks one value of an axis.
fn check_value(axis: &str, value: &Value) -> Result<(), String> {
    let text = literal(value);
    if text.contains("${") {
        return Err("a value cannot contain a placeholder".to_owned());
    }
    if text.contains(char::is_control) {
        let why = "a value cannot contain control characters, because it becomes a part of the case's name";
        return Err(why.to_owned());
    }
    if axis == role::AXIS { ContainerRole::read(value).map(drop) } else { Ok(()) }
}

fn unknown(source: &str, text: &str, place: Place, name: &str, axes: &Axes) -> Box<Problem> {
    let why = match axes.is_empty() {
        true => format!("`{}` occurs here, but the case has no matrix", placeholder(name)),
        false => format!("the matrix has no axis `{name}`"),
    };
    let problem = Problem::whole(source, why).at(text, place);
    Box::new(problem.word(name, axes.iter().map(|(axis, _)| axis.as_str())))
}

/// The text with all lines blank except the lines of the matrix, so that places stay the same. The other lines may not
/// be valid YAML before placeholders are replaced.
fn matrix_alone(text: &str) -> String {
    let mut inside = false;
    let mut keep = |line: &str| {
        if line.starts_with(|c: char| !c.is_whitespace() && c != '#') {
            inside = line.starts_with("matrix:");
        }
        inside
    };
    text.lines().map(|line| if keep(line) { format!("{line}\n") } else { "\n".to_owned() }).collect()
}

/// Every `${name}` outside of comments, with its place.
fn placeholders(text: &str) -> Vec<(Place, &str)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let line = line.split(" #").next().unwrap_or_default();
        for (start, _) in line.match_indices("${") {
            if let Some((name, _)) = line[start + 2..].split_once('}') {
                let column = line[..start].chars().count() + 1;
                found.push((Place { line: at + 1, column, width: name.chars().count() + 3 }, name));
            }
        }
    }
    found
}

/// The text of a case with each `${name}` replaced with a plain word of the same length, so that places stay the same.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    for (_, name) in placeholders(text) {
        masked = masked.replacen(&placeholder(name), &"x".repeat(name.len() + 3), 1);
    }
    masked
}

/// Every combination; the value of the first axis changes last. Without axes, there is one empty combination.
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

/// Replaces the placeholders with the values.
pub(super) fn fill(text: &str, variant: &Variant) -> String {
    variant
        .iter()
        .fold(text.to_owned(), |text, (axis, value)| text.replace(&placeholder(axis), &literal(value)))
}

/// The name of a variant. The variant for main containers has the plain name.
pub(super) fn name(case: &str, variant: &Variant) -> CaseName {
    let plain = |axis: &str, value: &Value| {
        axis == role::AXIS && ContainerRole::read(value) == Ok(ContainerRole::Main)
    };
    let told = variant.iter().filter(|(axis, value)| !plain(axis, value));
    let suffix: String = told.map(|(axis, value)| format!("/{axis}={}", literal(value))).collect();
    CaseName(format!("{case}{suffix}"))
}

fn placeholder(axis: &str) -> String {
    format!("${{{axis}}}")
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        axes("f", text).err().map(|problem| problem.line()).unwrap_or_default()
    }

    #[test]
    fn a_misspelt_axis_is_found_at_its_place() {
        let said = refused("matrix: { scheme: [HTTP, HTTPS] }\npod: { a: ${scheme}, b: '${shceme}' }\n");
        assert_eq!(said, "f, line 2, column 26: the matrix has no axis `shceme`; did you mean `scheme`?");
    }

    #[test]
    fn a_placeholder_without_a_matrix_is_found_and_one_in_a_comment_means_nothing() {
        assert!(refused("pod: ${a}\n").starts_with("f, line 1, column 6: `${a}` occurs here"));
        assert_eq!(refused("# like ${this}\ncase: x # and ${that}\n"), "");
    }

    #[test]
    fn a_small_file_cannot_make_a_huge_text_or_endless_cases() {
        let nested = "matrix:\n  a: [x, '${b}${b}']\n  b: [1]\npod: ${a} ${b}\n";
        let told = refused(nested);
        assert!(told.starts_with("f, line 2, column 10") && told.contains("placeholder"), "{told}");
        let axis = |name: char| format!("  {name}: [{}]\n", ["1"; 40].join(", "));
        let many = format!("matrix:\n{}{}pod: ${{a}} ${{b}}\n", axis('a'), axis('b'));
        let told = refused(&many);
        assert!(told.contains("line 3") && told.contains("defines 1600 cases"), "{told}");
    }

    #[test]
    fn a_placeholder_may_stand_where_only_its_value_makes_yaml_of_it() {
        let text = "matrix:\n  # one\n  tls: ['', 'tls: {}, ']\npod: { ${tls} port: 1 }\n";
        let axes = axes("f", text).unwrap_or_default();
        assert_eq!(axes.len(), 1);
        let filled: Vec<String> = combinations(&axes).iter().map(|variant| fill(text, variant)).collect();
        assert!(filled[1].ends_with("pod: { tls: {},  port: 1 }\n"), "{}", filled[1]);
    }

    #[test]
    fn masking_keeps_every_place() {
        assert_eq!(masked("a: ${b} é ${c}\n"), "a: xxxx é xxxx\n");
    }
}
