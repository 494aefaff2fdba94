//! The delay that the documentation promises before a restart, calculated from the previous container instances.
//!
//! The first restart does not wait. Each further one waits twice as long as the previous one, counted from the end of
//! the instance, unless the instance ran long enough to reset the back-off. This module covers containers that exit by
//! themselves or exceed their memory limit, not those killed because of a probe.

use probity_model::clocks::Stamp;
use probity_model::history::NodeFacts;
use probity_model::measure::{Bound, SECOND, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF, TO_START};
use probity_model::timeline::{At, Life, PodLife};
use probity_model::{Clause, Timeline};

use super::anew::{changes, first_change};
use crate::reading::ends::{End, is_undivided};
use crate::reading::mains::lives_of;
use crate::reading::memory::killed_for_memory;
use crate::reading::rules::is_restarted;
use crate::reading::termination::{KILLED, may_be_stopped_again};

/// How long a container must run before its back-off is reset: ten minutes, Kubernetes documentation, Pod Lifecycle.
const GOOD_RUN: i64 = 600 * SECOND;

/// The first version of Kubernetes whose kubelet wakes up at the end of a delay (`MinBackoffExpiration` in
/// pkg/kubelet/container/sync_result.go). Earlier kubelets retry every ten seconds.
const WAKES_UP_SINCE: (u32, u32) = (1, 35);

/// How long the restart waits after a container instance that nobody stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// No wait: the instance is the first to exit.
    First,
    /// No wait: the instance ran long enough to reset the back-off.
    Reset,
    /// A delay.
    Delay {
        /// The delay, capped.
        by: i64,
        /// Whether the delay would be longer without the maximum.
        capped: bool,
    },
}

/// A container instance that ended although nobody stopped it, with its end and the wait before its restart.
pub(super) struct Crash<'t, 'h> {
    /// The life.
    pub(super) life: Life<'t, 'h>,
    /// Its end.
    pub(super) end: End,
    /// How long its restart waits.
    pub(super) wait: Wait,
}

/// All instances that ended although nobody stopped them and that restart, in containers without other kinds of ends.
/// The instances start with the first one, and stop when the image or the resources of the container change. The clause
/// defines how close a run may come to ten minutes.
pub(super) fn crashes<'t, 'h>(run: &'t Timeline<'h>, near: i64) -> Vec<Crash<'t, 'h>> {
    if run.node_was_touched() {
        return Vec::new();
    }
    let limits = Limits { first: FIRST_BACK_OFF, longest: LONGEST_BACK_OFF };
    follow(run, near, |_| Some((limits, run.end())))
}

/// The delays that a kubelet's configuration allows.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The first delay.
    pub(super) first: i64,
    /// The longest delay.
    pub(super) longest: i64,
}

/// Like [`crashes`], with the limits that `limits` returns for a pod, and until the time that it returns.
pub(super) fn follow<'t, 'h>(
    run: &'t Timeline<'h>,
    near: i64,
    limits: impl Fn(&PodLife<'h>) -> Option<(Limits, Stamp)>,
) -> Vec<Crash<'t, 'h>> {
    let mut crashes = Vec::new();
    let changes = changes(run);
    for (pod, container) in run.containers() {
        let Some((Limits { first, longest }, until)) = limits(pod) else { continue };
        let changed = first_change(&changes, pod, container);
        let mut delay: Option<i64> = None;
        for (at, life) in lives_of(run, pod, container).enumerate() {
            if usize::try_from(life.number) != Ok(at) || !life.is_numbered() || !is_undivided(&life) {
                break;
            }
            // A changed container starts with a new back-off.
            let back = |since: &Stamp| life.next().is_some_and(|next| run.before(&next.attempt.began, since));
            if changed.is_some_and(|changed| !back(&changed.began)) {
                break;
            }
            let Some((exit, code)) = exit_of(&life) else { break };
            let restarts = pod.restarts_after(container, code.into()) || is_restarted(container, code);
            let (Some(end), true) = (End::of(&life), restarts && life.before_deletion(&exit)) else {
                break;
            };
            if is_stopped_again(&life, &exit) || !run.before(&exit, &until) {
                break;
            }
            let restarted = life.next().map(|next| &next.attempt.began);
            if restarted.is_some_and(|restarted| !run.before(restarted, &until)) {
                break;
            }
            let lived = run.clocks.between(&life.began, &exit);
            let wait = match (delay, lived) {
                (None, _) => Wait::First,
                (Some(_), Some(lived)) if lived.lo > GOOD_RUN + near => Wait::Reset,
                (Some(delay), Some(lived)) if lived.hi < GOOD_RUN - near => {
                    Wait::Delay { by: delay.min(longest), capped: delay > longest }
                }
                _ => break,
            };
            delay = match (wait, delay) {
                (Wait::Delay { .. }, Some(delay)) => Some(delay.saturating_add(delay)),
                _ => Some(first),
            };
            crashes.push(Crash { life, end, wait });
        }
    }
    crashes
}

/// The end and the exit status of an instance that nobody stopped: it exited by itself, or the kernel killed it because it
/// needed more memory than its limit.
pub(super) fn exit_of(life: &Life<'_, '_>) -> Option<(At, u8)> {
    if let Some((line, code)) = life.exited_by_itself() {
        return Some((At::of(line), code));
    }
    killed_for_memory(life)?;
    Some((End::of(life)?.at().clone(), u8::try_from(KILLED).ok()?))
}

/// Whether a probe may have made the kubelet stop a container that had already ended. The back-off then ignores this end.
/// An event must report the stop.
fn is_stopped_again(life: &Life<'_, '_>, exit: &At) -> bool {
    let Some(next) = life.next() else { return false };
    let recorded = life.pod.events.iter().any(|event| {
        event.is_of(&life.container.name, "Killing")
            && event.id > exit.id
            && next.end().is_none_or(|end| event.id < end.id)
    });
    recorded && may_be_stopped_again(life, exit)
}

impl<'t, 'h> Crash<'t, 'h> {
    /// The start of the next instance.
    pub(super) fn next(&self) -> Option<&'t At> {
        // Without its first line, the time of its start is not known.
        Some(&self.life.next().filter(|next| next.is_numbered())?.attempt.began)
    }

    /// Whether this much time had passed since the end when something else happened.
    pub(super) fn is_over(&self, at: &Stamp, allowed: i64) -> bool {
        self.life.run.clocks.between(self.end.at(), at).is_some_and(|span| span.lo > allowed)
    }

    /// Not before the end of the delay.
    pub(super) fn not_before(by: i64) -> Bound {
        Bound::at_least(by, format!("the back-off of {}", seconds(by)))
    }

    /// Soon after the end of the delay, whatever the version of the kubelet. The kubelet adds up to half of the delay, and
    /// at most half a minute; older kubelets retry every ten seconds.
    pub(super) fn soon_after(clause: &Clause, by: i64) -> Bound {
        Self::within(clause, by, TO_START)
    }

    /// Like [`Self::soon_after`], for the kubelet of this instance.
    pub(super) fn soon_for_kubelet(&self, clause: &Clause, by: i64) -> Bound {
        let facts = self.life.run.history.header.nodes.get(&self.life.node);
        let version = facts.and_then(NodeFacts::kubelet_minor);
        let wakes_up = version.is_some_and(|version| version >= WAKES_UP_SINCE);
        if wakes_up { Self::soon(clause, by) } else { Self::soon_after(clause, by) }
    }

    /// Like [`Self::soon_after`], for kubelets that wake up at the end of the delay.
    pub(super) fn soon(clause: &Clause, by: i64) -> Bound {
        Self::within(clause, by, 0)
    }

    fn within(clause: &Clause, by: i64, at_least: i64) -> Bound {
        let late =
            clause.tolerance_part(by, "jitter").min(clause.tolerance_us("longest-jitter")).max(at_least);
        let (allowed, words) = (late + clause.slack_us(), seconds(late + clause.slack_us()));
        Bound::at_most(by + allowed, format!("the back-off of {} + {words}", seconds(by)))
    }
}
