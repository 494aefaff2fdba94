//! The volumes that a pod waits for, and those that are mounted into a container.

use std::collections::BTreeSet;

use probity_model::Timeline;
use probity_model::history::Did;
use probity_model::timeline::PodLife;
use serde_json::Value;

/// Whether a volume of a pod cannot be mounted because its content was never created.
pub(crate) fn lacks_volume(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let volumes = pod.spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let mut wanted = volumes.filter_map(|volume| {
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
    let all = of.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|mount| {
        let read_only = mount.get("readOnly").and_then(Value::as_bool).unwrap_or(false);
        Some((mount.get("name")?.as_str()?, mount.get("mountPath")?.as_str()?, read_only))
    })
    .collect()
}
