//! What becomes of a pod's endpoints, and of the traffic to it, when its readiness fails.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::timeline::{ContainerKind, PodLife, ProbeKind, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Call, Fact};

use crate::reading::evidence::{Outcome, asked_alone, at_least, last_event, running, said};
use crate::reading::services::{Entry, Service, services};

/// Calls of our clients that must have gone by without one reaching the pod.
const CALLS: usize = 3;

/// A pod that was ready and no longer is, because a readiness probe failed.
pub(crate) struct Fall<'t, 'h> {
    /// The pod.
    pub(crate) pod: &'t PodLife<'h>,
    /// The revision that showed it.
    pub(crate) shown: &'t Revision<'h>,
    /// How long after that it cannot have been ready again.
    pub(crate) lasted: i64,
}

/// All falls of pods that were not being deleted.
pub(crate) fn falls<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Fall<'t, 'h>> {
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

/// How long a pod that is shown as not ready stays so for sure: until a probe that can have passed reaches one of the
/// containers that failed, or the pod is shown ready again, or goes. None if no readiness probe explains it.
fn lasted(run: &Timeline<'_>, pod: &PodLife<'_>, shown: &Revision<'_>) -> Option<i64> {
    let mut until = run.ended_us - shown.at.at.hi;
    let mut explained = false;
    for container in pod.containers.iter().filter(|container| container.kind != ContainerKind::Init) {
        let Some(spec) = container.probe(ProbeKind::Readiness) else { continue };
        let failed = shown.container(&container.name).is_some_and(|seen| !seen.ready && running(&seen));
        if !failed || !asked_alone(run, pod, container, spec) {
            continue;
        }
        for attempt in &container.attempts {
            for said in said(container, attempt, ProbeKind::Readiness) {
                let later = at_least(run, &shown.at, &said.probe.at);
                explained |= said.outcome == Outcome::Fail && later <= 0;
                if said.outcome != Outcome::Fail && later >= 0 {
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

/// A pod with failing readiness gets no traffic through any service that selects it.
pub(super) fn traffic_stops(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for fall in &falls(run) {
        for service in services.iter().filter(|service| service.selects(fall.pod) && !service.publishes) {
            seen.applies();
            no_request_after(run, seen, fall, service, clause.slack_us());
        }
    }
}

fn no_request_after(
    run: &Timeline<'_>,
    seen: &mut Seen,
    fall: &Fall<'_, '_>,
    service: &Service<'_, '_>,
    slack: i64,
) {
    let requests = requests(fall.pod, service);
    let shown = (fall.shown.id, &fall.shown.at);
    let before = requests.iter().rfind(|(_, at)| run.clocks.order(at, shown.1) == Order::Before);
    let late = requests.iter().rfind(|(_, at)| (1..fall.lasted).contains(&at_least(run, shown.1, at)));
    let Some(before) = before else { return };
    if let Some(late) = late {
        let bound = Bound::at_most(slack, "the clause's slack");
        let quantity = format!("from Ready=False to the last request through `{}`", service.name);
        if let Some(measured) = run.measure(quantity, &fall.pod.node, shown, *late, bound) {
            let met = measured.fit() == Fit::Met;
            seen.measure(measured);
            if !met {
                return;
            }
        }
    }
    let calls = calls_after(run, fall.pod, service, (shown.1, slack, fall.lasted));
    if let (Some(first), Some(last), true) = (calls.first(), calls.last(), calls.len() >= CALLS) {
        seen.fine([before.0, shown.0, *first, *last]);
    }
}

/// The requests that a service brought to a pod.
pub(super) fn requests<'t>(pod: &'t PodLife<'_>, service: &Service<'_, '_>) -> Vec<(EventId, &'t Stamp)> {
    let attempts = pod.containers.iter().flat_map(|container| &container.attempts);
    let requests = attempts.flat_map(|attempt| &attempt.requests);
    requests.filter(|asked| service.brought(pod, asked)).map(|asked| (asked.id, &asked.at)).collect()
}

/// The calls of our clients to a service that began within a window after an instant.
pub(super) fn calls_after(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    service: &Service<'_, '_>,
    (from, least, most): (&Stamp, i64, i64),
) -> Vec<EventId> {
    let lines =
        run.containers().flat_map(|(_, container)| &container.attempts).flat_map(|attempt| &attempt.lines);
    let began = |call: &Call, at: &Stamp| {
        let took = i64::try_from(call.took_us).unwrap_or(i64::MAX);
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

/// The address of a pod with failing readiness leaves the slices. (It does not: it stays as not ready.)
pub(super) fn endpoint_removed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for fall in &falls(run) {
        for service in services.iter().filter(|service| service.selects(fall.pod) && !service.publishes) {
            seen.applies();
            let Some(entry) = no_longer_ready(run, clause, seen, fall, service) else { continue };
            let events = [fall.shown.id, entry.id];
            match entry.endpoint.map(|endpoint| (endpoint.serving, endpoint.terminating)) {
                None => seen.fine(events),
                Some((Some(false), None | Some(false))) => seen.diverges(
                    format!("the address stays in `{}` with ready=false, serving=false", service.name),
                    events,
                ),
                // The pod is being deleted meanwhile, which other clauses speak of.
                Some((_, Some(true))) => {}
                Some(_) => {
                    let finding =
                        format!("the address stays in `{}`, not ready and yet serving", service.name);
                    seen.violated(finding, events);
                }
            }
            legacy_follows(run, clause, seen, fall, service);
        }
    }
}

/// The first entry after a fall that is not ready, if it came in time; otherwise that is said.
pub(crate) fn no_longer_ready<'t, 'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    fall: &Fall<'_, '_>,
    service: &Service<'t, 'h>,
) -> Option<Entry<'t, 'h>> {
    let entries = service.entries(fall.pod);
    // The watches of pods and of slices are two: what follows may be heard first.
    let around = |entry: &Entry<'_, '_>| entry.at.at.lo >= fall.shown.at.at.lo - 1_000_000;
    let ready_before = entries.iter().rposition(|entry| !around(entry));
    let was_ready = ready_before.is_some_and(|at| entries[at].ready());
    if !was_ready {
        return None;
    }
    let slack = clause.slack_us();
    let last = entries.last().map(|entry| entry.id);
    let Some(entry) = entries.into_iter().find(|entry| around(entry) && !entry.ready()) else {
        let noise = run.noise_between(&fall.pod.node, &fall.shown.at, &Stamp::harness(run.ended_us));
        if fall.lasted - noise > slack {
            let finding = format!(
                "the endpoint in `{}` was still ready {} after the pod was not",
                service.name,
                seconds(fall.lasted)
            );
            seen.violated(finding, [Some(fall.shown.id), last, last_event(run)].into_iter().flatten());
        }
        return None;
    };
    let bound = Bound::at_most(slack, "the clause's slack");
    let quantity = format!("from Ready=False to ready=false in `{}`", service.name);
    let (shown, gone) = ((fall.shown.id, &fall.shown.at), (entry.id, entry.at));
    let measured = run.measure(quantity, &fall.pod.node, shown, gone, bound)?;
    let met = measured.fit() == Fit::Met;
    if met {
        seen.note(measured);
    } else if fall.lasted > slack {
        seen.measure(measured);
    }
    met.then_some(entry)
}

/// Where legacy Endpoints were watched, they no longer list the address as ready.
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
    let noise = run.noise_between(&fall.pod.node, &fall.shown.at, &Stamp::harness(run.ended_us));
    if let Some((id, _, true)) = listed
        && fall.lasted - noise > clause.slack_us()
    {
        let finding = format!("the Endpoints `{}` still list the address as ready", service.name);
        seen.violated(finding, [Some(fall.shown.id), Some(*id), last_event(run)].into_iter().flatten());
    }
}

/// A service that publishes addresses that are not ready shows them as ready.
pub(super) fn publishes_not_ready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for service in services(run).iter().filter(|service| service.publishes) {
        for pod in run.pods.iter().filter(|pod| service.selects(pod)) {
            seen.applies();
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
