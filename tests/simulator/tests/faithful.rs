//! On a faithful cluster every clause of every case holds, or diverges exactly where the catalogue says so, and nothing
//! is ever a violation.

mod book;

use probity_case::Case;
use probity_model::History;
use probity_model::history::{Did, Happening};
use probity_simulator::simulate;

/// The seeds with which every case is run.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

fn deeds(history: &History) -> impl Iterator<Item = &Did> {
    history.events().filter_map(|(_, event)| match &event.what {
        Happening::Deed(deed) => Some(&deed.did),
        _ => None,
    })
}

/// Whether the API server rejected an update of a pod that it must reject.
fn is_rejection(why: &str) -> bool {
    let rejected =
        ["may not change", "a gate cannot be added", "422 Invalid", "409 Conflict", "400 BadRequest"];
    rejected.iter().any(|words| why.contains(words))
}

/// The problems with a run of a case on the faithful cluster.
fn complaints(case: &Case, seed: u64) -> Vec<String> {
    let history = simulate(case, &[], seed);
    let mut wrong: Vec<String> = deeds(&history)
        .filter_map(|did| match did {
            Did::Waited { what, came: false } => Some(format!("what was waited for never came: {what}")),
            // Some cases test patches that must be rejected.
            Did::Failed { what, why } if what.starts_with("patch ") && is_rejection(why) => None,
            Did::Failed { what, why } => Some(format!("a step failed: {what}: {why}")),
            Did::Over { why } if why != "done" => Some(format!("it ended {why}")),
            _ => None,
        })
        .collect();
    for judgement in book::judge(&history) {
        let clause = book::REGISTRY.catalogue.get(&judgement.clause);
        let may_diverge = clause.is_some_and(|clause| clause.actual.is_some());
        let word = judgement.verdict.word();
        let fine = match word {
            "holds" => true,
            "diverges" => may_diverge,
            "violated" => false,
            _ => !judgement.intended,
        };
        if !fine {
            wrong.push(format!("{} {word}: {}", judgement.clause, judgement.verdict.sentence()));
        }
    }
    wrong.into_iter().map(|wrong| format!("{} (seed {seed}): {wrong}", case.name)).collect()
}

#[test]
fn every_clause_of_every_case_holds_or_diverges_as_catalogued() {
    let seeds: Vec<u64> = SEEDS.collect();
    let count = book::CASES.len();
    let wrong = book::each(count * seeds.len(), |at| complaints(&book::CASES[at % count], seeds[at / count]));
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_same_case_and_seed_give_the_same_history() {
    for case in book::CASES.iter().take(5) {
        assert_eq!(simulate(case, &[], 7), simulate(case, &[], 7), "{}", case.name);
    }
}

#[test]
fn another_seed_gives_another_history() {
    let case = book::CASES.iter().find(|case| !case.pods.is_empty());
    assert!(case.is_some_and(|case| simulate(case, &[], 7) != simulate(case, &[], 8)));
}
