//! Recorded histories are damaged on purpose, and the judges must detect the damage.
//!
//! The simulator shows that the judges detect a defective kubelet in a simulated world. This test does the same with
//! histories of a real cluster, which have jitter, coalesced revisions and noise. Each damage changes one thing in a
//! copy of a history, at a place that it finds in the history itself. Then one of the clauses that the damage names
//! must be `violated`. The exceptions are damages that look like lost evidence, which are marked.
//!
//! The table `damage.txt` lists each damage, the number of histories to which it applies, and the clauses that detect
//! it, each with the number of these histories. `PROBITY_DAMAGE=write` generates it again after an intended change;
//! review the difference.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

#[path = "damage/api.rs"]
mod api;
#[path = "damage/cluster.rs"]
mod cluster;
#[path = "damage/conditions.rs"]
mod conditions;
#[path = "damage/copy.rs"]
mod copy;
#[path = "damage/course.rs"]
mod course;
#[path = "damage/delays.rs"]
mod delays;
#[path = "damage/excused.rs"]
mod excused;
#[path = "damage/faults.rs"]
mod faults;
#[path = "damage/kept.rs"]
mod kept;
#[path = "damage/life.rs"]
mod life;
#[path = "damage/lives.rs"]
mod lives;
#[path = "damage/missing.rs"]
mod missing;
#[path = "damage/order.rs"]
mod order;
#[path = "damage/pods.rs"]
mod pods;
#[path = "damage/probes.rs"]
mod probes;
#[path = "damage/reports.rs"]
mod reports;
#[path = "damage/requests.rs"]
mod requests;
#[path = "damage/restarts.rs"]
mod restarts;
#[path = "damage/rollouts.rs"]
mod rollouts;
#[path = "damage/statuses.rs"]
mod statuses;
#[path = "damage/subtle.rs"]
mod subtle;
#[path = "damage/termination.rs"]
mod termination;
#[path = "damage/unviolated.rs"]
mod unviolated;
#[path = "damage/wire.rs"]
mod wire;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_histories::Recorded;
use probity_model::{History, Registry, Timeline};

/// A damage.
pub(crate) struct Damage {
    /// A sentence that describes the damage. It is the damage's name in the table.
    what: &'static str,
    /// The clauses that should detect the damage. At least one of them must detect it.
    by: &'static [&'static str],
    /// The verdict that these clauses must give.
    word: &'static str,
    /// Applies the damage; `None` if the history has no place for it.
    make: fn(&Timeline<'_>) -> Option<History>,
}

/// A damage that a clause must detect as a violation.
pub(crate) const fn violated(
    what: &'static str,
    by: &'static [&'static str],
    make: fn(&Timeline<'_>) -> Option<History>,
) -> Damage {
    Damage { what, by, word: "violated", make }
}

/// A damage that looks like lost evidence: a clause must be inconclusive.
pub(crate) const fn doubted(
    what: &'static str,
    by: &'static [&'static str],
    make: fn(&Timeline<'_>) -> Option<History>,
) -> Damage {
    Damage { what, by, word: "inconclusive", make }
}

const GROUPS: &[(&str, &[Damage])] = &[
    ("probes", probes::ALL),
    ("missing", missing::ALL),
    ("order", order::ALL),
    ("requests", requests::ALL),
    ("wire", wire::ALL),
    ("lives", lives::ALL),
    ("statuses", statuses::ALL),
    ("pods", pods::ALL),
    ("cluster", cluster::ALL),
    ("restarts", restarts::ALL),
    ("rollouts", rollouts::ALL),
    ("faults", faults::ALL),
    ("delays", delays::ALL),
    ("kept", kept::ALL),
    ("api", api::ALL),
    ("life", life::ALL),
    ("termination", termination::ALL),
    ("conditions", conditions::ALL),
    ("reports", reports::ALL),
    ("subtle", subtle::ALL),
];

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| probity_suites::registry().unwrap());

static RECORDED: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let clusters = probity_histories::clusters().unwrap().into_iter();
    clusters.flat_map(|cluster| probity_histories::recorded(&cluster).unwrap()).collect()
});

/// The verdict of each clause on a history, as a word.
fn words(history: &History) -> BTreeMap<String, &'static str> {
    REGISTRY.judge(history).into_iter().map(|of| (of.clause.to_string(), of.verdict.word())).collect()
}

/// The result of a damage in one history.
struct Found {
    case: &'static str,
    /// The clauses with the damage's verdict that do not have it on the undamaged history.
    by: Vec<String>,
}

/// The maximum number of histories in which each damage looks for a place.
const PLACES: usize = 8;

/// The verdicts on each undamaged history.
static WHOLE: LazyLock<Vec<BTreeMap<String, &'static str>>> =
    LazyLock::new(|| each(RECORDED.len(), |at| words(&RECORDED[at].history)));

/// The result of a damage in the histories to which it applies. They are selected at regular distances, so that
/// all chapters are covered.
fn found(damage: &Damage) -> Vec<Found> {
    let leap = (5..).find(|leap| !RECORDED.len().is_multiple_of(*leap)).unwrap_or(1);
    let order = (0..RECORDED.len()).map(|at| at * leap % RECORDED.len());
    let looked = order.filter_map(|at| {
        let Recorded { case, history } = &RECORDED[at];
        let damaged = (damage.make)(&Timeline::of(history)).filter(|damaged| damaged != history)?;
        let now = words(&damaged);
        let new = now.into_iter().filter(|(clause, word)| {
            *word == damage.word && WHOLE[at].get(clause).is_none_or(|whole| *whole != damage.word)
        });
        Some(Found { case, by: new.map(|(clause, _)| clause).collect() })
    });
    let mut looked: Vec<Found> = looked.take(PLACES).collect();
    looked.sort_by_key(|found| found.case);
    looked
}

/// The result of each damage, in order.
static FOUND: LazyLock<Vec<(&'static str, &'static Damage, Vec<Found>)>> = LazyLock::new(|| {
    let damages = GROUPS.iter().flat_map(|(group, all)| all.iter().map(move |damage| (*group, damage)));
    let damages: Vec<_> = damages.collect();
    each(damages.len(), |at| (damages[at].0, damages[at].1, found(damages[at].1)))
});

/// Does something for each number below `count`, on all cores, and returns the results in order.
fn each<R: Send>(count: usize, what: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|at| *at < count).map(|at| (at, what(at))).collect::<Vec<_>>()
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Whether one of the clauses that should detect the damage detected it in one history.
fn noticed(damage: &Damage, found: &Found) -> bool {
    found.by.iter().any(|clause| damage.by.contains(&clause.as_str()))
}

fn table() -> String {
    let mut text = String::from(
        "# What recorded histories were damaged by, and the clauses that noticed. Written by tests/damage.rs.\n\
         # After each damage, how many histories had a place for it; after each clause, in how many it noticed. A star marks\n\
         # the clauses that are there to notice it.\n",
    );
    let mut last = "";
    for (group, damage, found) in FOUND.iter() {
        if last != *group {
            write!(text, "\n== {group} ==\n").unwrap();
            last = group;
        }
        let word = if damage.word == "violated" { "" } else { ", which leaves a doubt" };
        write!(text, "\n{} ({}{word})\n", damage.what, found.len()).unwrap();
        let mut by: BTreeMap<&str, usize> = damage.by.iter().map(|clause| (*clause, 0)).collect();
        for clause in found.iter().flat_map(|found| &found.by) {
            *by.entry(clause).or_default() += 1;
        }
        for (clause, times) in by {
            let star = if damage.by.contains(&clause) { "*" } else { " " };
            writeln!(text, "  {star} {clause} {times}").unwrap();
        }
        for found in found.iter().filter(|found| found.by.is_empty()) {
            let why = excused::why(damage.what, found.case).unwrap_or("nobody knows why");
            writeln!(text, "    unnoticed in {}: {why}", found.case).unwrap();
        }
    }
    text
}

#[test]
fn the_table_is_what_is_checked_in() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("damage.txt");
    let now = table();
    if std::env::var("PROBITY_DAMAGE").is_ok_and(|word| word == "write") {
        std::fs::write(&file, &now).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let changed: Vec<_> = now.lines().filter(|line| !known.lines().any(|old| old == *line)).collect();
    assert!(
        known == now,
        "the table changed; look at it, and write it by PROBITY_DAMAGE=write if that is meant. New lines:\n{}",
        changed.join("\n")
    );
}

#[test]
fn each_damage_has_a_place_and_is_noticed_in_all_or_excused() {
    let mut wrong = Vec::new();
    for (what, case, _) in excused::ALL {
        let damaged = FOUND.iter().find(|(_, damage, _)| damage.what == *what);
        let place = damaged.and_then(|(.., found)| found.iter().find(|found| found.case == *case));
        if place.is_none_or(|place| !place.by.is_empty()) {
            wrong.push(format!("nothing is left to excuse in {case}: {what}"));
        }
    }
    for (_, damage, found) in FOUND.iter() {
        if found.is_empty() {
            wrong.push(format!("no history has a place for it: {}", damage.what));
        }
        if !found.is_empty() && !found.iter().any(|found| noticed(damage, found)) {
            wrong.push(format!("none of {:?} noticed that {}", damage.by, damage.what));
        }
        for place in found.iter().filter(|found| found.by.is_empty()) {
            if excused::why(damage.what, place.case).is_none() {
                wrong.push(format!("nobody noticed in {}: {}", place.case, damage.what));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Prints the verdicts of a damage's clauses on a history before and after it, to show why no clause detected it.
///
/// `PROBITY_PLACE='restart/rules: a container that failed is not started again' cargo test --workspace --all-features
/// --test damage -- --ignored --nocapture`
#[test]
#[ignore = "it looks at the place that PROBITY_PLACE names"]
fn what_is_said_of_a_named_place() {
    let place = std::env::var("PROBITY_PLACE").unwrap_or_default();
    let (case, what) = place.split_once(": ").unwrap();
    let recorded = RECORDED.iter().find(|recorded| recorded.case == case).unwrap();
    let damage = GROUPS.iter().flat_map(|(_, all)| *all).find(|damage| damage.what == what).unwrap();
    let damaged = (damage.make)(&Timeline::of(&recorded.history)).unwrap();
    for (when, history) in [("before", &recorded.history), ("after", &damaged)] {
        for of in REGISTRY.judge(history).iter().filter(|of| damage.by.contains(&of.clause.as_str())) {
            println!("{when}: {} {}: {}", of.clause, of.verdict.word(), of.verdict.sentence());
        }
    }
    let (old, new): (Vec<_>, Vec<_>) = (recorded.history.events().collect(), damaged.events().collect());
    let changed = new.iter().filter(|event| !old.iter().any(|(_, old)| *old == event.1));
    for (id, event) in changed.take(20) {
        println!("{id:?} {}", serde_json::to_string(event).unwrap());
    }
    println!("{} events before, {} after", old.len(), new.len());
}
