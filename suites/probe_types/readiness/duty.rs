//! Readiness as a way out of service: the container says that it cannot serve, and lives on.

use probity_model::timeline::{Line, ProbeKind};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Call, Fact};

use super::super::endpoints::leaving::{Fall, no_longer_ready};
use super::follows::{comes_up, falls, goes_down, rises, stays_alive, stopped_after};
use crate::reading::evidence::{Life, Outcome, Turn, at_least, lives, said};
use crate::reading::services::services;

/// Liveness probes that must have passed while readiness failed.
const LIVE: usize = 2;

/// A container that fails its readiness endpoint alone gets no traffic and is not restarted.
pub(super) fn maintenance_mode(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in lives(run).iter().filter(|life| has_a_liveness_probe_of_its_own(life)) {
        for turn in falls(run, life) {
            let Some(live) = alive_during(life, &turn) else { continue };
            seen.applies();
            if let Some(signal) = stopped_after(run, life, &turn.first.at) {
                let finding = "the container was stopped though only its readiness endpoint failed";
                seen.violated(finding, [turn.first.id, live, signal]);
                continue;
            }
            let down =
                life.first_shown(run, &turn.first.at, |revision, _| revision.is("Ready") == Some(false));
            let Some(shown) = down else { continue };
            let lasted = at_least(run, &shown.at, &turn.last.at);
            let fall = Fall { pod: life.pod, shown, lasted };
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                if let Some(entry) = no_longer_ready(run, clause, seen, &fall, service) {
                    seen.fine([turn.first.id, shown.id, entry.id, live, turn.last.id]);
                }
            }
        }
    }
}

fn has_a_liveness_probe_of_its_own(life: &Life<'_, '_>) -> bool {
    let live = life.container.probe(ProbeKind::Liveness);
    live.is_some_and(|live| live.handler != life.spec.handler)
}

/// The last liveness probe of a stretch of readiness failures, if all passed and there were enough.
fn alive_during(life: &Life<'_, '_>, turn: &Turn<'_, '_>) -> Option<EventId> {
    let all = said(life.container, life.attempt, ProbeKind::Liveness);
    let span = turn.first.at.at.lo..=turn.last.at.at.hi;
    let during: Vec<_> = all.iter().filter(|said| span.contains(&said.probe.at.at.lo)).collect();
    let passed = during.iter().all(|said| said.outcome == Outcome::Pass);
    during.last().filter(|_| passed && during.len() >= LIVE).map(|said| said.probe.id)
}

/// A pod whose readiness endpoint asks a backend is not ready without it, and is not restarted.
pub(super) fn backend_dependency(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in lives(run).iter().filter(|life| has_a_liveness_probe_of_its_own(life)) {
        let calls = backend_calls(life);
        let mut lost = false;
        for turn in falls(run, life) {
            if !answered_for(&calls, &turn, false) || alive_during(life, &turn).is_none() {
                continue;
            }
            lost = true;
            seen.applies();
            if goes_down(run, clause, seen, life, &turn).is_some() {
                stays_alive(run, seen, life, &turn);
            }
        }
        for turn in rises(run, life).iter().filter(|turn| lost && answered_for(&calls, turn, true)) {
            comes_up(run, clause, seen, life, turn);
        }
    }
}

/// The requests that a target sent for the sake of its readiness endpoint.
fn backend_calls<'t, 'h>(life: &Life<'t, 'h>) -> Vec<(&'t Line<'h>, &'h Call)> {
    let own = life.said.iter().find_map(|said| said.probe.endpoint).map(ToString::to_string);
    let call = |line: &'t Line<'h>| match &line.line.fact {
        Fact::Call(call) if own.as_ref() == Some(&call.by) => Some((line, call)),
        _ => None,
    };
    life.attempt.lines.iter().filter_map(call).collect()
}

/// Whether the first probe of a turn was answered by what the backend said, or did not say.
fn answered_for(calls: &[(&Line<'_>, &Call)], turn: &Turn<'_, '_>, there: bool) -> bool {
    let Some((_, settled)) = &turn.first.settled else { return false };
    let span = turn.first.at.at.lo..=settled.at.hi;
    let during = |line: &Line<'_>| span.contains(&line.at.at.lo);
    calls.iter().any(|(line, call)| during(line) && call.status.is_some_and(|status| status < 400) == there)
}
