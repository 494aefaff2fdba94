//! What is over stays over: a pod that gets another sandbox, or a kubelet that was restarted, does not make a container run again that
//! its policy lets end for good.

use probity_model::history::{Did, REMOVE_SANDBOX, RESTART_KUBELET};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Stamp, Timeline};

use super::rules::rules;
use crate::reading::ends::End;

/// The one thing that was done to the node of a pod.
struct Upheaval {
    began: At,
    over: At,
    what: &'static str,
}

impl Upheaval {
    /// None if it failed, or if something else was done to the node.
    fn of(run: &Timeline<'_>, life: &Life<'_, '_>) -> Option<Self> {
        let mut found = None;
        for (id, deed) in run.deeds.iter().filter(|(_, deed)| deed.did.acts_on_node()) {
            let Did::NodeVerb { verb, uid, exit: Some(0), .. } = &deed.did else { return None };
            let what = match verb.as_str() {
                REMOVE_SANDBOX if uid.as_ref().is_none_or(|uid| *uid == life.pod.uid) => "in another sandbox",
                REMOVE_SANDBOX => continue,
                RESTART_KUBELET if deed.did.unproven().is_none() => "by the next kubelet",
                _ => return None,
            };
            let began = At::new(*id, Stamp::harness(deed.began_us));
            found = Some(Self { began, over: At::new(*id, Stamp::harness(run.heard(*id).at.hi)), what });
        }
        found
    }

    /// Whether an end is final whatever the kubelet can know of it: it came before, or with the sandbox.
    fn covers(&self, run: &Timeline<'_>, end: &End) -> bool {
        self.what != "by the next kubelet" || run.before(end.at(), &self.began)
    }
}

/// Judges the main containers with this policy whose end is final: none of them runs again.
pub(super) fn judge(run: &Timeline<'_>, clause: &Clause, policy: &str, seen: &mut Seen) {
    let plain = |life: &Life<'_, '_>| {
        life.container.kind == ContainerKind::Main
            && life.pod.restart_policy() == policy
            && life.container.spec.get("restartPolicy").is_none()
            && rules(life.container).is_empty()
            && !life.pod.restarts_as_one()
    };
    for life in run.lives().whole().only(|life| life.is_numbered() && plain(life)) {
        let Some(upheaval) = Upheaval::of(run, &life) else { continue };
        let Some(end) = End::of(&life).filter(|end| upheaval.covers(run, end)) else { continue };
        if policy != "Never" && life.exited_by_itself().is_none_or(|(_, code)| code != 0) {
            continue;
        }
        let finding = format!(
            "{} had ended and was started again {}, although the restart policy is {policy}",
            life.name(),
            upheaval.what
        );
        match life.lives_again() {
            Some(again) => seen.violated(finding, [end.at().id, upheaval.over.id, again]),
            None if life.watched_for(&upheaval.over, clause.slack_us()) => {
                seen.fine([end.at().id, upheaval.over.id]);
            }
            None => {}
        }
    }
}
