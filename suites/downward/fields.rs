//! The fields of a pod that a container is told.

use probity_model::clocks::Order;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::offers::{Form, Offer, offers, views};
use super::refused;
use crate::reading::dumps::Look;

/// The fields that variables and files can show, and the word for each.
const BOTH: [(&str, &str); 3] =
    [("metadata.name", "name"), ("metadata.namespace", "namespace"), ("metadata.uid", "uid")];
/// One label or annotation.
const ENTRIES: [(&str, &str); 2] = [("metadata.labels['", "label"), ("metadata.annotations['", "annotation")];
/// The fields that only variables can show.
pub(super) const OF_VARIABLES: [&str; 6] = [
    "spec.serviceAccountName",
    "spec.nodeName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The fields that only files can show.
pub(super) const OF_FILES: [&str; 2] = ["metadata.labels", "metadata.annotations"];

/// The word for a field that variables and files can show.
fn word_of(field: &str) -> Option<&'static str> {
    let plain = BOTH.iter().find(|(path, _)| *path == field);
    let entry = || ENTRIES.iter().find(|(path, _)| field.starts_with(path));
    plain.or_else(entry).map(|(_, word)| *word)
}

/// What a revision of a pod shows for a field, as a container is told it. None if it is not known there.
fn value(object: &Value, field: &str) -> Option<String> {
    if let Some((list, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
        let entry = object.pointer(&pointer(list)).and_then(|list| list.get(key));
        return Some(entry.and_then(Value::as_str).unwrap_or_default().to_owned());
    }
    if OF_FILES.contains(&field) {
        let map = object.pointer(&pointer(field)).and_then(Value::as_object);
        let mut entries: Vec<(&String, &Value)> = map.into_iter().flatten().collect();
        entries.sort_by_key(|(key, _)| *key);
        // JSON writes a plain text as the downward API does.
        let lines: Vec<String> = entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
        return Some(lines.join("\n"));
    }
    let found = object.pointer(&pointer(field))?;
    match found.as_array() {
        Some(list) => {
            let ips: Vec<&str> = list.iter().filter_map(|of| of["ip"].as_str()).collect();
            (!ips.is_empty()).then(|| ips.join(","))
        }
        None => found.as_str().map(str::to_owned),
    }
}

fn pointer(field: &str) -> String {
    format!("/{}", field.replace('.', "/"))
}

/// The beginning of the annotations that a kubelet adds for itself, as in the Kubernetes documentation's own example.
const OF_KUBELET: &str = "kubernetes.io/config.";

/// What a process saw, without the annotations that only the kubelet knows.
fn told(offer: &Offer<'_>) -> Option<String> {
    let own = |line: &&str| !(offer.field() == Some(OF_FILES[1]) && line.starts_with(OF_KUBELET));
    Some(offer.seen?.lines().filter(own).collect::<Vec<_>>().join("\n"))
}

/// The revision that shows what a container was told: a value that the pod has at no time is wrong.
fn source_of(look: &Look<'_, '_>, offer: &Offer<'_>) -> Option<EventId> {
    let field = offer.field()?;
    let seen = told(offer)?;
    let shows = |object: &Value| value(object, field).is_some_and(|value| value == seen);
    look.life.pod.revisions.iter().find(|shown| shows(shown.object)).map(|shown| shown.id)
}

/// Whether the pod ever showed a value for a field, so that it can be compared.
fn is_known(look: &Look<'_, '_>, field: &str) -> Option<EventId> {
    let mut revisions = look.life.pod.revisions.iter();
    revisions.find(|shown| value(shown.object, field).is_some()).map(|shown| shown.id)
}

/// Judges one variable or file; whether it is right.
fn judge_offer(look: &Look<'_, '_>, offer: &Offer<'_>, seen: &mut Seen) -> bool {
    let Some(field) = offer.field() else { return false };
    let Some(known) = is_known(look, field) else { return false };
    if let Some(source) = source_of(look, offer) {
        seen.fine([source, look.line.id]);
        return true;
    }
    let what = offer.seen.map_or_else(|| "missing".to_owned(), |seen| format!("{seen:?}"));
    let finding = format!("{} of {} should show {field}, but it is {what}", offer.name, look.life.name());
    seen.violated(finding, [known, look.line.id]);
    false
}

/// Name, namespace, UID, one label and one annotation, in variables and in files.
pub(super) fn fields_of_both(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            if let Some(word) = offer.field().and_then(word_of)
                && judge_offer(look, offer, seen)
            {
                seen.facet(offer.form.word(), word);
            }
        }
    }
}

/// The fields that variables show, and files do not.
pub(super) fn fields_of_variables(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            let field = offer.field().filter(|field| OF_VARIABLES.contains(field));
            if let Some(field) = field.filter(|_| offer.form == Form::Variable)
                && judge_offer(look, offer, seen)
            {
                seen.facet("env", field);
            }
        }
    }
    refused::in_volumes(run, seen);
}

/// All labels and all annotations, in files and not in variables. A file shows a change soon.
pub(super) fn fields_of_files(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in offers(look).iter().filter(|offer| offer.form == Form::File) {
            let Some(field) = offer.field().filter(|field| OF_FILES.contains(field)) else { continue };
            if judge_offer(look, offer, seen) {
                seen.facet("file", field);
                judge_age(run, clause, (look, offer, field), seen);
            }
        }
    }
    refused::in_variables(run, seen);
}

/// A file does not show for longer than the slack what the pod is no longer like.
fn judge_age(
    run: &Timeline<'_>,
    clause: &Clause,
    (look, offer, field): (&Look<'_, '_>, &Offer<'_>, &str),
    seen: &mut Seen,
) {
    let revisions = &look.life.pod.revisions;
    let shown = told(offer).unwrap_or_default();
    let is = |object: &Value| value(object, field).is_some_and(|value| value == shown);
    let Some(last) = revisions.iter().rposition(|revision| is(revision.object)) else { return };
    match revisions.get(last..).into_iter().flatten().find(|revision| !is(revision.object)) {
        // The first revision that shows something else.
        Some(changed) if run.at_least(&changed.at, &look.line.at) > clause.slack_us() => {
            let finding = format!("{} of {} shows an old value of {field}", offer.name, look.life.name());
            seen.violated(finding, [changed.id, look.line.id]);
        }
        Some(_) => {}
        None => {
            let before =
                revisions.get(..last).into_iter().flatten().rev().find(|earlier| !is(earlier.object));
            let after = |earlier: &&probity_model::timeline::Revision<'_>| {
                run.clocks.order(&earlier.at, &look.life.attempt.began) == Order::After
            };
            let began = revisions.iter().find(|revision| is(revision.object) && after(revision));
            if before.is_some() && began.is_some() {
                seen.facet("file", "updated");
            }
        }
    }
}

/// Whether a pod showed different values for a field.
fn changed(look: &Look<'_, '_>, field: &str) -> bool {
    let mut values = look.life.pod.revisions.iter().map(|shown| value(shown.object, field));
    let first = values.next().flatten();
    values.any(|value| value != first)
}

/// What a variable and a file of one container say of one field.
pub(super) fn both_ways_agree(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        let all = offers(look);
        for variable in all.iter().filter(|offer| offer.form == Form::Variable) {
            let same = |other: &&Offer<'_>| {
                other.form == Form::File
                    && other.field() == variable.field()
                    && other.resource() == variable.resource()
            };
            for file in all.iter().filter(same) {
                // Of a field that changed, the file may show more than the variable.
                if variable.field().is_some_and(|field| changed(look, field)) {
                    continue;
                }
                let finding = || {
                    format!(
                        "{} of {} is {:?}, and {} is {:?}",
                        variable.name,
                        look.life.name(),
                        variable.seen,
                        file.name,
                        file.seen
                    )
                };
                let agree = variable.seen.is_some() && variable.seen == file.seen;
                seen.check(agree, finding, [look.line.id]);
                if agree {
                    seen.facet("of", if variable.field().is_some() { "field" } else { "resource" });
                }
            }
        }
    }
}

/// Where a token of a service account is mounted, by the Kubernetes documentation.
const TOKENS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A pod without a token is told the same as others.
pub(super) fn without_a_token(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let has_none = |look: &&Look<'_, '_>| {
        let automatic = look.life.pod.spec.get("automountServiceAccountToken");
        let mounts = look.dump.files.get("/proc/self/mountinfo");
        automatic.is_some_and(|is| *is == false) && mounts.is_some_and(|mounts| !mounts.contains(TOKENS))
    };
    for look in views(run).iter().filter(has_none) {
        for offer in &offers(look) {
            if offer.field().is_some() && judge_offer(look, offer, seen) {
                seen.facet("form", offer.form.word());
            }
        }
    }
}
