//! What the restart policy of a pod decides when the pod loses its sandbox: with another one, what is over stays over.

use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Stamp, Timeline};

use super::rules::rules;
use crate::reading::ends::End;

/// When the removal of the sandbox of a pod was over. None if it failed, or if something else was done to the node.
fn removed(run: &Timeline<'_>, life: &Life<'_, '_>) -> Option<At> {
    let mut found = None;
    for (id, deed) in run.deeds.iter().filter(|(_, deed)| deed.did.acts_on_node()) {
        let Did::NodeVerb { verb, uid, exit: Some(0), .. } = &deed.did else { return None };
        if verb != REMOVE_SANDBOX {
            return None;
        }
        if uid.as_ref().is_none_or(|uid| *uid == life.pod.uid) {
            found = Some(At::new(*id, Stamp::harness(run.heard(*id).at.hi)));
        }
    }
    found
}

/// Judges the containers of pods with this policy whose end is final: none of them runs again in another sandbox.
pub(super) fn judge(run: &Timeline<'_>, clause: &Clause, policy: &str, seen: &mut Seen) {
    let plain = |life: &Life<'_, '_>| {
        life.container.kind == ContainerKind::Main
            && life.pod.restart_policy() == policy
            && life.container.spec.get("restartPolicy").is_none()
            && rules(life.container).is_empty()
    };
    for life in run.lives().whole().only(|life| life.is_numbered() && plain(life)) {
        let Some(removed) = removed(run, &life) else { continue };
        let Some(end) = End::of(&life) else { continue };
        if policy != "Never" && life.exited_by_itself().is_none_or(|(_, code)| code != 0) {
            continue;
        }
        let finding = format!(
            "{} had ended and was started again in another sandbox, although the restart policy is {policy}",
            life.name()
        );
        match life.lives_again() {
            Some(again) => seen.violated(finding, [end.at().id, removed.id, again]),
            None if life.watched_for(&removed, clause.slack_us()) => seen.fine([end.at().id, removed.id]),
            None => {}
        }
    }
}
