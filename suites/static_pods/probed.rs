//! The probes of static pods.

use probity_model::measure::{Bound, Fit};
use probity_model::timeline::{ProbeKind, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::static_pods;
use crate::reading::absence::judge_absence;
use crate::reading::mains::{lives_of, mains};
use crate::reading::termination::Exhausted;

/// The probes of a static pod arrive, and have their effects: a container whose liveness or startup probe fails
/// restarts, and a container whose readiness probe fails is shown as not ready.
pub(super) fn like_any_other(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in static_pods(run) {
        for life in mains(pod).flat_map(|main| lives_of(run, pod, main)) {
            for kind in ProbeKind::ALL {
                let Some(probed) = life.probed(kind) else { continue };
                judge_absence(clause, &probed, seen);
                let Some(spent) = Exhausted::of(probed) else { continue };
                match kind {
                    ProbeKind::Readiness => judge_unready(clause, &spent, seen),
                    _ => judge_restart(clause, &spent, seen),
                }
            }
        }
    }
}

fn facet(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    seen.facet("effect", life.spec.kind.word());
}

fn judge_restart(clause: &Clause, spent: &Exhausted<'_, '_>, seen: &mut Seen) {
    let life = &spent.life;
    let grace = life.pod.grace();
    match life.next() {
        Some(next) => {
            let quantity = format!("from the last failure of {} to the restart", life.words());
            let most = grace + clause.slack_us();
            let bound = Bound::at_most(most, "terminationGracePeriodSeconds + the slack");
            if life.within(seen, quantity, (&spent.at, &next.began), bound) == Some(Fit::Met) {
                facet(life, seen);
            }
        }
        None if life.watched_for(&spent.at, grace + clause.slack_us()) => {
            let finding = format!("{} failed, but its container did not restart", life.words());
            seen.violated(finding, spent.events().into_iter().chain(life.run.last_event()));
        }
        None => {}
    }
}

fn judge_unready(clause: &Clause, spent: &Exhausted<'_, '_>, seen: &mut Seen) {
    let life = &spent.life;
    // The watch may deliver the status before the recorder delivers the line about the probe.
    match life.first_shown(&spent.at, |_, shown| !shown.ready) {
        Some(revision) => {
            let quantity = format!("from the last failure of {} to the status", life.words());
            if life.within(seen, quantity, (&spent.at, revision), clause.in_time()) == Some(Fit::Met) {
                facet(life, seen);
            }
        }
        None if life.watched_for(&spent.at, clause.slack_us()) => {
            let finding = format!("{} failed, but the mirror pod does not show this", life.words());
            seen.violated(finding, spent.events().into_iter().chain(life.run.last_event()));
        }
        None => {}
    }
}
