//! Which containers a resize restarts.

use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{At, ContainerLife, Life, ProbeKind};
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Resize, resizes};

/// Whether something else than the resize may end a container.
fn may_end_anyway(life: &Life<'_, '_>) -> bool {
    let probed = |kind| life.container.probe(kind).is_some();
    probed(ProbeKind::Liveness)
        || probed(ProbeKind::Startup)
        || life.exiting().is_some() && life.stop().is_none()
}

/// A container that needs no restart keeps running, and so do the others.
pub(super) fn none(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in &resizes(run) {
        for container in resize.containers().filter(|container| !resize.restarts(&container.name)) {
            let Some(life) = resize.life(run, container).filter(|life| !may_end_anyway(life)) else {
                continue;
            };
            judge_kept(resize, &life, clause, seen);
        }
    }
}

fn judge_kept(resize: &Resize<'_, '_>, life: &Life<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let (run, watched) = (life.run, clause.tolerance_us("watched"));
    let signal = life.stopped_undeleted().map(|stop| (stop.id, &stop.at));
    let ended = life.ended.as_ref().map(|ended| (ended.id, &ended.stamp));
    let last = resize.patch.done.later(watched);
    let within = |(_, at): &(_, &_)| run.before(&resize.patch.began, at) && run.before(at, &last);
    let stopped = signal.or(ended).filter(within).filter(|(_, at)| life.before_deletion(at));
    if let Some((id, _)) = stopped {
        let finding = format!("{} was stopped by a resize that needs no restart", life.name());
        seen.violated(finding, [resize.patch.id, id]);
        return;
    }
    if !life.watched_for(&resize.patch.done, watched) {
        return;
    }
    seen.fine([Some(resize.patch.id), run.last_event()].into_iter().flatten());
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
    for resize in &resizes(run) {
        for container in resize.containers().filter(|container| resize.restarts(&container.name)) {
            let Some(life) = resize.life(run, container).filter(|life| !may_end_anyway(life)) else {
                continue;
            };
            judge_restarted(resize, container, &life, clause, seen);
        }
    }
}

fn judge_restarted(
    resize: &Resize<'_, '_>,
    container: &ContainerLife<'_>,
    life: &Life<'_, '_>,
    clause: &Clause,
    seen: &mut Seen,
) {
    let run = life.run;
    let allowed = life.pod.grace() + clause.slack_us();
    let Some(next) = life.next() else {
        if life.lives_again().is_none() && life.watched_for(&resize.patch.done, allowed) {
            let finding = format!("a resize did not restart {} within {}", life.name(), seconds(allowed));
            seen.violated(finding, [Some(resize.patch.id), run.last_event()].into_iter().flatten());
        }
        return;
    };
    let quantity = format!("from the resize of {} to its next instance", life.name());
    let asked = At::new(resize.patch.id, resize.patch.began.clone());
    life.within(seen, quantity, (&asked, &next.began), Bound::at_most(allowed, "the grace period + slack"));
    let again = container.attempts.iter().find(|attempt| attempt.number > next.number);
    let soon = next.began.later(clause.tolerance_us("watched"));
    if let Some(again) =
        again.filter(|again| run.before(&again.began, &soon) && life.before_deletion(&again.began))
    {
        let finding = format!("a resize restarted {} twice", life.name());
        seen.violated(finding, [resize.patch.id, next.began.id, again.began.id]);
    }
}
