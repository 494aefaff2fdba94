//! The results of health checks: SERVING is a success. Any other status, an error, or no answer is a failure.

use probity_model::timeline::{ContainerLife, Handler, ProbeKind};
use probity_model::{Clause, Seen, Timeline};
use probity_script::{Listener, Protocol};

use crate::reading::health::{by_serving, judge_checks};
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, judge_unreachable};
use crate::reading::wrong_protocol::judge_wrong_protocol;

/// The error for a service that is not known (code 5 of gRPC), as the plan and as the target write it.
const NOT_FOUND: [&str; 2] = ["not-found", "code 5"];
/// The error of a server without the health protocol (code 12 of gRPC).
const UNIMPLEMENTED: [&str; 2] = ["unimplemented", "code 12"];

/// `NOT_FOUND` is a failure.
pub(super) fn wrong_service_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_checks(run, clause, seen, |_, word, _| NOT_FOUND.contains(&word).then_some(CountsAs::Failure));
}

/// `UNIMPLEMENTED` is a failure, and so is a port that does not speak gRPC.
pub(super) fn unimplemented_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_checks(run, clause, seen, |_, word, _| UNIMPLEMENTED.contains(&word).then_some(CountsAs::Failure));
    listeners_fail(run, clause, seen, "whose port does not speak gRPC", |listener| {
        listener.protocol != Protocol::Grpc && listener.tls.is_none()
    });
}

/// A health check of a closed port fails.
pub(super) fn wrong_port_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_unreachable(run, clause, seen, ("whose port is closed", CountsAs::Failure), |probe| {
        is_check(&probe.spec.handler) && probe.there() == There::Nobody
    });
}

/// A health check of a server that speaks only TLS fails, and the kubelet never uses TLS for it.
pub(super) fn plaintext_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    listeners_fail(run, clause, seen, "whose port speaks TLS", |listener| {
        listener.protocol == Protocol::Grpc && listener.tls.is_some()
    });
    judge_wrong_protocol(run, seen, is_check);
    for (_, container, spec) in run.probes().filter(|(_, _, spec)| is_check(&spec.handler)) {
        let port = spec.handler.port();
        let of_http = |handler: &Handler| matches!(handler, Handler::Http { .. }) && handler.port() == port;
        if container.probes.iter().any(|other| of_http(&other.handler)) {
            continue;
        }
        let connections = container.attempts.iter().flat_map(|attempt| &attempt.connections);
        let secured = connections.filter(|connection| connection.port() == port).find_map(|connection| {
            let (id, tls) = connection.tls.as_ref()?;
            tls.error.is_none().then_some([connection.id, *id])
        });
        if let Some(events) = secured {
            let finding = format!("the {} probe of {} used TLS", spec.kind.word(), container.name);
            seen.violated(finding, events);
        }
    }
}

/// Health checks of all three kinds work on the same port.
pub(super) fn three_kinds_at_one_port(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_checks(run, clause, seen, |container, _, serving| {
        has_all_three(container).then_some(by_serving(serving))
    });
}

/// Whether all probes of a container are health checks at the same port.
fn has_all_three(container: &ContainerLife<'_>) -> bool {
    let port = |kind: ProbeKind| {
        let handler = &container.probe(kind)?.handler;
        handler.port().filter(|_| is_check(handler))
    };
    let [startup, liveness, readiness] = ProbeKind::ALL.map(port);
    startup.is_some() && startup == liveness && startup == readiness
}

fn is_check(handler: &Handler) -> bool {
    matches!(handler, Handler::Grpc { .. })
}

/// Judges the health checks that fail because of the kind of listener on their port.
fn listeners_fail(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    why: &str,
    is_such: impl Fn(&Listener) -> bool,
) {
    judge_unreachable(run, clause, seen, (why, CountsAs::Failure), |probe| {
        is_check(&probe.spec.handler)
            && matches!(probe.there(), There::Listener(listener) if is_such(&listener))
    });
}

#[cfg(test)]
mod tests;
