//! Two ways for a container to say that it is not warm yet: a closed port, or a readiness endpoint that answers 503.
//!
//! Only first lives count, and only containers without a startup probe: other clauses judge what else delays readiness.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::Bound;
use probity_model::timeline::{
    Asked, ContainerKind, ContainerSeen, Lives, Probe, ProbeKind, ProbedLife, Revision,
};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::readiness::{Outcome, comes_up, readiness_lives, rises};
use crate::reading::services::{Service, services};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.readiness.listen-after-init", judge: listens_late },
    Judge { clause: "scenario.readiness.503-while-warming", judge: says_no_first },
];

/// The least number of refusals that count as warming.
const REFUSALS: usize = 2;

fn first_lives<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    readiness_lives(run).only(|life| {
        life.number == 0
            && life.container.kind == ContainerKind::Main
            && life.container.probe(ProbeKind::Startup).is_none()
    })
}

/// A container that opens its port after the initialisation is not ready before, and ready soon after.
fn listens_late(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in first_lives(run).iter() {
        let port = life.spec.handler.port().and_then(|port| opened(life.attempt, port));
        let Some(port) = port else { continue };
        let began = life.began.at.hi;
        if port.at.at.lo < began + life.spec.period.max(life.spec.initial_delay) {
            continue;
        }
        seen.applies();
        let Some(cold) = cold_before(seen, life, (port.id, &port.at)) else { continue };
        let after = life.probes.iter().filter(|probe| probe.at.at.lo >= port.at.at.lo);
        let passed: Vec<_> = after.take_while(|probe| life.surely(probe) == Outcome::Success).collect();
        let enough = i64::try_from(passed.len()).is_ok_and(|passed| passed >= life.spec.successes);
        let Some(last) = passed.last().filter(|_| enough) else { continue };
        let most = life.spec.successes * life.spec.period + clause.slack_us();
        let up = |_: &Revision<'_>, container: &ContainerSeen<'_>| container.ready && container.is_running();
        let quantity = "from the opening of the port to ready=true";
        if let Some(shown) = life.first_shown(&port.at, up) {
            let bound = Bound::at_most(most, "successThreshold × periodSeconds + the clause's slack");
            life.within(seen, quantity, (port, shown), bound);
            seen.fine([cold, port.id]);
        } else {
            let noise = life.noise(&port.at, &last.at);
            if last.at.at.lo - port.at.at.hi - noise > most {
                seen.violated(format!("{quantity}: never"), [port.id, last.id]);
            }
        }
    }
}

/// A container that answers 503 until it is warm is out of service until then.
fn says_no_first(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in first_lives(run).iter() {
        let refused = |probe: &&&Probe<'_>| refusal(life, probe);
        let refusals = life.probes.iter().take_while(refused).count();
        let (Some(first), Some(warm)) = (life.probes.first(), life.probes.get(refusals)) else { continue };
        if refusals < REFUSALS || life.surely(warm) != Outcome::Success {
            continue;
        }
        seen.applies();
        let Some(cold) = cold_before(seen, life, (warm.id, &warm.at)) else { continue };
        let through = |service: &Service<'_, '_>, asked: &Asked<'_>| {
            service.selects(life.pod) && !service.publishes && service.brought(life.pod, asked)
        };
        let mut early = life.attempt.requests.iter().filter(|asked| asked.at.at.lo < warm.at.at.lo);
        if let Some(early) = early.find(|asked| services.iter().any(|service| through(service, asked))) {
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

/// Whether a readiness probe got a server error.
fn refusal(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let status = life.request(probe).and_then(|asked| asked.status());
    life.surely(probe) == Outcome::Failure && status.is_some_and(|status| status >= 500)
}

/// The last revision before an instant that shows the container running and not ready. None, and a violation, if one shows
/// it ready.
fn cold_before(seen: &mut Seen, life: &ProbedLife<'_, '_>, (warm, at): (EventId, &Stamp)) -> Option<EventId> {
    let mut cold = None;
    let earlier = |revision: &Revision<'_>| life.run.clocks.order(&revision.at, at) == Order::Before;
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
