//! The volumes that a pod waits for, those that are mounted into a container, and the file that a target writes to one.

use std::collections::BTreeSet;

use probity_model::Timeline;
use probity_model::history::Did;
use probity_model::timeline::{ContainerLife, PodLife};
use probity_script::Consumer;
use serde_json::Value;

/// The elements of a list in a field of a spec or a status; none if the field is missing.
pub(crate) fn list<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    of.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// The volume in the spec of a pod that a mount of one of its containers names.
pub(crate) fn volume_of<'v>(spec: &'v Value, mount: &Value) -> Option<&'v Value> {
    list(spec, "volumes").find(|volume| volume["name"] == mount["name"])
}

/// The sources of a projected volume; none if the volume is of another kind.
pub(crate) fn projected_sources(volume: &Value) -> impl Iterator<Item = &Value> {
    volume.get("projected").into_iter().flat_map(|projected| list(projected, "sources"))
}

/// The path of the only file that the plan of a container writes. If the plan writes several files, it is not known
/// which of them a record is about.
pub(crate) fn only_file(container: &ContainerLife<'_>) -> Option<String> {
    let plan = container.plan()?;
    let mut paths = plan.process.consume.into_iter().filter_map(|consumer| match consumer {
        Consumer::Disk { path, .. } => Some(path),
        _ => None,
    });
    paths.next().filter(|_| paths.next().is_none())
}

/// Whether a volume of a pod cannot be mounted because its content was never created.
pub(crate) fn lacks_volume(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let mut wanted = list(pod.spec, "volumes").filter_map(|volume| {
        let of = |kind: &'static str, field: &str, name: &str| {
            let source = volume.get(field)?;
            let optional = source.get("optional").and_then(Value::as_bool) == Some(true);
            Some((kind, source.get(name)?.as_str()?)).filter(|_| !optional)
        };
        of("ConfigMap", "configMap", "name").or_else(|| of("Secret", "secret", "secretName"))
    });
    // Each namespace has this ConfigMap by default.
    wanted.any(|(kind, name)| name != "kube-root-ca.crt" && !was_made(run, kind, name))
}

fn was_made(run: &Timeline<'_>, wanted: &str, named: &str) -> bool {
    let makes = |did: &Did| matches!(did, Did::Created { kind, name, .. } if kind == wanted && name == named);
    run.deeds.iter().any(|(_, deed)| makes(&deed.did))
}

/// A mount by its volume, its path, and whether it is read-only.
pub(crate) fn mounts(of: &Value) -> BTreeSet<(&str, &str, bool)> {
    let all = list(of, "volumeMounts").filter_map(|mount| {
        let read_only = mount.get("readOnly").and_then(Value::as_bool).unwrap_or(false);
        Some((mount.get("name")?.as_str()?, mount.get("mountPath")?.as_str()?, read_only))
    });
    all.collect()
}
