//! How differences between two reports are named. The tests of `probity verify` cover what each rule finds in a whole
//! run.

use serde_json::json;

use super::*;

#[test]
fn entries_are_matched_by_their_names_and_not_by_their_places() {
    let follows =
        json!({ "clauses": [{ "id": "a", "verdict": "holds" }, { "id": "b", "verdict": "violated" }] });
    let stored = json!({ "clauses": [{ "id": "b", "verdict": "holds" }] });
    let found = differences(&stored, &follows);
    assert_eq!(
        found.conclusions,
        ["clauses[b].verdict is \"holds\"; it should be \"violated\"", "clauses[a] is missing"]
    );
    assert!(found.facts.is_empty());
}

#[test]
fn a_clause_is_named_once_by_its_verdict() {
    let follows =
        json!({ "clauses": [{ "finding": "late", "id": "a", "text": "t", "verdict": "violated" }] });
    let stored = json!({ "clauses": [{ "finding": "fine", "id": "a", "text": "u", "verdict": "holds" }] });
    assert_eq!(
        differences(&stored, &follows).conclusions,
        ["clauses[a].verdict is \"holds\"; it should be \"violated\"; and 2 more in clauses[a]"]
    );
}

#[test]
fn another_order_is_a_difference() {
    let one = json!({ "cases": [{ "case": "a" }, { "case": "b" }] });
    let other = json!({ "cases": [{ "case": "b" }, { "case": "a" }] });
    assert_eq!(differences(&one, &other).facts, ["the entries of cases are in a different order"]);
}

#[test]
fn repetitions_of_a_case_are_told_apart() {
    let one = json!({ "cases": [{ "case": "a", "repetition": 1, "beganUs": 1 }, { "case": "a", "repetition": 2, "beganUs": 2 }] });
    let mut other = one.clone();
    other["cases"][1]["beganUs"] = json!(3);
    assert_eq!(differences(&one, &other).facts, ["cases[a (2)].beganUs is 2; it should be 3"]);
}

#[test]
fn what_the_log_says_is_told_from_what_a_book_concludes() {
    let follows = json!({
        "runId": "r",
        "environment": { "server": "v1" },
        "result": { "clauses": { "holds": 1 } },
        "cases": [{ "case": "a", "verdict": "holds", "history": { "sha256": "5a" }, "judgements": [{ "clause": "c", "verdict": "holds" }] }],
    });
    for (place, is_fact) in [
        ("/runId", true),
        ("/environment/server", true),
        ("/cases/0/history/sha256", true),
        ("/cases/0/verdict", false),
        ("/cases/0/judgements/0/verdict", false),
        ("/result/clauses/holds", false),
    ] {
        let mut stored = follows.clone();
        if let Some(value) = stored.pointer_mut(place) {
            *value = json!("x");
        }
        let found = differences(&stored, &follows);
        assert_eq!(
            (found.facts.len(), found.conclusions.len()),
            if is_fact { (1, 0) } else { (0, 1) },
            "{place}"
        );
    }
}

#[test]
fn a_long_value_is_cut() {
    let found = differences(&json!({ "runId": "é".repeat(500) }), &json!({ "runId": "r" }));
    assert!(found.facts[0].len() < 400 && found.facts[0].contains('…'), "{}", found.facts[0]);
}
