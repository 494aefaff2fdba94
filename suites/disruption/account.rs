//! Facts about a disruption budget that the harness derives itself: which pods the budget selects, which of them were
//! certainly healthy at a request, and how many healthy pods the budget needs. The budget's own status is never used
//! for this.

use probity_model::history::{Did, Happening};
use probity_model::mechanisms::LATE_SIGHT;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Stamp, Timeline};
use serde_json::Value;

use super::controllers::needed_by_controllers;
use crate::reading::selectors::{is_known, may_select, selections};

/// The status code of an eviction that a budget forbids: Kubernetes documentation, API-initiated Eviction.
pub(super) const FORBIDDEN: u16 = 429;
/// The cause in the answer to an eviction that a budget forbids: Kubernetes API reference, policy/v1.
pub(super) const CAUSE: &str = "DisruptionBudget";
/// The status code for the eviction of a pod with several budgets.
pub(super) const SEVERAL: u16 = 500;

/// A budget that the case created and nobody changed.
pub(super) struct Budget<'h> {
    pub(super) name: &'h str,
    pub(super) spec: &'h Value,
    /// The deed that created the budget.
    made: EventId,
    /// The time at which the budget existed, on the harness's clock.
    since: i64,
    /// The revisions of the budget that the watch showed.
    pub(super) shown: Vec<(At, &'h Value)>,
}

/// A request to evict a pod, and its answer.
pub(super) struct Eviction<'t, 'h> {
    pub(super) run: &'t Timeline<'h>,
    pub(super) at: At,
    pub(super) began: i64,
    pub(super) done: i64,
    pub(super) pod: &'t PodLife<'h>,
    pub(super) answer: Answer<'h>,
}

/// The API server's answer to an eviction.
#[derive(Clone, Copy)]
pub(super) enum Answer<'h> {
    Granted,
    Refused { why: &'h str, code: Option<u16>, cause: Option<&'h str> },
}

/// The health of a pod at the time of a request, as far as it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// The pod was ready, and had been for long enough to be counted.
    Healthy,
    /// The pod was running, but had not been ready for so long that it no longer counts.
    Unready,
    /// The harness had evicted the pod.
    Evicted,
    /// The pod had been pending, terminating, finished or removed for long enough.
    Away,
    /// The pod did not exist.
    Absent,
    /// The health of the pod is not certain.
    Unsure,
}

/// The health of the pods of a budget at the time of a request.
pub(super) struct Room<'t, 'h> {
    pub(super) members: Vec<(&'t PodLife<'h>, Health)>,
    /// How many healthy pods the budget needs.
    pub(super) desired: usize,
}

/// The budgets that the case creates. If the case changes one of them, or if the labels of a pod change so that a budget
/// begins or ceases to select the pod, no budget is returned.
pub(super) fn budgets<'h>(run: &Timeline<'h>) -> Vec<Budget<'h>> {
    let is_budget = |kind: &str| kind == "PodDisruptionBudget";
    let changed = |of: &str| {
        run.deeds.iter().any(|(_, deed)| match &deed.did {
            Did::Patched { kind, name, .. } | Did::Deleted { kind, name, .. } => {
                is_budget(kind) && name == of
            }
            _ => false,
        })
    };
    let shown = |of: &str| {
        let events = run.history.events().filter(|(_, event)| event.us <= run.ended_us);
        let shown = events.filter_map(|(id, event)| match &event.what {
            Happening::Sighting(seen) if is_budget(&seen.kind) && seen.name == of => {
                Some((At::new(id, Stamp::harness(event.us)), &seen.object))
            }
            _ => None,
        });
        shown.collect()
    };
    let made = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Created { kind, name, manifest } if is_budget(kind) => Some(Budget {
            name,
            spec: manifest.get("spec")?,
            made: *id,
            since: run.heard(*id).at.hi,
            shown: shown(name),
        }),
        _ => None,
    });
    let made: Vec<Budget<'h>> = made.collect();
    let keeps = |budget: &Budget<'_>, pod: &PodLife<'_>| {
        let all = budget.selections(pod);
        all.windows(2).all(|pair| pair[0] == pair[1])
    };
    let lasts = |budget: &Budget<'_>| !changed(budget.name) && run.pods.iter().all(|pod| keeps(budget, pod));
    if made.iter().all(lasts) { made } else { Vec::new() }
}

/// The evictions that were requested, in order. The API server looked at each of them: a request that it refused only
/// because it had too many requests is left out.
pub(super) fn evictions<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Eviction<'t, 'h>> {
    let known = run.deeds.iter().filter_map(|(id, deed)| {
        let Did::Evicted { pod: name, refused, code, cause } = &deed.did else { return None };
        if deed.did.is_throttled() {
            return None;
        }
        let existed = |pod: &&PodLife<'_>| {
            pod.name == *name
                && pod.revisions.first().is_some_and(|first| first.at.at.lo < run.heard(*id).at.hi)
        };
        let answer = match refused {
            None => Answer::Granted,
            Some(why) => Answer::Refused { why, code: *code, cause: cause.as_deref() },
        };
        let (began, done) = (deed.began_us, run.heard(*id).at.hi);
        let at = At::new(*id, Stamp::harness(began));
        Some(Eviction { run, at, began, done, pod: run.pods.iter().rfind(existed)?, answer })
    });
    known.collect()
}

impl Budget<'_> {
    /// For each revision of a pod, whether the budget selects it.
    fn selections(&self, pod: &PodLife<'_>) -> Vec<bool> {
        selections(pod, |labels| may_select(&self.spec["selector"], labels))
    }

    /// Whether the budget selects a pod, or may select it because its selector is not plain.
    pub(super) fn selects(&self, pod: &PodLife<'_>) -> bool {
        self.selections(pod).contains(&true)
    }

    /// Whether it is certain which pods the budget selects: the judges know all operators of its selector.
    pub(super) fn is_plain(&self) -> bool {
        is_known(&self.spec["selector"])
    }

    /// Whether the budget always allows the eviction of pods that are not ready.
    pub(super) fn always_allows(&self) -> bool {
        self.spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    }

    /// The event of the budget's creation.
    pub(super) fn id(&self) -> EventId {
        self.made
    }

    /// The pods that the budget selects.
    pub(super) fn members<'t, 'h>(&self, run: &'t Timeline<'h>) -> Vec<&'t PodLife<'h>> {
        run.pods.iter().filter(|pod| self.selects(pod)).collect()
    }

    /// The health of the budget's pods at the time of a request. None if the budget was too new, or if it states the
    /// number of pods that it needs in a way that is not evaluated here.
    pub(super) fn room<'t, 'h>(&self, clause: &Clause, of: &Eviction<'t, 'h>) -> Option<Room<'t, 'h>> {
        let settled = of.settled(clause);
        let least = self.spec["minAvailable"].as_u64().and_then(|least| usize::try_from(least).ok());
        let desired = least.or_else(|| needed_by_controllers(of.run, self))?;
        if !self.is_plain() || self.since > settled {
            return None;
        }
        let members = self.members(of.run).into_iter().map(|pod| (pod, of.health(clause, pod)));
        Some(Room { members: members.collect(), desired })
    }
}

/// The budgets that select a pod.
pub(super) fn budgets_of<'b, 'h>(all: &'b [Budget<'h>], pod: &PodLife<'_>) -> Vec<&'b Budget<'h>> {
    all.iter().filter(|budget| budget.selects(pod)).collect()
}

impl Room<'_, '_> {
    /// How many pods were certainly healthy.
    pub(super) fn at_least(&self) -> usize {
        self.count(|health| health == Health::Healthy)
    }

    /// How many pods may have been healthy.
    pub(super) fn at_most(&self) -> usize {
        self.count(|health| matches!(health, Health::Healthy | Health::Unsure))
    }

    /// How many pods certainly had a health for which `of` is true.
    pub(super) fn count(&self, of: impl Fn(Health) -> bool) -> usize {
        self.members.iter().filter(|(_, health)| of(*health)).count()
    }

    /// Whether no healthy pod could be spared.
    pub(super) fn is_full(&self) -> bool {
        self.at_most() <= self.desired
    }

    /// Whether a healthy pod could be spared.
    pub(super) fn has_room(&self) -> bool {
        self.at_least() > self.desired
    }

    /// The numbers of pods that were healthy and that are needed, in words.
    pub(super) fn in_words(&self) -> String {
        let (least, most) = (self.at_least(), self.at_most());
        let healthy = if least == most { least.to_string() } else { format!("{least} to {most}") };
        format!("{healthy} pods were healthy and {} are needed", self.desired)
    }
}

impl<'t, 'h> Eviction<'t, 'h> {
    /// The time since which nothing may have changed, so that every component knows the state of the pods at the
    /// request.
    fn settled(&self, clause: &Clause) -> i64 {
        let from = self.began - clause.tolerance_us("settle");
        from - self.run.noise_between(&self.pod.node, &Stamp::harness(from), &Stamp::harness(self.done))
    }

    /// The health of a pod of the case at the time of this request, as far as it is certain.
    pub(super) fn health(&self, clause: &Clause, pod: &PodLife<'h>) -> Health {
        let own = pod.uid == self.pod.uid;
        let taken = pod.deleted.and_then(|id| self.run.deeds.iter().find(|(deed, _)| *deed == id));
        // The harness sends one request after the other.
        if let Some((_, deed)) = taken.filter(|(id, _)| *id < self.at.id)
            && matches!(deed.did, Did::Evicted { .. })
        {
            return Health::Evicted;
        }
        // The effects of a later request do not matter here, and neither does the effect of this request on its own
        // pod.
        let later = taken.filter(|(id, _)| *id > self.at.id).map(|(_, deed)| deed.began_us);
        let until = if own { self.began } else { self.done + LATE_SIGHT };
        let until = later.map_or(until, |later| later.min(until));
        let settled = self.settled(clause);
        let before = pod.revisions.iter().rfind(|shown| shown.at.at.lo <= settled);
        let since = pod.revisions.iter().filter(|shown| shown.at.at.lo > settled && shown.at.at.lo <= until);
        let mut states = before.into_iter().chain(since).map(state);
        let Some(first) = states.next() else { return Health::Absent };
        match states.all(|state| state == first) && before.is_some() {
            true => first,
            false => Health::Unsure,
        }
    }

    /// The last revision of the pod before the request.
    pub(super) fn shown(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().rfind(|shown| shown.at.at.lo <= self.began)
    }

    /// Whether the eviction was refused because a budget forbids it.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self.answer, Answer::Refused { code: Some(FORBIDDEN), .. })
    }

    /// Whether the eviction was granted.
    pub(super) fn is_granted(&self) -> bool {
        matches!(self.answer, Answer::Granted)
    }

    /// The message of the refusal.
    pub(super) fn refusal(&self) -> &'h str {
        match self.answer {
            Answer::Granted => "",
            Answer::Refused { why, .. } => why,
        }
    }
}

/// The health of a pod according to a revision.
fn state(shown: &Revision<'_>) -> Health {
    match shown.phase() {
        _ if shown.gone || shown.terminating() => Health::Away,
        "Pending" | "Succeeded" | "Failed" => Health::Away,
        _ if shown.is("Ready") == Some(true) => Health::Healthy,
        "Running" => Health::Unready,
        _ => Health::Unsure,
    }
}
