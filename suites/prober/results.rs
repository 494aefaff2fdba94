//! Results: a change of one goes to the API at once, and what does not change writes nothing.

use probity_model::clocks::{Order, Stamp};
use probity_model::timeline::{PodLife, ProbeKind, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::readiness::{Outcome, Turn, comes_up, falls, goes_down, readiness_lives, rises, turns};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.result.published-on-change", judge: silence_is_not_written },
    Judge { clause: "prober.sync.readiness-status-path", judge: change_is_written_at_once },
];

/// So many probes of one result are needed to say that they wrote nothing.
const MANY: usize = 8;
/// So many revisions that tell nothing may have another cause.
const FEW: usize = 3;

/// Each turn of readiness is shown in time.
fn change_is_written_at_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).iter() {
        for turn in falls(life) {
            seen.applies();
            goes_down(clause, seen, life, &turn);
        }
        for turn in rises(life) {
            seen.applies();
            comes_up(clause, seen, life, &turn);
        }
    }
}

/// While a probe says the same again and again, the pod has no revisions that tell nothing new.
fn silence_is_not_written(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).iter() {
        for turn in [Outcome::Success, Outcome::Failure].into_iter().flat_map(|wanted| turns(life, wanted)) {
            judge_silence(run, clause, life, &turn, seen);
        }
    }
}

fn judge_silence(
    run: &Timeline<'_>,
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    turn: &Turn<'_, '_>,
    seen: &mut Seen,
) {
    let from = turn.due.later(clause.slack_us());
    let said: Vec<EventId> = life
        .probes
        .iter()
        .filter(|said| said.at.at.lo > from.at.hi && said.at.at.hi <= turn.last.at.at.lo)
        .map(|said| said.id)
        .collect();
    let (Some(first), Some(last)) = (said.first(), said.last()) else { return };
    if said.len() < MANY
        || !life.probes.iter().all(|said| said.is(ProbeKind::Readiness))
        || !run.before_deletion(life.pod, &turn.last.at)
    {
        return;
    }
    let idle = idle_revisions(run, life.pod, &from, &turn.last.at);
    if idle.is_empty() {
        seen.fine([*first, *last]);
    } else if idle.len() >= FEW.max(said.len() / 2) {
        let finding = format!(
            "{} readiness probes said the same, and meanwhile {} revisions of the pod told nothing new",
            said.len(),
            idle.len()
        );
        seen.violated(finding, [*first, *last].into_iter().chain(idle));
    }
}

/// The revisions in a span that differ from the one before in nothing that matters.
fn idle_revisions(run: &Timeline<'_>, pod: &PodLife<'_>, from: &Stamp, to: &Stamp) -> Vec<EventId> {
    let inside = |revision: &Revision<'_>| {
        run.clocks.order(from, &revision.at) == Order::Before
            && run.clocks.order(&revision.at, to) == Order::Before
    };
    let idle = pod.revisions.windows(2).filter_map(|two| match two {
        [before, now] if inside(now) && gist(before.object) == gist(now.object) => Some(now.id),
        _ => None,
    });
    idle.collect()
}

/// A pod without what changes with each writing of it: versions, who wrote what, and times of conditions.
fn gist(pod: &Value) -> Value {
    let mut gist = pod.clone();
    if let Some(metadata) = gist.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    let conditions = gist.get_mut("status").and_then(|status| status.get_mut("conditions")?.as_array_mut());
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("lastProbeTime");
        condition.remove("lastTransitionTime");
    }
    gist
}
