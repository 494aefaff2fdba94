//! Causes before effects: which of several violated clauses explains the others.
//!
//! One fault of a kubelet can violate many clauses. For example, a probe that goes to the wrong port fails, the
//! failures are counted, and the container restarts. A violation is likely the effect of another if, in every case that
//! shows it, the other clause is violated too, for the same pods, at an earlier [`Stage`]. The cause is a guess that
//! saves readers time, and not a verdict: the effect stays violated.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::clause::ClauseId;
use probity_model::stage::Stage;
use probity_model::{EventId, Happening, History, Registry};

use crate::build::CaseRun;
use crate::document::ClauseReport;

/// A violation in one case.
struct Violation<'a> {
    clause: &'a ClauseId,
    stage: Stage,
    pods: &'a BTreeSet<String>,
}

/// Sets the likely cause of each violated clause, if another violated clause explains it.
pub(super) fn name(registry: &Registry, clauses: &mut [ClauseReport], case_runs: &[CaseRun]) {
    let cases: Vec<Vec<Violation<'_>>> =
        case_runs.iter().map(|case_run| violations(registry, case_run)).collect();
    let causes: BTreeMap<ClauseId, ClauseId> = clauses
        .iter()
        .filter_map(|clause| Some((clause.id.clone(), cause_of(&clause.id, &cases)?.clone())))
        .collect();
    for clause in clauses {
        clause.follows_from = causes.get(&clause.id).cloned();
    }
}

/// The clause of the earliest stage that is violated wherever this clause is violated.
fn cause_of<'a>(effect: &ClauseId, cases: &'a [Vec<Violation<'a>>]) -> Option<&'a ClauseId> {
    let mut common: Option<BTreeSet<(Stage, &ClauseId)>> = None;
    for case in cases {
        let Some(found) = case.iter().find(|violation| violation.clause == effect) else { continue };
        let earlier = case.iter().filter(|other| {
            other.stage < found.stage && other.pods.iter().any(|pod| found.pods.contains(pod))
        });
        let here: BTreeSet<_> = earlier.map(|other| (other.stage, other.clause)).collect();
        common = Some(match common {
            None => here,
            Some(so_far) => so_far.intersection(&here).copied().collect(),
        });
    }
    common?.into_iter().next().map(|(_, clause)| clause)
}

fn violations<'a>(registry: &'a Registry, case_run: &'a CaseRun) -> Vec<Violation<'a>> {
    let of = |(at, pods): (&usize, &'a BTreeSet<String>)| {
        let clause = &case_run.report.judgements.get(*at)?.clause;
        let stage = registry.catalogue.get(clause)?.stage?;
        Some(Violation { clause, stage, pods })
    };
    case_run.traces.pods.iter().filter_map(of).collect()
}

/// The names of the pods that these events are about.
pub(super) fn pods(history: &History, events: &[EventId]) -> BTreeSet<String> {
    let pod = |id: &EventId| match &history.get(*id)?.what {
        Happening::Witness(heard) => Some(heard.pod.as_str()),
        Happening::Sighting(seen) if seen.kind == "Pod" => Some(seen.name.as_str()),
        Happening::Sighting(seen) if seen.kind == "Event" => {
            seen.object.get("involvedObject")?.get("name")?.as_str()
        }
        _ => None,
    };
    events.iter().filter_map(pod).map(str::to_owned).collect()
}
