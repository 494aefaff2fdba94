//! Faithful clusters in unusual situations: with random choices other than those of the matrix, with a kubelet restart
//! after each step of a case, with starts that fail in the runtime, and without user namespaces. None of these situations may
//! cause a violation.

mod book;

use probity_case::{Case, NodeStep, Step};
use probity_model::History;
use probity_model::history::RESTART_KUBELET;
use probity_simulator::{Oddity, simulate, simulate_oddly};

/// Seeds other than those of the matrix and of the faithful runs.
const SEEDS: std::ops::RangeInclusive<u64> = 11..=14;

/// For each step of a case, a copy of the case with a kubelet restart after that step. Cases that do something to a node are
/// left out.
fn interrupted(case: &Case) -> Vec<Case> {
    let touched = case.steps.iter().any(|step| matches!(step, Step::Node(_)));
    let Some(pod) = case.pods.keys().next().filter(|_| !touched) else { return Vec::new() };
    let restart =
        || Step::Node(NodeStep { pod: Some(pod.clone()), verb: RESTART_KUBELET.to_owned(), input: None });
    let after = |at: usize| {
        let mut case = case.clone();
        case.steps.insert(at, restart());
        // A wait of the case may now time out, so no clause is required.
        case.judges.clear();
        case
    };
    (1..=case.steps.len()).map(after).collect()
}

fn accusations(case: &Case, seed: u64, what: &str) -> Vec<String> {
    accused(case, &simulate(case, &[], seed), &format!("seed {seed}, {what}"))
}

fn accused(case: &Case, history: &History, what: &str) -> Vec<String> {
    let violated = book::violated(history).into_iter();
    violated.map(|(clause, why)| format!("{} ({what}): {clause}: {why}", case.name)).collect()
}

/// The accusations of these cases on a cluster that does something unusual.
fn oddly(cases: &[Case], oddity: Oddity) -> Vec<String> {
    let wrong = book::each(cases.len(), |at| {
        let history = simulate_oddly(&cases[at], oddity, 1);
        accused(&cases[at], &history, &format!("{oddity:?}"))
    });
    wrong.into_iter().flatten().collect()
}

#[test]
fn no_other_chance_violates_anything() {
    let seeds: Vec<u64> = SEEDS.collect();
    let count = book::CASES.len();
    let wrong = book::each(count * seeds.len(), |at| {
        accusations(&book::CASES[at % count], seeds[at / count], "plain")
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_restart_of_the_kubelet_after_any_step_violates_nothing() {
    let cases: Vec<(usize, Case)> =
        book::CASES.iter().flat_map(|case| interrupted(case).into_iter().enumerate()).collect();
    assert!(!cases.is_empty());
    let wrong = book::each(cases.len(), |at| {
        let (step, case) = &cases[at];
        accusations(case, 1, &format!("restarted after step {}", step + 1))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} accusations:\n{}", wrong.len(), wrong.join("\n"));
}

/// A step that waits may now time out, which leaves clauses undecided, but accuses nobody.
#[test]
fn a_start_that_the_runtime_fails_violates_nothing() {
    let wrong = oddly(&book::CASES, Oddity::FailedFirstStart);
    assert!(wrong.is_empty(), "{} accusations:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_node_that_starts_no_pod_with_its_own_users_violates_nothing() {
    let asks = |case: &&Case| case.pods.values().any(|pod| pod.pod["spec"]["hostUsers"] == false);
    let cases: Vec<Case> = book::CASES.iter().filter(asks).cloned().collect();
    assert!(!cases.is_empty());
    let wrong = oddly(&cases, Oddity::NoUserNamespaces);
    assert!(wrong.is_empty(), "{} accusations:\n{}", wrong.len(), wrong.join("\n"));
}
