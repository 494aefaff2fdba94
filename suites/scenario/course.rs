//! Queries that several scenarios use: when the fault started, what an endpoint depends on, when a port was opened, and
//! which client requests failed. It also contains the judgements that several scenarios share.

use std::collections::BTreeMap;

use probity_model::clocks::Stamp;
use probity_model::history::{Happening, Sighting};
use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::NEAR;
use probity_model::stamp::counted;
use probity_model::timeline::{
    Attempt, ContainerLife, ContainerSeen, Handler, Line, PodLife, Probe, ProbeOutcome, ProbeSpec,
    ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::answer::HttpAnswer;
use probity_script::witness::{Call, Fact};
use probity_script::{Listener, Plan};

use crate::reading::ports::opens;
use crate::reading::services::Service;
use crate::reading::termination::Exhausted;

/// The change of the plan for the endpoint of a probe, after the last successful probe. None if there were several
/// changes.
pub(super) fn change_between<'t, 'h>(
    attempt: &'t Attempt<'h>,
    last_good: &Probe<'_>,
    first_bad: &Probe<'_>,
) -> Option<&'t Line<'h>> {
    let endpoint = first_bad.endpoint?;
    let mut changes = attempt.lines.iter().filter(|line| {
        let between = line.at.at.lo >= last_good.at.at.lo && line.at.at.hi <= first_bad.at.at.hi;
        between && matches!(&line.line.fact, Fact::Change(change) if change.endpoints.contains(endpoint))
    });
    let only = changes.next();
    only.filter(|_| changes.next().is_none())
}

/// The listener of a plan at a port.
pub(super) fn listener(plan: &Plan, port: u16) -> Option<&Listener> {
    plan.listeners.values().find(|listener| listener.port == port)
}

/// The URL that the endpoint of an HTTP probe requests before it answers, according to the plan in the pod's spec.
pub(super) fn depends_on(container: &ContainerLife<'_>, spec: &ProbeSpec) -> Option<String> {
    let Handler::Http { path, port, .. } = &spec.handler else { return None };
    let plan = container.plan()?;
    let paths = &listener(&plan, port.number?)?.paths;
    let path = path.split('?').next().unwrap_or_default();
    let script = paths.get(path).or_else(|| paths.get("*"))?;
    script.steps().iter().find_map(|step| match &step.answer {
        HttpAnswer::Reply(reply) => reply.depends_on.as_ref().map(|depends| depends.url.clone()),
        _ => None,
    })
}

/// The host and the port of a URL; 80 is the default port of HTTP according to RFC 9110.
pub(super) fn host_and_port(url: &str) -> Option<(&str, u16)> {
    let authority = url.strip_prefix("http://")?.split('/').next()?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    Some((host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

/// Whether an endpoint called its dependency in this span of the node's clock and got no answer or an error.
pub(super) fn refused_by_dependency(attempt: &Attempt<'_>, endpoint: &str, span: (i64, i64)) -> bool {
    attempt.lines.iter().any(|line| {
        let during = (span.0..=span.1).contains(&line.at.at.lo);
        matches!(&line.line.fact, Fact::Call(call)
            if during && call.by == endpoint && !call.succeeded())
    })
}

/// When a port was first opened in an instance.
pub(super) fn opened<'t, 'h>(attempt: &'t Attempt<'h>, port: u16) -> Option<&'t Line<'h>> {
    attempt.lines.iter().find(|line| opens(line, port))
}

/// A request from one of the case's clients, and its result.
pub(super) struct ClientRequest<'t, 'h> {
    /// The line that reports the request, written at its end.
    pub(super) line: &'t Line<'h>,
    /// The request.
    pub(super) call: &'h Call,
}

impl ClientRequest<'_, '_> {
    /// How long it took, in microseconds.
    pub(super) fn took(&self) -> i64 {
        counted(self.call.took_us)
    }

    /// Whether it got an answer that is not an error.
    pub(super) fn good(&self) -> bool {
        self.call.succeeded()
    }

    /// Whether the request was sent between two times, and ended before the later one.
    pub(super) fn began_between(&self, run: &Timeline<'_>, from: &Stamp, to: &Stamp) -> bool {
        let skipped = self.call.error.as_ref().is_some_and(|error| error.starts_with("skipped"));
        let since = run.clocks.between(from, &self.line.at).is_some_and(|span| span.lo > self.took());
        !skipped && since && run.before(&self.line.at, to)
    }
}

/// All requests from the case's clients.
pub(super) fn requests<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = ClientRequest<'t, 'h>> {
    let attempts = run.containers().flat_map(|(_, container)| &container.attempts);
    attempts.flat_map(|attempt| &attempt.lines).filter_map(|line| match &line.line.fact {
        Fact::Call(call) => Some(ClientRequest { line, call }),
        _ => None,
    })
}

/// The requests from the case's clients to a port of a pod, directly or through a Service.
pub(super) fn requests_to<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &PodLife<'_>,
    port: u16,
    services: &[Service<'_, '_>],
) -> Vec<ClientRequest<'t, 'h>> {
    let directly =
        |call: &Call| host_and_port(&call.url).is_some_and(|(host, of)| of == port && pod.ip() == Some(host));
    let through = |service: &Service<'_, '_>, call: &Call| {
        service.selects(pod) && !service.publishes && service.was_called(pod, call)
    };
    let reached = |call: &Call| directly(call) || services.iter().any(|service| through(service, call));
    requests(run).filter(|request| reached(request.call)).collect()
}

/// A revision of an object on a watch: the event, its time, and the object.
pub(super) type Shown<'h> = (EventId, i64, &'h Sighting);

/// The revisions of the objects of a kind on the watch.
pub(super) fn sightings<'h>(run: &Timeline<'h>, wanted: &str) -> impl Iterator<Item = Shown<'h>> {
    let events = run.history.events().filter(|(_, event)| event.us <= run.ended_us);
    events.filter_map(move |(id, event)| match &event.what {
        Happening::Sighting(sighting) if sighting.kind == wanted => Some((id, event.us, sighting)),
        _ => None,
    })
}

/// The revisions of the objects of a kind, each in its order.
pub(super) fn objects<'h>(run: &Timeline<'h>, wanted: &str) -> impl Iterator<Item = Vec<Shown<'h>>> {
    let mut objects: BTreeMap<&str, Vec<Shown<'h>>> = BTreeMap::new();
    for shown in sightings(run, wanted) {
        objects.entry(&shown.2.name).or_default().push(shown);
    }
    objects.into_values()
}

/// Notes the time between the first and the last of several stop signals on a node.
pub(super) fn note_spread(
    run: &Timeline<'_>,
    seen: &mut Seen,
    quantity: &str,
    (node, stops): (&str, &[&Line<'_>]),
) {
    let first = stops.iter().min_by_key(|stop| stop.at.at.lo);
    let last = stops.iter().max_by_key(|stop| stop.at.at.lo);
    let spread =
        first.zip(last).and_then(|(from, to)| run.measure(quantity, node, *from, *to, Bound::default()));
    spread.into_iter().for_each(|spread| seen.note(spread));
}

/// Whether the container stayed ready between two probes, which passed, as did all probes between them. If not, this is a
/// violation, or a doubt if the node was busy, because a kubelet without CPU time may read an answer after the timeout.
pub(super) fn stays_ready(
    life: &ProbedLife<'_, '_>,
    (first, last): (&Probe<'_>, &Probe<'_>),
    finding: &str,
    seen: &mut Seen,
) -> bool {
    let Some(revision) = unready_between(life, &first.at, &last.at) else { return true };
    let events = [first.id, revision, last.id];
    if life.noise(&first.at, &last.at) >= life.spec.timeout - NEAR {
        seen.doubt(
            Doubt::Ambiguous,
            format!("{finding}; the node was busy, so a probe may have timed out"),
            events,
        );
    } else {
        seen.violated(finding, events);
    }
    false
}

/// The first revision between two instants that shows the container running and not ready.
fn unready_between(life: &ProbedLife<'_, '_>, from: &Stamp, to: &Stamp) -> Option<EventId> {
    let between = |shown: &Revision<'_>| life.run.before(from, &shown.at) && life.run.before(&shown.at, to);
    let mut revisions = life.revisions().filter(|(revision, _)| between(revision));
    let unready = revisions
        .find(|(revision, container)| container.is_running() && !container.ready && !revision.terminating());
    unready.map(|(revision, _)| revision.id)
}

/// The first revision after an instant that shows the container and its pod not ready.
pub(super) fn shown_unready<'t, 'h>(life: &ProbedLife<'t, 'h>, from: &Stamp) -> Option<&'t Revision<'h>> {
    let unready = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
        !container.ready && revision.is("Ready") == Some(false)
    };
    life.first_shown(from, unready)
}

/// After `failureThreshold` timeouts of the readiness probe, the container becomes not ready in time.
pub(super) fn falls_by_lateness(clause: &Clause, seen: &mut Seen, life: &ProbedLife<'_, '_>) {
    let Some(spent) = Exhausted::of(life.clone()).filter(Exhausted::by_timeouts) else { return };
    let [first, ..] = spent.failures.as_slice() else { return };
    if !life.showed_ready(&first.at, true) {
        return;
    }
    if let Some(shown) = shown_unready(life, &first.at) {
        let quantity = "from the last of the late answers to Ready=False";
        life.within(seen, quantity, (&spent.at, shown), clause.in_time());
        return;
    }
    let after = life.probes.iter().copied().filter(|probe| probe.at.at.lo >= spent.at.at.hi);
    let Some(last) = after.take_while(|probe| life.outcome(probe) == ProbeOutcome::Failure).last() else {
        return;
    };
    let lasted = last.at.at.lo - spent.at.at.hi - life.noise(&spent.at, &last.at);
    if lasted > clause.slack_us() {
        let finding =
            format!("answers came after the timeout for {}, but the container stayed ready", seconds(lasted));
        seen.violated(finding, [first.id, spent.at.id, last.id]);
    }
}
