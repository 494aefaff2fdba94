//! The book as the tests of the simulator use it: its cases and its judges, which run all at once.

#![allow(dead_code, reason = "each test binary takes what it needs")]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use probity_case::Case;
use probity_model::{History, Judgement, Registry};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};

/// The clauses with their judges.
pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(|| probity_suites::draft().unwrap());

/// The cases of the book that the simulated cluster can run: it has no controllers that create pods for workloads.
pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let files = probity_suites::cases().unwrap_or_else(|problem| panic!("{problem}"));
    files.into_iter().flat_map(|file| file.cases).filter(|case| case.workloads.is_empty()).collect()
});

/// The judgements of all judges on a history.
pub(crate) fn judge(history: &History) -> Vec<Judgement> {
    REGISTRY.judge(history)
}

/// The violated clauses, with their findings.
pub(crate) fn violated(history: &History) -> Vec<(String, String)> {
    let judgements = judge(history).into_iter();
    judgements
        .filter(|judgement| judgement.verdict.word() == "violated")
        .map(|judgement| (judgement.clause.to_string(), judgement.verdict.sentence().to_owned()))
        .collect()
}

/// The settings of the search for counterexamples. The search is always the same, unless `PROBITY_SEED` sets another
/// seed.
pub(crate) fn searching(cases: u32) -> ProptestConfig {
    let seed = std::env::var("PROBITY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

/// Whether the defect with this number is due: a long test covers a third of them, a different third each day.
/// `PROBITY_THIRD=all` selects all of them, and `0`, `1` or `2` one third.
pub(crate) fn is_due(number: usize) -> bool {
    let days = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    match std::env::var("PROBITY_THIRD").as_deref() {
        Ok("all") => true,
        Ok(third @ ("0" | "1" | "2")) => number % 3 == third.parse::<usize>().unwrap(),
        Ok(other) => panic!("PROBITY_THIRD is all, 0, 1 or 2, not `{other}`"),
        Err(_) => number as u64 % 3 == days() % 3,
    }
}

/// Does something for each number below `count`, on all cores, and returns the results in order.
pub(crate) fn each<R: Send>(count: usize, what: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    return done;
                }
                done.push((at, what(at)));
            }
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
