//! Disruption budgets: restarts because of liveness probes ignore them.
//!
//! A budget limits evictions. A container whose liveness probe failed too many times is stopped regardless of its pod's
//! budget, and so are all others at the same time.

use probity_model::history::{Did, Sighting};
use probity_model::mechanisms::TWO_WATCHES;
use probity_model::timeline::{Line, PodLife, ProbeKind};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::{note_spread, objects};
use crate::reading::selectors::{is_known, may_select, selections};
use crate::reading::termination::{Exhausted, exhausted};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.ignores-pdb", judge: ignores_budget }];

/// Whether a budget certainly selects a pod, whatever the revision of the pod.
fn selects(budget: &Sighting, pod: &PodLife<'_>) -> bool {
    let selector = &budget.object["spec"]["selector"];
    let all = selections(pod, |labels| may_select(selector, labels));
    is_known(selector) && !all.is_empty() && !all.contains(&false)
}

/// Whether the API server last showed a pod as healthy before a time on the harness's clock.
fn was_healthy(pod: &PodLife<'_>, us: i64) -> bool {
    let last = pod.revisions.iter().rfind(|shown| shown.at.at.lo < us);
    last.is_some_and(|last| last.is("Ready") == Some(true) && !last.terminating() && !last.gone)
}

/// Whether a revision of a budget shows that it allows no disruption.
fn allows_none(budget: &Sighting) -> bool {
    budget.object["status"]["disruptionsAllowed"] == 0
}

/// The requested evictions of healthy pods under a budget, and whether each was rejected.
fn evictions(run: &Timeline<'_>, budget: &Sighting) -> Vec<(EventId, i64, bool)> {
    let asked = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Evicted { pod, refused, .. } if !deed.did.is_throttled() => {
            Some((*id, deed.began_us, pod, refused.is_some()))
        }
        _ => None,
    });
    let under = |name: &str, at: i64| {
        run.pods.iter().any(|pod| pod.name == name && selects(budget, pod) && was_healthy(pod, at))
    };
    asked.filter(|(_, at, pod, _)| under(pod, *at)).map(|(id, at, _, refused)| (id, at, refused)).collect()
}

/// All replicas restart at the same time because of their liveness probes, although the budget allows no disruption.
fn ignores_budget(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for revisions in objects(run, "PodDisruptionBudget") {
        let Some((_, _, latest)) = revisions.last() else { continue };
        // If the budget rejects no eviction, the restarts prove nothing.
        for (passed, at, _) in evictions(run, latest).into_iter().filter(|(_, _, refused)| !refused) {
            let of_its_time = revisions.iter().rfind(|(_, us, _)| *us < at);
            // The watch may show a revision of the budget later than the answer to the eviction.
            let late = |us: i64| (at..at.saturating_add(TWO_WATCHES)).contains(&us);
            let allowed_late = revisions.iter().any(|(_, us, budget)| late(*us) && !allows_none(budget));
            if let Some((id, _, budget)) = of_its_time
                && allows_none(budget)
                && !allowed_late
            {
                seen.violated("a pod was evicted although its budget allowed no disruption", [*id, passed]);
            }
        }
        let forbidden = |spent: &Exhausted<'_, '_>| {
            let used_up = run.clocks.on_harness(&spent.at)?.lo;
            let (id, _, budget) = revisions.iter().rfind(|(_, us, _)| *us < used_up)?;
            allows_none(budget).then_some(*id)
        };
        let failed: Vec<(Exhausted<'_, '_>, EventId)> = exhausted(run, ProbeKind::Liveness)
            .into_iter()
            .filter(|spent| spent.life.number == 0 && selects(latest, spent.life.pod))
            .filter_map(|spent| forbidden(&spent).map(|budget| (spent, budget)))
            .collect();
        // One restart proves nothing: only several at the same time exceed every budget.
        if failed.len() < 2 {
            continue;
        }
        let judged = failed.iter().filter_map(|(spent, budget)| {
            Some((spent.judge_stop(clause, seen)?, (spent.life.node.as_str(), *budget)))
        });
        let (stops, of): (Vec<&Line<'_>>, Vec<(&str, EventId)>) = judged.unzip();
        let first = stops.iter().zip(of).min_by_key(|(stop, _)| stop.at.at.lo);
        if let (Some((_, (node, budget))), true) = (first, stops.len() > 1) {
            note_spread(run, seen, "from the first restart under the budget to the last", (node, &stops));
            let refused = evictions(run, latest);
            if refused.iter().any(|(_, _, refused)| *refused) {
                seen.facet("eviction", "refused");
            }
            let tried = refused.iter().map(|(id, ..)| *id);
            seen.fine(stops.iter().map(|stop| stop.id).chain([budget]).chain(tried));
        }
    }
}
