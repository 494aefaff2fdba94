//! The course of trouble: when it began, what a probe's endpoint depends on, when a port was opened, and which requests
//! of our clients came to grief. Questions to a timeline; and the one verdict that several scenarios share, on answers
//! that come too late.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{
    Attempt, ContainerLife, ContainerSeen, Handler, Line, PodLife, Probe, ProbeKind, ProbeSpec, ProbedLife,
    Revision,
};
use probity_model::{Clause, Seen, Timeline};
use probity_script::answer::HttpAnswer;
use probity_script::witness::{Call, Fact};
use probity_script::{Listener, Plan};

use crate::reading::services::Service;
use crate::reading::tolerance::{Outcome, exhausted, timed_out};

/// The one change of a plan that lies between two probes and concerns the endpoint of the second.
pub(super) fn change_between<'t, 'h>(
    attempt: &'t Attempt<'h>,
    last_good: &Probe<'_>,
    first_bad: &Probe<'_>,
) -> Option<&'t Line<'h>> {
    let endpoint = first_bad.endpoint?;
    let between =
        |line: &&Line<'_>| line.at.at.lo >= last_good.at.at.lo && line.at.at.hi <= first_bad.at.at.hi;
    let concerns = |line: &&Line<'_>| matches!(&line.line.fact, Fact::Change(change) if change.endpoints.contains(endpoint));
    let mut changes = attempt.lines.iter().filter(between).filter(concerns);
    let only = changes.next();
    if changes.next().is_some() { None } else { only }
}

/// The listener of a plan at a port.
pub(super) fn listener(plan: &Plan, port: u16) -> Option<&Listener> {
    plan.listeners.values().find(|listener| listener.port == port)
}

/// The URL that a probe's HTTP endpoint asks before it answers, as its plan had it at the start.
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

/// The URL that the endpoint of a container's probe of this kind asks.
pub(super) fn dependency(container: &ContainerLife<'_>, kind: ProbeKind) -> Option<String> {
    depends_on(container, container.probe(kind)?)
}

/// Host and port of a URL.
pub(super) fn place(url: &str) -> Option<(&str, u16)> {
    let authority = url.strip_prefix("http://")?.split('/').next()?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    Some((host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

/// Whether a call for the sake of an endpoint found, in this span of the node's clock, nobody who would say yes.
pub(super) fn refused_by_dependency(attempt: &Attempt<'_>, endpoint: &str, span: (i64, i64)) -> bool {
    attempt.lines.iter().any(|line| {
        let during = (span.0..=span.1).contains(&line.at.at.lo);
        matches!(&line.line.fact, Fact::Call(call)
            if during && call.by == endpoint && call.status.is_none_or(|status| status >= 400))
    })
}

/// When a port was opened for the first time in a life.
pub(super) fn opened<'t, 'h>(attempt: &'t Attempt<'h>, port: u16) -> Option<&'t Line<'h>> {
    let end = format!(":{port}");
    attempt.lines.iter().find(|line| {
        matches!(&line.line.fact, Fact::Listening(seen) if seen.state == "open" && seen.address.ends_with(&end))
    })
}

/// A request of one of our clients, with what became of it.
pub(super) struct Asked<'t, 'h> {
    /// The line, written when it was done with.
    pub(super) line: &'t Line<'h>,
    /// The request.
    pub(super) call: &'h Call,
}

impl Asked<'_, '_> {
    /// How long it took, in microseconds.
    pub(super) fn took(&self) -> i64 {
        i64::try_from(self.call.took_us).unwrap_or(i64::MAX)
    }

    /// Whether it was answered well.
    pub(super) fn good(&self) -> bool {
        self.call.status.is_some_and(|status| status < 400)
    }

    /// Whether it was sent and began between two instants.
    pub(super) fn began_between(&self, run: &Timeline<'_>, from: &Stamp, to: &Stamp) -> bool {
        let skipped = self.call.error.as_ref().is_some_and(|error| error.starts_with("skipped"));
        let since = run.clocks.between(from, &self.line.at).is_some_and(|span| span.lo > self.took());
        !skipped && since && run.clocks.order(&self.line.at, to) == Order::Before
    }
}

/// The requests of our clients to a port of a pod, straight or by a service.
pub(super) fn asked_of<'t, 'h>(
    run: &'t Timeline<'h>,
    pod: &PodLife<'_>,
    port: u16,
    services: &[Service<'_, '_>],
) -> Vec<Asked<'t, 'h>> {
    let straight =
        |call: &Call| place(&call.url).is_some_and(|(host, of)| of == port && pod.ip() == Some(host));
    let brought = |call: &Call| {
        services
            .iter()
            .any(|service| service.selects(pod) && !service.publishes && service.was_called(pod, call))
    };
    calls(run).filter(|asked| straight(asked.call) || brought(asked.call)).collect()
}

/// All requests of our clients.
pub(super) fn calls<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Asked<'t, 'h>> {
    let lines =
        run.containers().flat_map(|(_, container)| &container.attempts).flat_map(|attempt| &attempt.lines);
    lines.filter_map(|line| match &line.line.fact {
        Fact::Call(call) => Some(Asked { line, call }),
        _ => None,
    })
}

/// Readiness probes that ran into their timeout as often as is tolerated: the container is not ready in time.
pub(super) fn falls_by_lateness(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
) {
    let Some(spent) = exhausted(life.attempt, life.spec) else { return };
    let (Some(first), Some(decisive)) = (spent.failures.first(), spent.failures.last()) else { return };
    let late = spent.failures.iter().all(|probe| timed_out(life.attempt, life.spec, probe));
    if !late || !life.showed_ready(&first.at, true) {
        return;
    }
    seen.applies();
    let slack = clause.slack_us();
    let down = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
        !container.ready && revision.is("Ready") == Some(false)
    };
    if let Some(shown) = life.first_shown(&first.at, down) {
        let bound = Bound::at_most(slack, "the clause's slack");
        let (from, to) = ((decisive.id, &spent.at), (shown.id, &shown.at));
        let quantity = "from the last of the late answers to Ready=False";
        if let Some(measured) = run.measure(quantity, &life.attempt.node, from, to, bound) {
            seen.measure(measured);
        }
        return;
    }
    let after = life.probes.iter().filter(|said| said.at.at.lo >= spent.at.at.hi);
    let failed = after.take_while(|said| life.outcome(said) == Outcome::Failure);
    let Some(last) = failed.last() else { return };
    let lasted = last.at.at.lo - spent.at.at.hi - run.noise_between(&life.attempt.node, &spent.at, &last.at);
    if lasted > slack {
        let finding = format!(
            "answers went on to come too late for {}, and the container stayed ready",
            seconds(lasted)
        );
        seen.violated(finding, [first.id, decisive.id, last.id]);
    }
}
