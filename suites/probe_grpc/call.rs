//! The gRPC call of a health check: its service, its metadata, and its connection.

use probity_model::history::NodeFacts;
use probity_model::measure::{SECOND, seconds};
use probity_model::timeline::{Asked, Connection, ContainerLife, Handler, Lives, ProbeKind, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::version::minor;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ports::{judge_late_end, stays_open};

/// The metadata that a check may have: what the kubelet sends, and what HTTP/2 and gRPC add.
const METADATA: [&str; 5] = ["content-type", "user-agent", "grpc-timeout", "te", "grpc-accept-encoding"];

/// The gRPC method that a check calls.
const CHECK: &str = "/grpc.health.v1.Health/Check";

/// The units of a deadline in microseconds, as gRPC over HTTP/2 defines them; nanoseconds are handled separately.
const UNITS: [(&str, i64); 5] =
    [("H", 60 * 60 * SECOND), ("M", 60 * SECOND), ("S", SECOND), ("m", SECOND / 1000), ("u", 1)];

/// The request names the service of the spec, or the empty service if there is none.
pub(super) fn service_is_passed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    passes(run, seen, |_| true);
}

/// Names with a hyphen, as the documentation recommends, arrive unchanged.
pub(super) fn joined_names_pass(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    passes(run, seen, |service| service.contains('-'));
}

fn passes(run: &Timeline<'_>, seen: &mut Seen, concerns: impl Fn(&str) -> bool) {
    for life in run.lives() {
        for asked in life.requests.iter().filter(|asked| asked.from_prober()) {
            let Some(service) = asked.request.service.as_deref() else { continue };
            let Some(port) = life.connection(asked).and_then(Connection::port) else { continue };
            let written: Vec<&str> = services(life.container, port).collect();
            if written.contains(&service) {
                seen.fine(concerns(service).then_some(asked.id));
            } else if !written.is_empty() && written.iter().all(|of| concerns(of)) {
                let (of, written) = (life.name(), written.join("` or `"));
                let finding =
                    format!("a probe of {of} checked the service `{service}` instead of `{written}`");
                seen.violated(finding, [asked.id]);
            }
        }
    }
}

/// The services that a container's health checks request on a port.
fn services<'t>(container: &'t ContainerLife<'_>, at: u16) -> impl Iterator<Item = &'t str> {
    container.probes.iter().filter_map(move |probe| match &probe.handler {
        Handler::Grpc { service, port } if port.number == Some(at) => Some(service.as_str()),
        _ => None,
    })
}

/// The instances of all containers with a health check.
pub(super) fn with_checks<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    run.lives().of_each(&ProbeKind::ALL).only(|life| matches!(life.spec.handler, Handler::Grpc { .. }))
}

/// The health checks of an instance that arrived as requests and can only come from this kind of probe.
pub(super) fn asked<'t, 'h>(life: &ProbedLife<'t, 'h>) -> impl Iterator<Item = &'t Asked<'h>> {
    let (attempt, kind) = (life.attempt, life.spec.kind);
    attempt.probes_of(kind).filter_map(|probe| attempt.request(probe))
}

/// A check carries the kubelet's name and version, a deadline, and nothing else.
pub(super) fn metadata(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in with_checks(run) {
        let kubelet = run.history.header.nodes.get(&life.node);
        for asked in asked(&life) {
            if let Some(finding) = wrong(asked, kubelet, life.spec.timeout) {
                seen.violated(format!("{} {finding}", life.words()), [asked.id]);
            } else if kubelet.and_then(NodeFacts::kubelet_minor).is_none() {
                let why = "the kubelet's version is not known: the harness has no permission to read nodes";
                seen.doubt(Doubt::Ambiguous, why, [asked.id]);
            } else {
                seen.fine([asked.id]);
            }
        }
    }
}

/// The first error in a health check.
fn wrong(asked: &Asked<'_>, kubelet: Option<&NodeFacts>, timeout: i64) -> Option<String> {
    if asked.request.target != CHECK {
        return Some(format!("called {}", asked.request.target));
    }
    let strange = || {
        let mut names = asked.request.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
        let other = names.find(|name| !name.starts_with(':') && !METADATA.contains(&name.as_str()))?;
        Some(format!("`{other}` too"))
    };
    let found = wrong_agent(asked, kubelet).or_else(|| wrong_deadline(asked, timeout)).or_else(strange);
    found.map(|found| format!("arrived with {found}"))
}

/// What is wrong with the user agent of a check, if it is not the kubelet's.
fn wrong_agent(asked: &Asked<'_>, kubelet: Option<&NodeFacts>) -> Option<String> {
    let agents: Vec<&str> = asked.header("user-agent").collect();
    let fits = |agent: &str| {
        let (own, library) = agent.strip_prefix("kube-probe/")?.split_once(' ')?;
        let (own, expected) = (minor(own)?, kubelet.and_then(NodeFacts::kubelet_minor));
        Some(expected.is_none_or(|expected| expected == own) && library.starts_with("grpc-go/"))
    };
    match agents.as_slice() {
        [] => Some("no user agent".to_owned()),
        [agent] if fits(agent) == Some(true) => None,
        _ => Some(format!("the user agent {}", agents.join(", "))),
    }
}

/// What is wrong with the deadline of a check, if it does not keep the probe within its timeout.
fn wrong_deadline(asked: &Asked<'_>, timeout: i64) -> Option<String> {
    let Some(written) = asked.header("grpc-timeout").next() else { return Some("no deadline".to_owned()) };
    match micros(written) {
        Some(us) if us <= timeout => None,
        Some(_) => Some(format!("a deadline of {written}, which is longer than the timeout")),
        None => Some(format!("the invalid deadline {written}")),
    }
}

/// Converts a deadline in the format of gRPC (up to eight digits and a unit) to microseconds.
fn micros(written: &str) -> Option<i64> {
    if let Some(nanos) = written.strip_suffix('n') {
        return nanos.parse::<i64>().ok().map(|nanos| nanos / 1000);
    }
    let of_unit =
        |(unit, us): &(&str, i64)| written.strip_suffix(unit)?.parse::<i64>().ok()?.checked_mul(*us);
    UNITS.iter().find_map(of_unit)
}

/// Each health check has its own connection, which is closed after the check. Two health checks of the same kind are
/// needed to show this.
pub(super) fn fresh_each_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in with_checks(run) {
        let mut previous = None;
        for asked in asked(&life) {
            let Some(connection) = life.connection(asked) else { continue };
            let nth = asked.request.nth;
            let open_for = clause.tolerance_us("open");
            if let Some(answer) = &asked.answer {
                let end = (&answer.at, open_for, life.words());
                judge_late_end(run, life.attempt, connection, end, seen);
            }
            if let Some(answer) = &asked.answer
                && stays_open(run, (life.pod, life.attempt), connection, (&answer.at, open_for))
            {
                let finding = format!(
                    "a connection of {} was still open {} after its answer",
                    life.words(),
                    seconds(open_for)
                );
                seen.violated(finding, [connection.id, answer.at.id]);
            }
            if nth > 1 {
                let (of, peer) = (life.words(), &connection.accepted.peer);
                let finding = format!("{of} sent request {nth} on a connection from {peer}");
                seen.violated(finding, [connection.id, asked.id]);
            } else if let Some(before) = previous.replace(asked.id) {
                seen.fine([before, asked.id]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
