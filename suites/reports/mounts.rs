//! The volumes that are mounted into a container: according to its spec, its status, and its own mount table.

use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::shares::{runs, shown};
use crate::reading::dumps::{Look, MOUNTS, looks};
use crate::reading::kubelet_restarts::is_written_anew;
use crate::reading::statuses::{of_kubelet, statuses};
use crate::reading::volumes::mounts;

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

/// The mount table of a process has each volume of its container, read-only if the spec says so. Other volumes may
/// still be read-only because of their kind, unless they are emptyDir volumes.
fn judge_table(look: &Look<'_, '_>, seen: &mut Seen) {
    let Some(table) = look.dump.files.get(MOUNTS) else { return };
    let volumes = look.life.pod.spec.get("volumes").and_then(Value::as_array);
    let empty: BTreeSet<&str> = volumes
        .into_iter()
        .flatten()
        .filter(|volume| volume.get("emptyDir").is_some())
        .filter_map(|volume| volume.get("name")?.as_str())
        .collect();
    for (volume, path, read_only) in mounts(look.life.container.spec) {
        // The last mount at a path hides the others. The sixth field has the options of the mount.
        let options = table.lines().rev().find_map(|line| {
            let mut fields = line.split(' ').skip(4);
            (fields.next()? == path.trim_end_matches('/')).then(|| fields.next())?
        });
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
