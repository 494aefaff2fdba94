//! `Initialized`: False until the init containers are done and the sidecars have started, and True from then on. Also
//! its order relative to the condition for the pod's network.

use std::collections::BTreeSet;

use probity_model::measure::{Fit, whole_seconds};
use probity_model::timeline::{
    ContainerKind, ContainerLife, ContainerSeen, PodLife, ProbeKind, Revision, State,
};
use probity_model::{Clause, Seen, Timeline};

use super::lasting::wrong_for_long;
use super::sandbox::has_inits;
use super::{NETWORK, listed, text, words};
use crate::reading::inits::{all_helped, initializing, plain_pods};
use crate::reading::mains::mains;
use crate::reading::statuses::of_kubelet;
use crate::reading::volumes::lacks_volume;

const INITIALIZED: &str = "Initialized";

/// The condition becomes True once the init containers have succeeded and the sidecars have started, and stays True.
pub(super) fn by_helpers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        judge_begun(pod, seen);
    }
    for pod in plain_pods(run) {
        judge_sidecars(pod, seen);
        judge_return(pod, seen);
        judge_due(run, clause, pod, seen);
        judge_names(run, clause, pod, seen);
        judge_only_waiting(pod, seen);
        judge_named_inits(pod, seen);
        let Some(phase) = initializing(run, pod) else { continue };
        let mut said = false;
        for shown in of_kubelet(pod).filter(|shown| phase.covers(run, shown)) {
            let events = [phase.began.id, shown.id];
            match (shown.is(INITIALIZED), text(shown, INITIALIZED, "reason")) {
                // An init container that exits with 0 because its pod is deleted is shown as one that succeeded.
                (Some(true), _) if shown.terminating() => {}
                (Some(true), _) => {
                    seen.violated(format!("{} is initializing, but {INITIALIZED} is True", pod.key), events);
                }
                (Some(false), Some("ContainersNotInitialized")) if !said => {
                    said = true;
                    seen.fine(events);
                    seen.facet("initialized", "False");
                }
                (Some(false), Some("ContainersNotInitialized")) | (None, _) => {}
                // A pod whose init container failed for good reports this.
                (Some(false), Some(_)) if shown.phase() == "Failed" => {}
                (Some(false), reason) => {
                    let reason = reason.unwrap_or("no reason");
                    let finding = format!(
                        "{} is initializing, but {INITIALIZED} is False with the reason {reason}",
                        pod.key
                    );
                    seen.violated(finding, events);
                }
            }
        }
    }
}

/// A pod whose main containers run has been initialized, whatever other containers it has.
fn judge_begun(pod: &PodLife<'_>, seen: &mut Seen) {
    let runs = |shown: &Revision<'_>| {
        mains(pod).any(|of| shown.container(&of.name).is_some_and(|status| status.is_running()))
    };
    let living = of_kubelet(pod).filter(|shown| matches!(shown.phase(), "Pending" | "Running"));
    let wrong = living.filter(|shown| runs(shown)).find(|shown| shown.is(INITIALIZED) == Some(false));
    if let Some(shown) = wrong {
        let finding = format!("a main container of {} is running, but {INITIALIZED} is not True", pod.key);
        seen.violated(finding, [shown.id]);
    }
}

/// The pod is initialized soon after all init containers have succeeded and all sidecars have started.
fn judge_due(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(done) = all_helped(run, pod, clause.slack_us()) else { return };
    let sidecars = pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar);
    match pod.revisions.iter().find(|shown| shown.is(INITIALIZED) == Some(true)) {
        Some(shown) => {
            let quantity = format!("from the last event that {} waited for to {INITIALIZED}=True", pod.key);
            let fit = seen.within(run, &pod.node, quantity, (&done, shown), clause.in_time());
            if fit == Some(Fit::Met) {
                seen.facet("initialized", "True");
                seen.facet("helper", if sidecars { "sidecar" } else { "init" });
            }
        }
        None if run.watched_for(pod, &done.stamp, clause.slack_us()) => {
            let finding = format!("{} has nothing left to wait for, but {INITIALIZED} is not True", pod.key);
            seen.violated(finding, run.to_the_end([done.id]));
        }
        None => {}
    }
}

/// A pod that is not initialized names each container that it waits for. The kubelet writes the result of a startup
/// probe into a status before it updates the conditions.
fn judge_names(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let wrong = wrong_for_long(run, clause, pod, |shown| unnamed(pod, shown).is_some());
    let Some((shown, events)) = wrong else { return };
    let Some(of) = unnamed(pod, shown) else { return };
    let message = text(shown, INITIALIZED, "message").unwrap_or_default();
    let finding = format!("{INITIALIZED} of {} does not name {}: {message:?}", pod.key, of.name);
    seen.violated(finding, events);
}

/// The first container that a pod waits for but that its condition does not name.
fn unnamed<'p, 'h>(pod: &'p PodLife<'h>, shown: &Revision<'h>) -> Option<&'p ContainerLife<'h>> {
    if !matches!(shown.phase(), "Pending" | "Running")
        || text(shown, INITIALIZED, "reason") != Some("ContainersNotInitialized")
    {
        return None;
    }
    let message = text(shown, INITIALIZED, "message").unwrap_or_default();
    let words: BTreeSet<&str> = words(message).collect();
    let waits = |of: &&ContainerLife<'_>| match (of.kind, shown.container(&of.name)) {
        (ContainerKind::Init, Some(status)) => !matches!(status.state, State::Terminated { code: 0, .. }),
        (ContainerKind::Sidecar, Some(status)) => status.started != Some(true),
        (kind, None) => kind != ContainerKind::Main,
        (_, Some(_)) => false,
    };
    pod.containers.iter().filter(waits).find(|of| !words.contains(of.name.as_str()))
}

/// A pod that is not initialized does not name a container for which it no longer waits: an init container that has
/// succeeded, or a sidecar that runs and has started. A sidecar with a startup probe is left out, because the kubelet
/// writes the result of this probe into a status before it updates the conditions.
fn judge_only_waiting(pod: &PodLife<'_>, seen: &mut Seen) {
    let done = |of: &ContainerLife<'_>, shown: &Revision<'_>| match (of.kind, shown.container(&of.name)) {
        (ContainerKind::Init, Some(status)) => matches!(status.state, State::Terminated { code: 0, .. }),
        (ContainerKind::Sidecar, Some(status)) => {
            status.is_running() && status.started == Some(true) && of.probe(ProbeKind::Startup).is_none()
        }
        _ => false,
    };
    for shown in of_kubelet(pod).filter(|shown| waits_for_inits(shown)) {
        let message = text(shown, INITIALIZED, "message").unwrap_or_default();
        let named: BTreeSet<&str> = listed(message).collect();
        let wrong = pod.containers.iter().find(|of| named.contains(of.name.as_str()) && done(of, shown));
        if let Some(of) = wrong {
            let finding =
                format!("{INITIALIZED} of {} names {}, which is done: {message:?}", pod.key, of.name);
            return seen.violated(finding, [shown.id]);
        }
    }
}

/// Whether a revision shows that a pod waits for its init containers, and is not being deleted.
fn waits_for_inits(shown: &Revision<'_>) -> bool {
    matches!(shown.phase(), "Pending" | "Running")
        && !shown.terminating()
        && text(shown, INITIALIZED, "reason") == Some("ContainersNotInitialized")
}

/// A pod that is not initialized names each of its init containers that is not ready, and no main container. The kubelet
/// derives the message from the statuses that it writes together with the condition, and no probe changes the status of an
/// init container, so this applies to every revision.
fn judge_named_inits(pod: &PodLife<'_>, seen: &mut Seen) {
    for shown in of_kubelet(pod).filter(|shown| waits_for_inits(shown)) {
        let message = text(shown, INITIALIZED, "message").unwrap_or_default();
        let words: BTreeSet<&str> = words(message).collect();
        let waits = |of: &&ContainerLife<'_>| {
            let runs = |status: ContainerSeen<'_>| {
                !status.ready && !matches!(status.state, State::Terminated { code: 0, .. })
            };
            of.kind == ContainerKind::Init && shown.container(&of.name).is_some_and(runs)
        };
        if let Some(of) = pod.containers.iter().filter(waits).find(|of| !words.contains(of.name.as_str())) {
            let finding = format!("{INITIALIZED} of {} does not name {}: {message:?}", pod.key, of.name);
            return seen.violated(finding, [shown.id]);
        }
        let named: BTreeSet<&str> = listed(message).collect();
        if let Some(of) = mains(pod).find(|of| named.contains(of.name.as_str())) {
            let finding =
                format!("{INITIALIZED} of {} names {}, a main container: {message:?}", pod.key, of.name);
            return seen.violated(finding, [shown.id]);
        }
    }
}

/// A sidecar that has not started keeps its pod from being initialized, as long as no main container has run.
fn judge_sidecars(pod: &PodLife<'_>, seen: &mut Seen) {
    let sidecars = || pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
    if sidecars().next().is_none() {
        return;
    }
    // A pod whose sidecar restarts stays initialized.
    let (mut said, mut begun) = (BTreeSet::new(), BTreeSet::new());
    for shown in of_kubelet(pod).filter(|shown| matches!(shown.phase(), "Pending" | "Running")) {
        let waits = !has_begun(pod, shown);
        let has_started = |of: &&ContainerLife<'_>| {
            let status = shown.container(&of.name);
            status.is_some_and(|status| status.started == Some(true) || status.restarts > 0)
        };
        begun.extend(sidecars().filter(has_started).map(|of| &of.name));
        let started = sidecars().all(|of| begun.contains(&of.name));
        match (shown.is(INITIALIZED), waits && !started) {
            (Some(true), true) => {
                let finding =
                    format!("{INITIALIZED} of {} is True before its sidecars have started", pod.key);
                seen.violated(finding, [shown.id]);
            }
            (Some(false), true) if said.insert("False") => seen.fine([shown.id]),
            (Some(true), false) if started && said.insert("True") => {
                seen.fine([shown.id]);
                seen.facet("helper", "sidecar");
            }
            _ => {}
        }
    }
}

/// Whether a revision shows that a main container was created.
fn has_begun(pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    mains(pod).any(|of| shown.container(&of.name).is_some_and(|status| !status.id.is_empty()))
}

/// An initialized pod stays initialized. If a sidecar ends before any main container has run, for example because the
/// pod is deleted early, the condition may become False again: Kubernetes keeps it True in this case only since 1.36.
fn judge_return(pod: &PodLife<'_>, seen: &mut Seen) {
    let first = of_kubelet(pod).find(|shown| shown.is(INITIALIZED) == Some(true));
    let Some(first) = first else { return };
    let has_sidecars = pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar);
    let mut later =
        of_kubelet(pod).filter(|shown| shown.id > first.id && (!has_sidecars || has_begun(pod, shown)));
    let back = later.find(|shown| shown.is(INITIALIZED) != Some(true));
    if let Some(back) = back {
        let finding = format!("{} was initialized, but {INITIALIZED} is no longer True", pod.key);
        seen.violated(finding, [first.id, back.id]);
    }
}

/// Without init containers a pod is initialized before it has its network.
pub(super) fn before_the_sandbox(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| lacks_volume(run, pod) && !has_inits(pod)) {
        let mut said = false;
        for shown in of_kubelet(pod).filter(|shown| shown.is(NETWORK) != Some(true)) {
            if shown.is(INITIALIZED) != Some(true) {
                let finding = format!(
                    "{} has no init containers and no network, but {INITIALIZED} is not True",
                    pod.key
                );
                seen.violated(finding, [shown.id]);
            } else if !std::mem::replace(&mut said, true) {
                seen.fine([shown.id]);
            }
        }
    }
}

/// With init containers a pod is initialized after it has its network, and its containers are ready after that.
pub(super) fn after_the_sandbox(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| has_inits(pod)) {
        let mut networked = false;
        for shown in of_kubelet(pod) {
            // A container that was created had a network, even if the sandbox has ended since.
            let made = |of: &ContainerLife<'_>| shown.container(&of.name).is_some_and(|of| !of.id.is_empty());
            networked |= shown.is(NETWORK) == Some(true) || pod.containers.iter().any(made);
            if shown.is(INITIALIZED) == Some(true) && !networked && shown.condition(NETWORK).is_some() {
                seen.violated(
                    format!("{} is shown as initialized, but it has no network yet", pod.key),
                    [shown.id],
                );
            } else if lacks_volume(run, pod) && shown.is(INITIALIZED) == Some(false) {
                seen.fine([shown.id]);
                seen.facet("volume", "missing");
            }
        }
        if !run.node_was_touched() {
            judge_times(clause, pod, seen);
        }
    }
}

/// Judges the order of the times at which the three conditions first became True.
fn judge_times(clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let first = |kind: &str| of_kubelet(pod).find(|shown| shown.is(kind) == Some(true));
    for (earlier, later) in [(NETWORK, INITIALIZED), (INITIALIZED, "ContainersReady")] {
        let (Some(one), Some(other)) = (first(earlier), first(later)) else { continue };
        let (Some(from), Some(to)) = (one.turned(earlier), other.turned(later)) else { continue };
        // The kubelet reads the clock separately for each time in a status, and not in causal order. Between two
        // statuses, the node's wall clock may step back a little.
        let rounding = clause.tolerance_us("rounding");
        if whole_seconds(from) > whole_seconds(to) + rounding || is_before(other, one) {
            let finding = format!("{later} of {} became True before {earlier}", pod.key);
            seen.violated(finding, [one.id, other.id]);
        } else {
            seen.fine([one.id, other.id]);
            seen.facet("volume", "there");
        }
    }
}

fn is_before(one: &Revision<'_>, other: &Revision<'_>) -> bool {
    one.id < other.id
}
