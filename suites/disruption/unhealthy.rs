//! Pods that are running but not ready. By default, they can be evicted only while their budget has the healthy pods
//! that it needs; with `AlwaysAllow`, at any time.

use probity_model::{Clause, Seen, Timeline};

use super::account::{Budget, Eviction, Health, Room, budgets, budgets_of, evictions};

/// The evictions of pods that exactly one budget selects. Each comes with the budget, and with the health of the pod
/// and of all pods of the budget at the time of the request.
fn under_one<'t, 'h, 'b>(
    clause: &Clause,
    evictions: &'b [Eviction<'t, 'h>],
    budgets: &'b [Budget<'h>],
) -> Vec<(&'b Eviction<'t, 'h>, &'b Budget<'h>, Health, Room<'t, 'h>)> {
    let of = evictions.iter().filter_map(|eviction| {
        let [budget] = budgets_of(budgets, eviction.pod)[..] else { return None };
        Some((eviction, budget, eviction.health(clause, eviction.pod), budget.room(clause, eviction)?))
    });
    of.collect()
}

fn check_granted(
    eviction: &Eviction<'_, '_>,
    budget: &Budget<'_>,
    room: &Room<'_, '_>,
    seen: &mut Seen,
) -> bool {
    let granted = eviction.is_granted();
    if granted || eviction.is_forbidden() {
        let finding = || {
            let (of, words) = (&eviction.pod.key, room.in_words());
            format!("the eviction of {of}, which was not ready, was refused although {words}")
        };
        seen.check(granted, finding, [budget.id(), eviction.at.id]);
    }
    granted
}

fn check_refused(
    eviction: &Eviction<'_, '_>,
    budget: &Budget<'_>,
    room: &Room<'_, '_>,
    seen: &mut Seen,
) -> bool {
    let finding = || format!("{} was evicted although {}", eviction.pod.key, room.in_words());
    let forbidden = eviction.is_forbidden();
    if forbidden || eviction.is_granted() {
        seen.check(forbidden, finding, [budget.id(), eviction.at.id]);
    }
    forbidden
}

/// By default, a pod that is not ready cannot be evicted until its budget has the healthy pods that it needs, and its
/// eviction does not use up an allowed disruption.
pub(super) fn wait_for_the_budget(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    let mut spared: Vec<&str> = Vec::new();
    for (eviction, budget, health, room) in under_one(clause, &evictions, &budgets) {
        if budget.always_allows() {
            continue;
        }
        let kept = match health {
            Health::Unready if room.at_most() < room.desired => {
                check_refused(eviction, budget, &room, seen).then_some("unmet")
            }
            Health::Unready if room.at_least() >= room.desired && room.desired > 0 => {
                let granted = check_granted(eviction, budget, &room, seen);
                if granted {
                    spared.push(budget.name);
                }
                granted.then_some("met")
            }
            Health::Healthy if room.has_room() && spared.contains(&budget.name) => {
                let granted = eviction.is_granted();
                let finding = || {
                    let words = room.in_words();
                    format!("the eviction of a pod that was not ready used up the budget: {words}")
                };
                seen.check(granted || !eviction.is_forbidden(), finding, [budget.id(), eviction.at.id]);
                granted.then_some("unused")
            }
            _ => None,
        };
        if let Some(kept) = kept {
            seen.facet("budget", kept);
        }
    }
}

/// With `AlwaysAllow`, a pod that is not ready can be evicted at any time, but a healthy pod cannot.
pub(super) fn always_go(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    for (eviction, budget, health, room) in under_one(clause, &evictions, &budgets) {
        if !budget.always_allows() {
            continue;
        }
        let kept = match health {
            Health::Unready if room.at_most() < room.desired => {
                check_granted(eviction, budget, &room, seen).then_some("unhealthy")
            }
            Health::Healthy if room.is_full() => {
                check_refused(eviction, budget, &room, seen).then_some("healthy")
            }
            _ => None,
        };
        if let Some(kept) = kept {
            seen.facet("pod", kept);
        }
    }
}
