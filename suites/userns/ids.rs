//! The ids in the spec of a pod with its own user namespace are the ids inside that namespace.

use probity_model::timeline::{Life, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::{asks, maps};
use crate::reading::dumps::{looks, trials};
use crate::reading::volumes::{list, volume_of};

/// An id that the spec of a container or of its pod names. The id in the container's spec takes precedence.
fn named(life: &Life<'_, '_>, field: &str) -> Option<u64> {
    let of = |spec: &Value| spec.get("securityContext")?.get(field)?.as_u64();
    of(life.container.spec).or_else(|| of(life.pod.spec))
}

/// The largest of the users that the containers of a pod run as.
fn largest_user(pod: &PodLife<'_>) -> u64 {
    let of = |spec: &Value| spec.get("securityContext")?.get("runAsUser")?.as_u64();
    let containers = pod.containers.iter().filter_map(|container| of(container.spec));
    containers.chain(of(pod.spec)).max().unwrap_or_default()
}

/// A process has the ids that the spec names, volumes have the group that the spec names, and a container with an id
/// that does not exist inside does not start.
pub(super) fn are_those_inside(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_processes(run, seen);
    judge_volumes(run, seen);
    judge_missing(run, clause, seen);
}

fn judge_processes(run: &Timeline<'_>, seen: &mut Seen) {
    for look in looks(run).iter().filter(|look| asks(look.life.pod.spec)) {
        let (life, name) = (&look.life, look.life.name());
        let ids: Vec<u64> = look.dump.ids.iter().map(|id| u64::from(*id)).collect();
        let (Some(user), Some(group)) = (ids.first(), ids.get(1)) else { continue };
        for (what, field, is) in [("user", "runAsUser", user), ("group", "runAsGroup", group)] {
            let Some(wanted) = named(life, field) else { continue };
            let finding = || format!("{name} has {field} {wanted}, but runs as the {what} {is}");
            seen.check(*is == wanted, finding, [look.line.id]);
            if *is == wanted {
                seen.facet("id", what);
            }
        }
        if let Some(wanted) = named(life, "fsGroup") {
            let finding = || format!("{name} has the fsGroup {wanted}, but is not in that group");
            let is = ids.iter().skip(1).any(|id| *id == wanted);
            seen.check(is, finding, [look.line.id]);
            if is {
                seen.facet("id", "fs-group");
            }
        }
    }
}

/// A volume that the kubelet created has the group of the pod, as seen from inside.
fn judge_volumes(run: &Timeline<'_>, seen: &mut Seen) {
    for (life, line, trial) in trials(run).filter(|(life, ..)| asks(life.pod.spec)) {
        let (Some(wanted), Some(path)) = (named(&life, "fsGroup"), trial.path.as_deref()) else { continue };
        if trial.trial != "owner" || !is_emptied(&life, path) {
            continue;
        }
        let Some((_, group)) = trial.value.as_deref().and_then(|owner| owner.split_once(':')) else {
            continue;
        };
        let is = group == wanted.to_string();
        let finding = || format!("{path} of {} has the group {group} inside, not {wanted}", life.name());
        seen.check(is, finding, [line.id]);
        if is {
            seen.facet("id", "volume");
        }
    }
}

/// Whether an empty volume is mounted at this path.
fn is_emptied(life: &Life<'_, '_>, path: &str) -> bool {
    let mount = list(life.container.spec, "volumeMounts").find(|mount| mount["mountPath"] == path);
    let volume = mount.and_then(|mount| volume_of(life.pod.spec, mount));
    volume.is_some_and(|volume| volume.get("emptyDir").is_some())
}

/// A container whose user does not exist inside does not start, although another pod with its own user namespace does. A
/// kubelet can be configured to give each pod more users than usual: then the kernel shows that the user exists inside.
fn judge_missing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = looks(run);
    let Some(works) = all.iter().find(|look| asks(look.life.pod.spec)) else { return };
    let most = clause.tolerance_times("ids") as u64;
    for pod in run.pods.iter().filter(|pod| asks(pod.spec) && largest_user(pod) >= most) {
        let user = largest_user(pod);
        if all.iter().any(|look| std::ptr::eq(look.life.pod, pod) && maps::has_own_user(look, user)) {
            continue;
        }
        if let Some(line) = pod.containers.iter().flat_map(|of| &of.attempts).find_map(|of| of.lines.first())
        {
            let finding =
                format!("{} has the user {user}, which is not among its {most} ids, but it runs", pod.name);
            seen.violated(finding, [line.id]);
            continue;
        }
        let bound = pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string());
        if let Some(bound) = bound.filter(|bound| run.watched_for(pod, &bound.at, clause.slack_us())) {
            seen.fine(run.to_the_end([works.line.id, bound.id]));
            seen.facet("id", "outside");
        }
    }
}
