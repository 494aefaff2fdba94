//! Two ways in which a container can report that it is not warm yet: a closed port, or a readiness endpoint that
//! answers 503.
//!
//! Only first instances of containers without a startup probe are judged. Other clauses judge what else delays
//! readiness.

use probity_model::clocks::Stamp;
use probity_model::measure::Bound;
use probity_model::timeline::{
    Asked, ContainerKind, ContainerSeen, Happened, Lives, Probe, ProbeKind, ProbeOutcome, ProbedLife,
    Revision,
};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::course::opened;
use crate::reading::readiness::{comes_up, readiness_lives, rises};
use crate::reading::services::{Service, services};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.readiness.listen-after-init", judge: listens_late },
    Judge { clause: "scenario.readiness.503-while-warming", judge: says_no_first },
];

/// From this status on, an HTTP answer is a server error: RFC 9110, section 15.6.
const SERVER_ERRORS: u16 = 500;

fn first_lives<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    readiness_lives(run).only(|life| {
        life.number == 0
            && life.container.kind == ContainerKind::Main
            && life.container.probe(ProbeKind::Startup).is_none()
    })
}

/// A container that opens its port after the initialization is not ready before it opens the port, and is ready soon
/// after that.
fn listens_late(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in first_lives(run) {
        let spec = life.spec;
        let port = spec.handler.port().and_then(|port| opened(life.attempt, port));
        let late = life.began.at.hi + spec.period.max(spec.initial_delay);
        let Some(port) = port.filter(|port| port.at.at.lo >= late) else { continue };
        let Some(cold) = cold_before(seen, &life, port) else { continue };
        let after = life.probes.iter().copied().filter(|probe| probe.at.at.lo >= port.at.at.lo);
        let passed: Vec<_> = after.take_while(|probe| life.surely(probe) == ProbeOutcome::Success).collect();
        let enough = i64::try_from(passed.len()).is_ok_and(|passed| passed >= spec.successes);
        let Some(last) = passed.last().filter(|_| enough) else { continue };
        let most = spec.successes * spec.period + clause.slack_us();
        let up = |_: &Revision<'_>, container: &ContainerSeen<'_>| container.ready && container.is_running();
        let quantity = "from the opening of the port to ready=true";
        if let Some(shown) = life.first_shown(&port.at, up) {
            let bound = Bound::at_most(most, "successThreshold × periodSeconds + the clause's slack");
            life.within(seen, quantity, (port, shown), bound);
            seen.fine([cold, port.id]);
        } else if last.at.at.lo - port.at.at.hi - life.noise(&port.at, &last.at) > most {
            seen.violated(format!("{quantity}: never"), [port.id, last.id]);
        }
    }
}

/// A container that answers 503 until it is warm is not ready until then.
fn says_no_first(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in first_lives(run) {
        let refusals = life.probes.iter().take_while(|probe| is_refused(&life, probe)).count();
        let (Some(first), Some(warm)) = (life.probes.first(), life.probes.get(refusals)) else { continue };
        let enough = refusals >= clause.tolerance_times("refusals");
        if !enough || life.surely(warm) != ProbeOutcome::Success {
            continue;
        }
        let Some(cold) = cold_before(seen, &life, *warm) else { continue };
        let through = |service: &Service<'_, '_>, asked: &Asked<'_>| {
            service.selects(life.pod) && !service.publishes && service.brought(life.pod, asked)
        };
        let mut early = life.requests.iter().filter(|asked| asked.at.at.lo < warm.at.at.lo);
        if let Some(early) = early.find(|asked| services.iter().any(|service| through(service, asked))) {
            let finding = "a Service forwarded a request while the readiness endpoint failed";
            seen.violated(finding, [first.id, early.id]);
        }
        let rise = rises(&life).into_iter().find(|turn| turn.first.id == warm.id);
        if rise.is_some_and(|turn| comes_up(clause, seen, &life, &turn).is_some()) {
            seen.fine([first.id, cold, warm.id]);
        }
    }
}

/// Whether a readiness probe got a server error.
fn is_refused<'t, 'h>(life: &ProbedLife<'t, 'h>, probe: &'t Probe<'h>) -> bool {
    let status = life.request(probe).and_then(|asked| asked.status());
    life.surely(probe) == ProbeOutcome::Failure && status.is_some_and(|status| status >= SERVER_ERRORS)
}

/// The last revision that shows the container as running and not ready before it had warmed up. If a revision shows the
/// container as ready, this is reported as a violation, and the result is none.
fn cold_before(seen: &mut Seen, life: &ProbedLife<'_, '_>, warm: impl Happened) -> Option<EventId> {
    let mut cold = None;
    let at: &Stamp = warm.when();
    let running = life.revisions().filter(|(_, container)| container.is_running());
    for (revision, container) in running.filter(|(revision, _)| life.run.before(&revision.at, at)) {
        if container.ready {
            seen.violated(
                "the container was shown as ready before it had warmed up",
                [revision.id, warm.id()],
            );
            return None;
        }
        cold = Some(revision.id);
    }
    cold
}
