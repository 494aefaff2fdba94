#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_methods, reason = "the page lies beside the project")]

use std::fs;
use std::path::PathBuf;

use probity_case::{Case, Profile, Reported};

use super::*;

/// The cases with their reports, in the order of their files.
fn all() -> Vec<(Case, Reported)> {
    let files = regressions().unwrap_or_else(|problem| panic!("{problem}"));
    let reported = |case: Case| {
        let reported = case.reported.clone();
        let reported = reported.unwrap_or_else(|| panic!("{} names no report", case.name));
        (case, reported)
    };
    files.into_iter().flat_map(|file| file.cases).map(reported).collect()
}

#[test]
fn each_is_found_under_its_file_name_and_says_what_it_expects() {
    for file in regressions().unwrap() {
        let [case] = file.cases.as_slice() else { panic!("{} has several cases", file.source) };
        assert_eq!(file.source, format!("suites/{}.yaml", case.name));
        assert_eq!(case.profile, Profile::Regressions, "{}", case.name);
        assert!(!case.expect.is_empty(), "{}", case.name);
        assert!(case.judges.is_empty(), "{}: its expectations say what it shows", case.name);
    }
}

#[test]
fn each_has_a_report_of_its_own_and_none_was_lost() {
    let all = all();
    let mut issues: Vec<&str> = all.iter().map(|(_, reported)| reported.issue.as_str()).collect();
    issues.sort_unstable();
    issues.dedup();
    assert_eq!((issues.len(), all.len()), (54, 54));
}

fn page_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/regressions.md")
}

/// A text in a form that can be used in a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The text above the table.
const TOP: &str = "\
<!-- Written by suites/regressions/tests.rs from suites/regressions/*.yaml; do not edit. -->
# Known bugs, as cases

Each of these cases reproduces a bug from a public report, in seconds. The promise is written in the case as an
expectation, so a run shows whether your cluster has the bug.

```console
$ probity list --profile regressions                                   # all of them, with their reports
$ probity explain regressions/exec-timeout-ignored                     # the case in English, and what is known about the bug
$ probity run --context kind-kind --profile regressions                # all of them, in about eight minutes
$ probity run --context kind-kind regressions/exec-timeout-ignored     # one
$ probity reproduce regressions/exec-timeout-ignored --plan            # its file, to change it
$ probity reproduce regressions/exec-timeout-ignored --context kind-kind > issue.md
```

Other runs do not include these cases. The exit status is 1 if a cluster shows one of the bugs. The columns are:

- *shown by* and *fixed*: the versions according to the discussion of the report and the release notes of Kubernetes;
- *measured*: what a run of the case showed on a stock Kubernetes of this version, with containerd, as
  [cluster.md](cluster.md) starts it.

`ci/results` runs all of these cases on each version that it tests. It writes what each version does to
`docs/results/regressions.md` ([results](results/README.md)).

On a simulated kubelet without defects, the expectations of each case hold. With the planted defect that is most similar to its
bug, they are violated (`tests/simulator/tests/regressions.rs`).

To add a case, put a file with the field [`reported`](case.md#the-fields-of-a-case) into `suites/regressions`, and run
`PROBITY_REGRESSIONS=write cargo test --workspace --all-features --lib regressions`.

";

/// The page.
fn page() -> String {
    let mut text = TOP.to_owned();
    text += "| case | report | promised | shown by | fixed | measured |\n|---|---|---|---|---|---|\n";
    for (case, reported) in all() {
        let name = case.name.0.trim_start_matches("regressions/");
        text += &format!(
            "| [{name}](../suites/regressions/{name}.yaml) | [{}]({}): {} | {} | {} | {} | {} |\n",
            reported.issue.trim_start_matches("kubernetes/kubernetes"),
            reported.address(),
            cell(&reported.title),
            cell(&reported.promised),
            cell(&reported.shown),
            cell(reported.fixed.as_deref().unwrap_or("not yet")),
            if reported.measured.is_empty() { "not yet".to_owned() } else { reported.measurements() },
        );
    }
    text
}

#[test]
fn the_page_is_what_the_cases_say() {
    if std::env::var("PROBITY_REGRESSIONS").is_ok_and(|word| word == "write") {
        fs::write(page_file(), page()).unwrap();
    }
    let written = fs::read_to_string(page_file()).unwrap_or_default();
    assert!(written == page(), "docs/regressions.md differs: PROBITY_REGRESSIONS=write writes it anew");
}
