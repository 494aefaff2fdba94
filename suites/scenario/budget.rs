//! Disruption budgets: restarts by probes do not ask them.
//!
//! A budget speaks of evictions. A container whose liveness probe used up its tolerance is stopped whatever the budget
//! of its pod allows, and so are all others at the same time.

use probity_model::history::{Happening, Sighting};
use probity_model::measure::Bound;
use probity_model::timeline::{PodLife, ProbeKind};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::kill::{all_spent, judge_stop};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "scenario.liveness.ignores-pdb", judge: ignores_budget }];

/// A revision of a budget.
struct Budget<'h> {
    id: EventId,
    us: i64,
    name: &'h str,
    object: &'h Value,
}

fn budgets<'h>(run: &Timeline<'h>) -> Vec<Budget<'h>> {
    let events = run.history.events().filter(|(_, event)| event.us <= run.ended_us);
    let seen = events.filter_map(|(id, event)| match &event.what {
        Happening::Sighting(Sighting { kind, name, object, .. }) if kind == "PodDisruptionBudget" => {
            Some(Budget { id, us: event.us, name, object })
        }
        _ => None,
    });
    seen.collect()
}

impl Budget<'_> {
    fn selects(&self, pod: &PodLife<'_>) -> bool {
        let wanted =
            self.object.get("spec").and_then(|spec| spec.get("selector")?.get("matchLabels")?.as_object());
        let labels = pod.revisions.first().and_then(|first| first.object.get("metadata")?.get("labels"));
        match (wanted, labels) {
            (Some(wanted), Some(labels)) => wanted.iter().all(|(key, value)| labels.get(key) == Some(value)),
            _ => false,
        }
    }

    fn allows_none(&self) -> bool {
        self.object.get("status").and_then(|status| status.get("disruptionsAllowed")?.as_i64()) == Some(0)
    }
}

/// All replicas are restarted at once by their liveness probes although the budget allows no disruption.
fn ignores_budget(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let budgets = budgets(run);
    let mut names: Vec<&str> = budgets.iter().map(|budget| budget.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let of_name: Vec<_> = budgets.iter().filter(|budget| budget.name == name).collect();
        let spent: Vec<_> = all_spent(run, ProbeKind::Liveness)
            .filter(|(life, ..)| {
                life.2.number == 0 && of_name.last().is_some_and(|last| last.selects(life.0))
            })
            .filter_map(|(life, _, spent)| {
                let used_up = run.clocks.on_harness(&spent.at)?.lo;
                let before = of_name.iter().rfind(|budget| budget.us < used_up)?;
                before.allows_none().then_some((life, spent, before.id))
            })
            .collect();
        // One restart shows nothing: only several at once are more than any budget would allow.
        if spent.len() < 2 {
            continue;
        }
        let mut stops = Vec::new();
        for (life, spent, none) in &spent {
            seen.applies();
            if let Some(stop) = judge_stop(run, clause, *life, spent, seen) {
                stops.push((*none, stop, life.2.node.clone()));
            }
        }
        let first = stops.iter().min_by_key(|(_, (_, at), _)| at.at.lo);
        let last = stops.iter().max_by_key(|(_, (_, at), _)| at.at.lo);
        if let (Some((none, from, node)), Some((_, to, _)), true) = (first, last, stops.len() > 1) {
            let quantity = "from the first restart under the budget to the last";
            if let Some(spread) = run.measure(quantity, node, *from, *to, Bound::default()) {
                seen.note(spread);
            }
            seen.fine(stops.iter().map(|(_, (id, _), _)| *id).chain([*none]));
        }
    }
}
