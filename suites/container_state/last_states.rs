//! The last state of a container: after its restart, while it waits for its back-off, and when its last instance has
//! ended for good. Also last states that are not shown.

use probity_model::history::RESTART_ALL_GATE;
use probity_model::timeline::{At, ContainerSeen, Life, ProbeKind, State};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};

use crate::reading::ends::End;
use crate::reading::memory::killed_for_memory;
use crate::reading::patches::restarts_for_update;
use crate::reading::statuses::is_crash_loop;

/// The first version whose kubelet remembers the last state that it has shown, unless [`RESTART_ALL_GATE`] is off
/// (Kubernetes 1.36, pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses). An earlier kubelet reads it from the
/// previous instance each time, and the runtime may no longer have that instance.
const REMEMBERED_SINCE: (u32, u32) = (1, 36);

/// A status that shows how an instance ended still shows how the previous instance ended, if this was shown while the
/// instance ran. Pods that were deleted or ended from outside are left out, because their containers are removed.
pub(super) fn judge_gone(run: &Timeline<'_>, seen: &mut Seen) {
    if run.lost_a_sandbox() {
        return;
    }
    let again = |life: &Life<'_, '_>| {
        life.number > 0 && !life.pod.was_ended_from_outside() && is_remembered(run, &life.node)
    };
    for life in run.lives().undisturbed().only(again) {
        let shown = life.revisions().find(|(_, status)| status.is_running() && has_last(status));
        let Some((shown, _)) = shown else { continue };
        let gone = life.revisions().find(|(later, status)| {
            let over = matches!(status.state, State::Terminated { .. }) && !later.terminating();
            over && later.id > shown.id && !has_last(status)
        });
        if let Some((later, _)) = gone {
            let finding =
                format!("{} terminated, and its status no longer shows its last state", life.name());
            seen.violated(finding, [shown.id, later.id]);
        }
    }
}

fn has_last(status: &ContainerSeen<'_>) -> bool {
    matches!(status.last, State::Terminated { .. })
}

/// Whether no probe of a container can end it.
fn is_unprobed(life: &Life<'_, '_>) -> bool {
    [ProbeKind::Liveness, ProbeKind::Startup].iter().all(|kind| life.container.probe(*kind).is_none())
}

/// Whether the kubelet never ends a container by itself as long as its pod runs: it has no probe that ends it, no hook that can
/// fail, and no change of its spec that restarts it.
fn is_left_alone(life: &Life<'_, '_>) -> bool {
    let hooked = life.container.lifecycle("postStart").is_some();
    is_unprobed(life) && !hooked && !restarts_for_update(life.run, life.pod, life.container)
}

/// The end of an instance, if the kubelet did not cause it: an exit by itself, or an OOM kill.
fn unasked_end(life: &Life<'_, '_>, end: &End) -> Option<At> {
    let killed = || killed_for_memory(life).filter(|_| is_unprobed(life)).map(|_| end.at().clone());
    life.exited_by_itself().map(|(line, _)| At::of(line)).or_else(killed)
}

/// If a container that the kubelet did not end was restarted, the last state of the next instance shows how it ended.
/// (A kubelet that kills a container and starts it again in one sync may show how the killed instance ended only at its
/// next sync, a minute later.) The next instance must run for a long time, unless the kubelet remembers last states and
/// never ends the container by itself: it then writes how an instance ended before it starts the next one.
pub(super) fn judge_forgotten(
    life: &Life<'_, '_>,
    end: &End,
    long: i64,
    lost: &mut LostEnds,
    seen: &mut Seen,
) {
    let by_rule = life.pod.containers.iter().any(|of| of.spec.get("restartPolicyRules").is_some());
    if by_rule || life.run.lost_a_sandbox() || life.run.node_was_touched() {
        return;
    }
    let (Some(ended), Some(next)) = (unasked_end(life, end), life.next()) else { return };
    let mut told = next.revisions().filter(|(_, status)| !matches!(status.state, State::Waiting { .. }));
    if !life.before_deletion(&ended) || told.any(|(_, status)| has_last(&status)) {
        return;
    }
    let shown = next.revisions().find(|(_, status)| status.is_running());
    let shown = shown.filter(|(shown, _)| next.lives_on() && next.watched_for(&shown.at, long));
    let at_once = || {
        let knows = is_remembered(life.run, &life.node) && is_left_alone(life);
        let knows = knows && !life.pod.was_ended_from_outside();
        next.revisions().filter(|_| knows).find(|(shown, status)| {
            let started = match status.state {
                State::Running { started } | State::Terminated { started, .. } => started,
                _ => None,
            };
            started.is_some() && !shown.terminating()
        })
    };
    if let Some((shown, _)) = shown.or_else(at_once) {
        let finding =
            format!("{} was started again, but its last state does not show how it terminated", life.name());
        lost.add(life, finding, [ended.id, shown.id], seen);
    }
}

/// A container that waits for its back-off has terminated before, and its last state shows how.
pub(super) fn judge_wait(life: &Life<'_, '_>, end: &End, lost: &mut LostEnds, seen: &mut Seen) {
    if life.run.lost_a_sandbox() || life.pod.was_ended_from_outside() {
        return;
    }
    let shown = life
        .revisions()
        .find(|(shown, status)| is_crash_loop(&status.state) && !has_last(status) && !shown.terminating());
    if let Some((shown, _)) = shown {
        let finding = format!(
            "{} is waiting in back-off, but its last state does not show how it terminated",
            life.name()
        );
        lost.add(life, finding, [end.earliest.id, shown.id], seen);
    }
}

/// Ends that the statuses of the next instances do not show, each with its events. Their kubelets are not known to
/// remember last states.
#[derive(Default)]
pub(super) struct LostEnds(Vec<(String, [EventId; 2])>);

impl LostEnds {
    /// Adds an end that the last state of a container does not show, with the event of this end first. For a kubelet that
    /// remembers last states, this is a violation at once.
    pub(super) fn add(
        &mut self,
        life: &Life<'_, '_>,
        finding: String,
        events: [EventId; 2],
        seen: &mut Seen,
    ) {
        if is_remembered(life.run, &life.node) {
            seen.violated(finding, events);
        } else {
            self.0.push((finding, events));
        }
    }

    /// Judges all of them together. Once a minute, the kubelet removes the records of all but the last instance of a
    /// container. If the next instance has just been created, this is the record of the instance that ended last. This
    /// rarely happens, so the judge excuses it only once.
    pub(super) fn judge(self, seen: &mut Seen) {
        let first = self.0.first().map(|(_, [end, _])| *end);
        let is_only_one = self.0.iter().all(|(_, [end, _])| Some(*end) == first);
        for (finding, events) in self.0 {
            if is_only_one {
                let why = format!("{finding}; the kubelet's cleanup may have removed the record of this end");
                seen.doubt(Doubt::Ambiguous, why, events);
            } else {
                seen.violated(finding, events);
            }
        }
    }
}

/// Whether the kubelet of a node is known to remember last states.
fn is_remembered(run: &Timeline<'_>, node: &str) -> bool {
    let Some(facts) = run.history.header.nodes.get(node) else { return false };
    let is_off = facts.features.get(RESTART_ALL_GATE) == Some(&false);
    facts.kubelet_minor().is_some_and(|version| version >= REMEMBERED_SINCE) && !is_off
}
