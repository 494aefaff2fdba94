//! Volumes that the containers of a pod share.

use std::cell::Cell;

use probity_model::timeline::{ContainerLife, Life, Line, PodLife};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;
use probity_script::{Consumer, Dependency};
use serde_json::Value;

use crate::reading::expansion::expand;
use crate::reading::volumes::{list, mounts, only_file, volume_of};

/// The part of a volume that a mount with a `subPathExpr` contains. `None` if the value of a variable in it is not known
/// here.
fn expanded(container: &Value, expression: &str) -> Option<String> {
    let unknown = Cell::new(false);
    let value = |name: &str| {
        let own = list(container, "env").filter(|of| of["name"] == name).last();
        let value = own.and_then(|own| own.get("value")?.as_str()).filter(|value| !value.contains('$'));
        unknown.set(unknown.get() || value.is_none());
        value.map(str::to_owned)
    };
    let part = expand(expression, &value);
    (!unknown.get()).then_some(part)
}

/// The expression in the mount that contains a path of a container.
fn expression<'v>(container: &'v Value, path: &str) -> Option<&'v str> {
    list(container, "volumeMounts").find_map(|mount| {
        path.strip_prefix(mount["mountPath"].as_str()?)?.strip_prefix('/')?;
        mount.get("subPathExpr").and_then(Value::as_str).filter(|text| !text.is_empty())
    })
}

/// The `emptyDir` that contains a path of a container, and the path below it. A mount with a `subPath` or a `subPathExpr`
/// contains only this part of the volume.
fn place<'v>(pod: &'v PodLife<'_>, container: &'v Value, path: &str) -> Option<(&'v str, String)> {
    list(container, "volumeMounts").find_map(|mount| {
        let below = path.strip_prefix(mount["mountPath"].as_str()?)?.strip_prefix('/')?;
        let name = mount["name"].as_str()?;
        let text = |field: &str| mount.get(field).and_then(Value::as_str).filter(|part| !part.is_empty());
        let part = match text("subPathExpr") {
            Some(expression) => Some(expanded(container, expression)?),
            None => text("subPath").map(str::to_owned),
        };
        let below = match part {
            Some(part) => format!("{}/{below}", part.trim_end_matches('/')),
            None => below.to_owned(),
        };
        volume_of(pod.spec, mount)?.get("emptyDir").map(|_| (name, below))
    })
}

/// The first record of a container of the pod that wrote this file to a volume, with the instance that wrote the file.
fn written<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &PodLife<'_>,
    wanted: (&str, &str),
) -> Option<(Life<'t, 'h>, &'t Line<'h>)> {
    run.lives().into_iter().filter(|life| std::ptr::eq(life.pod, pod)).find_map(|life| {
        let (volume, below) = place(life.pod, life.container.spec, &only_file(life.container)?)?;
        let line = life.attempt.lines.iter().find(|line| {
            matches!(&line.line.fact, Fact::Consumed(of) if of.resource == "disk" && of.error.is_none())
        })?;
        ((volume, below.as_str()) == wanted).then_some((life, line))
    })
}

/// The last words of the error if a target is not allowed to write a file: no permission, or a read-only file system.
const FORBIDDEN: [&str; 2] = ["(os error 13)", "(os error 30)"];

/// A container can write to an emptyDir volume that its spec does not mount read-only, whatever its user.
fn judge_writable(run: &Timeline<'_>, seen: &mut Seen) {
    for life in run.lives() {
        let Some(plan) = life.container.plan() else { continue };
        let [Consumer::Disk { path, .. }] = plan.process.consume.as_slice() else { continue };
        let Some((volume, _)) = place(life.pod, life.container.spec, path) else { continue };
        let read_only =
            mounts(life.container.spec).iter().any(|(name, _, read_only)| *name == volume && *read_only);
        let failed = life.attempt.lines.iter().find_map(|line| match &line.line.fact {
            Fact::Consumed(of) if of.resource == "disk" => Some((line.id, of.error.as_deref()?)),
            _ => None,
        });
        let denied = failed.filter(|(_, error)| FORBIDDEN.iter().any(|of| error.ends_with(of)));
        if let Some((id, error)) = denied.filter(|_| !read_only) {
            let finding = format!("{} cannot write to the emptyDir volume {volume}: {error}", life.name());
            seen.violated(finding, [id]);
        }
    }
}

/// A file that one container writes to a shared volume is visible to the others, even after a restart.
pub(super) fn shared(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_writable(run, seen);
    judge_files(run, clause, false, seen);
}

/// A mount with a `subPathExpr` contains the part of its volume that the expression names.
pub(super) fn expanded_paths(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_files(run, clause, true, seen);
}

/// A container sees the file for which it waits when another container has written the file. The mounts of the two
/// containers may have expressions, or none of them has one.
fn judge_files(run: &Timeline<'_>, clause: &Clause, by_expression: bool, seen: &mut Seen) {
    let has_one = |container: &ContainerLife<'_>, path: &str| expression(container.spec, path).is_some();
    for life in run.lives().whole().only(|life| !life.pod.restarts_as_one()) {
        let Some(plan) = life.container.plan() else { continue };
        let [Dependency::File(path)] = plan.process.wait_for.as_slice() else { continue };
        let Some((volume, below)) = place(life.pod, life.container.spec, path) else { continue };
        let Some((writer, line)) = written(run, life.pod, (volume, &below)) else { continue };
        let of_writer = only_file(writer.container).is_some_and(|path| has_one(writer.container, &path));
        let expanded = of_writer || has_one(life.container, path);
        if writer.container.name == life.container.name || expanded != by_expression {
            continue;
        }
        let found = life.attempt.lines.iter().find(|line| matches!(line.line.fact, Fact::Waited(_)));
        let (name, by) = (life.name(), &writer.container.name);
        // The wait begins when the file exists and the process that looks for the file is running.
        let from = if line.at.at.lo > life.began.at.lo { line.at.clone() } else { life.began.stamp.clone() };
        match found {
            Some(found) => {
                seen.fine([line.id, found.id]);
                let later = life.earlier_processes() > 0;
                seen.facet("seen-by", if later { "a-later-instance" } else { "another-container" });
            }
            None if life.watched_for(&from, clause.slack_us())
                && life.lives_on()
                && !run.lost_a_node()
                && !run.lost_a_sandbox() =>
            {
                let finding = format!("{name} does not see the file that {by} wrote into {volume}");
                seen.violated(finding, run.to_the_end([line.id]));
            }
            None => {}
        }
    }
}
