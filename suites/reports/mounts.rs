//! The volumes that are mounted into a container: according to its spec, its status, and its own mount table.

use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::shares::{runs, shown};
use crate::reading::dumps::{Look, MOUNTS, looks, mount_options};
use crate::reading::kubelet_restarts::is_written_anew;
use crate::reading::statuses::{of_kubelet, statuses};
use crate::reading::volumes::{list, mounts};

/// How a mount is shown whose submounts are read-only, too, and how any other read-only mount is shown.
const ENABLED: &str = "Enabled";
const DISABLED: &str = "Disabled";
/// The request to make submounts read-only if the runtime of the node can do it.
const IF_POSSIBLE: &str = "IfPossible";

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

/// The path of a mount whose status does not tell correctly whether its submounts are read-only, and what the status
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

/// The mount table of a process has each volume of its container, read-only if the spec says so. Other volumes may
/// still be read-only because of their kind, unless they are emptyDir volumes.
fn judge_table(look: &Look<'_, '_>, seen: &mut Seen) {
    let Some(table) = look.dump.files.get(MOUNTS) else { return };
    let empty: BTreeSet<&str> = list(look.life.pod.spec, "volumes")
        .filter(|volume| volume.get("emptyDir").is_some())
        .filter_map(|volume| volume.get("name")?.as_str())
        .collect();
    for (volume, path, read_only) in mounts(look.life.container.spec) {
        let options = mount_options(table, path.trim_end_matches('/'));
        let is_read_only = options.map(|options| options.split(',').any(|option| option == "ro"));
        let wrong = match is_read_only {
            None => "does not see it",
            Some(false) if read_only => "can write to it",
            Some(true) if !read_only && empty.contains(volume) => "cannot write to it",
            Some(_) => {
                seen.fine([look.line.id]);
                continue;
            }
        };
        let finding = format!("{} mounts {volume} at {path}, but its process {wrong}", look.life.name());
        seen.violated(finding, [look.line.id]);
    }
}
