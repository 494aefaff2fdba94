//! A final end stays final: if a container's policy does not restart it, it does not run again when its pod gets a new sandbox
//! or its kubelet is restarted.

use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Stamp, Timeline};

use crate::reading::ends::End;
use crate::reading::kubelet_restarts::is_proven_restart;
use crate::reading::patches::restarts_for_update;
use crate::reading::rules::rules;

/// A reason for a kubelet to forget that a container had ended.
#[derive(Clone, Copy, PartialEq)]
enum Cause {
    LostSandbox,
    NewKubelet,
}

impl Cause {
    fn in_words(self) -> &'static str {
        match self {
            Self::LostSandbox => "in another sandbox",
            Self::NewKubelet => "by the next kubelet",
        }
    }
}

/// The last such deed that affected a pod.
struct Interruption {
    cause: Cause,
    began: At,
    over: At,
}

impl Interruption {
    /// None if the deed failed, or if something else was done to the node.
    fn of(run: &Timeline<'_>, life: &Life<'_, '_>) -> Option<Self> {
        let mut found = None;
        for (id, deed) in run.deeds.iter().filter(|(_, deed)| deed.did.acts_on_node()) {
            let Did::NodeVerb { verb, uid, exit: Some(0), .. } = &deed.did else { return None };
            let cause = match verb.as_str() {
                REMOVE_SANDBOX if uid.as_ref().is_none_or(|uid| *uid == life.pod.uid) => Cause::LostSandbox,
                REMOVE_SANDBOX => continue,
                _ if is_proven_restart(&deed.did) => Cause::NewKubelet,
                _ => return None,
            };
            let began = At::new(*id, Stamp::harness(deed.began_us));
            found = Some(Self { cause, began, over: At::new(*id, Stamp::harness(run.heard(*id).at.hi)) });
        }
        found
    }

    /// Whether an end is final although the kubelet may have forgotten it: it came before the restart, or with the sandbox.
    fn covers(&self, run: &Timeline<'_>, end: &End) -> bool {
        self.cause == Cause::LostSandbox || run.before(end.at(), &self.began)
    }
}

/// Judges the main containers with this policy whose end is final: none of them runs again.
pub(super) fn judge(run: &Timeline<'_>, clause: &Clause, policy: &str, seen: &mut Seen) {
    // The kubelet forgets a container's own policy Never (docs/findings/own-restart-policy-lost-with-the-sandbox.md).
    let kept =
        |life: &Life<'_, '_>| life.container.spec.get("restartPolicy").is_none() || policy == "OnFailure";
    let plain = |life: &Life<'_, '_>| {
        life.container.kind == ContainerKind::Main
            && life.policy() == policy
            && kept(life)
            && rules(life.container).is_empty()
            && !life.pod.restarts_as_one()
            && !restarts_for_update(run, life.pod, life.container)
    };
    for life in run.lives().whole().only(|life| life.is_numbered() && plain(life)) {
        let Some(interruption) = Interruption::of(run, &life) else { continue };
        let Some(end) = End::of(&life).filter(|end| interruption.covers(run, end)) else { continue };
        if policy != "Never" && life.exited_by_itself().is_none_or(|(_, code)| code != 0) {
            continue;
        }
        let finding = format!(
            "{} had terminated and was started again {}, although the restart policy is {policy}",
            life.name(),
            interruption.cause.in_words()
        );
        match life.lives_again() {
            Some(again) => seen.violated(finding, [end.at().id, interruption.over.id, again]),
            None if life.watched_for(&interruption.over, clause.slack_us()) => {
                seen.fine([end.at().id, interruption.over.id]);
            }
            None => {}
        }
    }
}
