//! The differences between a stored report and the report that follows from the log and the histories.
//!
//! The two are compared as JSON, so that no field can be forgotten, and fields that the format does not have are found
//! too. Clauses and cases are matched by their names, so a missing clause is one difference and does not shift the
//! others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The differences of two reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Differences in facts from the log, such as the versions, the command, and the digests of histories. They do not
    /// depend on the book.
    pub facts: Vec<String>,
    /// Differences in conclusions, such as verdicts, counts and the level. Another book may lead to other conclusions.
    pub conclusions: Vec<String>,
}

/// The fields of a report whose value depends on the book.
const CONCLUDED: [&str; 6] = ["judgedBy", "fleet", "result", "certificate", "clauses", "warnings"];

/// The fields of a case whose value depends on the book.
const CONCLUDED_OF_A_CASE: [&str; 5] = ["verdict", "reason", "finding", "judgements", "expected"];

/// The longest value that a difference shows.
const SHOWN: usize = 120;

/// Compares a stored report with the report that follows from the log and the histories. Verdicts come first, and each
/// clause and each case is named once.
#[must_use]
pub fn differences(stored: &Value, follows: &Value) -> Differences {
    let mut all = Vec::new();
    compare("", stored, follows, &mut all);
    all.sort_by_key(|(place, _)| rank(place));
    let mut found = Differences::default();
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, _) in &all {
        *groups.entry(group(place)).or_default() += 1;
    }
    for (place, what) in &all {
        let what = match groups.remove(group(place)) {
            None => continue,
            Some(1) => what.clone(),
            Some(count) => format!("{what}; and {} more in {}", count - 1, group(place)),
        };
        if is_concluded(place) { found.conclusions.push(what) } else { found.facts.push(what) }
    }
    found
}

/// The order for the reader: verdicts first, then entries that are missing or superfluous, then the rest.
fn rank(place: &str) -> usize {
    let ends = [".verdict", ".level", "]"];
    ends.iter().position(|end| place.ends_with(end)).unwrap_or(ends.len())
}

/// The clause or the case that a place belongs to. For other places, the place itself.
fn group(place: &str) -> &str {
    match place.find("].").filter(|_| place.starts_with("clauses[") || place.starts_with("cases[")) {
        Some(end) if is_concluded(place) => &place[..=end],
        _ if place.starts_with("certificate.") => "certificate",
        _ => place,
    }
}

/// Whether the value at a place depends on the book.
fn is_concluded(place: &str) -> bool {
    let first = |place: &str| place.split(['.', '[']).next().unwrap_or_default().to_owned();
    let of_a_case = || place.split_once("].").map(|(_, field)| first(field)).unwrap_or_default();
    match first(place).as_str() {
        "cases" => CONCLUDED_OF_A_CASE.contains(&of_a_case().as_str()),
        top => CONCLUDED.contains(&top),
    }
}

/// Adds the differences of two values: their places and what they are.
fn compare(place: &str, stored: &Value, follows: &Value, found: &mut Vec<(String, String)>) {
    match (stored, follows) {
        (Value::Object(stored), Value::Object(follows)) => fields(place, stored, follows, found),
        (Value::Array(stored), Value::Array(follows)) => items(place, stored, follows, found),
        (stored, follows) if stored == follows => {}
        (stored, follows) => {
            let what = format!("{place} is {}; it should be {}", shown(stored), shown(follows));
            found.push((place.to_owned(), what));
        }
    }
}

fn fields(
    place: &str,
    stored: &Map<String, Value>,
    follows: &Map<String, Value>,
    found: &mut Vec<(String, String)>,
) {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    for (name, value) in stored {
        match follows.get(name) {
            Some(other) => compare(&below(name), value, other, found),
            None => {
                found.push((
                    below(name),
                    format!("{} is {}; it should not be there", below(name), shown(value)),
                ));
            }
        }
    }
    for (name, value) in follows.iter().filter(|(name, _)| !stored.contains_key(*name)) {
        found.push((below(name), format!("{} is missing; it should be {}", below(name), shown(value))));
    }
}

fn items(place: &str, stored: &[Value], follows: &[Value], found: &mut Vec<(String, String)>) {
    let (Some(here), Some(there)) = (keyed(stored), keyed(follows)) else {
        for (at, (one, other)) in stored.iter().zip(follows).enumerate() {
            compare(&format!("{place}[{at}]"), one, other, found);
        }
        if stored.len() != follows.len() {
            let what = format!("{place} has {} entries; it should have {}", stored.len(), follows.len());
            found.push((place.to_owned(), what));
        }
        return;
    };
    let names: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
    let before = found.len();
    for name in names {
        let place = format!("{place}[{name}]");
        let (one, other) = (here.get(name), there.get(name));
        let count = |of: Option<&Vec<&Value>>| of.map_or(0, Vec::len);
        match (count(one), count(other)) {
            (0, _) => found.push((place.clone(), format!("{place} is missing"))),
            (_, 0) => found.push((place.clone(), format!("{place} should not be there"))),
            (one, other) if one != other => {
                found.push((place.clone(), format!("{place} occurs {one} times instead of {other}")));
            }
            _ => {
                let pairs = one.into_iter().flatten().zip(other.into_iter().flatten());
                pairs.for_each(|(one, other)| compare(&place, one, other, found));
            }
        }
    }
    if found.len() == before && stored != follows {
        found.push((place.to_owned(), format!("the entries of {place} are in a different order")));
    }
}

/// The entries of a list by their names, if all entries have a name. A name may occur several times.
fn keyed(items: &[Value]) -> Option<BTreeMap<String, Vec<&Value>>> {
    let mut by_name: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for item in items {
        by_name.entry(name_of(item)?).or_default().push(item);
    }
    Some(by_name)
}

fn name_of(item: &Value) -> Option<String> {
    let text = |field: &str| item.get(field).and_then(Value::as_str);
    let nth = item.get("repetition").and_then(Value::as_u64);
    match (text("id").or_else(|| text("clause")), text("case"), nth) {
        (Some(clause), ..) => Some(clause.to_owned()),
        (None, Some(case), Some(nth)) => Some(format!("{case} ({nth})")),
        (None, Some(case), None) => Some(case.to_owned()),
        (None, None, _) => text("profile").or_else(|| text("level")).map(str::to_owned),
    }
}

/// A value in a few characters.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
