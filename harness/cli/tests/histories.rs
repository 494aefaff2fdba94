//! Runs that were recorded on real clusters, and the verdicts that they must get.
//!
//! The histories lie in `tests/histories`, one folder a cluster, with `verdicts.txt` beside them: a line for each case and
//! clause. `PROBITY_HISTORIES=write` writes it anew after a judge was changed on purpose; the difference is reviewed.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::fs;
use std::path::{Path, PathBuf};

use probity::probity;
use serde_json::{Deserializer, Value};

fn clusters() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// A line for each case and clause: `case clause verdict`.
fn verdicts(cluster: &Path) -> String {
    let said = probity(&["judge", "--format", "json", cluster.to_str().unwrap()]);
    assert!(matches!(said.status, 0 | 3), "{}", said.err);
    let documents = Deserializer::from_str(&said.out).into_iter::<Value>();
    let mut lines = Vec::new();
    for document in documents {
        let document = document.unwrap();
        let case = document["case"].as_str().unwrap().to_owned();
        for judgement in document["judgements"].as_array().unwrap() {
            let intended = if judgement["intended"] == true { " (intended)" } else { "" };
            let (clause, verdict) =
                (judgement["clause"].as_str().unwrap(), judgement["verdict"].as_str().unwrap());
            lines.push(format!("{case} {clause} {verdict}{intended}"));
        }
    }
    lines.sort();
    lines.join("\n") + "\n"
}

#[test]
fn recorded_runs_get_the_verdicts_that_they_always_got() {
    let clusters = clusters();
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
    for cluster in clusters() {
        for line in verdicts(&cluster).lines() {
            assert!(!line.contains(" violated") && !line.contains(" inconclusive (intended)"), "{line}");
        }
    }
}
