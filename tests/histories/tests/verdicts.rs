//! The verdicts that recorded runs must get.
//!
//! `verdicts.txt` next to the histories of a cluster has a line for each case and clause.
//! `PROBITY_HISTORIES=write` generates it again after an intended change of a judge; review the difference.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

/// A line for each case and clause: `case clause verdict`.
fn verdicts(cluster: &Path) -> String {
    let registry = probity_suites::registry().unwrap();
    let mut lines = Vec::new();
    for recorded in probity_histories::recorded(cluster).unwrap() {
        for judgement in registry.judge(&recorded.history) {
            let intended = if judgement.intended { " (intended)" } else { "" };
            let (clause, verdict) = (judgement.clause, judgement.verdict.word());
            lines.push(format!("{} {clause} {verdict}{intended}", recorded.case));
        }
    }
    lines.sort();
    lines.join("\n") + "\n"
}

#[test]
fn recorded_runs_get_the_verdicts_that_they_always_got() {
    let clusters = probity_histories::clusters().unwrap();
    assert!(!clusters.is_empty());
    for cluster in clusters {
        let file = cluster.join("verdicts.txt");
        let now = verdicts(&cluster);
        assert!(now.lines().count() > 200, "few verdicts for {}", cluster.display());
        if std::env::var("PROBITY_HISTORIES").is_ok_and(|word| word == "write") {
            fs::write(&file, &now).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap();
        let differs: Vec<_> = now.lines().filter(|line| !expected.lines().any(|old| old == *line)).collect();
        assert!(now == expected, "{} differs, first in: {:?}", file.display(), differs.first());
    }
}

#[test]
fn a_stock_kubelet_violates_nothing_and_leaves_nothing_open() {
    for cluster in probity_histories::clusters().unwrap() {
        for line in verdicts(&cluster).lines() {
            let open = line.contains(" inconclusive (intended)");
            assert!(!line.contains(" violated") && !open, "{line}");
        }
    }
}
