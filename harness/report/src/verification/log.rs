//! Whether a log is complete and names everything once.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::CaseName;

use super::{Flaw, LOG};
use crate::run_log::{LogLine, RunFacts};

/// The contradictions in a log.
#[must_use]
pub fn log(log: &[LogLine]) -> Vec<Flaw> {
    let Some(LogLine::Began(facts)) = log.first() else {
        return vec![Flaw::new(LOG, "its first line does not say what was requested")];
    };
    let mut found = ends(log);
    found.extend(twice("it plans the case", facts.cases.iter().map(|planned| &planned.case.0)));
    let files = log.iter().filter_map(|line| match line {
        LogLine::CaseEnded { history, .. } => Some(history),
        _ => None,
    });
    found.extend(twice("it names the history", files));
    found.extend(results(facts, log));
    found.into_iter().map(|what| Flaw::new(LOG, what)).collect()
}

/// Checks the lines that every log has once.
fn ends(log: &[LogLine]) -> Vec<String> {
    let mut found = Vec::new();
    let count = |is: fn(&LogLine) -> bool| log.iter().filter(|line| is(line)).count();
    if count(|line| matches!(line, LogLine::Began(_))) > 1 {
        found.push("a second line says what was requested: it is the log of two runs".to_owned());
    }
    match count(|line| matches!(line, LogLine::Ready(_))) {
        0 => found
            .push("no line names the cluster: the run never reached it, or the line was removed".to_owned()),
        1 => {}
        _ => found.push("several lines name the cluster".to_owned()),
    }
    match (count(|line| matches!(line, LogLine::Finished(_))), log.last()) {
        (1, Some(LogLine::Finished(_))) => {}
        (0, _) => found.push("it has no end: the run was killed, or its last lines were removed".to_owned()),
        (1, _) => found.push("lines follow after its end".to_owned()),
        _ => found.push("it has several ends".to_owned()),
    }
    found
}

/// Names that occur more than once.
fn twice<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again: BTreeSet<&String> = names.filter(|name| !seen.insert(*name)).collect();
    again.into_iter().map(|name| format!("{what} {name} twice")).collect()
}

/// The results of a case in a log.
#[derive(Default)]
struct Results {
    ended: u32,
    skipped: u32,
    broken: u32,
}

/// Cases with too few results, too many results, or results that exclude each other.
fn results(facts: &RunFacts, log: &[LogLine]) -> Vec<String> {
    let mut results: BTreeMap<&CaseName, Results> =
        facts.cases.iter().map(|planned| (&planned.case, Results::default())).collect();
    let mut found = Vec::new();
    let mut again: BTreeMap<&CaseName, u32> = BTreeMap::new();
    let mut interrupted = false;
    for line in log {
        let (case, slot): (&CaseName, fn(&mut Results) -> &mut u32) = match line {
            LogLine::CaseEnded { case, .. } => (case, |of| &mut of.ended),
            LogLine::CaseSkipped { case, .. } => (case, |of| &mut of.skipped),
            LogLine::CaseBroken { case, .. } => (case, |of| &mut of.broken),
            LogLine::TriedAgain { cases } => {
                cases.iter().for_each(|case| *again.entry(case).or_default() += 1);
                continue;
            }
            LogLine::Finished(usage) => {
                interrupted |= usage.interrupted;
                continue;
            }
            _ => continue,
        };
        match results.get_mut(case) {
            Some(of) => *slot(of) += 1,
            None => found.push(format!("it has a result for the case {case}, which it does not plan")),
        }
    }
    let merged = !facts.merged.is_empty();
    let repeat = facts.repeat.max(1);
    for (case, Results { ended, skipped, broken }) in results {
        let tries = again.get(case).copied().unwrap_or_default();
        if ended + skipped + broken == 0 && !interrupted {
            found.push(format!("it plans the case {case} but has no result for it"));
        }
        // A run may be interrupted between two runs of a case. Such a run has no level.
        if interrupted {
            continue;
        }
        if skipped > 0 && ended + broken > 0 {
            found.push(format!("it says that the case {case} was skipped, and also that it ran"));
        }
        // Several of the merged runs may have run the same case.
        if !merged && (skipped > 1 || ended + broken > repeat + tries) {
            let most = repeat + tries;
            found.push(format!(
                "it has {} results for the case {case}, which ran {most} times",
                ended + broken + skipped
            ));
        }
        if !merged && skipped == 0 && (1..repeat).contains(&(ended + broken)) {
            found
                .push(format!("it has {ended} results for the case {case}, which was to run {repeat} times"));
        }
        if !merged && tries > 0 && ended + broken < 2 {
            found.push(format!("it says that the case {case} ran again, but has only one result for it"));
        }
    }
    found
}
