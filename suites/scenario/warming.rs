//! Two ways to say that a container is not warm yet: its port is closed, or its readiness endpoint says no.
//!
//! Only first lives count, and only containers without a startup probe: what else holds readiness back is the subject of
//! other clauses.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::Bound;
use probity_model::timeline::{ContainerKind, ContainerSeen, Lives, Probe, ProbeKind, ProbedLife, Revision};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::readiness::{Outcome, readiness_lives};
use crate::reading::readiness::{comes_up, rises};
use crate::reading::services::services;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.readiness.listen-after-init", judge: listens_late },
    Judge { clause: "scenario.readiness.503-while-warming", judge: says_no_first },
];

/// So many refusals make a time of warming.
const REFUSALS: usize = 2;

fn first_lives<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    let first = |life: &ProbedLife<'_, '_>| {
        life.attempt.number == 0
            && life.container.kind == ContainerKind::Main
            && life.container.probe(ProbeKind::Startup).is_none()
    };
    readiness_lives(run).only(first)
}

/// A port that is opened after the initialisation is signal enough: not ready before, ready soon after.
fn listens_late(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in first_lives(run).iter() {
        let Some(port) = life.spec.handler.port().and_then(|port| opened(life.attempt, port)) else {
            continue;
        };
        let began = life.attempt.began.at.hi;
        if port.at.at.lo < began + life.spec.period.max(life.spec.initial_delay) {
            continue;
        }
        seen.applies();
        let Some(cold) = cold_before(run, seen, life, (port.id, &port.at)) else { continue };
        let wanted = usize::try_from(life.spec.successes).unwrap_or(usize::MAX);
        let after: Vec<_> = life.probes.iter().filter(|said| said.at.at.lo >= port.at.at.lo).collect();
        let passed = after.iter().take_while(|said| life.surely(said) == Outcome::Success).count();
        if passed < wanted {
            continue;
        }
        let slack = clause.slack_us();
        let most = life.spec.successes * life.spec.period + slack;
        let up = |_: &Revision<'_>, container: &ContainerSeen<'_>| container.ready && container.is_running();
        let quantity = "from the opening of the port to ready=true";
        match (life.first_shown(&port.at, up), after.get(passed - 1)) {
            (Some(shown), _) => {
                let bound = Bound::at_most(most, "successThreshold × periodSeconds + the clause's slack");
                let (from, to) = ((port.id, &port.at), (shown.id, &shown.at));
                let measured = run.measure(quantity, &life.attempt.node, from, to, bound);
                if let Some(measured) = measured {
                    seen.measure(measured);
                }
                seen.fine([cold, port.id]);
            }
            (None, Some(last)) => {
                let noise = run.noise_between(&life.attempt.node, &port.at, &last.at);
                if last.at.at.lo - port.at.at.hi - noise > most {
                    seen.violated(format!("{quantity}: never"), [port.id, last.id]);
                }
            }
            (None, None) => {}
        }
    }
}

/// A container that answers 503 until it is warm is out of service until then.
fn says_no_first(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in first_lives(run).iter() {
        let refused = |said: &&&Probe<'_>| refusal(life, said);
        let refusals = life.probes.iter().take_while(refused).count();
        let (Some(first), Some(warm)) = (life.probes.first(), life.probes.get(refusals)) else { continue };
        if refusals < REFUSALS || life.surely(warm) != Outcome::Success {
            continue;
        }
        seen.applies();
        let Some(cold) = cold_before(run, seen, life, (warm.id, &warm.at)) else { continue };
        let requests = life.attempt.requests.iter().filter(|asked| asked.at.at.lo < warm.at.at.lo);
        let early = requests.into_iter().find(|asked| {
            services.iter().any(|service| {
                service.selects(life.pod) && !service.publishes && service.brought(life.pod, asked)
            })
        });
        if let Some(early) = early {
            let finding = "a request came through a service while the readiness endpoint said no";
            seen.violated(finding, [first.id, early.id]);
        }
        if let Some(turn) = rises(life).into_iter().find(|turn| turn.first.id == warm.id)
            && comes_up(clause, seen, life, &turn).is_some()
        {
            seen.fine([first.id, cold, warm.id]);
        }
    }
}

/// Whether a readiness probe was answered by an error of the server.
fn refusal(life: &ProbedLife<'_, '_>, said: &Probe<'_>) -> bool {
    let status = life.attempt.request(said).and_then(|asked| asked.status());
    life.surely(said) == Outcome::Failure && status.is_some_and(|status| status >= 500)
}

/// The last revision before an instant that shows the container running and not ready. One that shows it ready is a
/// violation, and ends the matter.
fn cold_before(
    run: &Timeline<'_>,
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    (warm, at): (EventId, &Stamp),
) -> Option<EventId> {
    let mut cold = None;
    let earlier = |revision: &Revision<'_>| run.clocks.order(&revision.at, at) == Order::Before;
    for (revision, container) in life.revisions().filter(|(revision, _)| earlier(revision)) {
        if container.ready && container.is_running() {
            seen.violated("the container was shown ready before it was warm", [revision.id, warm]);
            return None;
        }
        if container.is_running() {
            cold = Some(revision.id);
        }
    }
    cold
}
