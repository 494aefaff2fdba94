//! Reports without their run, runs of another book, and the level that a run reaches.

use super::*;

/// Somebody who cannot change a report without being noticed may publish it without its histories.
#[test]
fn a_lone_report_is_never_verified_and_its_contradictions_are_noticed() {
    let alone = tempfile::tempdir().unwrap();
    let path = alone.path().join("report.json");
    let run = Tampered::new();
    fs::copy(run.path(REPORT), &path).unwrap();
    let found = verified(&path);
    assert!(found.flaws.is_empty(), "{:?}", found.flaws);
    assert_eq!(found.exit_facts().status().code(), 3);
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (|of| of["clauses"][1]["verdict"] = json!("holds"), "does not follow from the cases that judged it"),
        (
            |of| of["clauses"][1]["judgedIn"] = json!([]),
            "verdicts that differ from the verdicts of its cases",
        ),
        (
            |of| of["cases"][1]["verdict"] = json!("holds"),
            "the case demo/hostile is holds, but its judgements give violated",
        ),
        (|of| of["result"]["cases"]["violated"] = json!(0), "cases, but lists"),
        (|of| drop(of["clauses"].as_array_mut().unwrap().remove(1)), "the clause demo.hostile is missing"),
        (
            |of| of["certificate"]["level"] = json!("core"),
            "it claims the level core, but its verdicts give none",
        ),
    ];
    for (change, says) in changes {
        let run = Tampered::new();
        run.report(change);
        fs::copy(run.path(REPORT), &path).unwrap();
        let found = verified(&path);
        assert!(found.flaws.iter().any(|flaw| flaw.what.contains(says)), "{says}: {:#?}", found.flaws);
    }
}

#[test]
fn another_book_is_named_and_leaves_the_run_unverified() {
    let folder = folder_of(&sample::run());
    let mut verifier = verifier();
    verifier.book.suite = Suite { digest: "sha256:feed".to_owned(), ..verifier.book.suite };
    let found = verifier.verify(&Given::open(folder.path()).unwrap());
    assert!(found.flaws.is_empty(), "{:?}", found.flaws);
    assert_eq!(found.exit_facts().status().code(), 3);
    assert!(
        found.unchecked[0].contains("the run used the book demo 0.1.0 (no digest)"),
        "{:?}",
        found.unchecked
    );
    let run = Tampered(folder);
    run.replace(REPORT, "\"command\": [", "\"command\": [\n    \"sudo\",");
    let found = verifier.verify(&Given::open(run.0.path()).unwrap());
    assert!(!found.flaws.is_empty(), "what does not depend on the book is compared all the same");
}

#[test]
fn a_run_of_the_whole_book_in_which_all_holds_has_a_level() {
    let folder = folder_of(&Run::new().case("calm", ON_TIME, PUNCTUAL));
    let run = Run::new().case("calm", ON_TIME, PUNCTUAL);
    let verifier = Verifier { book: run.book(), ..verifier() };
    let found = verifier.verify(&Given::open(folder.path()).unwrap());
    assert!(found.flaws.is_empty(), "{:?}", found.flaws);
    let words = found.in_words("run");
    assert!(words.contains("level    extended: of 1 MUST clauses, 1 hold and 0 diverge"), "{words}");
}
