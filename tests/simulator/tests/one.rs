//! Simulates a few defects instead of all. Prints which clauses detect the defects that `PROBITY_DEFECTS` names,
//! separated by commas, and in how many runs. This takes seconds, while the matrix takes many minutes.
//!
//! `PROBITY_DEFECTS=HttpOnly200Passes cargo test --workspace --all-features --test one -- --ignored --nocapture`

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "tests")]

mod book;

use std::collections::{BTreeMap, BTreeSet};

use probity_case::Case;
use probity_simulator::{Defect, simulate, simulate_faithful};

/// The seeds with which every case is run.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// The defects with these names.
fn named(words: &str) -> Vec<Defect> {
    let words: BTreeSet<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let all = Defect::ALL.iter().copied();
    all.filter(|defect| words.contains(format!("{defect:?}").as_str())).collect()
}

#[test]
#[ignore = "it looks at the defects that PROBITY_DEFECTS names"]
fn somebody_notices_the_named_defects() {
    let defects = named(&std::env::var("PROBITY_DEFECTS").unwrap_or_default());
    assert!(!defects.is_empty(), "set PROBITY_DEFECTS to the names of defects, separated by commas");
    let runs: Vec<(&Case, u64)> =
        book::CASES.iter().flat_map(|case| SEEDS.map(move |seed| (case, seed))).collect();
    let found = book::each(runs.len(), |at| {
        let (case, seed) = runs[at];
        let (plain, depends_on) = simulate_faithful(case, seed);
        let of = defects.iter().filter(|defect| depends_on.contains(defect)).filter_map(|defect| {
            let history = simulate(case, &[*defect], seed);
            (history != plain).then(|| (*defect, book::violated(&history)))
        });
        of.collect::<Vec<_>>()
    });
    let mut unnoticed = Vec::new();
    for defect in defects {
        let mut by: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        let mut changed = BTreeSet::new();
        for (at, (_, violated)) in found
            .iter()
            .enumerate()
            .flat_map(|(at, of)| of.iter().map(move |of| (at, of)))
            .filter(|(_, (of, _))| *of == defect)
        {
            changed.insert(runs[at].0.name.to_string());
            for (clause, why) in violated {
                let entry = by.entry(clause).or_default();
                entry.0 += 1;
                if entry.1.is_empty() {
                    entry.1 = format!("{} ({}): {why}", runs[at].0.name, runs[at].1);
                }
            }
        }
        let some = changed.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        println!("\n{defect:?}: changes {} cases, such as {some}", changed.len());
        for (clause, (times, why)) in &by {
            println!("    {clause} {times}, first in {why}");
        }
        if by.is_empty() {
            unnoticed.push(defect);
        }
    }
    assert!(unnoticed.is_empty(), "no clause calls these defects a violation: {unnoticed:?}");
}
