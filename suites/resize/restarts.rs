//! Which containers a resize restarts.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, Life, ProbeKind, ProbeOutcome};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::asked::{Resize, feasible};
use super::enacted::is_put_off;
use crate::reading::ends::{killed_at, may_be_unrecorded};
use crate::reading::kills::judge_graceful_stop;
use crate::reading::memory::killed_for_memory;
use crate::reading::patches::changes_image;

/// Whether something other than the resize may end a container: one of its probes, a new image, a limit of its pod, a
/// lack of memory, or the process itself.
fn may_end_anyway(life: &Life<'_, '_>) -> bool {
    let failed = |kind: &ProbeKind| {
        let probed = life.probed(*kind);
        probed.is_some_and(|of| of.probes.iter().any(|probe| of.outcome(probe) != ProbeOutcome::Success))
    };
    ProbeKind::STOPPING.iter().any(failed)
        || changes_image(life.run, life.pod, life.container)
        || life.pod.had_deadline()
        || life.pod.has_limited_storage()
        || killed_for_memory(life).is_some()
        || life.exiting().is_some() && life.stop().is_none()
}

/// The event of an instance's stop or kill before this instant, and before any deletion of its pod.
fn stopped(life: &Life<'_, '_>, until: &Stamp) -> Option<EventId> {
    let signal = life.stopped_undeleted().map(|stop| (stop.id, &stop.at));
    let ended = life.ended.as_ref().map(|ended| (ended.id, &ended.stamp));
    let before = |(_, at): &(EventId, &Stamp)| life.run.before(at, until) && life.before_deletion(at);
    signal.or(ended).filter(before).map(|(id, _)| id)
}

/// A container that needs no restart keeps running, and so do the other containers of its pod.
pub(super) fn none(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in feasible(run) {
        for container in resize.containers().filter(|container| !resize.restarts(&container.name)) {
            if let Some(life) = resize.life(run, container).filter(|life| !may_end_anyway(life)) {
                judge_kept(&resize, &life, clause, seen);
            }
        }
    }
}

fn judge_kept(resize: &Resize<'_, '_>, life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    if let Some(id) = stopped(life, &resize.until) {
        let finding = format!("{} was stopped after a resize that needs no restart", life.name());
        seen.violated(finding, [resize.patch.id, id]);
        return;
    }
    if !life.watched_for(&resize.patch.done, clause.tolerance_us("watched")) {
        return;
    }
    seen.fine(life.run.to_the_end([resize.patch.id]));
    let changes = resize.changes(&life.container.name);
    seen.facet("of", if changes.is_empty() { "other" } else { "resized" });
    for change in changes {
        seen.facet("container", life.container.kind.word());
        seen.facet("resource", change.resource);
        let given = resize.policy(&life.container.name, change.resource).is_some();
        seen.facet("policy", if given { "given" } else { "default" });
    }
}

/// A container with `RestartContainer` is restarted, once.
pub(super) fn one(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in feasible(run) {
        let restarting: Vec<_> =
            resize.containers().filter(|container| resize.restarts(&container.name)).collect();
        if restarting.is_empty() || is_put_off(run, &resize, seen) {
            continue;
        }
        for container in restarting {
            if let Some(life) = resize.life(run, container).filter(|life| !may_end_anyway(life)) {
                judge_restarted(&resize, &life, clause, seen);
            }
        }
    }
}

/// The old instance is stopped like any other.
fn judge_stop(resize: &Resize<'_, '_>, life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    if let Some(stop) = life.stop() {
        judge_graceful_stop(clause.tolerance_us("kill"), life, resize.patch.id, stop, seen);
    } else if let Some(killed) = killed_at(life).filter(|killed| !may_be_unrecorded(life, killed)) {
        let finding = format!("a resize killed {} without a stop signal", life.name());
        seen.violated(finding, [resize.patch.id, killed.id]);
    }
}

fn judge_restarted(resize: &Resize<'_, '_>, life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let allowed = life.pod.grace() + clause.slack_us();
    let Some(next) = life.next() else {
        if life.lives_again().is_none() && life.watched_for(&resize.patch.done, allowed) {
            let finding = format!("a resize did not restart {} within {}", life.name(), seconds(allowed));
            seen.violated(finding, life.run.to_the_end([resize.patch.id]));
        }
        return;
    };
    if let Some(id) = stopped(&next, &resize.until).filter(|_| !may_end_anyway(&next)) {
        let finding = format!("a resize restarted {}, and then stopped the new instance, too", life.name());
        seen.violated(finding, [resize.patch.id, next.began.id, id]);
        return;
    }
    judge_stop(resize, life, clause, seen);
    let quantity = format!("from the resize of {} to its next instance", life.name());
    let asked = At::new(resize.patch.id, resize.patch.began.clone());
    let bound = Bound::at_most(allowed, "the grace period + slack");
    let measured = life.run.measure(quantity, &life.node, &asked, &next.began, bound);
    // The new instance must have kept running for a while.
    let kept = next.watched_for(&next.began, clause.tolerance_us("watched"));
    if let Some(measured) = measured.filter(|measured| kept || measured.fit() == Fit::Missed) {
        seen.measure(measured);
    }
}
