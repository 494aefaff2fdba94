//! The checked-in matrix of defects against clauses, over all cases of the book.
//!
//! It lists for each planted defect which clauses it violates. The matrix is in `suites/defects.txt`, from which the
//! program also reads it. A defect that no clause detects fails the build, and so does a testable clause that detects
//! no defect. A third of the defects is simulated, a different third each day, or all of them with `PROBITY_THIRD=all`.
//! The other rows stay as they are checked in. After an intended change, `PROBITY_MATRIX=write` generates the whole
//! matrix again, to be reviewed as a diff. With `PROBITY_DEFECTS=NAME,NAME` it generates only these rows.

#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod book;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use probity_model::History;
use probity_simulator::{Defect, simulate, simulate_faithful};

/// The seed of the matrix, which decides the random choices of a run.
const SEED: u64 = 1;

static MATRIX: LazyLock<Vec<(Defect, BTreeSet<String>)>> = LazyLock::new(|| {
    let known = read(&std::fs::read_to_string(file()).unwrap_or_default());
    let due: Vec<Defect> = numbered().filter(|(at, _)| is_due(*at)).map(|(_, defect)| defect).collect();
    let mut seen = noticed_by_clauses(&due).into_iter();
    let row = |(at, defect)| match is_due(at) {
        true => seen.next().unwrap(),
        false => (defect, known.get(&format!("{defect:?}")).cloned().unwrap_or_default()),
    };
    numbered().map(row).collect()
});

fn numbered() -> impl Iterator<Item = (usize, Defect)> {
    Defect::ALL.iter().copied().enumerate()
}

fn is_written() -> bool {
    std::env::var("PROBITY_MATRIX").is_ok_and(|word| word == "write")
}

fn is_due(number: usize) -> bool {
    if !is_written() {
        return book::is_due(number);
    }
    let name = format!("{:?}", Defect::ALL[number]);
    std::env::var("PROBITY_DEFECTS").map_or(true, |names| names.split(',').any(|named| named.trim() == name))
}

/// For each defect, the clauses that it violates in some case.
fn noticed_by_clauses(defects: &[Defect]) -> Vec<(Defect, BTreeSet<String>)> {
    noticed_in(&(0..book::CASES.len()).collect::<Vec<_>>(), defects)
}

/// For each defect, the clauses that it violates in some of these cases.
fn noticed_in(cases: &[usize], defects: &[Defect]) -> Vec<(Defect, BTreeSet<String>)> {
    let count = cases.len();
    let faithful: Vec<(History, BTreeSet<Defect>)> =
        book::each(count, |at| simulate_faithful(&book::CASES[cases[at]], SEED));
    let cells = book::each(defects.len() * count, |cell| {
        let (defect, at) = (defects[cell / count], cell % count);
        let (plain, depends_on) = &faithful[at];
        if !depends_on.contains(&defect) {
            return Vec::new();
        }
        let history = simulate(&book::CASES[cases[at]], &[defect], SEED);
        if history == *plain { Vec::new() } else { book::violated(&history) }
    });
    let row = |(at, defect): (usize, &Defect)| {
        let clauses = cells[at * count..(at + 1) * count].iter().flatten().map(|(clause, _)| clause.clone());
        (*defect, clauses.collect())
    };
    defects.iter().enumerate().map(row).collect()
}

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

/// The clauses of each defect in a written matrix.
fn read(matrix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let blocks = matrix.split("\n\n").filter_map(|block| block.split_once('\n'));
    blocks
        .map(|(defect, clauses)| {
            (defect.to_owned(), clauses.lines().map(|clause| clause.trim().to_owned()).collect())
        })
        .collect()
}

#[test]
fn the_matrix_is_what_is_checked_in() {
    let text = text();
    if is_written() {
        std::fs::write(file(), text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(file()).unwrap_or_default();
    let (old, new) = (pairs(&known), pairs(&text));
    let gone = old.difference(&new).map(|pair| format!("- {pair}"));
    let come = new.difference(&old).map(|pair| format!("+ {pair}"));
    assert!(
        known == text,
        "the matrix changed; look at it, and write it by PROBITY_MATRIX=write if that is meant:\n{}",
        gone.chain(come).collect::<Vec<_>>().join("\n")
    );
}

/// Each pair of a defect in a written matrix and one of the clauses that it violates.
fn pairs(matrix: &str) -> BTreeSet<String> {
    let rows = read(matrix).into_iter();
    rows.flat_map(|(defect, clauses)| clauses.into_iter().map(move |clause| format!("{defect}: {clause}")))
        .collect()
}

/// Prints which clauses each defect violates in the cases that `PROBITY_CASES` names. After a change of a few cases, only the
/// rows that differ between the old and the new output need to be generated again.
#[test]
#[ignore = "a tool for authors of cases"]
fn rows_of_some_cases() {
    let named = std::env::var("PROBITY_CASES").unwrap_or_default();
    let named: BTreeSet<&str> = named.split(',').map(str::trim).collect();
    let is_named = |at: &usize| named.contains(book::CASES[*at].name.to_string().as_str());
    let cases = (0..book::CASES.len()).filter(is_named);
    let rows = noticed_in(&cases.collect::<Vec<_>>(), Defect::ALL);
    for (defect, clauses) in rows {
        clauses.iter().for_each(|clause| println!("{defect:?}: {clause}"));
    }
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
