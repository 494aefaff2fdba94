//! How many pods may be unavailable: evictions are granted only while enough healthy pods remain, whatever made the
//! others unavailable. Deletions are not limited at all.

use probity_model::history::Did;
use probity_model::mechanisms::TWO_WATCHES;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};

use super::account::{
    Answer, Budget, CAUSE, Eviction, FORBIDDEN, Health, Room, budgets, budgets_of, evictions,
};

/// The eviction of a healthy pod that exactly one budget selects.
struct Judged<'t, 'h, 'b> {
    eviction: &'b Eviction<'t, 'h>,
    budget: &'b Budget<'h>,
    room: Room<'t, 'h>,
}

/// The evictions of pods that were certainly healthy and that exactly one budget selects.
fn judged<'t, 'h, 'b>(
    clause: &'b Clause,
    evictions: &'b [Eviction<'t, 'h>],
    budgets: &'b [Budget<'h>],
) -> impl Iterator<Item = Judged<'t, 'h, 'b>> {
    evictions.iter().filter_map(|eviction| {
        let [budget] = budgets_of(budgets, eviction.pod)[..] else { return None };
        let room = budget.room(clause, eviction)?;
        let healthy = eviction.health(clause, eviction.pod) == Health::Healthy;
        healthy.then_some(Judged { eviction, budget, room })
    })
}

impl Judged<'_, '_, '_> {
    /// The events that created the budget, that last showed the pod, and that requested its eviction.
    fn events(&self) -> Vec<EventId> {
        let shown = self.eviction.shown().map(|shown| shown.id);
        [Some(self.budget.id()), shown, Some(self.eviction.at.id)].into_iter().flatten().collect()
    }

    /// Judges an eviction that the budget forbids. Returns whether it was refused as required.
    fn judge_refusal(&self, seen: &mut Seen) -> bool {
        let (of, words) = (&self.eviction.pod.key, self.room.in_words());
        let finding = match self.eviction.answer {
            Answer::Granted => format!("{of} was evicted although {words}"),
            Answer::Refused { code: Some(FORBIDDEN), cause: Some(CAUSE), .. } => {
                seen.fine(self.events());
                return true;
            }
            Answer::Refused { code: Some(FORBIDDEN), cause, .. } => format!(
                "the eviction of {of} was refused for the cause {:?} instead of {CAUSE:?}",
                cause.unwrap_or_default()
            ),
            // Older histories have no code.
            Answer::Refused { code: None, .. } => return false,
            Answer::Refused { why, .. } => {
                format!("the eviction of {of} was not refused with {FORBIDDEN}: {why}")
            }
        };
        seen.violated(finding, self.events());
        false
    }

    /// Judges an eviction that the budget allows. Returns whether it was granted.
    fn judge_grant(&self, seen: &mut Seen) -> bool {
        let granted = self.eviction.is_granted();
        if granted || self.eviction.is_forbidden() {
            let finding = || {
                let (of, words) = (&self.eviction.pod.key, self.room.in_words());
                format!("the eviction of {of} was refused although {words}")
            };
            seen.check(granted, finding, self.events());
        }
        granted
    }

    /// Whether no pod of the budget was running but not ready: all pods that are missing were evicted, deleted, or not
    /// created yet.
    fn lacks_only_evicted(&self) -> bool {
        self.room.count(|health| health == Health::Unready) == 0
    }
}

/// A budget allows exactly as many evictions as it can spare pods.
pub(super) fn evictions_are_limited(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    let mut refused: Vec<&str> = Vec::new();
    for judged in judged(clause, &evictions, &budgets).filter(Judged::lacks_only_evicted) {
        let name = judged.budget.name;
        if judged.room.is_full() {
            if judged.judge_refusal(seen) {
                refused.push(name);
                seen.facet("eviction", "refused");
            }
        } else if judged.room.has_room() && judged.judge_grant(seen) {
            seen.facet("eviction", if refused.contains(&name) { "granted-again" } else { "granted" });
        }
    }
}

/// A budget that can spare one pod allows one eviction, and not a second one at the same time.
pub(super) fn one_at_a_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    let all: Vec<Judged<'_, '_, '_>> = judged(clause, &evictions, &budgets).collect();
    let spares_one = |of: &&Judged<'_, '_, '_>| {
        of.room.at_least() == of.room.at_most() && of.room.at_least().checked_sub(of.room.desired) == Some(1)
    };
    for first in all.iter().filter(spares_one) {
        judge_allowance(clause, first, seen);
        if !first.judge_grant(seen) {
            continue;
        }
        let mut later = all.iter().filter(|other| other.eviction.at.id > first.eviction.at.id);
        let second = later.find(|other| other.budget.name == first.budget.name && other.room.is_full());
        if second.is_some_and(|second| second.judge_refusal(seen)) {
            seen.facet("seen", "one");
        }
    }
}

/// The budget's status shows that one disruption is allowed.
fn judge_allowance(clause: &Clause, of: &Judged<'_, '_, '_>, seen: &mut Seen) {
    let settled = of.eviction.began - clause.tolerance_us("settle");
    let unchanged = of.room.members.iter().all(|(pod, _)| {
        pod.revisions.iter().all(|shown| !(settled..of.eviction.began).contains(&shown.at.at.lo))
    });
    let Some((at, budget)) = of.budget.shown.iter().rfind(|(at, _)| at.at.lo < of.eviction.began) else {
        return;
    };
    if !unchanged {
        return;
    }
    let allowed = budget["status"]["disruptionsAllowed"].as_u64();
    let finding = || format!("{}, but disruptionsAllowed is {allowed:?}", of.room.in_words());
    let fits = allowed.is_some_and(|allowed| allowed == of.room.at_least().abs_diff(of.room.desired) as u64);
    seen.check(fits, finding, [at.id, of.eviction.at.id]);
    if fits {
        seen.facet("seen", "status");
    }
}

/// Pods that are not ready count against the budget, although nobody evicted them.
pub(super) fn unready_pods_count(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    for judged in judged(clause, &evictions, &budgets).filter(|judged| !judged.lacks_only_evicted()) {
        if judged.room.is_full() && judged.judge_refusal(seen) {
            seen.facet("seen", "refusal");
        }
    }
    for budget in budgets.iter().filter(|budget| budget.is_plain() && !budget.shown.is_empty()) {
        for pod in budget.members(run) {
            if let Some(unready) = turned_unready(run, pod) {
                judge_unready_count(run, clause, (budget, pod, unready), seen);
            }
        }
    }
}

/// The revision from which a pod that had been ready is running but not ready, although nobody disturbed it.
fn turned_unready<'t, 'h>(run: &Timeline<'h>, pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
    let mut changes = pod.changes_of_condition("Ready").skip_while(|(_, ready)| !ready);
    let (unready, _) = changes.find(|(_, ready)| !ready)?;
    let running = unready.phase() == "Running" && !unready.terminating() && !unready.gone;
    let stays = changes.next().is_none();
    (running && stays && run.before_deletion(pod, &unready.at)).then_some(unready)
}

/// The budget's count falls when a pod is no longer ready.
fn judge_unready_count(
    run: &Timeline<'_>,
    clause: &Clause,
    (budget, pod, unready): (&Budget<'_>, &PodLife<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let count = |object: &serde_json::Value| object["status"]["currentHealthy"].as_u64();
    // The watch of the budgets may be faster than that of the pods.
    let known = |at: &At| at.id < unready.id && run.at_least(at, &unready.at) > TWO_WATCHES;
    let Some((last, before)) = budget.shown.iter().rfind(|(at, _)| known(at)) else { return };
    let Some(before) = count(before).filter(|count| *count > 0) else { return };
    let mut after = budget.shown.iter().filter(|(at, _)| at.id > last.id);
    let fallen = match after.find(|(_, object)| count(object) != Some(before)) {
        // Another pod was counted late, so it is not known from which count the budget must fall.
        Some((_, object)) if count(object).is_none_or(|count| count > before) => return,
        fallen => fallen,
    };
    let quantity = format!("from the loss of readiness of {} to the lower count of its budget", pod.key);
    match fallen {
        Some((at, _)) => {
            seen.within(run, &pod.node, quantity, (unready, at), clause.in_time());
            seen.facet("seen", "count");
        }
        None if run.watched_for(pod, &unready.at, clause.slack_us()) => {
            let finding =
                format!("{} is not ready, but its budget still counts {before} healthy pods", pod.key);
            seen.violated(finding, run.to_the_end([unready.id]));
        }
        None => {}
    }
}

/// A pod is deleted although its budget allows no disruption and refuses an eviction at that time.
pub(super) fn deletions_are_not_limited(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    for judged in judged(clause, &evictions, &budgets).filter(|judged| judged.room.is_full()) {
        if judged.judge_refusal(seen) {
            seen.facet("request", "eviction");
            judge_next_deletion(run, clause, &judged, seen);
        }
    }
}

/// Judges the first deletion of a pod of the same budget after a refused eviction.
fn judge_next_deletion(run: &Timeline<'_>, clause: &Clause, of: &Judged<'_, '_, '_>, seen: &mut Seen) {
    let members = &of.room.members;
    for (id, deed) in run.deeds.iter().filter(|(id, _)| *id > of.eviction.at.id) {
        let asked = At::new(*id, Stamp::harness(deed.began_us));
        match &deed.did {
            Did::Deleted { kind, name, .. } if kind == "Pod" => {
                let Some((pod, _)) = members.iter().find(|(pod, _)| pod.name == *name) else { continue };
                let quantity = format!("from the deletion of {} to the start of its termination", pod.key);
                match pod.revisions.iter().find(|shown| shown.terminating() || shown.gone) {
                    Some(going) => {
                        seen.within(run, &pod.node, quantity, (asked, going), clause.in_time());
                        seen.facet("request", "deletion");
                    }
                    None if run.end().at.lo - deed.began_us > clause.slack_us() => {
                        let finding = format!("{} was deleted, but is not terminating", pod.key);
                        seen.violated(finding, run.to_the_end([*id]));
                    }
                    None => {}
                }
            }
            Did::Failed { what, why }
                if what.starts_with("delete ") && why.contains(&format!(" {FORBIDDEN} ")) =>
            {
                seen.violated(format!("a deletion was refused: {why}"), [of.eviction.at.id, *id]);
            }
            _ => {}
        }
    }
}
