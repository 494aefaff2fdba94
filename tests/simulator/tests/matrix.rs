//! The checked-in matrix of defects against clauses, over all cases of the book.
//!
//! It says for each planted defect which clauses call it a violation, and lies in `suites/defects.txt`, where the program
//! finds it too. A defect that nobody notices fails the build, and so does a testable clause that notices none. After a
//! change that is meant, `PROBITY_MATRIX=write` writes it anew, to be reviewed as a diff.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

mod book;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use probity_case::Case;
use probity_model::History;
use probity_simulator::{Defect, simulate, simulate_faithful};

/// The seeds of the matrix: what one of them shows counts.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

static MATRIX: LazyLock<Vec<(Defect, BTreeSet<String>)>> = LazyLock::new(|| {
    let runs: Vec<(&Case, u64)> =
        book::CASES.iter().flat_map(|case| SEEDS.map(move |seed| (case, seed))).collect();
    let count = runs.len();
    let faithful: Vec<(History, BTreeSet<Defect>)> =
        book::each(count, |at| simulate_faithful(runs[at].0, runs[at].1));
    let cells = book::each(Defect::ALL.len() * count, |cell| {
        let (defect, run) = (Defect::ALL[cell / count], cell % count);
        let (plain, depends_on) = &faithful[run];
        if !depends_on.contains(&defect) {
            return Vec::new();
        }
        let history = simulate(runs[run].0, &[defect], runs[run].1);
        if history == *plain { Vec::new() } else { book::violated(&history) }
    });
    let row = |(at, defect): (usize, &Defect)| {
        let clauses = cells[at * count..(at + 1) * count].iter().flatten().map(|(clause, _)| clause.clone());
        (*defect, clauses.collect())
    };
    Defect::ALL.iter().enumerate().map(row).collect()
});

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../suites/defects.txt")
}

fn text() -> String {
    let mut text = String::from(
        "# Each planted defect, and the clauses that call it a violation. Written by tests/simulator/tests/matrix.rs.\n",
    );
    for (defect, clauses) in MATRIX.iter() {
        write!(text, "\n{defect:?}\n").unwrap();
        for clause in clauses {
            writeln!(text, "    {clause}").unwrap();
        }
    }
    text
}

#[test]
fn the_matrix_is_what_is_checked_in() {
    if std::env::var("PROBITY_MATRIX").is_ok_and(|word| word == "write") {
        std::fs::write(file(), text()).unwrap();
    }
    let known = std::fs::read_to_string(file()).unwrap_or_default();
    let (old, new) = (pairs(&known), pairs(&text()));
    let gone = old.difference(&new).map(|pair| format!("- {pair}"));
    let come = new.difference(&old).map(|pair| format!("+ {pair}"));
    assert!(
        known == text(),
        "the matrix changed; look at it, and write it by PROBITY_MATRIX=write if that is meant:\n{}",
        gone.chain(come).collect::<Vec<_>>().join("\n")
    );
}

/// Each clause of a matrix with the defect that it stands under.
fn pairs(matrix: &str) -> BTreeSet<String> {
    let blocks = matrix.split("\n\n").filter_map(|block| block.split_once('\n'));
    blocks
        .flat_map(|(defect, clauses)| {
            clauses.lines().map(move |clause| format!("{defect}: {}", clause.trim()))
        })
        .collect()
}

#[test]
fn somebody_notices_each_defect() {
    let unnoticed: Vec<_> =
        MATRIX.iter().filter(|(_, clauses)| clauses.is_empty()).map(|(defect, _)| defect).collect();
    assert!(unnoticed.is_empty(), "no clause calls these defects a violation: {unnoticed:?}");
}

#[test]
fn each_clause_notices_some_defect_or_says_why_not() {
    let noticing: BTreeSet<&str> =
        MATRIX.iter().flat_map(|(_, clauses)| clauses).map(String::as_str).collect();
    let testable = || book::REGISTRY.catalogue.iter().filter(|clause| clause.untestable.is_none());
    let blind = testable().filter(|clause| clause.without_defect.is_none());
    let blind: Vec<_> = blind.map(|clause| clause.id.as_str()).filter(|id| !noticing.contains(id)).collect();
    assert!(blind.is_empty(), "these clauses notice no planted defect: {blind:#?}");
    let seeing = testable().filter(|clause| clause.without_defect.is_some());
    let seeing: Vec<_> = seeing.map(|clause| clause.id.as_str()).filter(|id| noticing.contains(id)).collect();
    assert!(seeing.is_empty(), "these clauses are excused but notice a defect by now: {seeing:#?}");
}
