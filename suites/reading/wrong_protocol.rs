//! Probes with a different protocol than their listener and their spec: TLS instead of plain text, or the other way
//! round; and probes that only connect.
//!
//! The target closes such connections before any request, or the kubelet closes them without a request, so the target
//! sees nothing else of the probe.

use probity_model::timeline::{Connection, Handler, ProbeKind, ProbeSpec, ProbedLife};
use probity_model::{EventId, Seen, Timeline};
use probity_script::witness::Ending;
use probity_script::{ClientCertificate, Listener, Protocol};

use super::arrivals::from_a_pod;

/// Reports probes with the handlers that `of` selects if the target understood none of these probes, although its
/// listener uses the protocol of the spec.
pub(crate) fn judge_wrong_protocol(run: &Timeline<'_>, seen: &mut Seen, of: impl Fn(&Handler) -> bool) {
    for life in run.lives().of_each(&ProbeKind::ALL).whole() {
        if of(&life.spec.handler) && life.is_asked_alone() && is_matched(&life) {
            judge_silent(&life, seen);
        }
        if !of(&life.spec.handler) || !life.probes.is_empty() || !life.is_asked_alone() || !is_matched(&life)
        {
            continue;
        }
        let broken: Vec<EventId> =
            life.connections.iter().filter(|one| is_broken_off(&life, one)).map(|one| one.id).collect();
        if let [_, _, ..] = broken.as_slice() {
            let finding = format!(
                "{} connections arrived at the port of {}, but each used a protocol other than the probe's",
                broken.len(),
                life.words()
            );
            seen.violated(finding, broken);
        }
    }
}

/// Reports a kubelet that opens at least as many connections without data as it sends probes: it opens bare
/// connections, instead of sending requests or in addition to them.
fn judge_silent(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let by_tcp = |other: &ProbeSpec| {
        matches!(other.handler, Handler::Tcp { .. }) && other.handler.port() == life.spec.handler.port()
    };
    let silent: Vec<&Connection<'_>> = life.connections.iter().filter(|one| is_silent(life, one)).collect();
    let ([first, _, .., last], false) = (silent.as_slice(), life.container.probes.iter().any(by_tcp)) else {
        return;
    };
    // Three of them are not a coincidence, but a stalled kubelet may close a connection before it has sent anything.
    let calm = life.noise(&first.at, &last.at) < life.spec.timeout;
    if calm && silent.len() >= life.probes.len() {
        let finding = format!(
            "{} connections arrived at the port of {} and were closed again without a single byte",
            silent.len(),
            life.words()
        );
        seen.violated(finding, silent.iter().map(|one| one.id));
    }
}

/// Whether the peer closed a connection from the node before it had sent anything.
fn is_silent(life: &ProbedLife<'_, '_>, connection: &Connection<'_>) -> bool {
    let left = connection.closed.as_ref().is_some_and(|closed| {
        closed.received == 0 && matches!(closed.how, Ending::PeerClosed | Ending::PeerReset)
    });
    connection.port() == life.spec.handler.port()
        && connection.requests == 0
        && connection.tls.is_none()
        && connection.accepted.answer == "serve"
        && left
        && !from_a_pod(life.run, connection)
}

/// Whether the target closed a connection from the node because of what it received.
fn is_broken_off(life: &ProbedLife<'_, '_>, connection: &Connection<'_>) -> bool {
    let failed_handshake = connection.tls.is_some_and(|(_, tls)| tls.error.is_some());
    let by_us = connection.closed.as_ref().is_some_and(|closed| {
        let failed = failed_handshake || closed.error.as_ref().is_some_and(|error| !error.is_empty());
        closed.how == Ending::WeClosed && closed.received > 0 && failed
    });
    connection.port() == life.spec.handler.port()
        && connection.requests == 0
        && connection.accepted.answer == "serve"
        && by_us
        && !from_a_pod(life.run, connection)
}

/// Whether the listener on the port uses the protocol of the spec.
fn is_matched(life: &ProbedLife<'_, '_>) -> bool {
    let port = life.spec.handler.port();
    let plan = life.container.plan().filter(|_| !life.was_changed()).unwrap_or_default();
    let Some(listener) = plan.listeners.into_values().find(|listener| Some(listener.port) == port) else {
        return false;
    };
    let Listener { protocol, tls, .. } = listener;
    match &life.spec.handler {
        Handler::Http { scheme, .. } if scheme == "HTTPS" => {
            protocol == Protocol::Http
                && tls.is_some_and(|tls| tls.client_certificate != ClientCertificate::Required)
        }
        Handler::Http { .. } => protocol == Protocol::Http && tls.is_none(),
        Handler::Grpc { .. } => protocol == Protocol::Grpc && tls.is_none(),
        Handler::Tcp { .. } | Handler::Exec { .. } => false,
    }
}
