//! The list of what tests each clause, and the pages of the clause book.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use probity::{probity, write};
use serde_json::Value;

#[test]
fn coverage_is_narrowed_by_a_chapter_a_clause_or_a_case() {
    let ids = |filter: &str| -> Vec<String> {
        let said = probity(&["list", "--coverage", "--format", "json", filter]);
        assert_eq!(said.status, 0, "{}", said.err);
        let clauses: Value = serde_json::from_str(&said.out).unwrap();
        let id = |entry: &Value| entry["clause"]["id"].as_str().unwrap().to_owned();
        clauses.as_array().unwrap().iter().map(id).collect()
    };
    let chapter = ids("probe_tcp");
    assert!(chapter.len() == 5 && chapter.iter().all(|id| id.starts_with("probe.tcp.")), "{chapter:?}");
    assert_eq!(ids("probe.tcp.no-payload"), ["probe.tcp.no-payload"]);
    assert!(ids("probe_tcp/connections").contains(&"probe.tcp.no-payload".to_owned()));
    assert_eq!(probity(&["list", "--coverage", "no-such-thing"]).status, 2);
}

#[test]
fn coverage_tells_of_judge_cases_defects_and_what_is_missing() {
    let said = probity(&["list", "--coverage", "--format", "json"]);
    let clauses: Value = serde_json::from_str(&said.out).unwrap();
    let of = |id: &str| {
        clauses.as_array().unwrap().iter().find(|entry| entry["clause"]["id"] == id).unwrap().clone()
    };
    let gates = of("probe.startup.gates-liveness");
    assert_eq!((&gates["judge"], &gates["chapter"]), (&"judged".into(), &"probe_types".into()));
    assert!(gates["defects"].as_array().unwrap().contains(&"LivenessIgnoresStartup".into()), "{gates}");
    assert_eq!(gates["upstream"][0], serde_json::json!([29, 30]));
    assert_eq!(gates["lacks"], serde_json::json!([]));
    assert_eq!(of("probe.exec.overhead")["judge"], "untestable");
}

#[test]
fn the_wide_form_names_defects_and_gives_reasons() {
    let said =
        probity(&["list", "--coverage", "--wide", "probe.startup.gates-liveness", "probe.exec.overhead"]);
    assert_eq!(said.status, 0, "{}", said.err);
    for part in
        ["  defects  LivenessIgnoresStartup", "probe_types/startup-gates-others", "  reason   This is advice"]
    {
        assert!(said.out.contains(part), "{part} is not in {}", said.out);
    }
    assert_eq!(probity(&["list", "--wide"]).status, 2, "it is a form of --coverage");
}

#[test]
fn a_clause_is_explained_with_the_defects_that_it_notices_and_what_upstream_checks() {
    let said = probity(&["explain", "probe.startup.gates-liveness"]).out;
    for part in ["  detects   LivenessIgnoresStartup", "  upstream  a startup probe that does not succeed"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let said = probity(&["explain", "probe.http.accept-default"]).out;
    assert!(said.contains("  upstream  no upstream spec checks this"), "{said}");
}

#[test]
fn pages_that_are_not_what_the_code_says_are_named_and_other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mine = write(folder.path(), "mine.md", "# Mine\n");
    let stale = write(folder.path(), "no_chapter.md", "<!-- Made by ci/book from nothing -->\n");
    let missing = probity(&["book", path, "--check"]);
    assert_eq!(missing.status, 4);
    assert!(missing.err.contains("probe_tcp.md is missing"), "{}", missing.err);
    assert!(missing.err.contains("no_chapter.md belongs to no chapter"), "{}", missing.err);
    assert_eq!(probity(&["book", path]).status, 0);
    assert!(mine.exists() && !stale.exists());
    assert_eq!(probity(&["book", path, "--check"]).status, 0);
    let page = std::fs::read_to_string(folder.path().join("probe_tcp.md")).unwrap();
    write(folder.path(), "probe_tcp.md", &page.replacen("# TCP probes", "# Changed", 1));
    let changed = probity(&["book", path, "--check"]);
    assert_eq!(changed.status, 4);
    assert!(changed.err.contains("probe_tcp.md differs from line 3 on"), "{}", changed.err);
    assert!(changed.err.contains("run ci/book") && !changed.err.contains("README.md"), "{}", changed.err);
}

#[test]
fn pages_of_somebody_else_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mine = write(folder.path(), "README.md", "# Mine\n");
    let said = probity(&["book", path]);
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.contains("README.md would be overwritten"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(mine).unwrap(), "# Mine\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was written");
}
