//! How long a container that exited by itself waits before it is restarted.

use std::collections::BTreeSet;

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, ContainerKind, Life};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::expected::{Crash, Wait, crashes};
use super::failed_hooks;
use crate::reading::mains::work_done;
use crate::reading::memory::killed_for_memory;
use crate::reading::patches::restarts_for_update;
use crate::reading::start_errors::judge_second_retry;
use crate::reading::statuses::is_crash_loop;

/// After the first crash of a container, the restart follows immediately.
pub(super) fn first_is_immediate(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let near = clause.tolerance_us("near-ten-minutes");
    for crash in crashes(run, near).iter().filter(|crash| crash.wait == Wait::First) {
        judge_at_once(clause, crash, seen);
    }
}

/// After ten minutes without a crash, the restart again follows immediately.
pub(super) fn is_reset(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let crashes = crashes(run, clause.tolerance_us("near-ten-minutes"));
    for (at, crash) in crashes.iter().enumerate().filter(|(_, crash)| crash.wait == Wait::Reset) {
        judge_at_once(clause, crash, seen);
        // The next delay is the first one again.
        let next = crashes.get(at + 1).filter(|next| next.life.number == crash.life.number + 1);
        if let Some(next) = next
            && let Wait::Delay { by, .. } = next.wait
            && judge_delay(clause, next, by, seen)
        {
            seen.facet("after", "first-delay");
        }
    }
}

fn judge_at_once(clause: &Clause, crash: &Crash<'_, '_>, seen: &mut Seen) {
    let life = &crash.life;
    match crash.next() {
        Some(next) => {
            let quantity = format!("from the exit of {} to its restart", life.name());
            let from = free_from(clause, life, crash.end.at(), next);
            if life.within(seen, quantity, (from, next), clause.in_time()) == Some(Fit::Met) {
                seen.facet("after", "nothing");
            }
        }
        None => judge_missing(life, crash, clause.slack_us(), seen),
    }
}

/// When the kubelet was free to start a container again: after the starts of other containers of the pod that followed
/// each other in time, because the kubelet starts containers one after the other. A start that waited for something
/// else is not considered.
fn free_from<'t>(clause: &Clause, life: &Life<'t, '_>, end: &'t At, to: &At) -> &'t At {
    let run = life.run;
    let others = life.pod.containers.iter().filter(|other| other.name != life.container.name);
    let starts = others.flat_map(|other| &other.attempts).map(|attempt| &attempt.began);
    let mut starts: Vec<&At> =
        starts.filter(|began| run.before(end, began) && run.before(began, to)).collect();
    starts.sort_by_key(|began| began.at.lo);
    let in_time = |from: &At, began: &At| {
        run.clocks.between(from, began).is_some_and(|span| span.lo <= clause.slack_us())
    };
    starts.into_iter().fold(end, |from, began| if in_time(from, began) { began } else { from })
}

/// Judges a container that did not restart although the case lasted long enough. A sidecar does not restart once the
/// work of its pod is done.
pub(super) fn judge_missing(life: &Life<'_, '_>, crash: &Crash<'_, '_>, allowed: i64, seen: &mut Seen) {
    let sidecar = life.container.kind == ContainerKind::Sidecar;
    let done = work_done(life.run, life.pod).filter(|_| sidecar);
    if done.is_some_and(|done| !crash.is_over(&done, allowed)) {
        return;
    }
    // No container restarts after its pod has reached its deadline or was evicted.
    let outside = life.pod.had_deadline() || life.pod.was_ended_from_outside();
    let expired = outside && life.pod.over().is_some();
    if !expired && life.lives_again().is_none() && life.watched_for(crash.end.at(), allowed) {
        let finding =
            format!("{} terminated, but was not started again within {}", life.name(), seconds(allowed));
        let events = [Some(crash.end.earliest.id), Some(crash.end.at().id), life.run.last_event()];
        seen.violated(finding, events.into_iter().flatten());
    }
}

/// Each further restart waits twice as long as the previous one.
pub(super) fn doubles(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for crash in &crashes(run, clause.tolerance_us("near-ten-minutes")) {
        if let Wait::Delay { by, capped: false } = crash.wait
            && judge_delay(clause, crash, by, seen)
        {
            let delay = seconds(by);
            seen.facet("delay", delay.split('.').next().unwrap_or_default());
        }
    }
    judge_unstartable(run, seen);
}

/// A container that the runtime cannot start waits like one that ran.
fn judge_unstartable(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container) in run.containers().filter(|_| !run.node_was_touched()) {
        let changed = pod.restarts_as_one() || restarts_for_update(run, pod, container);
        if container.attempts.is_empty() && !changed {
            judge_second_retry(run, (pod, container), seen);
        }
    }
}

/// No delay is longer than five minutes.
pub(super) fn is_capped(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for crash in &crashes(run, clause.tolerance_us("near-ten-minutes")) {
        if let Wait::Delay { by, capped: true } = crash.wait {
            judge_delay(clause, crash, by, seen);
        }
    }
}

/// A restart does not come before its delay has passed, and follows soon after that. Returns whether both were
/// observed.
pub(super) fn judge_delay(clause: &Clause, crash: &Crash<'_, '_>, by: i64, seen: &mut Seen) -> bool {
    judge_delay_within(crash, by, crash.soon_for_kubelet(clause, by), seen)
}

/// Judges a delay, after which the restart comes within this bound.
pub(super) fn judge_delay_within(crash: &Crash<'_, '_>, by: i64, soon: Bound, seen: &mut Seen) -> bool {
    let life = &crash.life;
    let Some(next) = crash.next() else {
        judge_missing(life, crash, soon.upper.map_or(by, |limit| limit.value), seen);
        return false;
    };
    let quantity = || format!("from termination {} of {} to its restart", life.number + 1, life.name());
    // The process records its exit just before it ends.
    let early = life.within(seen, quantity(), (&crash.end.earliest, next), Crash::not_before(by));
    let late = life.within(seen, quantity(), (crash.end.at(), next), soon);
    early == Some(Fit::Met) && late == Some(Fit::Met)
}

/// A container that cannot start because its configuration is missing enters back-off like any other, and so does a container
/// whose postStart hook fails.
pub(super) fn of_other_causes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    failed_hooks::wait_like_crashes(run, seen);
    let mut told = BTreeSet::new();
    for crash in &crashes(run, clause.tolerance_us("near-ten-minutes")) {
        let (Wait::Delay { by, .. }, Some(cause)) = (crash.wait, cause(&crash.life)) else { continue };
        let shown = crash.life.revisions().find(|(_, status)| is_crash_loop(&status.state));
        if let Some((revision, _)) = shown {
            if told.insert((crash.life.name(), cause)) {
                seen.fine([crash.end.at().id, revision.id]);
                seen.facet("cause", cause);
            }
        } else if let Some(next) = crash.next() {
            judge_skipped(crash, (by, next), cause, seen);
        }
    }
}

/// Reports a restart without any wait.
fn judge_skipped(crash: &Crash<'_, '_>, (by, next): (i64, &At), cause: &str, seen: &mut Seen) {
    let life = &crash.life;
    if life.run.misses(&life.node, (&crash.end.earliest, next), Crash::not_before(by)) {
        let finding = format!(
            "{} terminated again because of {cause}, but was restarted without a back-off",
            life.name()
        );
        seen.violated(finding, [crash.end.at().id, next.id]);
    }
}

/// Why a container instance exited by itself: its plan, or something missing.
fn cause(life: &Life<'_, '_>) -> Option<&'static str> {
    let Some((line, _)) = life.exited_by_itself() else { return killed_for_memory(life).map(|_| "memory") };
    let Fact::Exiting(exiting) = &line.line.fact else { return None };
    Some(if exiting.why == "plan" { "application" } else { "configuration" })
}
