//! Checks a pod without an API server. Its fields must exist and have values of the right type, and the pod must follow
//! the rules that all API servers share.
//!
//! Cases, `probity try` and `probity reproduce` all check pods here. Plans are not considered. A pod that is valid here
//! may still be rejected by a dry run. Every API server would also reject a pod that is rejected here, or would drop
//! the field if its field validation is lenient.

mod fields;
mod meaning;
#[cfg(test)]
mod tests;

use probity_model::timeline::Port;
use probity_script::problem::{KEY, pin};
use serde_json::{Map, Value};

use crate::names::did_you_mean;

/// The largest number that a field can have.
const MOST: i64 = i32::MAX as i64;

/// The signals that can stop a container, as Kubernetes and the target's witness write them.
pub const SIGNALS: [&str; 31] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGKILL",
    "SIGPIPE",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// Checks a pod or, with `template`, a pod template. `path` is its place in the document.
///
/// # Errors
///
/// A sentence about the first thing that is wrong, pinned to its place.
pub fn check(pod: &Value, template: bool, path: &[String]) -> Result<(), String> {
    first(problems(pod, template, path))
}

/// Everything that is wrong with a pod or a template: a sentence each, pinned to its place. What fields mean is considered
/// only if each of them is valid by itself.
pub(crate) fn problems(pod: &Value, template: bool, path: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    shape(pod, if template { "template" } else { "pod" }, path, &mut found);
    match pod.get("spec").and_then(Value::as_object) {
        Some(fields) if found.is_empty() => meaning::problems(fields, &[path, &["spec".to_owned()]].concat()),
        _ => found,
    }
}

/// Everything that is wrong with the spec of a workload, including its template, if its kind is known here.
pub(crate) fn problems_of_workload(kind: &str, workload: &Value, path: &[String]) -> Vec<String> {
    let Some(spec) = workload.get("spec") else { return Vec::new() };
    let at = [path, &["spec".to_owned()]].concat();
    let mut found = Vec::new();
    if fields::of(kind).is_some() {
        shape(spec, kind, &at, &mut found);
    }
    match spec.get("template") {
        Some(template) if found.is_empty() => {
            problems(template, true, &[at, vec!["template".to_owned()]].concat())
        }
        _ => found,
    }
}

/// Checks an ephemeral container.
///
/// # Errors
///
/// A sentence about the first thing that is wrong, pinned to its place.
pub(crate) fn check_ephemeral(container: &Value, path: &[String]) -> Result<(), String> {
    let mut found = Vec::new();
    shape(container, "ephemeral", path, &mut found);
    first(found)
}

fn first(problems: Vec<String>) -> Result<(), String> {
    problems.into_iter().next().map_or(Ok(()), Err)
}

/// Checks that a value has a type of the table.
fn shape(value: &Value, of: &str, path: &[String], found: &mut Vec<String>) {
    let Some((_, words, fields)) = fields::of(of) else { return };
    let Some(written) = value.as_object() else {
        found.push(pin(&format!("{words} must be a map of fields, not {}", shown(value)), path));
        return;
    };
    let known = || fields::listed(fields);
    let mut is_misspelled = false;
    for (field, value) in written.iter().filter(|(_, value)| !value.is_null()) {
        let at = [path, std::slice::from_ref(field)].concat();
        match known().find(|(name, ..)| name == field) {
            Some((_, kind, _)) => check_value(field, value, kind, &at, found),
            None => {
                is_misspelled = true;
                let hint = did_you_mean(field, known().map(|(name, ..)| name));
                let why = format!("{words} has no field `{field}`{hint}");
                found.push(pin(&why, &[at, vec![KEY.to_owned()]].concat()));
            }
        }
    }
    // The unknown field may be the one that seems to be missing.
    let missing = known().find(|(name, _, required)| *required && is_absent(written, name));
    if let Some((name, ..)) = missing.filter(|_| !is_misspelled) {
        found.push(pin(&format!("{words} needs a `{name}`"), path));
    }
}

fn is_absent(written: &Map<String, Value>, field: &str) -> bool {
    written.get(field).is_none_or(|value| value.is_null() || value == "")
}

/// Checks the value of a field.
fn check_value(field: &str, value: &Value, kind: &str, path: &[String], found: &mut Vec<String>) {
    let below = |part: &str| [path, &[part.to_owned()]].concat();
    if let Some(element) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        let Some(list) = value.as_array() else {
            found.push(pin(&format!("`{field}` must be a list, not {}", shown(value)), path));
            return;
        };
        for (at, value) in list.iter().enumerate() {
            check_value(&format!("{field}[{at}]"), value, element, &below(&at.to_string()), found);
        }
    } else if let Some(element) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        let Some(map) = value.as_object() else {
            found.push(pin(&format!("`{field}` must be a map, not {}", shown(value)), path));
            return;
        };
        for (key, value) in map {
            check_value(key, value, element, &below(key), found);
        }
    } else if fields::of(kind).is_some() {
        shape(value, kind, path, found);
    } else if let Some(why) = wrong(field, value, kind) {
        found.push(pin(&why, path));
    }
}

/// Why a scalar value is not of this kind.
fn wrong(field: &str, value: &Value, kind: &str) -> Option<String> {
    match kind {
        "text" => match value {
            Value::String(_) => None,
            Value::Number(_) | Value::Bool(_) => {
                Some(format!("`{field}` must be a string, but {value} is not: write \"{value}\""))
            }
            _ => Some(format!("`{field}` must be a string, not {}", shown(value))),
        },
        "bool" => {
            (!value.is_boolean()).then(|| format!("`{field}` must be true or false, not {}", shown(value)))
        }
        "number" => (value.as_i64().is_none())
            .then(|| format!("`{field}` must be a whole number, not {}", shown(value))),
        "whole" => whole(field, value, 0),
        "positive" => whole(field, value, 1),
        "port-number" => port(field, value, false),
        "port" => port(field, value, true),
        "quantity" => (!value.is_string() && !value.is_number())
            .then(|| format!("`{field}` must be a quantity such as 100m or 64Mi, not {}", shown(value))),
        "signal" => one_of(field, value, &SIGNALS),
        "any" => None,
        words => one_of(field, value, &words.split('|').collect::<Vec<_>>()),
    }
}

/// Why a value is not a whole number of at least `least`.
fn whole(field: &str, value: &Value, least: i64) -> Option<String> {
    match value.as_i64() {
        Some(number) if (least..=MOST).contains(&number) => None,
        Some(number) if number > MOST => Some(format!("`{field}` is {number}; it must be at most {MOST}")),
        Some(number) => Some(format!("`{field}` is {number}; it must be at least {least}")),
        None => {
            let digits = value.as_str().map(|text| text.trim_end_matches('s'));
            let hint = digits.filter(|text| text.parse::<u32>().is_ok());
            let hint = hint.map(|digits| format!(": write {digits}")).unwrap_or_default();
            Some(format!(
                "`{field}` must be a whole number from {least} to {MOST}, not {}{hint}",
                shown(value)
            ))
        }
    }
}

/// Why a value is not a port. A name is accepted only with `named`.
fn port(field: &str, value: &Value, named: bool) -> Option<String> {
    let or_name = if named { ", or the name of a port" } else { "" };
    match value {
        Value::String(text) if named && text.parse::<i64>().is_err() => (!Port::is_name(text)).then(|| {
            format!("`{text}` is not a valid port name: use up to 15 lowercase letters, digits and dashes")
        }),
        Value::String(text) if text.parse::<u16>().is_ok() => {
            Some(format!("`{field}` must not be a string here: write {text} without quotes"))
        }
        Value::Number(number) if number.as_i64().is_some_and(|number| (1..=65535).contains(&number)) => None,
        _ => Some(format!("`{field}` must be a number from 1 to 65535{or_name}, not {}", shown(value))),
    }
}

fn one_of(field: &str, value: &Value, words: &[&str]) -> Option<String> {
    let written = value.as_str().unwrap_or_default();
    if words.contains(&written) {
        return None;
    }
    let hint = did_you_mean(written, words.iter().copied());
    let wanted = match words.len() {
        0..=8 => format!("one of {}", words.join(", ")),
        _ => "the name of a signal".to_owned(),
    };
    Some(format!("`{field}` must be {wanted}, not {}{hint}", shown(value)))
}

/// A value as it is shown in a sentence.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        plain => plain.to_string(),
    }
}
