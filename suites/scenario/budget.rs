//! Disruption budgets: restarts by liveness probes ignore them.
//!
//! A budget limits evictions. A container whose liveness probe failed too often is stopped whatever the budget of its pod
//! allows, and so are all others at the same time.

use std::collections::BTreeMap;

use probity_model::history::Sighting;
use probity_model::timeline::{PodLife, ProbeKind};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{note_spread, sightings};
use crate::reading::termination::exhausted;

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.ignores-pdb", judge: ignores_budget }];

fn selects(budget: &Sighting, pod: &PodLife<'_>) -> bool {
    let wanted = budget.object["spec"]["selector"]["matchLabels"].as_object();
    let labels = pod.revisions.first().map(|first| &first.object["metadata"]["labels"]);
    let (Some(wanted), Some(labels)) = (wanted, labels) else { return false };
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// All replicas are restarted at once by their liveness probes although the budget allows no disruption.
fn ignores_budget(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut budgets: BTreeMap<&str, Vec<(EventId, i64, &Sighting)>> = BTreeMap::new();
    for budget in sightings(run, "PodDisruptionBudget") {
        budgets.entry(&budget.2.name).or_default().push(budget);
    }
    for revisions in budgets.values() {
        let Some((_, _, latest)) = revisions.last() else { continue };
        let failed: Vec<_> = exhausted(run, ProbeKind::Liveness)
            .into_iter()
            .filter(|spent| spent.life.number == 0 && selects(latest, spent.life.pod))
            .filter_map(|spent| {
                let used_up = run.clocks.on_harness(&spent.at)?.lo;
                let (id, _, budget) = revisions.iter().rfind(|(_, us, _)| *us < used_up)?;
                let none_allowed = budget.object["status"]["disruptionsAllowed"] == 0;
                none_allowed.then_some((spent, *id))
            })
            .collect();
        // One restart proves nothing: only several at once are more than any budget allows.
        if failed.len() < 2 {
            continue;
        }
        seen.applies();
        let (stops, budgets): (Vec<_>, Vec<_>) = failed
            .iter()
            .filter_map(|(spent, budget)| {
                let stop = spent.judge_stop(clause, seen)?;
                Some(((stop, spent.life.node.as_str()), *budget))
            })
            .unzip();
        let first = stops.iter().zip(&budgets).min_by_key(|((stop, _), _)| stop.at.at.lo);
        if let (Some((_, budget)), true) = (first, stops.len() > 1) {
            note_spread(run, seen, "from the first restart under the budget to the last", &stops);
            seen.fine(stops.iter().map(|(stop, _)| stop.id).chain([*budget]));
        }
    }
}
