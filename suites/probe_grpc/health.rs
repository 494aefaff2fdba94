//! What the answers to health checks mean: SERVING is a success, and nothing else is, be it a status, an error or nobody.

use probity_model::timeline::{ContainerLife, Handler, ProbeKind};
use probity_model::{Clause, Seen, Timeline};
use probity_script::Protocol;

use crate::reading::answers::{Answer, Answers, of_others};
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, UnreachableProbe, there};

/// Whether an answer is SERVING, as the target writes it.
pub(crate) fn is_serving(word: &str) -> bool {
    ["serving", "status 1"].contains(&word)
}

/// Whether an answer is the error of a service that is not known.
fn is_not_found(word: &str) -> bool {
    ["not-found", "code 5"].contains(&word)
}

/// Whether an answer is the error of a server without the health protocol.
fn is_unimplemented(word: &str) -> bool {
    ["unimplemented", "code 12"].contains(&word)
}

/// SERVING is a success, and every other answer a failure.
pub(crate) fn serving_alone_succeeds(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| Some(is_serving(word)));
}

/// NOT_FOUND is a failure.
pub(super) fn wrong_service_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| is_not_found(word).then_some(false));
}

/// UNIMPLEMENTED is a failure, and so is a port at which no gRPC is spoken.
pub(super) fn unimplemented_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |_, word| is_unimplemented(word).then_some(false));
    in_vain(run, clause, seen, "whose port speaks no gRPC", |there| match there {
        There::Listener(listener) => listener.protocol != Protocol::Grpc && listener.tls.is_none(),
        There::Nobody | There::Unknown => false,
    });
}

/// A port that nobody opened is a failure.
pub(super) fn wrong_port_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    in_vain(run, clause, seen, "whose port nobody opened", |there| *there == There::Nobody);
}

/// A server that speaks TLS alone is not understood.
pub(super) fn plaintext_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    in_vain(run, clause, seen, "whose port speaks TLS", |there| match there {
        There::Listener(listener) => listener.protocol == Protocol::Grpc && listener.tls.is_some(),
        There::Nobody | There::Unknown => false,
    });
    for (_, container, spec) in run.probes() {
        let Handler::Grpc { port, .. } = &spec.handler else { continue };
        let connections = container.attempts.iter().flat_map(|attempt| &attempt.connections);
        let secured =
            connections.filter(|connection| connection.port() == port.number).find_map(|connection| {
                let (id, tls) = connection.tls.as_ref()?;
                tls.error.is_none().then_some([connection.id, *id])
            });
        let others = container.probes.iter().any(|other| {
            matches!(other.handler, Handler::Http { .. }) && other.handler.port() == port.number
        });
        if let Some(events) = secured.filter(|_| !others) {
            let of = format!("the {} probe of {}", spec.kind.word(), container.name);
            seen.violated(format!("{of} came over TLS"), events);
        }
    }
}

/// Checks of all three kinds work beside one another on one port.
pub(super) fn three_kinds_at_one_port(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge(run, clause, seen, |container, word| has_all_three(container).then_some(is_serving(word)));
}

/// Whether all probes of a container are health checks at the same port.
fn has_all_three(container: &ContainerLife<'_>) -> bool {
    let port = |kind: ProbeKind| match &container.probe(kind)?.handler {
        Handler::Grpc { port, .. } => port.number,
        _ => None,
    };
    let ports = ProbeKind::ALL.map(port);
    ports.iter().all(|of| of.is_some() && *of == ports[0])
}

/// Judges each run of checks by what their answer means; none says nothing.
fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    means: impl Fn(&ContainerLife<'_>, &str) -> Option<bool>,
) {
    let of_grpc = |answers: &Answers<'_, '_>| matches!(answers.course.spec.handler, Handler::Grpc { .. });
    for answers in of_others(run).iter().filter(|answers| of_grpc(answers)) {
        answers.judge(run, clause, seen, |exchange| match answers.told(exchange)? {
            Answer::Health(word) => {
                let success = means(answers.course.container, word)?;
                Some((success, format!("were answered with `{word}`")))
            }
            _ => None,
        });
    }
}

/// Judges the checks that are in vain for this reason.
fn in_vain(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, why: &str, fits: impl Fn(&There) -> bool) {
    for (pod, container, spec) in run.probes() {
        let Handler::Grpc { port, .. } = &spec.handler else { continue };
        if port.number.is_some_and(|port| fits(&there(pod, port))) {
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

#[cfg(test)]
mod tests;
