//! `ContainersReady` and `Ready`: for containers, for pods that have terminated, and in the endpoints of Services.

use std::collections::BTreeSet;

use probity_model::clocks::{Order, Stamp};
use probity_model::mechanisms::TWO_WATCHES;
use probity_model::timeline::{ContainerKind, ContainerLife, PodLife, ProbeKind, Revision, State};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::patches::is_patched;
use super::{listed, text, words};
use crate::reading::at_rest::judge_at_rest;
use crate::reading::mains::mains;
use crate::reading::services::{Entry, Service, services};
use crate::reading::statuses::{of_kubelet, statuses};

const CONTAINERS: &str = "ContainersReady";
const READY: &str = "Ready";
/// The reason of the event about a pod whose `Ready` condition the control plane sets to False, because its node seems to
/// be lost (Kubernetes 1.36, pkg/controller/util/node/controller_utils.go, MarkPodsNotReady).
const NODE_NOT_READY: &str = "NodeNotReady";

/// `ContainersReady` is True if and only if all containers that keep running are ready, and otherwise it names the
/// containers that are not.
pub(super) fn of_all_containers(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let (probed, plain): (Vec<_>, Vec<_>) = run
        .containers()
        .filter(|(pod, of)| of.stays() && !pod.had_deadline())
        .partition(|(_, of)| of.probe(ProbeKind::Readiness).is_some());
    judge_at_rest(run, probed.into_iter(), ("ready", |shown, of| of.ready && !shown.terminating()), seen);
    // Nothing but its end changes the readiness of a container without a readiness probe.
    let judged = |shown: &Revision<'_>| !(shown.terminating() && run.node_was_touched());
    judge_at_rest(run, plain.into_iter(), ("ready", |shown, of| of.ready && judged(shown)), seen);
    // A kubelet that ends a pod at its deadline shows it as not ready before its containers have ended.
    for pod in run.pods.iter().filter(|pod| !pod.had_deadline()) {
        let mut said = BTreeSet::new();
        for shown in of_kubelet(pod).filter(|shown| matches!(shown.phase(), "Pending" | "Running")) {
            let unready: Vec<&ContainerLife<'_>> = unready(pod, shown).collect();
            let names = || unready.iter().map(|of| of.name.as_str()).collect::<Vec<_>>().join(", ");
            match (shown.is(CONTAINERS), unready.is_empty()) {
                (Some(true), false) => {
                    let finding =
                        format!("{CONTAINERS} of {} is True, but {} is not ready", pod.key, names());
                    seen.violated(finding, [shown.id]);
                }
                (Some(false), true) if !shown.terminating() => {
                    let finding =
                        format!("{CONTAINERS} of {} is False, but all containers are ready", pod.key);
                    seen.violated(finding, [shown.id]);
                }
                (Some(true), true) if said.insert("all") => {
                    seen.fine([shown.id]);
                    seen.facet("ready", "True");
                }
                (Some(false), false) => judge_names(pod, shown, &unready, &mut said, seen),
                _ => {}
            }
            if !run.lost_a_node() && shown.is(CONTAINERS) == Some(false) && !shown.terminating() {
                judge_same(pod, shown, seen);
                judge_only_unready(pod, shown, seen);
            }
        }
        judge_agreement(run, pod, seen);
    }
}

/// In a pod without readiness gates, `Ready` has the same status as `ContainersReady` in each revision: the kubelet writes
/// both at once, and derives both from the same statuses. Only the control plane changes one of them alone, if a node seems
/// to be lost, for example because its kubelet takes long to restart.
fn judge_agreement(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    let gated = pod.spec.get("readinessGates").is_some();
    let lost = run.node_was_touched() || pod.events.iter().any(|event| event.reason == NODE_NOT_READY);
    if gated || lost || [CONTAINERS, READY].into_iter().any(|kind| is_patched(run, pod, kind)) {
        return;
    }
    for shown in of_kubelet(pod).filter(|shown| matches!(shown.phase(), "Pending" | "Running")) {
        let (Some(of_containers), Some(of_pod)) = (shown.is(CONTAINERS), shown.is(READY)) else { continue };
        if of_containers != of_pod {
            let word = |is: bool| if is { "True" } else { "not True" };
            let finding = format!(
                "{} has no readiness gates, but {CONTAINERS} is {} and {READY} is {}",
                pod.key,
                word(of_containers),
                word(of_pod)
            );
            seen.violated(finding, [shown.id]);
        }
    }
}

fn unready<'p, 'h>(
    pod: &'p PodLife<'h>,
    shown: &Revision<'_>,
) -> impl Iterator<Item = &'p ContainerLife<'h>> {
    let stays = pod.containers.iter().filter(|container| container.kind != ContainerKind::Init);
    stays.filter(move |of| !shown.container(&of.name).is_some_and(|status| status.ready))
}

/// The message names each container that is not ready. This is not judged for a pod that is terminating, because none
/// of its containers is ready then.
fn judge_names(
    pod: &PodLife<'_>,
    shown: &Revision<'_>,
    unready: &[&ContainerLife<'_>],
    said: &mut BTreeSet<&'static str>,
    seen: &mut Seen,
) {
    let message = text(shown, CONTAINERS, "message").unwrap_or_default();
    let words: BTreeSet<&str> = words(message).collect();
    match text(shown, CONTAINERS, "reason") {
        Some("ContainersNotReady") => {}
        None => {
            seen.violated(format!("{CONTAINERS} of {} is False without a reason", pod.key), [shown.id]);
            return;
        }
        Some(reason) => {
            if !shown.terminating() && !may_give(pod, shown, reason) {
                let finding =
                    format!("{CONTAINERS} of {} is False with the reason {reason}: {message:?}", pod.key);
                seen.violated(finding, [shown.id]);
            }
            return;
        }
    }
    if let Some(other) = unready.iter().find(|of| !words.contains(of.name.as_str())) {
        let finding = format!("{CONTAINERS} of {} does not name {}: {message:?}", pod.key, other.name);
        seen.violated(finding, [shown.id]);
        return;
    }
    let [one] = unready else { return };
    let kind = if one.kind == ContainerKind::Sidecar { "sidecar" } else { "main" };
    if said.insert(kind) {
        seen.fine([shown.id]);
        seen.facet("ready", "False");
        seen.facet("unready", kind);
    }
}

/// The message lists no container that the same status shows as ready.
fn judge_only_unready(pod: &PodLife<'_>, shown: &Revision<'_>, seen: &mut Seen) {
    if text(shown, CONTAINERS, "reason") != Some("ContainersNotReady") {
        return;
    }
    let message = text(shown, CONTAINERS, "message").unwrap_or_default();
    let named: BTreeSet<&str> = listed(message).collect();
    let ready = |of: &&ContainerLife<'_>| {
        of.kind != ContainerKind::Init && shown.container(&of.name).is_some_and(|status| status.ready)
    };
    let wrong = pod.containers.iter().filter(ready).find(|of| named.contains(of.name.as_str()));
    if let Some(of) = wrong {
        let finding = format!("{CONTAINERS} of {} names {}, which is ready: {message:?}", pod.key, of.name);
        seen.violated(finding, [shown.id]);
    }
}

/// Whether a pod that is not being deleted may give a reason other than containers that are not ready. It may do so if
/// there are no statuses yet, or if the pod has ended. The phase shows the end only when all containers have ended. If
/// the history does not show the end of the pod, something outside may be about to end the pod.
fn may_give(pod: &PodLife<'_>, shown: &Revision<'_>, reason: &str) -> bool {
    let ended = |of: &ContainerLife<'_>| {
        shown.container(&of.name).is_some_and(|status| matches!(status.state, State::Terminated { .. }))
    };
    let failed = |of: &ContainerLife<'_>| of.kind == ContainerKind::Init && ended(of);
    let done = mains(pod).all(ended) || pod.over().is_none();
    match reason {
        "UnknownContainerStatuses" => statuses(shown).next().is_none(),
        "PodCompleted" => done,
        "PodFailed" => done || pod.containers.iter().any(failed),
        _ => false,
    }
}

/// If the containers of a pod are not ready, `Ready` has the same reason and message as `ContainersReady`.
fn judge_same(pod: &PodLife<'_>, shown: &Revision<'_>, seen: &mut Seen) {
    if shown.condition(READY).is_none() {
        return;
    }
    let given = |kind: &str| {
        [text(shown, kind, "reason"), text(shown, kind, "message")].map(Option::unwrap_or_default)
    };
    let (of_containers, of_pod) = (given(CONTAINERS), given(READY));
    if of_containers != of_pod {
        let finding = format!(
            "reason and message of {CONTAINERS} of {} are {of_containers:?}, but those of {READY} are {of_pod:?}",
            pod.key
        );
        seen.violated(finding, [shown.id]);
    }
}

/// A pod that has terminated by itself is not ready, and its conditions give the end as the reason. A pod that was
/// deleted before all of its containers had started is shown as Failed in the end, with the reason that it had before.
pub(super) fn of_the_dead(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut phases = BTreeSet::new();
        for shown in of_kubelet(pod).filter(|shown| !shown.terminating()) {
            let wanted = match shown.phase() {
                "Succeeded" => "PodCompleted",
                "Failed" => "PodFailed",
                _ => continue,
            };
            for kind in [READY, CONTAINERS] {
                let says = (shown.is(kind), text(shown, kind, "reason"));
                if says != (Some(false), Some(wanted)) {
                    let status = text(shown, kind, "status").unwrap_or("missing");
                    let reason = says.1.unwrap_or("no reason");
                    let finding = format!(
                        "{} is {}, but {kind} is {status} with the reason {reason}",
                        pod.key,
                        shown.phase()
                    );
                    seen.violated(finding, [shown.id]);
                } else if phases.insert((shown.phase(), kind)) {
                    seen.fine([shown.id]);
                    seen.facet("phase", shown.phase());
                }
            }
        }
    }
}

/// A pod is ready in the endpoints of each Service that selects it if and only if its `Ready` condition is True. When its
/// labels change, it leaves or joins a Service.
pub(super) fn in_services(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for service in services(run).iter().filter(|service| !service.publishes) {
        for pod in run.pods.iter().filter(|pod| service.selects(pod)) {
            let changes: Vec<(&Revision<'_>, bool)> = pod
                .changes_of_condition(READY)
                .filter(|(shown, _)| !shown.terminating() && !shown.gone)
                .collect();
            let entries = service.entries(pod);
            for (at, (shown, ready)) in changes.iter().enumerate() {
                let next = changes.get(at + 1).map(|(shown, _)| &shown.at);
                let of = Change { service, pod, shown, ready: *ready, next };
                of.judge(run, clause, &entries, seen);
            }
            judge_early(run, clause, (pod, &changes), &entries, seen);
        }
        for pod in &run.pods {
            judge_labels(run, clause, (service, pod), seen);
        }
    }
}

/// If new labels of a pod no longer match a Service, the pod's endpoint leaves the slices of the Service. If they begin to
/// match it, and the pod is ready, the endpoint becomes ready there.
fn judge_labels(
    run: &Timeline<'_>,
    clause: &Clause,
    (service, pod): (&Service<'_, '_>, &PodLife<'_>),
    seen: &mut Seen,
) {
    let is_ready = |of: &Revision<'_>| of.is(READY) == Some(true) && !of.terminating() && !of.gone;
    let (turns, entries) = (service.turns(pod), service.entries(pod));
    for (shown, selected) in turns.iter().copied() {
        let before =
            entries.iter().rev().find(|entry| run.clocks.order(entry.at, &shown.at) == Order::Before);
        let concerned = if selected { is_ready(shown) } else { before.is_some() };
        if !concerned {
            continue;
        }
        let fits = |entry: &Entry<'_, '_>| if selected { entry.ready() } else { entry.endpoint.is_none() };
        // What is expected changes with the labels, and with the readiness of a pod that joins.
        let differs = |of: &&Revision<'_>| {
            turns.iter().any(|(turn, _)| turn.id == of.id) || (selected && !is_ready(of))
        };
        let until = pod.revisions.iter().filter(|of| of.id > shown.id).find(differs).map(|of| &of.at);
        let follows = entries.iter().find(|entry| {
            fits(entry)
                && run.clocks.order(&shown.at, entry.at) != Order::After
                && until.is_none_or(|until| run.before(entry.at, until))
        });
        let facet = if selected { "joined" } else { "left" };
        if let Some(before) = before.filter(|before| fits(before)) {
            seen.fine([shown.id, before.id]);
            seen.facet("labels", facet);
        } else if let Some(entry) = follows {
            let quantity = format!("from the new labels of {} to its endpoint in {}", pod.key, service.name);
            if seen.within(run, &pod.node, quantity, (shown, entry), clause.in_time()).is_some() {
                seen.facet("labels", facet);
            }
        } else if run.watched_for(pod, &shown.at, clause.slack_us())
            && until.is_none_or(|until| run.longer_than(pod, (&shown.at, until), clause.slack_us()))
        {
            let word = if selected { "does not become ready" } else { "stays" };
            let finding = format!(
                "the labels of {} changed, so that {} {} it, but its endpoint {word} in the EndpointSlices",
                pod.key,
                service.name,
                if selected { "selects" } else { "no longer selects" }
            );
            seen.violated(finding, run.to_the_end([shown.id]));
        }
    }
}

/// A change of `Ready`, and when the next change came.
struct Change<'c, 'h> {
    service: &'c Service<'c, 'h>,
    pod: &'c PodLife<'h>,
    shown: &'c Revision<'h>,
    ready: bool,
    next: Option<&'c Stamp>,
}

impl Change<'_, '_> {
    /// The endpoint follows within the slack, if the condition stays the same for that long.
    fn judge(&self, run: &Timeline<'_>, clause: &Clause, entries: &[Entry<'_, '_>], seen: &mut Seen) {
        let (shown, wanted) = (self.shown, self.ready);
        let before =
            entries.iter().rev().find(|entry| run.clocks.order(entry.at, &shown.at) == Order::Before);
        let is = before.is_some_and(Entry::ready);
        let quantity =
            format!("from the change of Ready of {} to its endpoint in {}", self.pod.key, self.service.name);
        let follows = entries.iter().find(|entry| {
            run.clocks.order(&shown.at, entry.at) != Order::After
                && entry.ready() == wanted
                && self.next.is_none_or(|next| run.before(entry.at, next))
        });
        if is == wanted {
            self.note_fine([Some(shown.id), before.map(|entry| entry.id)], seen);
        } else if let Some(entry) = follows {
            let fit = seen.within(run, &self.pod.node, quantity, (shown, entry), clause.in_time());
            if fit.is_some() {
                self.note_facets(seen);
            }
        } else if run.watched_for(self.pod, &shown.at, clause.slack_us())
            && self.next.is_none_or(|next| run.longer_than(self.pod, (&shown.at, next), clause.slack_us()))
        {
            let word = if wanted { "ready" } else { "not ready" };
            let finding =
                format!("{} is {word}, but its endpoint in {} is not", self.pod.key, self.service.name);
            seen.violated(finding, run.to_the_end([shown.id]));
        }
    }

    fn note_fine(&self, events: [Option<EventId>; 2], seen: &mut Seen) {
        seen.fine(events.into_iter().flatten());
        self.note_facets(seen);
    }

    fn note_facets(&self, seen: &mut Seen) {
        seen.facet("ready", if self.ready { "True" } else { "False" });
        let gated = self.pod.spec.get("readinessGates").is_some();
        if gated && !self.ready && self.shown.is(CONTAINERS) == Some(true) {
            seen.facet("by", "gate");
        }
    }
}

/// An endpoint becomes ready only if its pod is ready, or was ready just before.
fn judge_early(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, changes): (&PodLife<'_>, &[(&Revision<'_>, bool)]),
    entries: &[Entry<'_, '_>],
    seen: &mut Seen,
) {
    for pair in entries.windows(2) {
        let [before, entry] = pair else { continue };
        // The case may end before the condition is shown.
        let ends = run.at_least(entry.at, &run.end()) <= TWO_WATCHES;
        if before.ready() || !entry.ready() || ends {
            continue;
        }
        let late = |shown: &Revision<'_>| run.longer_than(pod, (entry.at, &shown.at), clause.slack_us());
        let near = |(shown, ready): &&(&Revision<'_>, bool)| {
            *ready
                && match run.clocks.order(&shown.at, entry.at) {
                    // The controller may learn of the condition first.
                    Order::After => !late(shown),
                    Order::Before | Order::TooClose => true,
                }
        };
        let last = changes.iter().rev().find(|(shown, _)| run.before(&shown.at, entry.at));
        let stale = last.is_some_and(|(shown, ready)| {
            !ready && run.longer_than(pod, (&shown.at, entry.at), clause.slack_us())
        });
        let soon =
            changes.iter().any(|(shown, ready)| *ready && run.before(entry.at, &shown.at) && !late(shown));
        if (stale && !soon) || !changes.iter().any(|change| near(&change)) {
            let finding = format!("an endpoint of {} became ready, but the pod was not", pod.key);
            let cited = last.map(|(shown, _)| shown.id);
            seen.violated(finding, [cited, Some(entry.id), run.last_event()].into_iter().flatten());
        }
    }
}
