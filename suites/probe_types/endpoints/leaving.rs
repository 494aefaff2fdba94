//! The effects of a failing readiness probe on a pod's endpoints and traffic.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::Fit;
use probity_model::mechanisms::PROXY;
use probity_model::stamp::counted;
use probity_model::timeline::{Asked, PodLife, ProbeKind, ProbeOutcome, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Call, Fact};

use crate::reading::endpoints::{Fall, measure_last_request, no_longer_ready};
use crate::reading::mains::lives_of;
use crate::reading::services::{Service, services};

/// All times at which a pod that was not being deleted became not ready.
fn falls<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Fall<'t, 'h>> {
    let mut falls = Vec::new();
    for pod in &run.pods {
        let turns: Vec<(&Revision<'h>, bool)> = pod.changes_of_condition("Ready").collect();
        for pair in turns.windows(2) {
            let [(_, true), (shown, false)] = pair else { continue };
            let shown = pod.revisions.iter().find(|revision| revision.id == shown.id);
            let Some(shown) = shown.filter(|shown| !shown.terminating() && !shown.gone) else { continue };
            if let Some(lasted) = lasted(run, pod, shown) {
                falls.push(Fall { pod, shown, lasted });
            }
        }
    }
    falls
}

/// How long a pod that is shown as not ready certainly stays so: until a probe that may have passed reaches one of the
/// failed containers, or the pod is shown as ready again, or the pod is deleted. `None` if no failed readiness probe
/// explains the revision.
fn lasted(run: &Timeline<'_>, pod: &PodLife<'_>, shown: &Revision<'_>) -> Option<i64> {
    let mut until = run.ended_us - shown.at.at.hi;
    let mut explained = false;
    for container in pod.containers.iter().filter(|container| container.stays()) {
        let Some(spec) = container.probe(ProbeKind::Readiness) else { continue };
        let failed = shown.container(&container.name).is_some_and(|seen| !seen.ready && seen.is_running());
        if !failed || !run.asks_alone(pod, container, spec) {
            continue;
        }
        let lives = lives_of(run, pod, container);
        for life in lives.filter_map(|life| life.probed(ProbeKind::Readiness)) {
            for probe in &life.probes {
                let later = run.at_least(&shown.at, &probe.at);
                let failed = life.surely(probe) == ProbeOutcome::Failure;
                explained |= failed && later <= 0;
                if !failed && later >= 0 {
                    until = until.min(later);
                }
            }
        }
    }
    let ends = |revision: &&Revision<'_>| {
        let later = revision.at.at.lo > shown.at.at.lo;
        later && (revision.is("Ready") == Some(true) || revision.terminating() || revision.gone)
    };
    let end = pod.revisions.iter().find(ends).map_or(i64::MAX, |end| end.at.at.lo - shown.at.at.hi);
    explained.then_some(until.min(end))
}

/// A pod whose readiness probe fails gets no traffic through any Service that selects it.
pub(super) fn traffic_stops(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for fall in &falls(run) {
        for service in services.iter().filter(|service| service.selects(fall.pod) && !service.publishes) {
            no_request_after(run, clause, seen, fall, service);
        }
    }
}

fn no_request_after(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    fall: &Fall<'_, '_>,
    service: &Service<'_, '_>,
) {
    let (requests, shown) = (requests(fall.pod, service), fall.shown);
    let before = requests.iter().rfind(|asked| run.clocks.order(&asked.at, &shown.at) == Order::Before);
    let late = requests.iter().rfind(|asked| (1..fall.lasted).contains(&run.at_least(&shown.at, &asked.at)));
    let Some(before) = before else { return };
    if let Some(late) = late {
        let quantity = format!("from Ready=False to the last request through `{}`", service.name);
        let measured = run.measure(quantity, &fall.pod.node, shown, *late, clause.in_time());
        // The slack includes the time of the proxy.
        let changed = fall.entry_within(run, clause.slack_us() - PROXY, service);
        let parts = (fall.pod, changed.as_ref(), *late);
        if measured.is_some_and(|of| measure_last_request(run, seen, of, parts) != Fit::Met) {
            return;
        }
    }
    let calls = calls_after(run, fall.pod, service, (&shown.at, clause.slack_us(), fall.lasted));
    let enough = calls.len() >= clause.tolerance_times("calls");
    if let (Some(first), Some(last), true) = (calls.first(), calls.last(), enough) {
        seen.fine([before.id, shown.id, *first, *last]);
    }
}

/// The requests that reached a pod through this Service.
pub(super) fn requests<'t, 'h>(pod: &'t PodLife<'h>, service: &Service<'_, '_>) -> Vec<&'t Asked<'h>> {
    let attempts = pod.containers.iter().flat_map(|container| &container.attempts);
    let requests = attempts.flat_map(|attempt| &attempt.requests);
    requests.filter(|asked| service.brought(pod, asked)).collect()
}

/// The calls of the case's own clients to a Service that began at least `least` and less than `most` after an instant.
pub(super) fn calls_after(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    service: &Service<'_, '_>,
    (from, least, most): (&Stamp, i64, i64),
) -> Vec<EventId> {
    let lines =
        run.containers().flat_map(|(_, container)| &container.attempts).flat_map(|attempt| &attempt.lines);
    let began = |call: &Call, at: &Stamp| {
        let took = counted(call.took_us);
        run.clocks.between(from, at).map_or(i64::MIN, |span| span.lo.saturating_sub(took))
    };
    lines
        .filter(|line| match &line.line.fact {
            Fact::Call(call) => {
                service.was_called(pod, call) && (least..most).contains(&began(call, &line.at))
            }
            _ => false,
        })
        .map(|line| line.id)
        .collect()
}

/// The address of a pod whose readiness probe fails is removed from the EndpointSlices. (In real clusters, it stays in
/// the slices as not ready.)
pub(super) fn endpoint_removed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for fall in &falls(run) {
        for service in services.iter().filter(|service| service.selects(fall.pod) && !service.publishes) {
            let Some(entry) = no_longer_ready(run, clause, seen, fall, service) else { continue };
            let events = [fall.shown.id, entry.id];
            match entry.endpoint.map(|endpoint| (endpoint.serving, endpoint.terminating)) {
                None => seen.fine(events),
                Some((Some(false), None | Some(false))) => seen.diverges(
                    format!("the address stays in `{}` with ready=false, serving=false", service.name),
                    events,
                ),
                // The pod is now being deleted, which other clauses cover.
                Some((_, Some(true))) => {}
                Some(_) => {
                    let finding = format!("the address stays in `{}`, not ready but serving", service.name);
                    seen.violated(finding, events);
                }
            }
            legacy_follows(run, clause, seen, fall, service);
        }
    }
}

/// If the legacy Endpoints object was watched, it no longer lists the address as ready.
fn legacy_follows(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    fall: &Fall<'_, '_>,
    service: &Service<'_, '_>,
) {
    let legacy = service.legacy(fall.pod.ip().unwrap_or_default());
    let by_then = |at: &Stamp| at.at.lo <= fall.shown.at.at.hi.saturating_add(clause.slack_us());
    let listed = legacy.iter().rfind(|(_, at, _)| by_then(at));
    if let Some((id, _, true)) = listed
        && fall.lasted - fall.noise(run) > clause.slack_us()
    {
        let finding = format!("the Endpoints `{}` still list the address as ready", service.name);
        seen.violated(finding, run.to_the_end([fall.shown.id, *id]));
    }
}

/// The slices of a Service that publishes addresses that are not ready show them as ready.
pub(super) fn publishes_not_ready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for service in services(run).iter().filter(|service| service.publishes) {
        for pod in run.pods.iter().filter(|pod| service.selects(pod)) {
            for entry in service.entries(pod) {
                match entry.endpoint.map(|endpoint| (endpoint.ready, endpoint.serving)) {
                    Some((Some(false), _)) => {
                        let finding = format!("an endpoint of `{}` is not ready", service.name);
                        seen.violated(finding, [entry.id]);
                    }
                    Some((Some(true), Some(false))) => seen.fine([entry.id]),
                    _ => {}
                }
            }
        }
    }
}
