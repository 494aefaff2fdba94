//! Files of users that a pod does not have.

use probity_model::timeline::{Life, Line, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::TrialSeen;

use super::asks;
use crate::reading::dumps::{looks, trials};
use crate::reading::volumes::{list, volume_of};

/// A pod that uses its node's user namespace, and whose files another pod sees.
struct Maker {
    /// The user that the files belong to on the node.
    user: u64,
    /// The line in which the process of the pod recorded this user.
    line: EventId,
}

/// The pod whose folder on the node is mounted at the start of a path, if its user is not one of the first `ids`.
fn maker(run: &Timeline<'_>, life: &Life<'_, '_>, path: &str, ids: u64) -> Option<Maker> {
    let mut mounts = list(life.container.spec, "volumeMounts");
    let mount = mounts.find(|mount| mount["mountPath"].as_str().is_some_and(|at| path.starts_with(at)))?;
    let folder = volume_of(life.pod.spec, mount)?["hostPath"]["path"].as_str()?;
    let of_folder = |pod: &PodLife<'_>| !pod.uid.is_empty() && folder.contains(&pod.uid) && !asks(pod.spec);
    let look = looks(run).into_iter().find(|look| of_folder(look.life.pod))?;
    let user = look.dump.ids.first().map(|id| u64::from(*id)).filter(|user| *user >= ids)?;
    Some(Maker { user, line: look.line.id })
}

/// Files of users that a pod does not have seem to belong to the overflow user, and cannot be changed, not even by that
/// user or by root.
pub(super) fn belong_to_nobody(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (ids, nobody) = (clause.tolerance_times("ids") as u64, clause.tolerance_times("overflow") as u64);
    for (life, line, trial) in trials(run).filter(|(life, ..)| asks(life.pod.spec)) {
        let Some(path) = trial.path.as_deref() else { continue };
        let Some(maker) = maker(run, &life, path, ids) else { continue };
        match trial.trial.as_str() {
            "owner" => judge_owner(&life, (line, trial), &maker, nobody, seen),
            "write" => judge_write(run, &life, (line, trial), &maker, seen),
            _ => {}
        }
    }
}

fn judge_owner(
    life: &Life<'_, '_>,
    (line, trial): (&Line<'_>, &TrialSeen),
    maker: &Maker,
    nobody: u64,
    seen: &mut Seen,
) {
    let Some((user, _)) = trial.value.as_deref().and_then(|owner| owner.split_once(':')) else { return };
    let is = user == nobody.to_string();
    let name = life.name();
    let finding =
        || format!("a file of user {} of the node belongs to {user} in {name}, not to {nobody}", maker.user);
    seen.check(is, finding, [maker.line, line.id]);
    if is {
        seen.facet("file", "shown");
    }
}

/// A denied write is evidence only if a process with the users of the node was not denied.
fn judge_write(
    run: &Timeline<'_>,
    life: &Life<'_, '_>,
    (line, trial): (&Line<'_>, &TrialSeen),
    maker: &Maker,
    seen: &mut Seen,
) {
    let name = life.name();
    if trial.ok {
        let finding = format!("{name} can write a file of user {} of the node", maker.user);
        return seen.violated(finding, [maker.line, line.id]);
    }
    let control = trials(run).find(|(other, _, theirs)| {
        !asks(other.pod.spec) && theirs.trial == trial.trial && theirs.path == trial.path && theirs.ok
    });
    if let Some((_, control, _)) = control.filter(|_| trial.denied) {
        seen.fine([maker.line, control.id, line.id]);
        seen.facet("file", "kept");
    }
}
