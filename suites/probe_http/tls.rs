//! HTTPS probes: whom they trust, what they offer, and what they do where TLS cannot be spoken.
//!
//! Which protocols a target offers, and whether it asks for a certificate, is in its plan, which travels in the pod's
//! spec. A pod without a plan is judged by what was agreed on alone.

use probity_model::timeline::{Connection, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};
use probity_script::{ClientCertificate, Listener, Plan};
use serde_json::Value;

use crate::reading::arrivals::{Arrival, Get, arrivals, gets};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.https-skips-verification", judge: certificates_are_not_verified },
    Judge { clause: "probe.http.https-wire-details", judge: wire_details },
];

/// What a client says that does not like a certificate, as the alerts are named.
const ALERTS: [&str; 6] = [
    "BadCertificate",
    "UnsupportedCertificate",
    "CertificateRevoked",
    "CertificateExpired",
    "CertificateUnknown",
    "UnknownCA",
];

/// No target has a certificate that could be verified, so a request after the handshake shows that it was not.
fn certificates_are_not_verified(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for get in https(run) {
        seen.applies();
        for connection in connections(&get) {
            let Some((id, tls)) = connection.tls else { continue };
            let alert = tls.error.as_deref().filter(|error| ALERTS.iter().any(|alert| error.contains(alert)));
            if let Some(error) = alert {
                let finding = format!("{} broke the handshake off: {error}", get.words());
                seen.violated(finding, [connection.id, id]);
            }
        }
    }
    for arrival in arrivals(run).into_iter().filter(|arrival| is_https(&arrival.get)) {
        if let Some((id, tls)) = arrival.hit.connection.tls
            && tls.version.is_some()
        {
            seen.fine([id, arrival.hit.asked.id]);
        }
    }
}

/// HTTP/2 where the server offers it, no client certificate, and nothing at all where TLS cannot be agreed on.
fn wire_details(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| is_https(&arrival.get)) {
        agreed_on(&arrival, seen);
    }
    for get in https(run) {
        seen.applies();
        for connection in connections(&get) {
            if let Some((id, tls)) = connection.tls
                && tls.client_certificate
            {
                let finding = format!("{} showed a client certificate", get.words());
                seen.violated(finding, [connection.id, id]);
            }
        }
        let Some(listener) = listener(&get) else { continue };
        let closed_to_all = match &listener.tls {
            None => true,
            Some(tls) => tls.client_certificate == ClientCertificate::Required,
        };
        if closed_to_all {
            is_turned_away(&get, seen);
        }
    }
}

/// What the handshake agreed on, and what was spoken then.
fn agreed_on(arrival: &Arrival<'_, '_>, seen: &mut Seen) {
    let (hit, words) = (&arrival.hit, arrival.get.words());
    let Some((tls_id, tls)) = hit.connection.tls else {
        if !hit.attempt.holes.is_empty() {
            let why = format!("{words} came without a word of TLS, but lines of the target are missing");
            return seen.doubt(Doubt::WitnessMissing, why, [hit.asked.id]);
        }
        let finding = format!("{words} has the scheme HTTPS, and came without TLS");
        seen.violated(finding, [hit.connection.id, hit.asked.id]);
        return;
    };
    let events = [tls_id, hit.asked.id];
    let offers_http2 = listener(&arrival.get)
        .and_then(|listener| listener.tls)
        .map(|tls| tls.alpn.is_none_or(|protocols| protocols.iter().any(|protocol| protocol == "h2")));
    let (agreed, spoken) = (tls.alpn.as_deref(), hit.asked.request.protocol.as_str());
    let finding = match (agreed, spoken) {
        (Some("h2"), "HTTP/2") => None,
        (Some("h2"), spoken) => Some(format!("{words} agreed on h2, and spoke {spoken}")),
        (_, "HTTP/2") => Some(format!("{words} spoke HTTP/2 without having agreed on it")),
        _ if offers_http2 == Some(true) => Some(format!("{words} did not agree on h2, which was offered")),
        _ => None,
    };
    match finding {
        Some(finding) => seen.violated(finding, events),
        None => seen.fine(events),
    }
}

/// Connections come and end before any request; the probe never counts as a success.
fn is_turned_away(get: &Get<'_, '_>, seen: &mut Seen) {
    for connection in connections(get).into_iter().filter(|connection| connection.requests == 0) {
        let spoke = connection.closed.as_ref().is_some_and(|closed| closed.received > 0);
        match (connection.tls, &connection.closed) {
            (Some((id, tls)), _) if tls.error.is_some() => seen.fine([connection.id, id]),
            (None, Some(closed)) if spoke => seen.fine([connection.id, closed.at.id]),
            _ => {}
        }
    }
    let counts = get.pod.revisions.iter().find(|shown| {
        let status = shown.container(&get.container.name);
        get.spec.kind == ProbeKind::Readiness && status.is_some_and(|status| status.ready)
    });
    if let Some(shown) = counts {
        let finding = format!("{} succeeded where TLS cannot be spoken with it", get.words());
        seen.violated(finding, [shown.id]);
    }
}

fn is_https(get: &Get<'_, '_>) -> bool {
    get.scheme == "HTTPS"
}

/// The HTTPS probes of a pod's own ports that no other kind of probe goes to.
fn https<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Get<'t, 'h>> {
    let alone = |get: &Get<'_, '_>| {
        let same_pod = run.probes().filter(|(pod, ..)| std::ptr::eq(*pod, get.pod));
        same_pod.filter(|(.., spec)| spec.handler.port() == get.port.number).count() == 1
    };
    gets(run).into_iter().filter(|get| is_https(get) && get.host.is_none() && alone(get)).collect()
}

/// The connections to a probe's port.
fn connections<'t, 'h>(get: &Get<'t, 'h>) -> Vec<&'t Connection<'h>> {
    let attempts = get.pod.containers.iter().flat_map(|container| &container.attempts);
    let all = attempts.flat_map(|attempt| &attempt.connections);
    all.filter(|connection| get.port.number.is_some() && connection.port() == get.port.number).collect()
}

/// The listener on a probe's port, as the plan in the pod's spec has it.
fn listener(get: &Get<'_, '_>) -> Option<Listener> {
    let plan = |spec: &Value| -> Option<Plan> {
        let env = spec.get("env")?.as_array()?;
        let plan =
            env.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some("AGNHOST_PLAN"))?;
        serde_json::from_str(plan.get("value")?.as_str()?).ok()
    };
    let plans = get.pod.containers.iter().filter_map(|container| plan(container.spec));
    plans
        .flat_map(|plan| plan.listeners.into_values())
        .find(|listener| get.port.number == Some(listener.port))
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told};
    use probity_script::witness::{Fact, TlsSeen};
    use serde_json::json;

    use crate::tests::verdict;

    const TRUST: &str = "probe.http.https-skips-verification";
    const WIRE: &str = "probe.http.https-wire-details";

    /// A target with a listener of these settings on 8443, and an HTTPS probe of it.
    fn listening(clause: &str, tls: &str) -> Composer {
        let plan = format!(r#"{{ "listeners": {{ "web": {{ "port": 8443{tls} }} }} }}"#);
        let get = json!({ "path": "/ready", "port": 8443, "scheme": "HTTPS" });
        let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
        let container = json!({ "name": "target", "env": env, "readinessProbe": { "httpGet": get } });
        let mut run = Composer::new(&[clause]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        run
    }

    /// A request over TLS that agreed on a protocol.
    fn asked(run: &mut Composer, alpn: Option<&str>, protocol: &str) {
        let told = Told { port: 8443, protocol: protocol.to_owned(), ..Told::get("/ready", 200) };
        run.http(2.0, &told);
        shook_hands(run, alpn, None, false);
    }

    fn shook_hands(run: &mut Composer, alpn: Option<&str>, error: Option<&str>, client_certificate: bool) {
        let version = error.is_none().then(|| "TLSv1.3".to_owned());
        let (alpn, error) = (alpn.map(str::to_owned), error.map(str::to_owned));
        let tls = TlsSeen { conn: 0, version, alpn, server_name: None, client_certificate, error };
        run.fact(2.0, Fact::Tls(tls));
    }

    #[test]
    fn a_request_after_the_handshake_holds() {
        let mut run = listening(TRUST, r#", "tls": { "certificate": "expired" }"#);
        asked(&mut run, Some("h2"), "HTTP/2");
        assert_eq!(verdict(&run.done(), TRUST), "holds");
    }

    #[test]
    fn an_alert_about_the_certificate_is_a_violation() {
        let mut run = listening(TRUST, r#", "tls": {}"#);
        run.connection(2.0, "web", 8443);
        shook_hands(&mut run, None, Some("received fatal alert: UnknownCA"), false);
        assert_eq!(verdict(&run.done(), TRUST), "violated");
    }

    #[test]
    fn a_handshake_that_broke_off_shows_nothing_of_trust() {
        let mut run = listening(TRUST, r#", "tls": {}"#);
        run.connection(2.0, "web", 8443);
        shook_hands(&mut run, None, Some("tls handshake eof"), false);
        assert_eq!(verdict(&run.done(), TRUST), "inconclusive");
    }

    #[test]
    fn http2_where_it_is_offered_holds() {
        let mut run = listening(WIRE, r#", "tls": {}"#);
        asked(&mut run, Some("h2"), "HTTP/2");
        assert_eq!(verdict(&run.done(), WIRE), "holds");
    }

    #[test]
    fn http1_where_http2_is_offered_is_a_violation() {
        let mut run = listening(WIRE, r#", "tls": {}"#);
        asked(&mut run, Some("http/1.1"), "HTTP/1.1");
        assert_eq!(verdict(&run.done(), WIRE), "violated");
    }

    #[test]
    fn http1_where_nothing_is_offered_holds() {
        let mut run = listening(WIRE, r#", "tls": { "alpn": [] }"#);
        asked(&mut run, None, "HTTP/1.1");
        assert_eq!(verdict(&run.done(), WIRE), "holds");
    }

    #[test]
    fn a_client_certificate_is_a_violation() {
        let mut run = listening(WIRE, r#", "tls": { "client-certificate": "optional" }"#);
        run.http(2.0, &Told { port: 8443, protocol: "HTTP/2".to_owned(), ..Told::get("/ready", 200) });
        shook_hands(&mut run, Some("h2"), None, true);
        assert_eq!(verdict(&run.done(), WIRE), "violated");
    }

    #[test]
    fn who_asks_for_a_certificate_is_never_asked() {
        let mut run = listening(WIRE, r#", "tls": { "client-certificate": "required" }"#);
        run.connection(2.0, "web", 8443);
        shook_hands(&mut run, None, Some("peer sent no certificates"), false);
        assert_eq!(verdict(&run.done(), WIRE), "holds");
    }

    #[test]
    fn a_plain_request_or_success_at_a_plain_port_is_a_violation() {
        let mut run = listening(WIRE, "");
        run.http(2.0, &Told { port: 8443, ..Told::get("/ready", 200) });
        assert_eq!(verdict(&run.done(), WIRE), "violated");
        let mut run = listening(WIRE, "");
        run.connection(2.0, "web", 8443);
        run.running(3.0, true, true, 0);
        assert_eq!(verdict(&run.done(), WIRE), "violated");
    }

    #[test]
    fn no_https_probe_says_nothing() {
        let mut run = Composer::new(&[]);
        let get = json!({ "path": "/ready", "port": 8080 });
        run.create(
            0.0,
            &json!({ "containers": [{ "name": "target", "readinessProbe": { "httpGet": get } }] }),
        );
        run.start(1.0, 0).probe(2.0, "/ready", 200);
        let history = run.done();
        assert_eq!(verdict(&history, TRUST), "none");
        assert_eq!(verdict(&history, WIRE), "none");
    }
}
