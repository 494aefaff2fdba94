//! The call of a health check: the service that it asks for, its metadata, and its connection.

use probity_model::history::NodeFacts;
use probity_model::timeline::{Asked, Attempt, ContainerLife, Handler, PodLife, ProbeSpec, Through};
use probity_model::verdict::Doubt;
use probity_model::version::minor;
use probity_model::{Clause, EventId, Seen, Timeline};

/// What HTTP/2 and gRPC themselves put beside the metadata.
const OF_THE_PROTOCOL: [&str; 2] = ["te", "grpc-accept-encoding"];

/// The method of a check.
const CHECK: &str = "/grpc.health.v1.Health/Check";

/// The service of the spec is asked for; the empty one if it has none.
pub(super) fn service_is_passed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    passes(run, seen, |_| true);
}

/// Names joined by a hyphen, as the documentation advises, arrive as they are written.
pub(super) fn joined_names_pass(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    passes(run, seen, |service| service.contains('-'));
}

fn passes(run: &Timeline<'_>, seen: &mut Seen, concerns: impl Fn(&str) -> bool) {
    for (pod, container) in run.containers() {
        let wanted: Vec<(&str, Option<u16>)> = checks(container).collect();
        if !wanted.iter().any(|(service, _)| concerns(service)) {
            continue;
        }
        seen.applies();
        for attempt in &container.attempts {
            for asked in attempt.requests.iter().filter(|asked| of_prober(asked)) {
                let Some(service) = asked.request.service.as_deref() else { continue };
                let Some(port) = attempt.connection(asked).and_then(|connection| connection.port()) else {
                    continue;
                };
                let at_port: Vec<&str> =
                    wanted.iter().filter(|(_, of)| *of == Some(port)).map(|(service, _)| *service).collect();
                if at_port.contains(&service) && concerns(service) {
                    seen.fine([asked.id]);
                } else if !at_port.is_empty()
                    && !at_port.contains(&service)
                    && at_port.iter().all(|of| concerns(of))
                {
                    let finding = format!(
                        "a probe of {}/{} asked for the service `{service}` instead of `{}`",
                        pod.key,
                        container.name,
                        at_port.join("` or `")
                    );
                    seen.violated(finding, [asked.id]);
                }
            }
        }
    }
}

/// The services and ports of a container's checks.
fn checks<'t>(container: &'t ContainerLife<'_>) -> impl Iterator<Item = (&'t str, Option<u16>)> {
    container.probes.iter().filter_map(|probe| match &probe.handler {
        Handler::Grpc { service, port } => Some((service.as_str(), port.number)),
        _ => None,
    })
}

fn of_prober(asked: &Asked<'_>) -> bool {
    asked.header("user-agent").any(|agent| agent.starts_with("kube-probe/"))
}

/// A check that arrived.
struct Arrival<'t, 'h> {
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
    spec: &'t ProbeSpec,
    attempt: &'t Attempt<'h>,
    asked: &'t Asked<'h>,
}

impl Arrival<'_, '_> {
    fn words(&self) -> String {
        format!("the {} probe of {}/{}", self.spec.kind.word(), self.pod.key, self.container.name)
    }
}

fn arrivals<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Arrival<'t, 'h>> {
    let mut arrivals = Vec::new();
    for (pod, container, spec) in run.probes() {
        if !matches!(spec.handler, Handler::Grpc { .. }) {
            continue;
        }
        for attempt in &container.attempts {
            let requests = attempt.probes_of(spec.kind).filter_map(|probe| match probe.through {
                Through::Request(at) => attempt.requests.get(at),
                _ => None,
            });
            arrivals.extend(requests.map(|asked| Arrival { pod, container, spec, attempt, asked }));
        }
    }
    arrivals
}

/// A check carries the kubelet's name and version, a deadline, and nothing else.
pub(super) fn metadata(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        seen.applies();
        let (asked, words) = (arrival.asked, arrival.words());
        if asked.request.target != CHECK {
            seen.violated(format!("{words} called {}", asked.request.target), [asked.id]);
            continue;
        }
        let kubelet = run.history.header.nodes.get(&arrival.attempt.node);
        if let Some(finding) = wrong_agent(asked, kubelet) {
            seen.violated(format!("{words} came with {finding}"), [asked.id]);
        } else if let Some(finding) = wrong_deadline(asked, arrival.spec.timeout) {
            seen.violated(format!("{words} came with {finding}"), [asked.id]);
        } else if let Some(other) = strange(asked) {
            seen.violated(format!("{words} came with `{other}` too"), [asked.id]);
        } else if kubelet.is_none_or(|node| minor(node.kubelet.trim_start_matches('v')).is_none()) {
            let why = "the kubelet's version is not known: the harness may not read nodes";
            seen.doubt(Doubt::Ambiguous, why, [asked.id]);
        } else {
            seen.fine([asked.id]);
        }
    }
}

/// What is wrong with the user agent.
fn wrong_agent(asked: &Asked<'_>, node: Option<&NodeFacts>) -> Option<String> {
    let agents: Vec<&str> = asked.header("user-agent").collect();
    let said = || {
        format!("the user agent {}", if agents.is_empty() { "none".to_owned() } else { agents.join(", ") })
    };
    let [agent] = agents.as_slice() else { return Some(said()) };
    let Some((own, library)) = agent.strip_prefix("kube-probe/").and_then(|rest| rest.split_once(' ')) else {
        return Some(said());
    };
    let version = minor(own);
    let expected = node.and_then(|node| minor(node.kubelet.trim_start_matches('v')));
    let fits = version.is_some() && expected.is_none_or(|expected| version == Some(expected));
    (!fits || !library.starts_with("grpc-go/")).then(said)
}

/// What is wrong with the deadline.
fn wrong_deadline(asked: &Asked<'_>, timeout: i64) -> Option<String> {
    let Some(written) = asked.header("grpc-timeout").next() else { return Some("no deadline".to_owned()) };
    match micros(written) {
        Some(us) if us <= timeout => None,
        Some(_) => Some(format!("a deadline of {written}, which is longer than the timeout")),
        None => Some(format!("a deadline of {written}, which is no time")),
    }
}

/// A deadline as gRPC writes it: up to eight digits and a unit. In microseconds.
fn micros(written: &str) -> Option<i64> {
    let unit = written.chars().last()?;
    let number: i64 = written.strip_suffix(unit)?.parse().ok()?;
    match unit {
        'H' => number.checked_mul(3_600_000_000),
        'M' => number.checked_mul(60_000_000),
        'S' => number.checked_mul(1_000_000),
        'm' => number.checked_mul(1000),
        'u' => Some(number),
        'n' => Some(number / 1000),
        _ => None,
    }
}

/// Metadata that no kubelet sends.
fn strange<'h>(asked: &Asked<'h>) -> Option<&'h str> {
    let known = |name: &str| {
        name.starts_with(':')
            || ["content-type", "user-agent", "grpc-timeout"].contains(&name)
            || OF_THE_PROTOCOL.contains(&name)
    };
    asked
        .request
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .find(|name| !known(&name.to_ascii_lowercase()))
}

/// Each check has a connection of its own, which is closed after it. It takes two checks of a kind to show it.
pub(super) fn fresh_each_time(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let mut before: Option<(String, EventId)> = None;
    for arrival in arrivals(run) {
        seen.applies();
        let asked = arrival.asked;
        let Some(connection) = arrival.attempt.connection(asked) else { continue };
        if asked.request.nth > 1 {
            let peer = &connection.accepted.peer;
            let finding = format!(
                "{} came as request {} of a connection from {peer}",
                arrival.words(),
                asked.request.nth
            );
            seen.violated(finding, [connection.id, asked.id]);
            continue;
        }
        let of = format!("{} {}", arrival.attempt.boot, arrival.words());
        if let Some((_, previous)) = before.as_ref().filter(|(last, _)| *last == of) {
            seen.fine([*previous, asked.id]);
        }
        before = Some((of, asked.id));
    }
}

#[cfg(test)]
mod tests;
