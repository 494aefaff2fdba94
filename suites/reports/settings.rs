//! Pods that refer to a ConfigMap or a Secret, or to a key in one, that does not exist: what they wait for, the events
//! about that, and that they start once it exists.

use std::collections::BTreeSet;

use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, ContainerKind, ContainerLife, KubeEvent, PodLife, Revision, State};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use super::WARNING;
use super::tally::{Tally, Told};
use crate::reading::statuses::{of_kubelet, statuses};

/// How the names begin of ConfigMaps and Secrets that nobody creates. Others may have existed before the run.
const NOBODYS: &str = "probity-no-such-";
/// The ConfigMap that each namespace has by itself, by the Kubernetes documentation.
const EVERYBODYS: &str = "kube-root-ca.crt";
/// What a container waits for that lacks a part of its configuration, by the reference implementation of Kubernetes.
const NO_CONFIGURATION: &str = "CreateContainerConfigError";
/// What a container waits for whose pod lacks a volume, by the Kubernetes documentation.
const NO_VOLUME: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// A reference of a pod to something that did not exist when the pod was created.
struct Missing<'p, 'h> {
    /// The container that needs it; none if it is a volume, which all containers of the pod wait for.
    container: Option<&'p ContainerLife<'h>>,
    /// The kind of what it refers to.
    object: &'static str,
    /// The words of which an event has one: the name of the object, of a key or of the volume.
    named: Vec<&'h str>,
    /// When it came to exist, if it did.
    supplied: Option<At>,
}

impl Missing<'_, '_> {
    /// How it is used.
    fn usage(&self) -> &'static str {
        if self.container.is_some() { "environment" } else { "volume" }
    }

    fn concerns(&self, container: &ContainerLife<'_>) -> bool {
        self.container.is_none_or(|of| of.name == container.name)
    }
}

/// The fields of a reference to an object, and to its keys.
struct Reference<'h> {
    object: &'static str,
    name: &'h str,
    keys: Vec<&'h str>,
}

/// Since when something exists that a pod refers to.
enum Existence {
    /// Since before the pod was created.
    Always,
    /// The run did not create it, so it may exist or not.
    Unknown,
    /// It did not exist when the pod was created. Then this created it, if anything did.
    Later(Option<At>),
}

fn text<'h>(of: &'h Value, field: &str) -> Option<&'h str> {
    of.get(field)?.as_str()
}

/// A reference in a field of `of`, if there must be something to refer to.
fn reference<'h>(of: &'h Value, object: &'static str, field: &str, name: &str) -> Option<Reference<'h>> {
    let source = of.get(field)?;
    let items = source.get("items").and_then(Value::as_array).into_iter().flatten();
    let keys = text(source, "key").into_iter().chain(items.filter_map(|item| text(item, "key")));
    let optional = source.get("optional").and_then(Value::as_bool) == Some(true);
    let found = Reference { object, name: text(source, name)?, keys: keys.collect() };
    (!optional).then_some(found)
}

/// What a container's environment refers to.
fn of_environment(spec: &Value) -> impl Iterator<Item = Reference<'_>> {
    let variables = spec.get("env").and_then(Value::as_array).into_iter().flatten();
    variables.filter_map(|variable| variable.get("valueFrom")).filter_map(|from| {
        let map = reference(from, "ConfigMap", "configMapKeyRef", "name");
        map.or_else(|| reference(from, "Secret", "secretKeyRef", "name"))
    })
}

/// Since when a reference of a pod that was created then points at something.
fn existence(run: &Timeline<'_>, of: &Reference<'_>, created: EventId) -> Existence {
    if of.name == EVERYBODYS {
        return Existence::Always;
    }
    let mut lacking: BTreeSet<&str> = of.keys.iter().copied().collect();
    let mut made = false;
    for (id, deed) in &run.deeds {
        let (content, makes) = match &deed.did {
            Did::Created { kind, name, manifest } if kind == of.object && name == of.name => (manifest, true),
            Did::Patched { kind, name, patch, .. } if kind == of.object && name == of.name => (patch, false),
            _ => continue,
        };
        let fields = ["data", "stringData", "binaryData"].into_iter().filter_map(|field| content.get(field));
        let given = fields.filter_map(Value::as_object).flatten().filter(|(_, value)| !value.is_null());
        given.for_each(|(key, _)| {
            lacking.remove(key.as_str());
        });
        made |= makes;
        if made && lacking.is_empty() {
            let at = At::new(*id, Stamp::harness(deed.began_us));
            return if *id < created { Existence::Always } else { Existence::Later(Some(at)) };
        }
    }
    if made || of.name.starts_with(NOBODYS) { Existence::Later(None) } else { Existence::Unknown }
}

/// What a pod lacked when it was created. A pod that lacks several things waits for one after the other, so it is unclear
/// what can be said of each: such a pod is left out.
fn missing<'p, 'h>(run: &Timeline<'h>, pod: &'p PodLife<'h>) -> Option<Missing<'p, 'h>> {
    let (created, _) = pod.created?;
    let volumes = pod.spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let mounted = volumes.filter_map(|volume| {
        let map = reference(volume, "ConfigMap", "configMap", "name");
        let found = map.or_else(|| reference(volume, "Secret", "secret", "secretName"))?;
        Some((None, found, text(volume, "name")))
    });
    let used = pod.containers.iter().flat_map(|container| {
        of_environment(container.spec).map(move |found| (Some(container), found, None))
    });
    let mut only = None;
    for (container, of, volume) in mounted.chain(used) {
        match existence(run, &of, created) {
            Existence::Always => {}
            Existence::Later(supplied) if only.is_none() => {
                let named = of.keys.iter().copied().chain([of.name]).chain(volume).collect();
                only = Some(Missing { container, object: of.object, named, supplied });
            }
            Existence::Later(_) | Existence::Unknown => return None,
        }
    }
    let only = only?;
    // A container whose turn comes later is not looked at before.
    let first = pod.containers.first().filter(|first| first.kind != ContainerKind::Main);
    let its_turn = only.container.is_none_or(|of| first.is_none_or(|first| first.name == of.name));
    its_turn.then_some(only)
}

/// The pods that lack something, and what.
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
        // Once it exists, nothing need be said any more.
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
                seen.facet("used-as", missing.usage());
            }
            Told::No => {
                let finding = format!(
                    "{} refers to a {} that does not exist, but no event reports this",
                    pod.key, missing.object
                );
                seen.violated(finding, [Some(first.id), run.last_event()].into_iter().flatten());
            }
            Told::Unknown => {}
        }
    }
}

/// The names of the optional objects and keys that a container's environment refers to.
fn optional(spec: &Value) -> impl Iterator<Item = &str> {
    let variables = spec.get("env").and_then(Value::as_array).into_iter().flatten();
    let sources = variables.filter_map(|variable| variable.get("valueFrom"));
    let fields = sources.flat_map(|from| ["configMapKeyRef", "secretKeyRef"].map(|field| from.get(field)));
    fields.flatten().filter(|field| field["optional"] == true).filter_map(|field| text(field, "name"))
}

/// A container does not wait for what its pod calls optional.
fn judge_optional(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let names: Vec<&str> = optional(container.spec).collect();
        let waits = |shown: &Revision<'_>| {
            let (_, status) = statuses(shown).find(|(name, _)| *name == container.name)?;
            let waiting = status.get("state")?.get("waiting")?;
            let message =
                text(waiting, "message").filter(|_| text(waiting, "reason") == Some(NO_CONFIGURATION))?;
            names.iter().find(|name| message.contains(**name)).copied()
        };
        if let Some((shown, name)) = of_kubelet(pod).find_map(|shown| Some((shown, waits(shown)?))) {
            let finding = format!("{}/{} waits for {name}, which is optional", pod.key, container.name);
            seen.violated(finding, [shown.id]);
        }
    }
}

/// The container that needs what is missing waits, and its status says for what.
pub(super) fn waits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_optional(run, seen);
    for (pod, missing) in lacking(run) {
        for container in pod.containers.iter().filter(|of| missing.concerns(of)) {
            judge_wait(run, clause, (pod, container), &missing, seen);
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
    let is_still =
        |at: &Stamp| missing.supplied.as_ref().is_none_or(|supplied| run.before(at, &supplied.stamp));
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
                    seen.facet("used-as", missing.usage());
                }
            }
            // So it is shown before it is looked at.
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
        seen.violated(finding, [Some(first.id), run.last_event()].into_iter().flatten());
    }
}

/// How long a pod may take to start once what it lacked exists: it is tried again after delays that double.
fn patience(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, supplied: &At) -> Option<Bound> {
    let first = of_kubelet(pod).next()?;
    let waited = run.clocks.between(&first.at, &supplied.stamp)?.hi;
    let formula = format!("{} waited + the clause's slack", seconds(waited));
    Some(Bound::at_most(waited + clause.slack_us(), formula))
}

/// A pod starts once what was missing exists, and not before.
pub(super) fn starts_then(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
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
                        seen.facet("used-as", missing.usage());
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
                        seen.violated(finding, [Some(supplied.id), run.last_event()].into_iter().flatten());
                    }
                }
                _ => {}
            }
        }
    }
}
