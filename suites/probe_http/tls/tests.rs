use probity_composer::{Composer, Told};
use probity_script::witness::{Fact, TlsSeen};
use serde_json::json;

use crate::tests::verdict;

const TRUST: &str = "probe.http.https-skips-verification";
const WIRE: &str = "probe.http.https-wire-details";

/// A target with an HTTPS probe of port 8443, on which a listener has these settings.
fn listening(clause: &str, tls: &str) -> Composer {
    let plan = format!(r#"{{ "listeners": {{ "web": {{ "port": 8443{tls} }} }} }}"#);
    let get = json!({ "path": "/ready", "port": 8443, "scheme": "HTTPS" });
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    let container = json!({ "name": "target", "env": env, "readinessProbe": { "httpGet": get } });
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    run
}

/// Adds a request over TLS, whose handshake negotiated `alpn`.
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
    run.create(0.0, &json!({ "containers": [{ "name": "target", "readinessProbe": { "httpGet": get } }] }));
    run.start(1.0, 0).probe(2.0, "/ready", 200);
    let history = run.done();
    assert_eq!(verdict(&history, TRUST), "none");
    assert_eq!(verdict(&history, WIRE), "none");
}
