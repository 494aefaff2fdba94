//! The fields of a pod that the downward API passes to a container.

use std::net::IpAddr;

use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::age::{Age, judge_age};
use super::offers::{Form, Offer, offers, views};
use super::refused;
use crate::reading::dumps::{Look, MOUNTS};

/// The fields that variables and files can show, and the word for each field.
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

/// The value of a field in a revision of a pod, in the form of the downward API. None if the revision does not show it.
pub(super) fn value(object: &Value, field: &str) -> Option<String> {
    if let Some((list, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
        let entry = object.pointer(&pointer(list)).and_then(|list| list.get(key));
        return Some(entry.and_then(Value::as_str).unwrap_or_default().to_owned());
    }
    if OF_FILES.contains(&field) {
        let map = object.pointer(&pointer(field)).and_then(Value::as_object);
        let mut entries: Vec<(&String, &Value)> = map.into_iter().flatten().collect();
        entries.sort_by_key(|(key, _)| *key);
        // JSON writes plain text in the same way as the downward API.
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

/// The prefix of the annotations that a kubelet adds for itself, as in the example in the Kubernetes documentation.
const OF_KUBELET: &str = "kubernetes.io/config.";

/// The value that a process saw, without the annotations that the kubelet adds for itself.
pub(super) fn told(offer: &Offer<'_>) -> Option<String> {
    let own = |line: &&str| !(offer.field() == Some(OF_FILES[1]) && line.starts_with(OF_KUBELET));
    Some(offer.seen?.lines().filter(own).collect::<Vec<_>>().join("\n"))
}

/// The revision that shows the value that a container got. `None` if the pod never had this value.
fn source_of(look: &Look<'_, '_>, offer: &Offer<'_>) -> Option<EventId> {
    let field = offer.field()?;
    let seen = told(offer)?;
    let shows = |object: &Value| value(object, field).is_some_and(|value| value == seen);
    look.life.pod.revisions.iter().find(|shown| shows(shown.object)).map(|shown| shown.id)
}

/// The first revision of the pod that shows a value for a field. Without one, there is nothing to compare with.
fn is_known(look: &Look<'_, '_>, field: &str) -> Option<EventId> {
    let mut revisions = look.life.pod.revisions.iter();
    revisions.find(|shown| value(shown.object, field).is_some()).map(|shown| shown.id)
}

/// Judges one variable or file; returns whether it is right.
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

/// Variables and files show the name, the namespace and the UID of a pod, and a single label or annotation. Neither
/// shows a value that the pod has not had for a long time.
pub(super) fn fields_of_both(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            let Some((field, word)) = offer.field().and_then(|field| Some((field, word_of(field)?))) else {
                continue;
            };
            if !judge_offer(look, offer, seen) {
                continue;
            }
            seen.facet(offer.form.word(), word);
            let age = match offer.form {
                Form::File => Some(Age::of_file(look, clause.slack_us())),
                Form::Variable => Age::of_variable(look, clause.tolerance_us("heard")),
            };
            if let Some(age) = age {
                judge_age(run, &age, (look, offer, field), seen);
            }
        }
    }
}

/// Variables show the fields that files cannot show.
pub(super) fn fields_of_variables(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            let field = offer.field().filter(|field| OF_VARIABLES.contains(field));
            if let Some(field) = field.filter(|_| offer.form == Form::Variable)
                && judge_offer(look, offer, seen)
                && judge_address(look, offer, field, seen)
            {
                seen.facet("env", field);
            }
        }
    }
    refused::in_volumes(run, seen);
}

/// The fields with addresses of the pod itself.
const ADDRESSES: [&str; 2] = ["status.podIP", "status.podIPs"];

/// Judges whether the addresses in a variable belong to the network of the process that got the variable; returns whether
/// the variable is right. A pod that lost its sandbox has a new address, but an older status still shows the old one. If
/// the process recorded no interfaces, there is nothing to compare with.
fn judge_address(look: &Look<'_, '_>, offer: &Offer<'_>, field: &str, seen: &mut Seen) -> bool {
    let on_node = look.life.pod.spec.get("hostNetwork").is_some_and(|is| *is == true);
    let own: Vec<IpAddr> = look.dump.interfaces.values().flatten().filter_map(|of| of.parse().ok()).collect();
    if !ADDRESSES.contains(&field) || on_node || own.is_empty() {
        return true;
    }
    let mut named = offer.seen.unwrap_or_default().split(',').filter_map(|of| of.parse::<IpAddr>().ok());
    let Some(foreign) = named.find(|address| !own.contains(address)) else { return true };
    let finding =
        format!("{} of {} is {foreign}, which is not an address of its pod", offer.name, look.life.name());
    seen.violated(finding, [look.line.id]);
    false
}

/// Files show all labels and all annotations, which variables cannot show. A file shows a change soon.
pub(super) fn fields_of_files(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in offers(look).iter().filter(|offer| offer.form == Form::File) {
            let Some(field) = offer.field().filter(|field| OF_FILES.contains(field)) else { continue };
            if judge_offer(look, offer, seen) {
                seen.facet("file", field);
                judge_age(run, &Age::of_file(look, clause.slack_us()), (look, offer, field), seen);
            }
        }
    }
    refused::in_variables(run, seen);
}

/// Whether the revisions of a pod show different values for a field.
fn changed(look: &Look<'_, '_>, field: &str) -> bool {
    let mut values = look.life.pod.revisions.iter().map(|shown| value(shown.object, field));
    let first = values.next().flatten();
    values.any(|value| value != first)
}

/// A variable and a file of one container show the same value for the same field or resource.
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
                // If a field changed, the file may show a newer value than the variable.
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

/// Where the token of a service account is mounted, according to the Kubernetes documentation.
const TOKENS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A pod without a token gets the same values as other pods.
pub(super) fn without_a_token(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let has_none = |look: &&Look<'_, '_>| {
        let automatic = look.life.pod.spec.get("automountServiceAccountToken");
        let mounts = look.dump.files.get(MOUNTS);
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
