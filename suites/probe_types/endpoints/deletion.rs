//! The effects of deletion alone on the readiness of a pod and on its endpoints.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::PROXY;
use probity_model::timeline::{
    Attempt, ContainerLife, Life, Line, PodLife, ProbeKind, ProbeOutcome, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::leaving::{calls_after, requests};
use crate::reading::endpoints::{Fall, measure_last_request, no_longer_ready};
use crate::reading::services::{Entry, Service, services};

/// A ready pod whose deletion was requested, while its containers keep running.
struct Leaving<'t, 'h> {
    pod: &'t PodLife<'h>,
    /// The revision that showed the deletion.
    shown: &'t Revision<'h>,
    /// How long after this revision the containers certainly kept running, so that only the deletion affected the pod's
    /// readiness.
    lasted: i64,
    /// The event that ended this time.
    until: Option<EventId>,
}

fn leaving<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Leaving<'t, 'h>> {
    let mut all = Vec::new();
    for pod in run.pods.iter().filter(|pod| pod.spec.get("readinessGates").is_none()) {
        let Some(at) = pod.revisions.iter().position(|revision| revision.terminating()) else { continue };
        let before = at.checked_sub(1).and_then(|at| pod.revisions.get(at));
        let Some(shown) = pod.revisions.get(at).filter(|shown| !shown.gone) else { continue };
        if before.is_none_or(|before| before.is("Ready") != Some(true)) {
            continue;
        }
        let lasting = pod.containers.iter().filter(|container| container.stays());
        let ends: Option<Vec<_>> =
            lasting.map(|container| steady_until(run, pod, container, &shown.at)).collect();
        let first = ends.and_then(|ends| ends.into_iter().min_by_key(|(lasted, _)| *lasted));
        if let Some((lasted, until)) = first.filter(|(lasted, _)| *lasted > 0) {
            let lasted = lasted.min(run.ended_us.saturating_sub(shown.at.at.hi));
            all.push(Leaving { pod, shown, lasted, until });
        }
    }
    all
}

/// How long a container kept running and passed its readiness probes, if it has any. `None` if this is not known.
fn steady_until(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    from: &Stamp,
) -> Option<(i64, Option<EventId>)> {
    let attempt = container.attempts.last().filter(|attempt| attempt.holes.is_empty())?;
    let ended = attempt.end().into_iter().chain(closed(attempt));
    let ended = ended.map(|line| (run.at_least(from, &line.at), Some(line.id)));
    let over = ended.min_by_key(|(after, _)| *after).unwrap_or((run.ended_us - from.at.hi, None));
    let Some(spec) = container.probe(ProbeKind::Readiness) else { return Some(over) };
    if !run.asks_alone(pod, container, spec) {
        return None;
    }
    let counts = -(spec.failures * spec.period + spec.timeout);
    let life = Life { run, pod, container, attempt }.probed(ProbeKind::Readiness)?;
    let other = life.probes.iter().filter(|probe| life.surely(probe) != ProbeOutcome::Success);
    let other = other.map(|probe| (run.at_least(from, &probe.at), Some(probe.id)));
    let first = other.filter(|(after, _)| *after > counts).min_by_key(|(after, _)| *after);
    Some(first.into_iter().chain([over]).min_by_key(|(after, _)| *after).unwrap_or(over))
}

/// When a port was closed. After that, probes fail without a record.
fn closed<'t, 'h>(attempt: &'t Attempt<'h>) -> Option<&'t Line<'h>> {
    let closed =
        |line: &&Line<'_>| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open");
    attempt.lines.iter().find(closed)
}

/// A deleted pod becomes not ready because of the deletion. (In real kubelets, its Ready condition still follows its
/// containers, and only its endpoints change.)
pub(super) fn unready_on_delete(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for leaving in &leaving(run) {
        let slack = clause.slack_us();
        let later: Vec<&Revision<'_>> = leaving
            .pod
            .revisions
            .iter()
            .filter(|revision| {
                revision.at.at.lo >= leaving.shown.at.at.lo && all_running(leaving.pod, revision)
            })
            .filter(|revision| run.at_least(&leaving.shown.at, &revision.at) < leaving.lasted)
            .collect();
        let unready = later.iter().position(|revision| revision.is("Ready") == Some(false));
        let noise = leaving.as_fall().noise(run);
        match unready.map(|at| (later[at], &later[at..])) {
            Some((unready, rest)) => {
                let events = [leaving.shown.id, unready.id];
                if let Some(again) = rest.iter().find(|revision| revision.is("Ready") == Some(true)) {
                    let finding = "the pod became not ready and then ready again while it was terminating";
                    let events = [unready.id, again.id];
                    // On a busy node, a probe may have timed out although the container answered.
                    match noise {
                        0 => seen.violated(finding, events),
                        _ => seen.doubt(
                            Doubt::Ambiguous,
                            format!("{finding}; the node was busy, so a probe may have timed out"),
                            events,
                        ),
                    }
                } else if run.at_least(&leaving.shown.at, &unready.at) <= slack {
                    seen.fine(events);
                    seen.facet("readiness-probe", leaving.readiness_probe());
                }
            }
            None if leaving.lasted - noise > slack => {
                only_endpoints_change(run, clause, seen, leaving, &services)
            }
            None if leaving.lasted > slack => {
                let held = seconds(noise);
                let why = format!("the pod stayed Ready, but something was stalled for {held} of that time");
                seen.doubt(Doubt::Straddles, why, [leaving.shown.id]);
            }
            None => {}
        }
    }
}

fn all_running(pod: &PodLife<'_>, revision: &Revision<'_>) -> bool {
    let mut lasting = pod.containers.iter().filter(|container| container.stays());
    lasting.all(|container| revision.container(&container.name).is_some_and(|seen| seen.is_running()))
}

/// The known behavior of upstream: Ready stays True, and the endpoints of the pod become not ready.
fn only_endpoints_change(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    leaving: &Leaving<'_, '_>,
    services: &[Service<'_, '_>],
) {
    let fall = leaving.as_fall();
    for service in services.iter().filter(|service| service.selects(leaving.pod) && !service.publishes) {
        if let Some(entry) = no_longer_ready(run, clause, seen, &fall, service) {
            seen.fine([leaving.shown.id, entry.id]);
        }
    }
    seen.facet("readiness-probe", leaving.readiness_probe());
    let lasted = seconds(leaving.lasted);
    let finding =
        format!("the pod stayed Ready for {lasted} after its deletion, as long as its containers ran");
    let until = leaving.until.or_else(|| run.last_event());
    seen.diverges(finding, [Some(leaving.shown.id), until].into_iter().flatten());
}

impl<'t, 'h> Leaving<'t, 'h> {
    fn as_fall(&self) -> Fall<'t, 'h> {
        Fall { pod: self.pod, shown: self.shown, lasted: self.lasted }
    }

    fn has_readiness_probe(&self) -> bool {
        self.pod.containers.iter().any(|container| container.probe(ProbeKind::Readiness).is_some())
    }

    fn readiness_probe(&self) -> &'static str {
        if self.has_readiness_probe() { "passes" } else { "none" }
    }
}

/// A deleted pod without a readiness probe is removed from its Services while its process still answers.
pub(super) fn drain_without_probe(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let services = services(run);
    for leaving in leaving(run).iter().filter(|leaving| !leaving.has_readiness_probe()) {
        for service in services.iter().filter(|service| service.selects(leaving.pod) && !service.publishes) {
            let Some(entry) = no_longer_ready(run, clause, seen, &leaving.as_fall(), service) else {
                continue;
            };
            if run.at_least(&leaving.shown.at, entry.at) < leaving.lasted {
                seen.fine([Some(leaving.shown.id), Some(entry.id), leaving.until].into_iter().flatten());
            }
            if service.has_another(run, leaving.pod, &leaving.shown.at) {
                traffic_goes_elsewhere(run, clause, seen, leaving, (service, &entry));
            }
        }
    }
}

fn traffic_goes_elsewhere(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    leaving: &Leaving<'_, '_>,
    (service, changed): (&Service<'_, '_>, &Entry<'_, '_>),
) {
    let most = clause.slack_us() + PROXY;
    let shown = leaving.shown;
    let requests = requests(leaving.pod, service);
    let late =
        requests.iter().rfind(|asked| (1..leaving.lasted).contains(&run.at_least(&shown.at, &asked.at)));
    if let Some(late) = late {
        let bound = Bound::at_most(most, "slack + 2 s for the node's proxy");
        let quantity = format!("from the deletion to the last new connection through `{}`", service.name);
        if let Some(measured) = run.measure(quantity, &leaving.pod.node, shown, *late, bound) {
            measure_last_request(run, seen, measured, (leaving.pod, Some(changed), *late));
        }
    }
    let calls = calls_after(run, leaving.pod, service, (&shown.at, most, leaving.lasted));
    let enough = calls.len() >= clause.tolerance_times("calls");
    if let (Some(first), Some(last), true) = (calls.first(), calls.last(), enough) {
        seen.fine([shown.id, *first, *last]);
    }
}
