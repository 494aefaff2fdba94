//! The pod's network and volumes, as init containers see them from inside.

use std::collections::BTreeSet;

use probity_model::timeline::{ContainerKind, ContainerLife, Life, Line};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::{Dump, Fact};

use crate::reading::dumps::MOUNTS;

/// The container instances whose process recorded its environment at its start, each with the record.
fn dumps<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Life<'t, 'h>, &'t Line<'h>, &'h Dump)> {
    run.lives().into_iter().filter_map(|life| {
        let lines = &life.attempt.lines;
        lines.iter().find_map(|line| match &line.line.fact {
            Fact::Dump(dump) => Some((life, line, dump)),
            _ => None,
        })
    })
}

/// The paths at which volumes are mounted in a container, according to its spec.
fn mounts(container: &ContainerLife<'_>) -> BTreeSet<String> {
    let mounts = container.spec.get("volumeMounts").and_then(|of| of.as_array());
    mounts.into_iter().flatten().filter_map(|of| Some(of["mountPath"].as_str()?.to_owned())).collect()
}

/// The mount points of a process.
fn seen_mounts(dump: &Dump) -> Option<BTreeSet<&str>> {
    let text = dump.files.get(MOUNTS)?;
    Some(text.lines().filter_map(|line| line.split(' ').nth(4)).collect())
}

/// An init container sees the address of its pod and the volumes that it mounts.
pub(super) fn network_and_volumes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (life, line, dump) in dumps(run).filter(|(life, ..)| life.container.kind == ContainerKind::Init) {
        if let Some(ip) = life.pod.ip().filter(|_| !dump.interfaces.is_empty()) {
            let there = dump.interfaces.values().flatten().any(|address| address == ip);
            let finding = || format!("{} started without the pod's address {ip}", life.name());
            seen.check(there, finding, [line.id]);
            if there {
                seen.facet("seen", "address");
            }
        }
        let (wanted, Some(found)) = (mounts(life.container), seen_mounts(dump)) else { continue };
        for path in &wanted {
            let finding = || format!("{} started without its volume at {path}", life.name());
            seen.check(found.contains(path.as_str()), finding, [line.id]);
            if found.contains(path.as_str()) {
                seen.facet("seen", "volume");
            }
        }
    }
}

/// A volume that only an init container mounts is visible in that container, with its files, but not in the main
/// containers.
pub(super) fn own_view(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (life, line, dump) in dumps(run) {
        let Some(found) = seen_mounts(dump) else { continue };
        let own = mounts(life.container);
        let of_inits =
            life.pod.containers.iter().filter(|of| of.kind == ContainerKind::Init).flat_map(mounts);
        let of_mains =
            life.pod.containers.iter().filter(|of| of.kind == ContainerKind::Main).flat_map(mounts);
        let shared: BTreeSet<String> = of_mains.collect();
        for path in of_inits.filter(|path| !shared.contains(path)) {
            let within =
                |file: &String| file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let there = found.contains(path.as_str()) || dump.files.keys().any(within);
            let mounted = own.contains(&path);
            let finding = || match mounted {
                true => format!("{} does not see its volume at {path}", life.name()),
                false => {
                    format!(
                        "{} sees the volume at {path}, although only an init container mounts it",
                        life.name()
                    )
                }
            };
            seen.check(there == mounted, finding, [line.id]);
            if there == mounted {
                seen.facet("volume", if mounted { "mounted" } else { "absent" });
            }
        }
    }
}
