//! The verbs that only read the built-in book, and their exit statuses, which are a contract.

mod probity;

use std::collections::BTreeSet;

use probity::probity;

#[test]
fn the_list_of_cases_is_the_same_each_time() {
    let (first, second) = (probity(&["list"]), probity(&["list"]));
    assert_eq!((first.status, &first.out), (0, &second.out));
    assert!(
        first.out.lines().any(|line| line.starts_with("probe_types/startup-gates-others ")),
        "{}",
        first.out
    );
    assert_eq!(first.err, "");
}

#[test]
fn a_list_can_be_narrowed_and_an_empty_one_is_wrong_use() {
    let one = probity(&["list", "--exact", "probe_types/startup-gates-others"]);
    assert_eq!((one.status, one.out.lines().count()), (0, 1), "{}", one.out);
    let none = probity(&["list", "--exact", "probe_types/startup-gate-others"]);
    assert_eq!(none.status, 2);
    assert!(none.err.contains("did you mean `probe_types/startup-gates-others`?"), "{}", none.err);
}

#[test]
fn each_filter_must_match_something() {
    for (arguments, part) in [
        (vec!["list", "startup", "nosuch"], "no case matches `nosuch`"),
        (vec!["run", "startup", "nosuch", "--list"], "no case matches `nosuch`"),
        (
            vec!["list", "--clauses", "startup", "livness"],
            "no clause matches `livness`; did you mean `liveness`?",
        ),
        (vec!["list", "--coverage", "nosuch"], "no clause or case matches `nosuch`"),
        (vec!["list", "startup", "--skip", "/"], "--skip leaves out "),
    ] {
        let said = probity(&arguments);
        assert_eq!((said.status, said.out.as_str()), (2, ""), "{arguments:?}");
        assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
    }
}

#[test]
fn the_known_bugs_are_listed_explained_and_printed_and_run_only_on_request() {
    let listed = probity(&["list", "--profile", "regressions"]);
    assert_eq!((listed.status, listed.out.lines().count()), (0, 54), "{}", listed.out);
    let line = listed.out.lines().find(|line| line.starts_with("regressions/exec-timeout-ignored "));
    assert!(line.is_some_and(|line| line.contains("kubernetes/kubernetes#94080: exec-type")), "{line:?}");
    assert_eq!(probity(&["list", "regressions/"]).out, listed.out);
    assert!(!probity(&["list"]).out.contains("regressions/"), "a list has none of them unless it asks");
    for name in listed.out.lines().filter_map(|line| line.split_whitespace().next()) {
        assert_eq!(probity(&["explain", name]).status, 0, "{name}");
    }

    let name = "regressions/exec-timeout-ignored";
    let said = probity(&["explain", name]).out;
    for part in ["https://github.com/kubernetes/kubernetes/issues/94080", "shown by  until 1.19"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let printed = probity(&["reproduce", name, "--plan"]);
    assert!(printed.out.starts_with(&format!("case: {name}\n")), "{}", printed.err);

    let chosen = |more: &[&str]| probity(&[&["run", "--list"], more].concat()).out;
    assert_eq!(chosen(&[name]), format!("{name}: test\n"));
    assert_eq!(chosen(&["--profile", "regressions"]).lines().count(), 54);
    assert!(!chosen(&[]).contains("regressions/"), "a run has none of them unless it asks");
}

#[test]
fn the_files_of_the_known_bugs_get_no_hint() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/regressions");
    let said = probity(&["lint", "--strict", folder]);
    assert_eq!((said.status, said.err.as_str()), (0, ""));
    assert_eq!(said.out.lines().count(), 54, "{}", said.out);
}

#[test]
fn coverage_names_the_cases_of_a_clause() {
    let said = probity(&["list", "--coverage", "probe.startup.gates-liveness"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let line = said.out.lines().next().unwrap_or_default();
    assert!(line.contains("judged") && line.contains("probe_types/startup-gates-others"), "{}", said.out);
}

#[test]
fn a_list_of_clauses_follows_the_profile() {
    let all = probity(&["list", "--clauses"]).out.lines().count();
    for kind in ["--clauses", "--coverage"] {
        let slow = probity(&["list", kind, "--profile", "slow"]);
        assert_eq!(slow.status, 0, "{}", slow.err);
        assert!((1..all).contains(&slow.out.lines().count()), "{}", slow.out);
    }
}

#[test]
fn every_clause_and_every_case_that_is_listed_can_be_explained() {
    let names = |arguments: &[&str]| -> Vec<String> {
        let text = probity(arguments).out;
        text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    };
    let all = [names(&["list"]), names(&["list", "--clauses"])].concat();
    assert!(all.len() > 60, "{all:?}");
    let each: Vec<&str> = std::iter::once("explain").chain(all.iter().map(String::as_str)).collect();
    let said = probity(&each);
    assert_eq!(said.status, 0, "{}", said.err);
    let firsts: BTreeSet<&str> =
        said.out.lines().filter_map(|line| line.split_once("  ").map(|(name, _)| name)).collect();
    let missing: Vec<&String> = all.iter().filter(|name| !firsts.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_case_is_explained_with_the_arithmetic_of_its_probes() {
    let said = probity(&["explain", "probe_types/startup-gates-others"]).out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "startup GET /start over HTTP on port 8080 every 1 s, with a timeout of 1 s",
        "killed after 60 failures in a row: 59 s to 60 s after the fault begins",
        "first probe 0 s to 1 s after the container's start, and not before the startup probe succeeds",
        "/live answers 503 for 8s, then 200",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn a_case_is_explained_with_the_clauses_that_it_may_exercise() {
    let said = probity(&["explain", "probe_types/startup-gates-others"]).out;
    let (targets, others) = said.split_once("may also give evidence for").unwrap_or_default();
    assert!(targets.contains("probe.startup.gates-liveness"), "{said}");
    assert!(others.contains("probe.liveness.failure-restarts-container"), "{said}");
    for other in ["probe.startup.gates-liveness", "probe.readiness.drain-without-probe"] {
        assert!(!others.contains(other), "{other} in {others}");
    }
    assert!(others.contains("more clauses that may apply to any case"), "{said}");
}

#[test]
fn a_clause_is_explained_with_the_address_of_its_source() {
    for (clause, address) in [
        ("probe.startup.gates-liveness", "https://kubernetes.io/docs/"),
        ("prober.worker.one-per-kind", "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/"),
    ] {
        let said = probity(&["explain", clause]).out;
        assert!(said.lines().any(|line| line.trim().starts_with(address)), "{said}");
    }
}

#[test]
fn a_name_that_does_not_exist_is_wrong_use_with_the_nearest_one() {
    let said = probity(&["explain", "probe.startup.gates-livenes"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("did you mean `probe.startup.gates-liveness`?"), "{}", said.err);
}

#[test]
fn a_part_of_a_name_lists_the_names_that_contain_it() {
    let said = probity(&["explain", "probe.startup"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("these names contain it:\n  probe.startup."), "{}", said.err);
    let said = probity(&["explain", "zzzz"]);
    assert!(said.err.contains("`probity list` and `probity list --clauses` show all names"), "{}", said.err);
}

#[test]
fn the_command_for_the_clause_book_is_never_suggested() {
    let said = probity(&["foo"]);
    assert!(said.status == 2 && !said.err.contains("book"), "{}", said.err);
    assert!(!probity(&["completions", "bash"]).out.split_whitespace().any(|word| word == "book"));
    assert!(probity(&["book", "--help"]).out.contains("Usage: probity book"));
}

#[test]
fn each_shell_gets_completions_that_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = probity(&["completions", shell]);
        assert_eq!(said.status, 0, "{shell}");
        for verb in ["lint", "judge", "explain"] {
            assert!(said.out.contains(verb), "{shell} does not know {verb}");
        }
    }
}

#[test]
fn each_schema_is_json_and_the_case_schema_knows_the_words_of_a_case() {
    let text = probity(&["schema", "no-such-document"]);
    assert_eq!(text.status, 2);
    for document in ["case", "clauses", "plan", "change", "witness", "history", "verdicts", "log", "report"] {
        let said = probity(&["schema", document]);
        let schema: Result<serde_json::Value, _> = serde_json::from_str(&said.out);
        assert!(said.status == 0 && schema.is_ok(), "{document}: {}", said.err);
    }
    let case: serde_json::Value = serde_json::from_str(&probity(&["schema", "case"]).out).unwrap_or_default();
    for word in ["case", "story", "judges", "pod", "pods", "target", "steps", "matrix", "expect"] {
        assert!(case["properties"].get(word).is_some(), "{word}");
    }
    assert_eq!(case["additionalProperties"], false);
}

#[test]
fn wrong_flags_are_wrong_use_and_help_is_none() {
    assert_eq!(probity(&["list", "--no-such-flag"]).status, 2);
    assert_eq!(probity::<&str>(&[]).status, 2);
    let help = probity(&["--help"]);
    assert_eq!(help.status, 0);
    assert!(help.out.contains("Exit statuses:"), "{}", help.out);
}
