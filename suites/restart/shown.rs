//! What the status shows about a container in back-off.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{At, Revision};
use probity_model::{Clause, Seen, Timeline};

use super::expected::{Crash, Wait, crashes};
use crate::reading::ends::shown_ends;
use crate::reading::statuses::{CRASH_LOOP, is_crash_loop};

/// During its back-off, a container is shown as Waiting.
pub(super) fn is_shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let crashes = crashes(run, clause.tolerance_us("near-ten-minutes"));
    let sights: Vec<_> = crashes
        .iter()
        .filter_map(|crash| {
            let Wait::Delay { by, .. } = crash.wait else { return None };
            Some((crash, by, crash.life.revisions().find(|(_, status)| is_crash_loop(&status.state))))
        })
        .collect();
    for (crash, by, sight) in &sights {
        if let Some((revision, _)) = sight {
            judge_sight(clause, (crash, *by), revision, seen);
        } else {
            let elsewhere = sights
                .iter()
                .any(|(other, _, sight)| sight.is_some() && other.life.name() == crash.life.name());
            judge_unseen(clause, (crash, *by), elsewhere, seen);
        }
    }
}

/// The wait is shown soon after the container terminates, and no longer once it runs again. Kubelets that sync the pod
/// only after the wait show it then.
fn judge_sight(
    clause: &Clause,
    (crash, by): (&Crash<'_, '_>, i64),
    revision: &Revision<'_>,
    seen: &mut Seen,
) {
    let life = &crash.life;
    let quantity = || format!("from the exit of {} to the status that shows {CRASH_LOOP}", life.name());
    let fit = |bound| {
        let measured = life.run.measure(quantity(), &life.node, crash.end.at(), revision, bound);
        measured.map(|measured| measured.fit())
    };
    let at_the_end = fit(Crash::soon_after(clause, by)) != Some(Fit::Missed);
    match fit(soon(clause)) {
        Some(Fit::Missed) if at_the_end => {
            let finding = format!(
                "{} waited for a back-off of {}, but the status showed it only at the end",
                life.name(),
                seconds(by)
            );
            seen.diverges(finding, [crash.end.at().id, revision.id]);
        }
        // It is not known whether this wait was shown soon or at its end; both are correct.
        Some(Fit::Undecided) if at_the_end => {}
        _ => {
            if life.within(seen, quantity(), (crash.end.at(), revision), soon(clause)) == Some(Fit::Met) {
                seen.facet("container", life.container.kind.word());
            }
        }
    }
    judge_last_sight(clause, crash, seen);
}

/// When the wait must be shown.
fn soon(clause: &Clause) -> Bound {
    let late = clause.slack_us() + clause.tolerance_us("next-look");
    Bound::at_most(late, format!("{} until the kubelet's next sync", seconds(late)))
}

fn judge_last_sight(clause: &Clause, crash: &Crash<'_, '_>, seen: &mut Seen) {
    let life = &crash.life;
    let last = life.revisions().filter(|(_, status)| is_crash_loop(&status.state)).last();
    let (Some(next), Some((last, _))) = (crash.next(), last) else { return };
    if life.run.clocks.order(next, &last.at) == Order::Before {
        let quantity =
            format!("from the restart of {} to the last status that shows {CRASH_LOOP}", life.name());
        life.within(seen, quantity, (next, last), clause.in_time());
    }
}

/// Reports a long back-off that no revision shows. A kubelet that shows it only at its end may replace that status
/// with the status of the restart before writing it; then other waits of the container are shown. The case may also have ended
/// before such a kubelet had to show it.
fn judge_unseen(clause: &Clause, (crash, by): (&Crash<'_, '_>, i64), elsewhere: bool, seen: &mut Seen) {
    let life = &crash.life;
    // A pod whose work is done waits for nothing more.
    let over = || life.pod.over().map(At::of);
    let until = crash.next().cloned().or_else(over);
    let until = until.unwrap_or_else(|| At::new(crash.end.at().id, life.run.end()));
    let bound = soon(clause);
    let watched = crash.next().is_some()
        || bound.upper.as_ref().is_some_and(|limit| life.watched_for(crash.end.at(), limit.value));
    if !watched || !life.run.misses(&life.node, (crash.end.at(), &until), bound) {
        return;
    }
    let finding = format!(
        "{} waited for a back-off of {}, but the status did not show {CRASH_LOOP}",
        life.name(),
        seconds(by)
    );
    let shown = shown_ends(life).map(|(revision, _)| revision.id).last();
    let events = [Some(crash.end.at().id), Some(until.id), shown].into_iter().flatten();
    let ended_first = crash.next().is_none()
        && !life.run.misses(&life.node, (crash.end.at(), &until), Crash::soon_after(clause, by));
    if elsewhere || ended_first {
        seen.diverges(finding, events);
    } else {
        seen.violated(finding, events);
    }
}
