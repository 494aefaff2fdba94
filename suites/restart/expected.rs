//! The delay that the documentation promises before a restart, from the lives before it.
//!
//! The first restart waits for nothing. Each further one waits twice as long as the one before, from the end of the life, unless that
//! life ran for so long that the count begins anew. Only containers that end by themselves are counted here: a kill by a probe is
//! another matter.

use probity_model::measure::{Bound, SECOND, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF, TO_START};
use probity_model::timeline::{At, Life};
use probity_model::{Clause, Timeline};

use crate::reading::ends::{End, is_undivided};
use crate::reading::mains::lives_of;

/// For how long a container must have run before its count begins anew: ten minutes, by the document on the lifecycle of pods of the
/// Kubernetes documentation.
const GOOD_RUN: i64 = 600 * SECOND;

/// What a life that ended by itself has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: it is the first to end.
    First,
    /// Nothing: it ran for so long that the count begins anew.
    Reset,
    /// A delay.
    Delay {
        /// The delay, capped.
        by: i64,
        /// Whether it would be longer without the cap.
        capped: bool,
    },
}

/// A life that ended by itself, when it did, and what it has to wait for.
pub(super) struct Crash<'t, 'h> {
    /// The life.
    pub(super) life: Life<'t, 'h>,
    /// Its end.
    pub(super) end: End,
    /// What it has to wait for.
    pub(super) wait: Wait,
}

/// All lives that ended by themselves and come back, in containers whose lives all did, one after the other from the first. How
/// near a run may come to the ten minutes is the clause's.
pub(super) fn crashes<'t, 'h>(run: &'t Timeline<'h>, near: i64) -> Vec<Crash<'t, 'h>> {
    let mut crashes = Vec::new();
    if run.node_was_touched() {
        return crashes;
    }
    for (pod, container) in run.containers() {
        let mut delay: Option<i64> = None;
        for (at, life) in lives_of(run, pod, container).enumerate() {
            if usize::try_from(life.number) != Ok(at) || !life.is_numbered() || !is_undivided(&life) {
                break;
            }
            let Some((line, code)) = life.exited_by_itself() else { break };
            let goes = life.policy() == "Never"
                || (code == 0 && (life.policy() == "OnFailure" || !life.container.stays()));
            let (Some(end), false) = (End::of(&life), goes || !life.before_deletion(&line.at)) else { break };
            let lived = run.clocks.between(&life.began, &line.at);
            let wait = match (delay, lived) {
                (None, _) => Wait::First,
                (Some(_), Some(lived)) if lived.lo > GOOD_RUN + near => Wait::Reset,
                (Some(delay), Some(lived)) if lived.hi < GOOD_RUN - near => {
                    Wait::Delay { by: delay.min(LONGEST_BACK_OFF), capped: delay > LONGEST_BACK_OFF }
                }
                _ => break,
            };
            delay = match (wait, delay) {
                (Wait::Delay { .. }, Some(delay)) => Some(delay.saturating_add(delay)),
                _ => Some(FIRST_BACK_OFF),
            };
            crashes.push(Crash { life, end, wait });
        }
    }
    crashes
}

impl<'t, 'h> Crash<'t, 'h> {
    /// The beginning of the life that followed.
    pub(super) fn next(&self) -> Option<&'t At> {
        // Without its first line there is no telling when it began.
        Some(&self.life.next().filter(|next| next.is_numbered())?.attempt.began)
    }

    /// Not before the delay is over.
    pub(super) fn not_before(by: i64) -> Bound {
        Bound::at_least(by, format!("the back-off of {}", seconds(by)))
    }

    /// Soon after the delay is over. The kubelet adds up to one half of the delay, and no more than half a minute; older ones try
    /// again every ten seconds.
    pub(super) fn soon_after(clause: &Clause, by: i64) -> Bound {
        let late =
            clause.tolerance_part(by, "jitter").min(clause.tolerance_us("longest-jitter")).max(TO_START);
        let (allowed, words) = (late + clause.slack_us(), seconds(late + clause.slack_us()));
        Bound::at_most(by + allowed, format!("the back-off of {} + {words}", seconds(by)))
    }
}
