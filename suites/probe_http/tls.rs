//! HTTPS probes: which certificates and protocols they accept, and what they do if TLS is not available.
//!
//! The plan in the pod's spec defines which protocols a target offers, and whether it asks for a certificate. A pod
//! without a plan is judged only by the negotiated protocol.

use probity_model::timeline::{Connection, Handler, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};
use probity_script::{Certificate, ClientCertificate, Listener};

use super::address::counted_as_success;
use crate::reading::arrivals::{Arrival, Get, arrivals, gets};
use crate::reading::wrong_protocol::judge_wrong_protocol;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.https-skips-verification", judge: certificates_are_not_verified },
    Judge { clause: "probe.http.https-wire-details", judge: wire_details },
];

/// The alerts with which a client rejects a certificate (RFC 8446, section 6.2).
const ALERTS: [&str; 6] = [
    "BadCertificate",
    "UnsupportedCertificate",
    "CertificateRevoked",
    "CertificateExpired",
    "CertificateUnknown",
    "UnknownCA",
];

/// No target has a certificate that could be verified, so a request after the handshake shows that the certificate was
/// not verified.
fn certificates_are_not_verified(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_wrong_protocol(
        run,
        seen,
        |handler| matches!(handler, Handler::Http { scheme, .. } if scheme == "HTTPS"),
    );
    for get in https(run) {
        for connection in connections(&get) {
            let Some((id, tls)) = connection.tls else { continue };
            let alert = tls.error.as_deref().filter(|error| ALERTS.iter().any(|alert| error.contains(alert)));
            if let Some(error) = alert {
                let finding = format!("{} aborted the handshake: {error}", get.words());
                seen.violated(finding, [connection.id, id]);
            }
        }
    }
    for Arrival { get, hit } in https_arrivals(run) {
        if let Some((id, _)) = hit.connection.tls.filter(|(_, tls)| tls.version.is_some()) {
            seen.fine([id, hit.asked.id]);
            if let Some(tls) = listener(&get).and_then(|listener| listener.tls) {
                seen.facet("certificate", word(tls.certificate));
            }
        }
    }
}

fn word(certificate: Certificate) -> &'static str {
    match certificate {
        Certificate::SelfSigned => "self-signed",
        Certificate::Expired => "expired",
        Certificate::NotYetValid => "not-yet-valid",
        Certificate::WrongName => "wrong-name",
    }
}

/// A probe uses HTTP/2 if the server offers it, never sends a client certificate, and sends no request if TLS cannot be
/// negotiated.
fn wire_details(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in https_arrivals(run) {
        agreed_on(&arrival, seen);
    }
    for get in https(run) {
        for connection in connections(&get) {
            if let Some((id, _)) = connection.tls.filter(|(_, tls)| tls.client_certificate) {
                let finding = format!("{} presented a client certificate", get.words());
                seen.violated(finding, [connection.id, id]);
            }
        }
        let Some(listener) = listener(&get) else { continue };
        if listener.tls.is_none_or(|tls| tls.client_certificate == ClientCertificate::Required) {
            is_turned_away(&get, seen);
        }
    }
}

/// A probe uses the protocol that its handshake negotiated.
fn agreed_on(arrival: &Arrival<'_, '_>, seen: &mut Seen) {
    let (hit, words) = (&arrival.hit, arrival.get.words());
    let Some((tls_id, tls)) = hit.connection.tls else {
        if !hit.attempt.holes.is_empty() {
            let why = format!("{words} arrived without TLS, but the target's record is incomplete");
            return seen.doubt(Doubt::WitnessMissing, why, [hit.asked.id]);
        }
        let finding = format!("{words} has the scheme HTTPS, but did not use TLS");
        return seen.violated(finding, [hit.connection.id, hit.asked.id]);
    };
    let offers_http2 = listener(&arrival.get).and_then(|listener| listener.tls).is_some_and(|tls| {
        tls.alpn.is_none_or(|protocols| protocols.iter().any(|protocol| protocol == "h2"))
    });
    let finding = match (tls.alpn.as_deref(), hit.asked.request.protocol.as_str()) {
        (Some("h2"), "HTTP/2") => None,
        (Some("h2"), spoken) => Some(format!("{words} negotiated h2, but used {spoken}")),
        (_, "HTTP/2") => Some(format!("{words} used HTTP/2 without negotiating it")),
        _ if offers_http2 => Some(format!("{words} did not negotiate h2, although the target offered it")),
        _ => None,
    };
    seen.check(finding.is_none(), || finding.unwrap_or_default(), [tls_id, hit.asked.id]);
}

/// Connections to a target that refuses TLS close before any request, and the probe never counts as a success.
fn is_turned_away(get: &Get<'_, '_>, seen: &mut Seen) {
    for connection in connections(get).filter(|connection| connection.requests == 0) {
        let spoke = connection.closed.as_ref().filter(|closed| closed.received > 0);
        match (connection.tls, spoke) {
            (Some((id, tls)), _) if tls.error.is_some() => seen.fine([connection.id, id]),
            (None, Some(closed)) => seen.fine([connection.id, closed.at.id]),
            _ => {}
        }
    }
    let readiness = get.spec.kind == ProbeKind::Readiness;
    let success = counted_as_success(get.pod, get.container, get.spec.kind).filter(|_| readiness);
    if let Some(shown) = success {
        let finding = format!("{} succeeded although the target refuses TLS", get.words());
        seen.violated(finding, [shown]);
    }
}

fn https_arrivals<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Arrival<'t, 'h>> {
    arrivals(run).into_iter().filter(|arrival| arrival.get.scheme == "HTTPS")
}

/// The HTTPS probes of a pod's own ports, if no other probe goes to the same port.
fn https<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Get<'t, 'h>> {
    let alone = |get: &Get<'_, '_>| {
        let same_pod = get.pod.containers.iter().flat_map(|container| &container.probes);
        same_pod.filter(|spec| spec.handler.port() == get.port.number).count() == 1
    };
    gets(run).into_iter().filter(move |get| get.scheme == "HTTPS" && get.host.is_none() && alone(get))
}

/// The connections to a probe's port.
fn connections<'t, 'h>(get: &Get<'t, 'h>) -> impl Iterator<Item = &'t Connection<'h>> + use<'t, 'h> {
    let port = get.port.number;
    let attempts = get.pod.containers.iter().flat_map(|container| &container.attempts);
    let all = attempts.flat_map(|attempt| &attempt.connections);
    all.filter(move |connection| port.is_some() && connection.port() == port)
}

/// The listener on a probe's port, according to the plan in the pod's spec.
fn listener(get: &Get<'_, '_>) -> Option<Listener> {
    let plans = get.pod.containers.iter().filter_map(|container| container.plan());
    plans
        .flat_map(|plan| plan.listeners.into_values())
        .find(|listener| get.port.number == Some(listener.port))
}

#[cfg(test)]
mod tests;
