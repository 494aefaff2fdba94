//! What pods refer to in their environment and their volumes: ConfigMaps, Secrets and keys in them, and when these were
//! created.

use std::collections::BTreeSet;

use probity_model::history::Did;
use probity_model::timeline::{At, ContainerLife, PodLife};
use probity_model::{EventId, Stamp, Timeline};
use serde_json::Value;

use crate::reading::volumes::{list, projected_sources};

/// The prefix of the names of ConfigMaps and Secrets that do not exist. Objects with other names may have existed
/// before the run.
const NOBODYS: &str = "probity-no-such-";
/// The ConfigMap that each namespace has by default, according to the Kubernetes documentation.
const EVERYBODYS: &str = "kube-root-ca.crt";

/// A reference to an object, or to keys in it.
pub(super) struct Reference<'h> {
    /// The kind of the object.
    pub(super) object: &'static str,
    pub(super) name: &'h str,
    pub(super) keys: Vec<&'h str>,
    /// How it is used: `environment` for a variable, `envFrom` for all keys as variables, `volume`, or `projected` for a
    /// part of a volume.
    pub(super) usage: &'static str,
    /// The name of the volume, if the reference belongs to a volume.
    pub(super) volume: Option<&'h str>,
    /// Whether it may be missing.
    pub(super) optional: bool,
}

impl Reference<'_> {
    /// Whether only a key of the object can be missing, and not the whole object.
    pub(super) fn is_of_a_key(&self) -> bool {
        !self.keys.is_empty() && !self.name.starts_with(NOBODYS)
    }
}

/// Whether the object of a pod's reference existed before the pod, or when it was created.
pub(super) enum Existence {
    /// It existed before the pod was created.
    Always,
    /// The run did not create it, so it may or may not exist.
    Unknown,
    /// It did not exist when the pod was created. The value is the time of its creation, if it was created later.
    Later(Option<At>),
}

pub(super) fn text<'h>(of: &'h Value, field: &str) -> Option<&'h str> {
    of.get(field)?.as_str()
}

/// A reference in a field of `of`: a kind of object, the field, and the field of the name in it.
fn reference<'h>(
    of: &'h Value,
    (object, field, name): (&'static str, &str, &str),
    usage: &'static str,
) -> Option<Reference<'h>> {
    let source = of.get(field)?;
    let items = list(source, "items").filter_map(|item| text(item, "key"));
    let keys = text(source, "key").into_iter().chain(items).collect();
    let optional = source.get("optional").and_then(Value::as_bool) == Some(true);
    Some(Reference { object, name: text(source, name)?, keys, usage, volume: None, optional })
}

/// The references in a container's environment.
pub(super) fn of_environment(spec: &Value) -> impl Iterator<Item = Reference<'_>> {
    let variables = list(spec, "env").filter_map(|variable| variable.get("valueFrom"));
    let variables = variables.filter_map(|from| {
        let of = |place| reference(from, place, "environment");
        of(("ConfigMap", "configMapKeyRef", "name")).or_else(|| of(("Secret", "secretKeyRef", "name")))
    });
    let all = list(spec, "envFrom").filter_map(|from| {
        let of = |place| reference(from, place, "envFrom");
        of(("ConfigMap", "configMapRef", "name")).or_else(|| of(("Secret", "secretRef", "name")))
    });
    variables.chain(all)
}

/// The references of a volume, which may be projected from several objects.
fn of_volume(volume: &Value) -> impl Iterator<Item = Reference<'_>> {
    let of = |place| reference(volume, place, "volume");
    let whole = of(("ConfigMap", "configMap", "name")).or_else(|| of(("Secret", "secret", "secretName")));
    let parts = projected_sources(volume).filter_map(|source| {
        let of = |place| reference(source, place, "projected");
        of(("ConfigMap", "configMap", "name")).or_else(|| of(("Secret", "secret", "name")))
    });
    whole.into_iter().chain(parts)
}

/// The references of a pod, in the order in which its kubelet resolves them: first those of the volumes, for which all
/// containers wait, then those in the environment of each container.
pub(super) fn references<'p, 'h>(
    pod: &'p PodLife<'h>,
) -> impl Iterator<Item = (Option<&'p ContainerLife<'h>>, Reference<'h>)> {
    let mounted = list(pod.spec, "volumes").flat_map(|volume| {
        of_volume(volume).map(move |found| (None, Reference { volume: text(volume, "name"), ..found }))
    });
    let used = pod
        .containers
        .iter()
        .flat_map(|container| of_environment(container.spec).map(move |found| (Some(container), found)));
    mounted.chain(used)
}

/// Whether the object of a reference existed before a pod that was created at this time, or when it was created.
pub(super) fn existence(run: &Timeline<'_>, of: &Reference<'_>, created: EventId) -> Existence {
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
