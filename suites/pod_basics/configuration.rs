//! The files that a container gets from ConfigMaps and Secrets.

use std::borrow::Cow;
use std::collections::BTreeSet;

use data_encoding::BASE64;
use probity_model::history::Did;
use probity_model::mechanisms::NEAR;
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::{Value, json};

use crate::reading::dumps::{Look, looks, recorded_mounts};
use crate::reading::volumes::{list, projected_sources, volume_of};

/// A ConfigMap or a Secret in a volume.
struct Source<'h> {
    /// The kind of the volume.
    volume: &'static str,
    /// The kind of the object.
    object: &'static str,
    name: &'h str,
    /// The keys, each with the path of its file. If there is no list, the volume has a file for each key of the object.
    /// Items whose own mode does not let all users read the file are left out.
    items: Option<Vec<(&'h str, &'h str)>>,
    /// Whether keys may be missing. Otherwise, the kubelet does not update the volume if one of the items is missing.
    may_lack_keys: bool,
}

/// A value that the harness gave to a key, or the removal of the key.
struct Given<'h> {
    value: Option<Cow<'h, str>>,
    id: EventId,
    /// When the harness sent it, and when the API server had certainly accepted it.
    sent: Stamp,
    done: Stamp,
}

/// Whether the own mode of an item lets all users read its file. An item without its own mode counts as readable.
fn is_readable(item: &Value) -> bool {
    item.get("mode").and_then(Value::as_u64).is_none_or(|mode| mode & 0o4 != 0)
}

/// The object in a volume or in a part of a projected volume.
fn source<'h>(of: &'h Value, projected: bool) -> Option<Source<'h>> {
    let text = |of: &'h Value, field: &str| of.get(field).and_then(Value::as_str);
    let items = |of: &'h Value| -> Option<Vec<(&'h str, &'h str)>> {
        list(of, "items").next()?;
        let readable = list(of, "items").filter(|item| is_readable(item));
        Some(readable.filter_map(|item| Some((text(item, "key")?, text(item, "path")?))).collect())
    };
    let optional = |of: &'h Value| of.get("optional").is_some_and(|is| *is == true) || items(of).is_none();
    if let Some(map) = of.get("configMap") {
        let volume = if projected { "projected" } else { "configMap" };
        let (object, name) = ("ConfigMap", text(map, "name")?);
        return Some(Source { volume, object, name, items: items(map), may_lack_keys: optional(map) });
    }
    let secret = of.get("secret")?;
    let (volume, name) = if projected { ("projected", "name") } else { ("secret", "secretName") };
    let (object, name) = ("Secret", text(secret, name)?);
    Some(Source { volume, object, name, items: items(secret), may_lack_keys: optional(secret) })
}

/// The objects in a volume.
fn sources(volume: &Value) -> impl Iterator<Item = Source<'_>> {
    let parts = projected_sources(volume).filter_map(|part| source(part, true));
    source(volume, false).into_iter().chain(parts)
}

/// The fields of ConfigMaps and Secrets that contain values.
const FIELDS: [&str; 3] = ["data", "stringData", "binaryData"];

/// Values that the harness gave to keys of an object, or keys that it removed.
struct Content<'h> {
    id: EventId,
    /// One of [`FIELDS`]. Removed keys are read only in `data`. The values in `data` of a Secret and in `binaryData` are
    /// encoded.
    field: &'static str,
    values: &'h Value,
}

/// What the harness created the object of a volume with, and what it patched later. `None` if it deleted the object.
fn contents<'h>(run: &Timeline<'h>, source: &Source<'_>) -> Option<Vec<Content<'h>>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let content = match &deed.did {
            Did::Created { kind, name, manifest } if kind == source.object && name == source.name => manifest,
            Did::Patched { kind, name, patch, .. } if kind == source.object && name == source.name => patch,
            Did::Deleted { kind, name, .. } if kind == source.object && name == source.name => return None,
            _ => continue,
        };
        // A patch can remove all keys at once. Which ones these were is not read here.
        if FIELDS.iter().any(|field| content.get(field).is_some_and(Value::is_null)) {
            return None;
        }
        let of_field = |field| Some(Content { id: *id, field, values: content.get(field)? });
        all.extend(FIELDS.into_iter().filter_map(of_field));
    }
    Some(all)
}

/// The keys of the files in a volume, each with the path of its file.
fn files<'h>(source: &Source<'h>, contents: &[Content<'h>]) -> Vec<(&'h str, &'h str)> {
    if let Some(items) = &source.items {
        return items.clone();
    }
    let keys = contents.iter().filter_map(|content| content.values.as_object()).flat_map(|of| of.keys());
    let keys: BTreeSet<&str> = keys.map(String::as_str).collect();
    keys.into_iter().map(|key| (key, key)).collect()
}

/// Whether a volume is no longer updated because one of its items was removed.
fn lacks_an_item(run: &Timeline<'_>, volume: &Value) -> bool {
    sources(volume).filter(|source| !source.may_lack_keys).any(|source| {
        let contents = contents(run, &source).unwrap_or_default();
        let removed = |key: &str| contents.iter().any(|of| of.values.get(key).is_some_and(Value::is_null));
        source.items.iter().flatten().any(|(key, _)| removed(key))
    })
}

/// The text in the value of a key. `None` if it is not known: it is not a text, or it is in the `data` of a Secret.
fn text_of<'h>(source: &Source<'_>, field: &str, value: &'h Value) -> Option<Cow<'h, str>> {
    let text = value.as_str()?;
    match (source.object, field) {
        ("Secret", "data") => None,
        (_, "binaryData") => Some(Cow::Owned(String::from_utf8(BASE64.decode(text.as_bytes()).ok()?).ok()?)),
        _ => Some(Cow::Borrowed(text)),
    }
}

/// The values of a key, in order. `None` if one of them is not known.
fn values<'h>(
    run: &Timeline<'h>,
    source: &Source<'_>,
    (contents, key): (&[Content<'h>], &str),
) -> Option<Vec<Given<'h>>> {
    let given = contents.iter().filter_map(|content| Some((content, content.values.get(key)?)));
    let given = given.map(|(content, value)| {
        let removed = value.is_null() && content.field == "data";
        let value = if removed { None } else { Some(text_of(source, content.field, value)?) };
        let id = content.id;
        Some(Given { value, id, sent: run.deed_at(id).stamp, done: run.heard(id) })
    });
    given.collect()
}

/// A file contains the value of its key, and shows a change within the slack. A file of a mount with a `subPath` does
/// not change.
pub(super) fn have_their_values(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for look in looks(run).iter().filter(|_| !run.node_was_touched()) {
        let whole = recorded_mounts(look.life.container.spec)
            .filter(|(mount, _)| ["subPath", "subPathExpr"].iter().all(|field| mount.get(field).is_none()));
        for (mount, folder) in whole {
            let Some(volume) = volume_of(look.life.pod.spec, mount) else { continue };
            judge_tokens(look, (volume, folder), seen);
            if lacks_an_item(run, volume) {
                continue;
            }
            for source in sources(volume) {
                let Some(contents) = contents(run, &source) else { continue };
                for (key, path) in files(&source, &contents) {
                    let Some(values) = values(run, &source, (&contents, key)) else { continue };
                    let path = format!("{folder}/{path}");
                    if judge_file(run, clause, (look, &path), &values, seen) {
                        seen.facet("volume", source.volume);
                    }
                }
            }
        }
    }
}

/// Each token of a projected volume is for its own audience. A target records only the claims of a token.
fn judge_tokens(look: &Look<'_, '_>, (volume, folder): (&Value, &str), seen: &mut Seen) {
    for token in projected_sources(volume).filter_map(|part| part.get("serviceAccountToken")) {
        let text = |field: &str| token.get(field).and_then(Value::as_str);
        let (Some(path), Some(audience)) = (text("path"), text("audience")) else { continue };
        let path = format!("{folder}/{path}");
        let claims = look.dump.files.get(&path).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let right = claims.is_some_and(|claims| claims["aud"] == json!([audience]));
        let finding =
            || format!("{path} of {} should be a token for {audience}, but is not", look.life.name());
        seen.check(right, finding, [look.line.id]);
    }
}

/// Whether a record of a container comes so late after a key got a value that the file of the key must show this value or
/// a later one.
fn is_late(run: &Timeline<'_>, clause: &Clause, look: &Look<'_, '_>, given: &Given<'_>) -> bool {
    let (pod, at) = (look.life.pod, &look.line.at);
    let span = run.clocks.between(&given.done, at).map_or(0, |span| span.lo);
    let allowed = clause.slack_us();
    let noise = || run.noise_between(&look.life.node, &given.done, at);
    run.before_deletion(pod, at) && span > allowed && span > allowed + noise()
}

/// Judges a file whose key had these values. Returns whether it shows one of them, and none that is too old.
fn judge_file(
    run: &Timeline<'_>,
    clause: &Clause,
    (look, path): (&Look<'_, '_>, &str),
    values: &[Given<'_>],
    seen: &mut Seen,
) -> bool {
    let (pod, line, name) = (look.life.pod, look.line, look.life.name());
    let shown = look.dump.files.get(path).map(String::as_str);
    let is = |given: &Given<'_>| given.value.as_deref() == shown;
    let Some(first) = values.first() else { return false };
    let later = pod.created.is_none_or(|(created, _)| created < first.id);
    // A change may reach the file a moment before its answer reaches the harness.
    let by = line.at.later(NEAR);
    let known: Vec<&Given<'_>> = values.iter().take_while(|given| !run.before(&by, &given.done)).collect();
    let Some(last) = known.iter().rposition(|given| is(given)) else {
        // A removal may reach the file before its answer reaches the harness.
        let early = values.iter().any(|of| is(of) && (shown.is_some() || !run.before(&line.at, &of.sent)));
        // A key that came later than the pod may not have a file yet.
        if !early && (!later || is_late(run, clause, look, first)) {
            let what = shown.map_or_else(|| "missing".to_owned(), |shown| format!("{shown:?}"));
            let finding = format!("{path} of {name} should contain the value of its key, but it is {what}");
            seen.violated(finding, [first.id, line.id]);
        }
        return false;
    };
    if let Some(changed) = known.get(last + 1) {
        if is_late(run, clause, look, changed) {
            let finding = match changed.value {
                Some(_) => format!("{path} of {name} shows an old value of its key"),
                None => format!("{path} of {name} still exists, although its key was removed"),
            };
            seen.violated(finding, [changed.id, line.id]);
        }
        return false;
    }
    seen.fine([first.id, line.id]);
    let word = match shown {
        None if known.iter().all(|given| given.value.is_none()) => return true,
        None => "removed",
        _ if !is(first) => "updated",
        _ if later => "added",
        _ => "first",
    };
    seen.facet("value", word);
    true
}
