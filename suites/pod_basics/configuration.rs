//! The files that a container gets from ConfigMaps and Secrets.

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
    /// The kind of the object, and the field with the values that the harness gives it.
    object: (&'static str, &'static str),
    name: &'h str,
    /// The keys, each with the path of its file.
    items: Vec<(&'h str, &'h str)>,
}

/// A value that the harness gave to a key.
struct Given<'h> {
    value: &'h str,
    id: EventId,
    /// When the API server had certainly accepted it.
    done: Stamp,
}

/// The object in a volume or in a part of a projected volume.
fn source<'h>(of: &'h Value, projected: bool) -> Option<Source<'h>> {
    let text = |of: &'h Value, field: &str| of.get(field).and_then(Value::as_str);
    let items = |of: &'h Value| -> Vec<(&'h str, &'h str)> {
        list(of, "items").filter_map(|item| Some((text(item, "key")?, text(item, "path")?))).collect()
    };
    if let Some(map) = of.get("configMap") {
        let volume = if projected { "projected" } else { "configMap" };
        return Some(Source {
            volume,
            object: ("ConfigMap", "data"),
            name: text(map, "name")?,
            items: items(map),
        });
    }
    let secret = of.get("secret")?;
    let (volume, name) = if projected { ("projected", "name") } else { ("secret", "secretName") };
    Some(Source { volume, object: ("Secret", "stringData"), name: text(secret, name)?, items: items(secret) })
}

/// The objects in a volume.
fn sources(volume: &Value) -> impl Iterator<Item = Source<'_>> {
    let parts = projected_sources(volume).filter_map(|part| source(part, true));
    source(volume, false).into_iter().chain(parts)
}

/// The values of a key, in order. `None` if one of them is not a text, or if the key or its object was removed.
fn values<'h>(run: &Timeline<'h>, source: &Source<'_>, key: &str) -> Option<Vec<Given<'h>>> {
    let (object, field) = source.object;
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let content = match &deed.did {
            Did::Created { kind, name, manifest } if kind == object && name == source.name => manifest,
            Did::Patched { kind, name, patch, .. } if kind == object && name == source.name => patch,
            Did::Deleted { kind, name, .. } if kind == object && name == source.name => return None,
            _ => continue,
        };
        if let Some(value) = content.get(field).and_then(|values| values.get(key)) {
            all.push(Given { value: value.as_str()?, id: *id, done: run.heard(*id) });
        }
    }
    Some(all)
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
            for source in sources(volume) {
                for (key, path) in &source.items {
                    let Some(values) = values(run, &source, key) else { continue };
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
    let is = |given: &Given<'_>| Some(given.value) == shown;
    let Some(first) = values.first() else { return false };
    let later = pod.created.is_none_or(|(created, _)| created < first.id);
    if !values.iter().any(is) {
        // A key that came later than the pod may not have a file yet.
        if !later || is_late(run, clause, look, first) {
            let what = shown.map_or_else(|| "missing".to_owned(), |shown| format!("{shown:?}"));
            let finding = format!("{path} of {name} should contain the value of its key, but it is {what}");
            seen.violated(finding, [first.id, line.id]);
        }
        return false;
    }
    // A change may reach the file a moment before its answer reaches the harness.
    let by = line.at.later(NEAR);
    let known: Vec<&Given<'_>> = values.iter().take_while(|given| !run.before(&by, &given.done)).collect();
    let newer = known.iter().rposition(|given| is(given)).and_then(|last| known.get(last + 1));
    if let Some(changed) = newer {
        if is_late(run, clause, look, changed) {
            let finding = format!("{path} of {name} shows an old value of its key");
            seen.violated(finding, [changed.id, line.id]);
        }
        return false;
    }
    seen.fine([first.id, line.id]);
    let word = match is(first) {
        true if later => "added",
        true => "first",
        false => "updated",
    };
    seen.facet("value", word);
    true
}
