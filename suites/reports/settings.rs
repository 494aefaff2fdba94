//! Pods that refer to a missing ConfigMap or Secret, or to a missing key: what these pods wait for, the events about
//! this, and their start once the missing object exists.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, ContainerKind, ContainerLife, KubeEvent, PodLife, Revision, State};
use probity_model::{Clause, Seen, Stamp, Timeline};
use serde_json::Value;

use super::WARNING;
use super::optional::{starts_anyway, waits_for_nothing_optional};
use super::references::{Existence, existence, references};
use super::tally::{Tally, Told};
use crate::reading::statuses::{of_kubelet, status_of};

/// The waiting reason of a container that lacks a part of its configuration, in the reference implementation of
/// Kubernetes.
pub(super) const NO_CONFIGURATION: &str = "CreateContainerConfigError";
/// The waiting reason of a container whose pod lacks a volume, according to the Kubernetes documentation.
const NO_VOLUME: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// A reference of a pod to something that did not exist when the pod was created.
struct Missing<'p, 'h> {
    /// The container that needs it; none for a volume, for which all containers of the pod wait.
    container: Option<&'p ContainerLife<'h>>,
    /// The kind of the missing object.
    object: &'static str,
    /// How it is used.
    usage: &'static str,
    /// An event has one of these words: the name of the object, of a key or of the volume.
    named: Vec<&'h str>,
    /// When the missing object was created, if it was created.
    supplied: Option<At>,
}

impl Missing<'_, '_> {
    fn concerns(&self, container: &ContainerLife<'_>) -> bool {
        self.container.is_none_or(|of| of.name == container.name)
    }

    /// Whether the object was certainly still missing at this time.
    fn lasts(&self, run: &Timeline<'_>, at: &Stamp) -> bool {
        self.supplied.as_ref().is_none_or(|supplied| run.before(at, &supplied.stamp))
    }
}

/// What a pod lacked when it was created. A pod that lacks several objects waits for one after the other, so nothing
/// certain can be concluded about each of them: such a pod is left out.
fn missing<'p, 'h>(run: &Timeline<'h>, pod: &'p PodLife<'h>) -> Option<Missing<'p, 'h>> {
    let (created, _) = pod.created?;
    let mut only = None;
    for (container, of) in references(pod).filter(|(_, of)| !of.optional) {
        match existence(run, &of, created) {
            Existence::Always => {}
            Existence::Later(supplied) if only.is_none() => {
                let named = of.keys.iter().copied().chain([of.name]).chain(of.volume).collect();
                only = Some(Missing { container, object: of.object, usage: of.usage, named, supplied });
            }
            Existence::Later(_) | Existence::Unknown => return None,
        }
    }
    let only = only?;
    // The kubelet does not handle a later container before its turn.
    let first = pod.containers.first().filter(|first| first.kind != ContainerKind::Main);
    let its_turn = only.container.is_none_or(|of| first.is_none_or(|first| first.name == of.name));
    its_turn.then_some(only)
}

/// The pods that lack something, each with what it lacks.
fn lacking<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (&'t PodLife<'h>, Missing<'t, 'h>)> {
    let plain = run.pods.iter().filter(|pod| {
        !pod.was_ended_from_outside() && run.deletion(pod).is_none() && !run.node_was_touched()
    });
    plain.filter_map(|pod| Some((pod, missing(run, pod)?)))
}

/// A warning about the pod names what is missing.
pub(super) fn reported(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, missing) in lacking(run) {
        let (tally, Some(first)) = (Tally::of(run, pod), of_kubelet(pod).next()) else { continue };
        // Once the object exists, no event is needed.
        let due = first.at.later(clause.slack_us());
        if missing.supplied.as_ref().is_some_and(|at| !run.before(&due, &at.stamp)) {
            continue;
        }
        let says = |event: &KubeEvent<'_>| {
            event.kind == WARNING && missing.named.iter().any(|word| event.message.contains(word))
        };
        match tally.told(clause, first, (WARNING, 1), says) {
            Told::Yes(event) => {
                seen.fine([first.id, event]);
                seen.facet("object", missing.object);
                seen.facet("used-as", missing.usage);
            }
            Told::No => {
                let finding = format!(
                    "{} refers to a {} that does not exist, but no event reports this",
                    pod.key, missing.object
                );
                seen.violated(finding, run.to_the_end([first.id]));
            }
            Told::Unknown => {}
        }
    }
}

/// The container that needs the missing object waits, and its status shows the reason.
pub(super) fn waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    waits_for_nothing_optional(run, seen);
    for (pod, missing) in lacking(run) {
        for container in pod.containers.iter().filter(|of| missing.concerns(of)) {
            judge_wait(run, clause, (pod, container), &missing, seen);
        }
        if let Some(container) = missing.container {
            judge_message(run, clause, (pod, container), &missing, seen);
        }
    }
}

fn judge_wait(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    missing: &Missing<'_, '_>,
    seen: &mut Seen,
) {
    let name = format!("{}/{}", pod.key, container.name);
    let is_still = |at: &Stamp| missing.lasts(run, at);
    let wanted = |reason: &str| match missing.container {
        Some(_) => reason == NO_CONFIGURATION,
        None => NO_VOLUME.contains(&reason),
    };
    let mut told = false;
    for shown in of_kubelet(pod).filter(|shown| is_still(&shown.at)) {
        let Some(status) = shown.container(&container.name) else { continue };
        match status.state {
            State::Waiting { reason } if wanted(reason) => {
                if !std::mem::replace(&mut told, true) {
                    seen.fine([shown.id]);
                    seen.facet("used-as", missing.usage);
                }
            }
            // A container is shown in this way before the kubelet handles it.
            State::Waiting { reason } if NO_VOLUME.contains(&reason) && !told => {}
            State::Waiting { reason } => {
                let finding = format!(
                    "{name} refers to a {} that does not exist, but is waiting with the reason {reason:?}",
                    missing.object
                );
                seen.violated(finding, [shown.id]);
            }
            _ => {
                let finding =
                    format!("{name} refers to a {} that does not exist, but has started", missing.object);
                seen.violated(finding, [shown.id]);
            }
        }
    }
    let Some(first) = of_kubelet(pod).next().filter(|_| !told) else { return };
    let by = first.at.later(clause.slack_us());
    if is_still(&by) && run.watched_for(pod, &first.at, clause.slack_us()) {
        let finding = format!(
            "{name} refers to a {} that does not exist, but its status does not show this",
            missing.object
        );
        seen.violated(finding, run.to_the_end([first.id]));
    }
}

/// The message of a container that is shown as waiting because of its configuration; it may be empty.
fn message_of<'h>(shown: &Revision<'h>, container: &str) -> Option<&'h str> {
    let waiting = status_of(shown, container)?.get("state")?.get("waiting")?;
    let concerned = waiting.get("reason").is_some_and(|reason| *reason == NO_CONFIGURATION);
    concerned.then(|| waiting.get("message").and_then(Value::as_str).unwrap_or_default())
}

/// The message of a container that waits because of its configuration is never empty, and names what is missing. A kubelet
/// that has not read the object yet may give another cause at first.
fn judge_message(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    missing: &Missing<'_, '_>,
    seen: &mut Seen,
) {
    let told: Vec<(&Revision<'_>, &str)> = of_kubelet(pod)
        .filter(|shown| missing.lasts(run, &shown.at))
        .filter_map(|shown| Some((shown, message_of(shown, &container.name)?)))
        .collect();
    let finding =
        |what: &str| format!("{}/{} refers to a {} {what}", pod.key, container.name, missing.object);
    let Some((first, _)) = told.first() else { return };
    let names = |message: &str| missing.named.iter().any(|word| message.contains(word));
    if let Some((silent, _)) = told.iter().find(|(_, message)| message.is_empty()) {
        seen.violated(finding("that does not exist, but its status has no message"), [silent.id]);
    } else if let Some((named, _)) = told.iter().find(|(_, message)| names(message)) {
        seen.fine([named.id]);
    } else if missing.lasts(run, &first.at.later(clause.slack_us()))
        && run.watched_for(pod, &first.at, clause.slack_us())
    {
        let finding = finding("that does not exist, but no message in its status names it");
        seen.violated(finding, run.to_the_end([first.id]));
    }
}

/// How long a pod may take to start once what it lacked exists: the kubelet retries the pod after delays that double.
fn patience(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, supplied: &At) -> Option<Bound> {
    let first = of_kubelet(pod).next()?;
    let waited = run.clocks.between(&first.at, &supplied.stamp)?.hi;
    let formula = format!("{} waited + the clause's slack", seconds(waited));
    Some(Bound::at_most(waited + clause.slack_us(), formula))
}

/// A pod starts once the missing object exists, and not before.
pub(super) fn starts_then(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    starts_anyway(run, clause, seen);
    for (pod, missing) in lacking(run) {
        let bound = missing.supplied.as_ref().and_then(|at| patience(run, clause, pod, at));
        for container in pod.containers.iter().filter(|of| missing.concerns(of)) {
            let name = format!("{}/{}", pod.key, container.name);
            let began = container.attempts.first().map(|attempt| &attempt.began);
            match (&missing.supplied, began) {
                (Some(supplied), Some(began)) if run.before(&supplied.stamp, &began.stamp) => {
                    let Some(bound) = bound.clone() else { continue };
                    let quantity = format!("from the {} to the start of {name}", missing.object);
                    if seen.within(run, &pod.node, quantity, (supplied, began), bound) == Some(Fit::Met) {
                        seen.facet("used-as", missing.usage);
                    }
                }
                (Some(supplied), Some(began)) if run.before(&began.stamp, &supplied.stamp) => {
                    let finding =
                        format!("{name} started before the {} that it needs existed", missing.object);
                    seen.violated(finding, [began.id, supplied.id]);
                }
                (None, Some(began)) => {
                    let finding = format!("{name} started without the {} that it refers to", missing.object);
                    seen.violated(finding, [began.id]);
                }
                (Some(supplied), None) if container.plan().is_some() => {
                    let most = bound.as_ref().and_then(|bound| bound.upper.as_ref()).map(|limit| limit.value);
                    if most.is_some_and(|most| run.watched_for(pod, &supplied.stamp, most)) {
                        let finding = format!(
                            "the {} that {name} needs exists, but the container does not start",
                            missing.object
                        );
                        seen.violated(finding, run.to_the_end([supplied.id]));
                    }
                }
                _ => {}
            }
        }
    }
}
