//! The volumes that are mounted into a container: according to its spec, its status, and its own mount table.

use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::shares::{runs, shown};
use crate::reading::dumps::{Look, MOUNTS, Mount, looks, mount_at};
use crate::reading::kubelet_restarts::is_written_anew;
use crate::reading::statuses::{of_kubelet, statuses};
use crate::reading::volumes::{list, mounts, projected_sources};

/// How a mount is shown whose submounts are read-only, too, and how any other read-only mount is shown.
const ENABLED: &str = "Enabled";
const DISABLED: &str = "Disabled";
/// The request to make submounts read-only if the runtime of the node can do it.
const IF_POSSIBLE: &str = "IfPossible";
/// The kinds of volumes that are always read-only, according to the Kubernetes documentation on volumes.
const CONFIGURATION: [&str; 4] = ["configMap", "secret", "projected", "downwardAPI"];
/// The type of a file system in memory: Linux, tmpfs(5).
const MEMORY: &str = "tmpfs";

/// A status lists the volumes that are mounted into its container, and the container's process sees the same mounts.
pub(super) fn mounted(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &looks(run) {
        judge_table(look, seen);
    }
    for pod in run.pods.iter().filter(|pod| !is_written_anew(run, pod)) {
        let mut said = BTreeSet::new();
        let ephemeral = of_kubelet(pod).flat_map(|shown| {
            let of = |name: &str| pod.ephemeral.iter().find(|of| of.name == name);
            statuses(shown).filter_map(move |(name, status)| Some((shown, of(name)?, status)))
        });
        for (shown, container, status) in shown(pod).chain(ephemeral).filter(|(_, _, status)| runs(status)) {
            let (wanted, is) = (mounts(container.spec), mounts(status));
            if wanted != is {
                let finding = format!(
                    "{}/{} mounts {} volumes, but its status has {}, or different ones",
                    pod.key,
                    container.name,
                    wanted.len(),
                    is.len()
                );
                seen.violated(finding, [shown.id]);
                continue;
            }
            if let Some((path, is)) = wrong_recursion(container.spec, status) {
                let finding = format!(
                    "{}/{} mounts a volume at {path}, and its status has {is} as recursiveReadOnly",
                    pod.key, container.name
                );
                seen.violated(finding, [shown.id]);
                continue;
            }
            for (_, _, read_only) in wanted {
                let word = if read_only { "read-only" } else { "read-write" };
                if said.insert(word) {
                    seen.fine([shown.id]);
                    seen.facet("mount", word);
                }
            }
        }
    }
}

/// The path of a mount whose status does not show correctly whether its submounts are read-only, and what the status
/// says. Only read-only mounts have this field in a status. There, the request to make submounts read-only if possible
/// must have become either of the other values.
fn wrong_recursion<'v>(spec: &'v Value, status: &'v Value) -> Option<(&'v str, &'v str)> {
    let all = |of: &'v Value| list(of, "volumeMounts");
    let text = |of: &'v Value, field: &str| of.get(field).and_then(Value::as_str);
    all(spec).find_map(|mount| {
        let path = text(mount, "mountPath")?;
        let shown = all(status).find(|&shown| text(shown, "mountPath") == Some(path))?;
        let is = text(shown, "recursiveReadOnly");
        let known: &[Option<&str>] = match text(mount, "recursiveReadOnly") {
            _ if mount.get("readOnly") != Some(&Value::Bool(true)) => &[None],
            Some(IF_POSSIBLE) => &[Some(ENABLED), Some(DISABLED)],
            Some(ENABLED) => &[Some(ENABLED)],
            _ => &[Some(DISABLED)],
        };
        (!known.contains(&is)).then_some((path, is.unwrap_or("nothing")))
    })
}

/// The mount table of a process has each volume of its container, read-only if the spec or the kind of the volume says
/// so, and Secrets only in memory. Other volumes may still be read-only because of their kind, unless they are emptyDir
/// volumes.
fn judge_table(look: &Look<'_, '_>, seen: &mut Seen) {
    let Some(table) = look.dump.files.get(MOUNTS) else { return };
    let of = |name: &str| list(look.life.pod.spec, "volumes").find(|volume| volume["name"] == name);
    let all = mounts(look.life.container.spec);
    let at = |path: &str| mount_at(table, path.trim_end_matches('/'));
    let on_disk = all.iter().find_map(|(name, path, _)| of(name).filter(|of| is_on_disk(of)).and(at(path)));
    for (name, path, read_only) in all {
        let volume = of(name);
        let has =
            |fields: &[&str]| volume.is_some_and(|of| fields.iter().any(|field| of.get(field).is_some()));
        let wrong = match at(path) {
            None => "does not see it",
            Some(mount) if !mount.is_read_only() && (read_only || has(&CONFIGURATION)) => "can write to it",
            Some(mount) if mount.is_read_only() && !read_only && has(&["emptyDir"]) => "cannot write to it",
            Some(mount) if volume.is_some_and(has_secrets) && !is_in_memory(&mount, on_disk.as_ref()) => {
                "finds its Secrets on a disk"
            }
            Some(mount) if volume.is_some_and(asks_for_memory) && !is_in_memory(&mount, on_disk.as_ref()) => {
                "finds it on a disk instead of in memory"
            }
            Some(_) => {
                seen.fine([look.line.id]);
                continue;
            }
        };
        let finding = format!("{} mounts {name} at {path}, but its process {wrong}", look.life.name());
        seen.violated(finding, [look.line.id]);
    }
}

/// Whether a volume is an emptyDir volume on the disk of its node.
fn is_on_disk(volume: &Value) -> bool {
    volume.get("emptyDir").is_some_and(|of| of.get("medium").is_none_or(|medium| *medium == ""))
}

/// Whether a volume is an emptyDir volume in memory.
fn asks_for_memory(volume: &Value) -> bool {
    volume.get("emptyDir").is_some_and(|of| of.get("medium").is_some_and(|medium| *medium == "Memory"))
}

/// Whether a volume has the values of a Secret.
fn has_secrets(volume: &Value) -> bool {
    projected_sources(volume).chain([volume]).any(|source| source.get("secret").is_some())
}

/// Whether a mount is a file system in memory. The disk of a node may itself be in memory, so the mount must also be
/// on a different file system from a volume on this disk.
fn is_in_memory(mount: &Mount<'_>, on_disk: Option<&Mount<'_>>) -> bool {
    let own = on_disk.is_none_or(|on_disk| on_disk.device != mount.device);
    own && mount.system.is_none_or(|system| system == MEMORY)
}
