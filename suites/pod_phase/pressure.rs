//! Pods that use more local storage than their limit.

use probity_model::measure::Fit;
use probity_model::timeline::{ContainerKind, ContainerLife, Life, Line, PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::Fact;
use serde_json::Value;

use crate::reading::ends::End;
use crate::reading::statuses::{EVICTED, is_explained};
use crate::reading::volumes::{list, only_file, volume_of};

/// The facet of a limit on a volume.
const VOLUME: &str = "volume";

/// A pod that uses more local storage than its limit is evicted: the pod fails, and none of its containers restarts.
pub(super) fn is_not_survived(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().whole().staying() {
        let Some((line, limit)) = exceeded(&life).filter(|(line, _)| life.before_deletion(&line.at)) else {
            continue;
        };
        if life.pod.had_deadline() {
            continue;
        }
        let name = life.name();
        if !counts_storage(run, &life.pod.node) {
            let why = format!("{name} used more storage than its limit, but its node does not count storage");
            seen.doubt(Doubt::Ambiguous, why, [line.id]);
            continue;
        }
        if let Some(again) = life.lives_again() {
            let finding = format!("{name} used more storage than its limit, but was restarted in place");
            seen.violated(finding, [line.id, again]);
        } else if let Some(over) = life.pod.over().filter(|over| life.before_deletion(&over.at)) {
            let quantity = format!("from the write of {name} to the termination of its pod");
            let fit = seen.within(run, &life.node, quantity, (line, over), clause.in_time());
            let quiet = run.watched_for(life.pod, &over.at, clause.tolerance_us("watched"));
            if fit == Some(Fit::Met) && quiet {
                judge_status(&life, (line, limit), seen);
            }
        } else if life.watched_for(&line.at, clause.slack_us()) {
            let finding = format!("{name} used more storage than its limit, but its pod kept running");
            seen.violated(finding, run.to_the_end([line.id]));
        }
    }
}

/// The resource name of local storage, according to the Kubernetes documentation.
const STORAGE: &str = "ephemeral-storage";

/// Whether a node counts local storage. A kubelet with the setting `localStorageCapacityIsolation: false`, which is needed
/// in a user namespace, has no local storage to allocate, and enforces no limit.
fn counts_storage(run: &Timeline<'_>, node: &str) -> bool {
    let known = run.history.header.nodes.get(node).map(|facts| &facts.allocatable);
    known.is_none_or(|all| all.is_empty() || all.contains_key(STORAGE))
}

/// Judges the status of a pod that was evicted. If all of its containers exit with 0, the reference implementation
/// shows the pod as Succeeded.
fn judge_status(life: &Life<'_, '_>, (line, limit): (&Line<'_>, &'static str), seen: &mut Seen) {
    let Some(shown) = life.pod.revisions.iter().rfind(|shown| !shown.gone) else { return };
    let reason = shown.object["status"]["reason"].as_str();
    let code = End::of(life).and_then(|end| end.code);
    let alone = life.pod.containers.len() == 1;
    let events = [line.id, shown.id];
    match (shown.phase(), reason, code) {
        ("Failed", Some(EVICTED), _) if !is_explained(shown) => {
            let finding = format!("{} was evicted, but no message gives the reason", life.pod.key);
            seen.violated(finding, events);
        }
        ("Failed", Some(EVICTED), _) if limit == VOLUME && misnamed(life, shown).is_some() => {
            let named = misnamed(life, shown).unwrap_or_default();
            let finding =
                format!("{} was evicted, but the message names the wrong volume {named}", life.pod.key);
            seen.violated(finding, events);
        }
        ("Failed", Some(EVICTED), _) => {
            seen.fine(events);
            seen.facet("end", if code == Some(0) { "success" } else { "failure" });
        }
        ("Succeeded", None, Some(0)) if alone => {
            let finding = format!("{} was evicted, but is shown as Succeeded", life.pod.key);
            seen.diverges(finding, events);
            seen.facet("end", "success");
        }
        (phase, reason, _) => {
            let reason = reason.unwrap_or("no reason");
            let finding = format!("{} was evicted, but is shown as {phase} with {reason}", life.pod.key);
            seen.violated(finding, events);
        }
    }
    seen.facet("limit", limit);
}

/// The volume that the message of an evicted pod names, if it names another volume than the one beyond its limit.
fn misnamed<'h>(life: &Life<'_, 'h>, shown: &Revision<'_>) -> Option<&'h str> {
    let message = shown.object["status"]["message"].as_str()?;
    let names = |name: &str| {
        let mut words = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        words.any(|word| word == name)
    };
    let own = mount_of(life.container, &only_file(life.container)?)?["name"].as_str()?;
    let mut others = list(life.pod.spec, "volumes").filter_map(|volume| volume["name"].as_str());
    others.find(|other| *other != own && names(other)).filter(|_| !names(own))
}

/// The record of a write that exceeds a limit, with the kind of the limit: that of the volume, or that of the pod.
fn exceeded<'t, 'h>(life: &Life<'t, 'h>) -> Option<(&'t Line<'h>, &'static str)> {
    let volume = empty_dir_of(life.pod, life.container, &only_file(life.container)?)?;
    let (bytes, limit) = limit_of(life.pod, volume)?;
    let line = life.attempt.lines.iter().find(|line| match &line.line.fact {
        Fact::Consumed(consumed) => {
            consumed.resource == "disk" && consumed.error.is_none() && consumed.amount > bytes
        }
        _ => false,
    })?;
    Some((line, limit))
}

/// The disk-based `emptyDir` that contains a file.
fn empty_dir_of<'p>(pod: &'p PodLife<'_>, container: &ContainerLife<'_>, path: &str) -> Option<&'p Value> {
    let source = volume_of(pod.spec, mount_of(container, path)?)?.get("emptyDir")?;
    source["medium"].as_str().is_none_or(str::is_empty).then_some(source)
}

/// The mount of a container that contains a file.
fn mount_of<'h>(container: &ContainerLife<'h>, path: &str) -> Option<&'h Value> {
    list(container.spec, "volumeMounts").find(|mount| {
        let at = mount["mountPath"].as_str().unwrap_or_default();
        path.strip_prefix(at).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// The limit of a volume, or the total limit of the containers of its pod.
fn limit_of(pod: &PodLife<'_>, volume: &Value) -> Option<(u64, &'static str)> {
    if let Some(limit) = volume["sizeLimit"].as_str() {
        return Some((bytes(limit)?, VOLUME));
    }
    let mains = pod.containers.iter().filter(|of| of.kind == ContainerKind::Main);
    let mut limits = mains.map(|of| of.spec.get("resources")?.get("limits")?.get(STORAGE)?.as_str());
    let (only, None) = (limits.next()??, limits.next()) else { return None };
    Some((bytes(only)?, "container"))
}

/// A quantity with one of the binary suffixes of Kubernetes, or without a suffix.
fn bytes(quantity: &str) -> Option<u64> {
    let digits = quantity.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &quantity[digits.len()..] {
        "" => Some(number),
        "Ki" => Some(number << 10),
        "Mi" => Some(number << 20),
        "Gi" => Some(number << 30),
        _ => None,
    }
}
