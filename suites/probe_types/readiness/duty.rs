//! Readiness as a way to stop traffic: a container reports that it cannot serve, and keeps running.

use probity_model::timeline::{Line, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Call, Fact};

use crate::reading::endpoints::{Fall, no_longer_ready};
use crate::reading::readiness::{
    Turn, comes_up, falls, goes_down, readiness_lives, rises, stays_alive, stopped_after,
};
use crate::reading::services::services;

/// A container that fails only its readiness endpoint gets no traffic and is not restarted.
pub(super) fn maintenance_mode(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in readiness_lives(run).only(has_a_liveness_probe_of_its_own) {
        for turn in falls(&life) {
            let Some(live) = alive_during(clause, &life, &turn) else { continue };
            if let Some(signal) = stopped_after(&life, &turn.first.at) {
                let finding = "the container was stopped although only its readiness endpoint failed";
                seen.violated(finding, [turn.first.id, live, signal]);
                continue;
            }
            let down = life.first_shown(&turn.first.at, |revision, _| revision.is("Ready") == Some(false));
            let Some(shown) = down else { continue };
            let lasted = run.at_least(&shown.at, &turn.last.at);
            let fall = Fall { pod: life.pod, shown, lasted };
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                if let Some(entry) = no_longer_ready(run, clause, seen, &fall, service) {
                    seen.fine([turn.first.id, shown.id, entry.id, live, turn.last.id]);
                }
            }
        }
    }
}

fn has_a_liveness_probe_of_its_own(life: &ProbedLife<'_, '_>) -> bool {
    let live = life.container.probe(ProbeKind::Liveness);
    live.is_some_and(|live| live.handler != life.spec.handler)
}

/// The last liveness probe during a series of readiness failures, if all liveness probes in this time passed and there
/// were enough of them.
fn alive_during(clause: &Clause, life: &ProbedLife<'_, '_>, turn: &Turn<'_, '_>) -> Option<EventId> {
    let liveness = life.probed(ProbeKind::Liveness)?;
    let span = turn.first.at.at.lo..=turn.last.at.at.hi;
    let during: Vec<_> = liveness.probes.iter().filter(|probe| span.contains(&probe.at.at.lo)).collect();
    let passed = during.iter().all(|probe| liveness.surely(probe) == ProbeOutcome::Success);
    let enough = during.len() >= clause.tolerance_times("live");
    during.last().filter(|_| passed && enough).map(|probe| probe.id)
}

/// A pod whose readiness endpoint calls a backend is not ready while the backend is down, and is not
/// restarted.
pub(super) fn backend_dependency(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).only(has_a_liveness_probe_of_its_own) {
        let calls = backend_calls(&life);
        let mut lost = false;
        for turn in falls(&life) {
            if !answered_for(&calls, &turn, false) || alive_during(clause, &life, &turn).is_none() {
                continue;
            }
            lost = true;
            if goes_down(clause, seen, &life, &turn).is_some() {
                stays_alive(seen, &life, &turn);
            }
        }
        for turn in rises(&life).iter().filter(|turn| lost && answered_for(&calls, turn, true)) {
            comes_up(clause, seen, &life, turn);
        }
    }
}

/// The requests that a target sent because of its readiness endpoint.
fn backend_calls<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<(&'t Line<'h>, &'h Call)> {
    let own = life.probes.iter().find_map(|probe| probe.endpoint).map(ToString::to_string);
    let call = |line: &'t Line<'h>| match &line.line.fact {
        Fact::Call(call) if own.as_ref() == Some(&call.by) => Some((line, call)),
        _ => None,
    };
    life.attempt.lines.iter().filter_map(call).collect()
}

/// Whether the backend decided the answer to the first probe of a change: a call during this probe succeeded, or
/// failed.
fn answered_for(calls: &[(&Line<'_>, &Call)], turn: &Turn<'_, '_>, there: bool) -> bool {
    let Some(settled) = &turn.first.settled else { return false };
    let span = turn.first.at.at.lo..=settled.at.hi;
    let during = |line: &Line<'_>| span.contains(&line.at.at.lo);
    calls.iter().any(|(line, call)| during(line) && call.status.is_some_and(|status| status < 400) == there)
}
