//! The back-off of containers that are stopped because their postStart hooks fail. The kubelet stops such an instance while it
//! starts it, and learns of its end like that of a crash, so the delays are the same: the second restart is the first one
//! that waits.

use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF};
use probity_model::timeline::{ContainerLife, Life, PodLife, ProbeKind};
use probity_model::{Seen, Timeline};

use super::expected::Crash;
use crate::reading::ends::End;
use crate::reading::hooks::{HookKind, hook_run};
use crate::reading::mains::lives_of;
use crate::reading::patches::restarts_for_update;

/// An instance whose hook failed is not followed by the next one before the first delay has passed, unless it was the first
/// instance of its container.
pub(super) fn wait_like_crashes(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container) in run.containers().filter(|_| !run.node_was_touched()) {
        if may_restart_otherwise(run, pod, container) {
            continue;
        }
        for (at, life) in lives_of(run, pod, container).enumerate() {
            let numbered = usize::try_from(life.number) == Ok(at) && life.is_numbered();
            let failed = is_stopped_by_hook(&life);
            if !numbered || !(failed || life.exited_by_itself().is_some()) {
                break;
            }
            if failed && at > 0 {
                judge_wait(&life, seen);
            }
        }
    }
}

/// Whether something other than its end may start a container again: its probes, a new spec, or the restart of its whole pod.
fn may_restart_otherwise(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let lethal = ProbeKind::STOPPING.iter().any(|kind| container.probe(*kind).is_some());
    lethal || pod.restarts_as_one() || restarts_for_update(run, pod, container)
}

/// Whether an instance was stopped, and its postStart command had failed.
fn is_stopped_by_hook(life: &Life<'_, '_>) -> bool {
    let hook =
        life.container.lifecycle("postStart").filter(|hook| HookKind::of(hook) == Some(HookKind::Exec));
    let ran = hook.and_then(|hook| hook_run(life, hook));
    let failed = ran.is_some_and(|ran| ran.outcome.is_some_and(|status| status != 0));
    failed && life.stopped_undeleted().is_some()
}

/// A long life would reset the back-off.
fn judge_wait(life: &Life<'_, '_>, seen: &mut Seen) {
    let (Some(end), Some(next)) = (End::of(life), life.next().filter(|next| next.is_numbered())) else {
        return;
    };
    let lived = life.run.clocks.between(&life.began, end.at());
    if lived.is_some_and(|lived| lived.hi < LONGEST_BACK_OFF) {
        let quantity =
            format!("from the end of {}, whose postStart hook failed, to its restart", life.name());
        life.within(seen, quantity, (&end.earliest, &next.began), Crash::not_before(FIRST_BACK_OFF));
    }
}
