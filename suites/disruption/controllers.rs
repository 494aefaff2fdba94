//! Budgets of pods that have controllers: the controllers define how many pods are wanted, rolling updates are not
//! limited by budgets, and a StatefulSet creates a pod again only when the old one has ended.

use std::collections::BTreeMap;

use probity_model::history::Did;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use super::account::{Budget, Health, budgets, evictions};
use crate::reading::ends::End;
use crate::reading::mains::lives_of;

/// A share is written as a percentage: Kubernetes API reference, `IntOrString`.
const WHOLE: usize = 100;

/// A workload as the case created it.
struct Workload<'h> {
    kind: &'h str,
    name: &'h str,
    replicas: usize,
}

fn workloads<'h>(run: &Timeline<'h>) -> Vec<Workload<'h>> {
    let made = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Created { kind, name, manifest } if kind == "Deployment" || kind == "StatefulSet" => {
            let replicas = manifest.get("spec")?.get("replicas")?.as_u64()?;
            Some(Workload { kind, name, replicas: usize::try_from(replicas).ok()? })
        }
        _ => None,
    });
    made.collect()
}

impl Workload<'_> {
    fn owns(&self, pod: &PodLife<'_>) -> bool {
        // The names of a Deployment's pods begin with the name of its ReplicaSet, which has one more part than the
        // Deployment's.
        let parts = if self.kind == "Deployment" { 2 } else { 1 };
        let rest = pod.name.strip_prefix(self.name).and_then(|rest| rest.strip_prefix('-'));
        pod.created.is_none() && rest.is_some_and(|rest| rest.split('-').count() <= parts)
    }

    /// The deeds that changed the workload.
    fn changes<'t>(&self, run: &'t Timeline<'_>) -> impl Iterator<Item = (EventId, &'t Did)> {
        run.deeds.iter().filter_map(move |(id, deed)| match &deed.did {
            Did::Patched { kind, name, .. } | Did::Scaled { kind, name, .. }
                if kind == self.kind && name == self.name =>
            {
                Some((*id, &deed.did))
            }
            _ => None,
        })
    }
}

/// A share of a number, such as `50%` of the pods, rounded up.
fn share(percent: &Value, of: usize) -> Option<usize> {
    let percent: usize = percent.as_str()?.strip_suffix('%')?.parse().ok()?;
    Some(percent.checked_mul(of)?.div_ceil(WHOLE))
}

/// How many healthy pods a budget needs if its pods should number `of`.
fn needed(budget: &Budget<'_>, of: usize) -> Option<usize> {
    let most = &budget.spec["maxUnavailable"];
    match (share(&budget.spec["minAvailable"], of), most.as_u64()) {
        (Some(least), _) => Some(least),
        (None, Some(most)) => Some(of.saturating_sub(usize::try_from(most).ok()?)),
        (None, None) => Some(of.saturating_sub(share(most, of)?)),
    }
}

/// How many pods the controllers of a budget's pods want. None if a pod of the budget has no controller that the case created,
/// or if a controller was changed.
fn wanted(run: &Timeline<'_>, budget: &Budget<'_>) -> Option<usize> {
    let (workloads, members) = (workloads(run), budget.members(run));
    let owners: BTreeMap<&str, &Workload<'_>> = workloads
        .iter()
        .filter(|workload| members.iter().any(|pod| workload.owns(pod)))
        .map(|workload| (workload.name, workload))
        .collect();
    let changed = owners.values().any(|workload| workload.changes(run).next().is_some());
    let strays = members.iter().any(|pod| !owners.values().any(|workload| workload.owns(pod)));
    let known = !owners.is_empty() && !changed && !strays;
    known.then(|| owners.values().map(|workload| workload.replicas).sum())
}

/// How many healthy pods are needed by a budget that requires a share of its pods, or limits how many are unavailable.
pub(super) fn needed_by_controllers(run: &Timeline<'_>, budget: &Budget<'_>) -> Option<usize> {
    needed(budget, wanted(run, budget)?)
}

/// The shares of a budget are calculated from the number of pods that the controllers want, however many pods exist.
pub(super) fn wanted_by_controllers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for budget in budgets(run).iter().filter(|budget| budget.is_plain()) {
        let members = budget.members(run);
        let Some(wanted) = wanted(run, budget) else { continue };
        let Some(desired) = needed(budget, wanted) else { continue };
        let mut firsts: Vec<&Revision<'_>> = members.iter().filter_map(|pod| pod.revisions.first()).collect();
        firsts.sort_by_key(|first| first.id);
        let Some(full) = wanted.checked_sub(1).and_then(|at| firsts.get(at)) else { continue };
        let counted = full.at.at.hi + clause.slack_us();
        let settled = |until: &Stamp| until.at.lo > counted + run.noise_between("", &full.at, until);
        // The API shows a status until the next one, so the last status is also that of the end.
        let nexts = budget.shown.iter().skip(1).map(|(next, _)| next.stamp.clone());
        let shown = budget.shown.iter().zip(nexts.chain([run.end()]));
        for ((at, object), _) in shown.filter(|(_, until)| settled(until)) {
            let status = |field: &str| {
                object["status"][field].as_u64().and_then(|number| usize::try_from(number).ok())
            };
            let (expected, needs) = (status("expectedPods"), status("desiredHealthy"));
            let right = expected == Some(wanted) && needs == Some(desired);
            let finding = || {
                format!(
                    "{wanted} pods are wanted and {desired} are needed, but expectedPods is {expected:?} and \
                     desiredHealthy is {needs:?}"
                )
            };
            seen.check(right, finding, [full.id, at.id]);
            let there = |pod: &&&PodLife<'_>| {
                let began = pod.revisions.first().is_some_and(|first| first.id < at.id);
                began && !pod.revisions.iter().any(|shown| shown.gone && shown.id < at.id)
            };
            if right && members.iter().filter(there).count() > wanted {
                seen.facet("pods", "more");
            }
        }
    }
}

/// A rolling update continues while the budget allows no disruption and evictions are refused.
pub(super) fn updates_are_not_limited(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (evictions, budgets) = (evictions(run), budgets(run));
    for workload in workloads(run).iter().filter(|workload| workload.kind == "Deployment") {
        let pods: Vec<&PodLife<'_>> = run.pods.iter().filter(|pod| workload.owns(pod)).collect();
        let full = |budget: &&Budget<'_>| {
            let least = budget.spec["minAvailable"].as_u64().and_then(|least| usize::try_from(least).ok());
            budget.is_plain()
                && least >= Some(workload.replicas)
                && pods.iter().all(|pod| budget.selects(pod))
        };
        let mut changes = workload.changes(run);
        let (Some(budget), Some((updated, Did::Patched { .. }))) =
            (budgets.iter().find(full), changes.next())
        else {
            continue;
        };
        let began = run.deeds.iter().find(|(id, _)| *id == updated).map(|(_, deed)| deed.began_us);
        let Some(began) = began else { continue };
        let asked = At::new(updated, Stamp::harness(began));
        let going = pods.iter().filter(|pod| pod.deleted.is_none()).filter_map(|pod| {
            pod.revisions.iter().find(|shown| (shown.terminating() || shown.gone) && shown.at.at.lo >= began)
        });
        match going.min_by_key(|shown| shown.id) {
            Some(going) => {
                let quantity = format!("from the update of {} to the deletion of an old pod", workload.name);
                seen.within(run, "", quantity, (&asked, going), clause.in_time());
                seen.facet("request", "update");
            }
            None => {
                let Some(end) = run.end_event() else { continue };
                if run.misses("", (&asked, &end), clause.in_time()) {
                    let finding =
                        format!("{} was updated, but none of its old pods was removed", workload.name);
                    seen.violated(finding, [updated, end.id]);
                }
            }
        }
        for eviction in evictions.iter().filter(|eviction| eviction.at.id > updated) {
            let healthy = eviction.health(clause, eviction.pod) == Health::Healthy;
            let room = budget.room(clause, eviction).filter(|room| healthy && room.is_full());
            let Some(room) = room.filter(|_| budget.selects(eviction.pod)) else { continue };
            let refused = eviction.is_forbidden();
            if refused || eviction.is_granted() {
                let finding = || {
                    format!("{} was evicted during an update although {}", eviction.pod.name, room.in_words())
                };
                seen.check(refused, finding, [updated, eviction.at.id]);
            }
            if refused {
                seen.facet("request", "eviction");
            }
        }
    }
}

/// When a pod of a StatefulSet has ended, a new one is created with the same name and another UID.
pub(super) fn one_after_the_other(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for workload in workloads(run).iter().filter(|workload| workload.kind == "StatefulSet") {
        if run.node_was_touched() || workload.changes(run).next().is_some() {
            continue;
        }
        for old in run.pods.iter().filter(|pod| workload.owns(pod) && pod.deleted.is_some()) {
            let Some(gone) = old.revisions.iter().find(|shown| shown.gone) else { continue };
            let next = run.pods.iter().find(|pod| {
                let first = pod.revisions.first().map(|first| first.id);
                pod.name == old.name
                    && pod.uid != old.uid
                    && first > old.revisions.first().map(|first| first.id)
            });
            let Some((next, first)) = next.and_then(|next| Some((next, next.revisions.first()?))) else {
                if run.end().at.lo - gone.at.at.hi > clause.slack_us() {
                    let finding =
                        format!("{} was removed, but its StatefulSet did not create it again", old.name);
                    seen.violated(finding, run.to_the_end([gone.id]));
                }
                continue;
            };
            if first.id < gone.id {
                let finding = format!("{} was created again before the old pod was removed", old.name);
                seen.violated(finding, [first.id, gone.id]);
                continue;
            }
            let quantity = format!("from the removal of {} to its replacement", old.name);
            seen.within(run, &old.node, quantity, (gone, first), clause.in_time());
            judge_processes(run, (old, next), seen);
        }
    }
}

/// No process of the new pod starts before the processes of the old pod have ended.
fn judge_processes(run: &Timeline<'_>, (old, next): (&PodLife<'_>, &PodLife<'_>), seen: &mut Seen) {
    for container in &old.containers {
        let ended = lives_of(run, old, container).next_back().filter(|life| life.holes.is_empty());
        let ended = ended.and_then(|life| End::of(&life)).map(|end| end.earliest);
        let again = next.containers.iter().find(|other| other.name == container.name);
        let began = again.and_then(|again| lives_of(run, next, again).next()).map(|life| life.began.clone());
        let (Some(ended), Some(began)) = (ended, began) else { continue };
        let finding =
            || format!("{} was started again while a process of the old pod was still running", old.name);
        seen.check(!run.before(&began, &ended), finding, [ended.id, began.id]);
        seen.facet("seen", "processes");
    }
}
