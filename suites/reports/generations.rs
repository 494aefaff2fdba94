//! Which generation of a pod a status is about, and the QoS class of the pod.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use probity_model::history::Source;
use probity_model::timeline::{ContainerLife, ContainerSeen, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches::RESIZING;
use crate::reading::qos::class_of;
use crate::reading::scheduling::SCHEDULED;
use crate::reading::statuses::{ADDED, of_kubelet};
use crate::reading::targets::{BY_KUBELET, TARGET, reason};

/// The class follows from what the containers request, and does not change.
pub(super) fn class_of_resources(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.spec.get("resources").is_none()) {
        let (wanted, mut said) = (class_of(pod.spec), false);
        for shown in of_kubelet(pod) {
            let is = shown.object.pointer("/status/qosClass").and_then(Value::as_str);
            if is != Some(wanted) {
                let finding = format!("qosClass of {} is {}, not {wanted}", pod.key, is.unwrap_or("missing"));
                seen.violated(finding, [shown.id]);
            } else if !std::mem::replace(&mut said, true) {
                seen.fine([shown.id]);
                seen.facet("class", wanted);
            }
        }
    }
}

/// The generation that a status is about exists, is not in the future, and never decreases.
pub(super) fn never_ahead(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // The manifest of a static pod has no generation, so the status of its mirror pod has none.
    for pod in run.pods.iter().filter(|pod| !pod.is_static) {
        judge_stale(run, clause, pod, seen);
        judge_followed(run, clause, pod, seen);
        let (mut last, mut said) = (None, BTreeSet::new());
        for shown in of_kubelet(pod) {
            let generation = number(shown, "/metadata/generation").unwrap_or_default();
            let observed = number(shown, "/status/observedGeneration");
            let Some(is) = observed.filter(|is| *is > 0) else {
                seen.violated(format!("the status of {} has no observedGeneration", pod.key), [shown.id]);
                continue;
            };
            if is > generation {
                let finding = format!(
                    "the status of {} has observedGeneration {is}, but the generation of the pod \
                                       is {generation}",
                    pod.key
                );
                seen.violated(finding, [shown.id]);
            } else if let Some((id, old)) = last.filter(|(_, old)| is < *old) {
                let finding = format!("observedGeneration of {} went from {old} to {is}", pod.key);
                seen.violated(finding, [id, shown.id]);
            } else if said.insert(is > 1) {
                seen.fine([shown.id]);
                seen.facet("generation", if is > 1 { "later" } else { "first" });
            }
            let rises = last.is_some_and(|(_, old)| is > old);
            last = Some((shown.id, is));
            // A controller that ends a pod writes a status, but not the conditions of the kubelet.
            let by_others = run.node_was_touched() || shown.condition(TARGET).is_some();
            // The kubelet also writes the condition of the scheduler when it writes a status about a new generation.
            let kinds = ADDED.into_iter().chain((rises && !by_others).then_some(SCHEDULED));
            let of_status = of_conditions(shown, kinds, if by_others { 1 } else { is }..=generation);
            // A resize may be older than the status.
            let of_resizes = || of_conditions(shown, RESIZING.into_iter(), 1..=generation);
            // The kubelet itself writes this condition when it evicts a pod.
            let own = (reason(shown) == Some(BY_KUBELET)).then_some(TARGET);
            let of_eviction = || of_conditions(shown, own.into_iter(), 1..=generation);
            if let Some(wrong) = of_status.or_else(of_resizes).or_else(of_eviction) {
                seen.violated(format!("{}: the condition {wrong}", pod.key), [shown.id]);
            }
        }
    }
}

/// What is wrong with the generations of conditions that the kubelet writes. It writes them with the status, so they are
/// about at least the generation of the status.
fn of_conditions(
    shown: &Revision<'_>,
    kinds: impl Iterator<Item = &'static str>,
    known: RangeInclusive<i64>,
) -> Option<String> {
    kinds.filter_map(|kind| Some((kind, shown.condition(kind)?))).find_map(|(kind, of)| {
        match of.get("observedGeneration").and_then(Value::as_i64) {
            Some(is) if is > *known.end() => Some(format!(
                "{kind} has observedGeneration {is}, but the generation of the pod is {}",
                known.end()
            )),
            Some(is @ 1..) if is < *known.start() => {
                Some(format!("{kind} has observedGeneration {is}, but the status has {}", known.start()))
            }
            Some(1..) => None,
            _ => Some(format!("{kind} has no observedGeneration")),
        }
    })
}

/// The lowest generation in a status and in the conditions that each sync of the pod writes again.
fn oldest(shown: &Revision<'_>) -> Option<i64> {
    let of_condition = |kind| shown.condition(kind)?.get("observedGeneration")?.as_i64();
    let conditions = ADDED.into_iter().filter_map(of_condition);
    conditions.chain(number(shown, "/status/observedGeneration")).min()
}

/// The parts of each container's status that change only when the kubelet syncs the pod: the states, the restart count and
/// the ID. A probe changes `ready` and `started` without a sync.
fn synced(pod: &PodLife<'_>, shown: &Revision<'_>) -> Vec<Option<String>> {
    let of = |now: ContainerSeen<'_>| format!("{:?} {:?} {} {}", now.state, now.last, now.restarts, now.id);
    pod.containers.iter().map(|container| shown.container(&container.name).map(of)).collect()
}

/// A status that the kubelet writes about containers long after a change of the pod is about the changed pod.
fn judge_stale(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    let mut since: Option<(&Revision<'_>, i64)> = None;
    let mut before: Option<&Revision<'_>> = None;
    for shown in of_kubelet(pod) {
        let generation = number(shown, "/metadata/generation").unwrap_or_default();
        let (from, _) = match since.filter(|(_, known)| *known == generation) {
            Some(known) => known,
            None => *since.insert((shown, generation)),
        };
        let behind = oldest(shown).filter(|is| *is < generation);
        let written = before.is_some_and(|before| synced(pod, before) != synced(pod, shown));
        let late = written && run.longer_than(pod, (&from.at, &shown.at), clause.slack_us());
        if let Some(is) = behind.filter(|_| late) {
            let finding = format!(
                "a new status of {} has observedGeneration {is}, but the pod has had generation {generation} for a \
                 long time",
                pod.key
            );
            seen.violated(finding, [from.id, shown.id]);
            return;
        }
        before = Some(shown);
    }
}

/// Each generation of a pod that runs is followed in time by a status that is about it, whatever else changes. The same
/// holds for the generation that the pod's deletion causes.
fn judge_followed(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    if run.node_was_touched() || may_be_busy(pod) || pod.restarts_as_one() {
        return;
    }
    let followed = clause.tolerance_us("followed");
    let mut last = None;
    for (at, from) in pod.revisions.iter().enumerate() {
        let goes = is_deleted_at(pod, at);
        if !lives(from) && !goes {
            continue;
        }
        let generation = number(from, "/metadata/generation").unwrap_or_default();
        if last.replace(generation) == Some(generation) || may_be_deaf(run, clause, from) {
            continue;
        }
        let followed = if goes { clause.slack_us() } else { followed };
        let stays = |shown: &Revision<'_>| if goes { runs(shown) } else { lives(shown) };
        let reached = |shown: &&Revision<'_>| {
            number(shown, "/status/observedGeneration") >= Some(generation) || !stays(shown)
        };
        let late = match pod.revisions.iter().skip(at).find(reached) {
            Some(until) => run.longer_than(pod, (&from.at, &until.at), followed).then_some(until.id),
            None => run.last_event().filter(|_| run.watched_for(pod, &from.at, followed)),
        };
        if let Some(until) = late {
            let finding =
                format!("{} has generation {generation}, but no status observed it in time", pod.key);
            seen.violated(finding, [from.id, until]);
            return;
        }
    }
}

/// Whether the API server may have been unavailable since shortly before a revision. A kubelet then learns of changes
/// only when it reconnects, after its own back-off.
fn may_be_deaf(run: &Timeline<'_>, clause: &Clause, from: &Revision<'_>) -> bool {
    let since = from.at.at.lo - clause.tolerance_us("hears-again");
    run.gaps.iter().any(|(_, gap)| matches!(gap.of, Source::Watch(_)) && gap.to_us > since)
}

/// Whether a revision shows a pod that a kubelet runs and that is not being deleted.
fn lives(shown: &Revision<'_>) -> bool {
    runs(shown) && !shown.terminating()
}

/// Whether a revision shows a pod that a kubelet runs.
fn runs(shown: &Revision<'_>) -> bool {
    let bound = shown.object.pointer("/spec/nodeName").is_some();
    bound && !shown.gone && shown.phase() == "Running"
}

/// Whether this is the first revision of a deletion, and nothing else can have started to terminate the pod.
fn is_deleted_at(pod: &PodLife<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| pod.revisions.get(before));
    let ends = before
        .zip(pod.revisions.get(at))
        .is_some_and(|(before, shown)| lives(before) && shown.terminating() && runs(shown));
    ends && !pod.had_deadline() && !pod.has_limited_storage()
}

/// Whether the kubelet may be busy with the pod for a long time, because it runs a hook, or stops a container whose
/// probe failed or that was changed. The kubelet syncs the pod again only after that.
fn may_be_busy(pod: &PodLife<'_>) -> bool {
    let waits = |of: &ContainerLife<'_>| of.spec.get("lifecycle").is_some() || !of.probes.is_empty();
    let part = |shown: &Revision<'_>, list: &str| shown.object.pointer(list).cloned();
    let changed = ["/spec/containers", "/spec/initContainers", "/spec/resources"].into_iter().any(|list| {
        let mut all = pod.revisions.iter().map(|shown| part(shown, list));
        all.next().is_some_and(|first| all.any(|other| other != first))
    });
    changed || !pod.ephemeral.is_empty() || pod.containers.iter().any(waits)
}

fn number(shown: &Revision<'_>, path: &str) -> Option<i64> {
    shown.object.pointer(path)?.as_i64()
}
