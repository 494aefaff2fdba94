//! TLS according to the plan: certificates of every kind, protocols, versions, and handshakes that fail or never end.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use probity_script::witness::{Ending, TlsSeen};
use probity_tests::target::Target;
use probity_tests::tls::{self, Wish, in_days, judge, shown};
use probity_tests::wire::{End, Wire, get};

fn target(tls: &str) -> Target {
    Target::start(&format!(
        "listeners: {{ web: {{ port: 0, tls: {tls}, paths: {{ /: {{ body: secret }} }} }} }}"
    ))
}

/// Does the TLS handshake, requests a path over HTTP/1 and reads to the end.
fn ask(to: SocketAddr, wish: &Wish<'_>) -> (SocketAddr, Result<String, String>) {
    let (local, stream) = tls::connect(to, wish);
    let answer = stream.and_then(|mut stream| {
        stream.write_all(get("/").as_bytes()).map_err(|error| error.to_string())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    });
    (local, answer)
}

#[test]
fn each_certificate_has_the_one_fault_that_is_planned() {
    let expected = [
        ("self-signed", None),
        ("expired", Some("Expired")),
        ("not-yet-valid", Some("NotValidYet")),
        ("wrong-name", Some("NotValidForName")),
    ];
    for (kind, fault) in expected {
        let target = target(&format!("{{ certificate: {kind} }}"));
        let (_, stream) = tls::connect(target.address("web"), &Wish::default());
        let certificate = shown(&stream.unwrap_or_else(|error| panic!("{kind}: {error}")));
        for name in ["localhost", "127.0.0.1", "::1"] {
            match (judge(&certificate, name, in_days(0)), fault) {
                (Ok(()), None) => {}
                (Err(error), Some(fault)) => assert!(error.contains(fault), "{kind} {name}: {error}"),
                (verdict, _) => panic!("{kind} {name}: {verdict:?}"),
            }
        }
    }
}

#[test]
fn a_certificate_that_is_right_for_now_is_wrong_in_a_year() {
    let target = target("{ certificate: self-signed }");
    let (_, stream) = tls::connect(target.address("web"), &Wish::default());
    let certificate = shown(&stream.unwrap_or_else(|error| panic!("{error}")));
    assert!(judge(&certificate, "localhost", in_days(360)).is_ok());
    assert!(judge(&certificate, "localhost", in_days(370)).is_err());
    assert!(judge(&certificate, "wrong.invalid", in_days(0)).is_err());
}

#[test]
fn a_fault_of_the_certificate_does_not_keep_the_answer_back() {
    for kind in ["self-signed", "expired", "not-yet-valid", "wrong-name"] {
        let target = target(&format!("{{ certificate: {kind} }}"));
        let (local, answer) = ask(target.address("web"), &Wish { alpn: &["http/1.1"], ..Wish::default() });
        assert!(answer.is_ok_and(|text| text.ends_with("secret")), "{kind}");
        let seen = target.tls(local);
        assert_eq!((seen.version.as_deref(), seen.alpn.as_deref()), (Some("TLSv1_3"), Some("http/1.1")));
        assert_eq!(
            (seen.server_name.as_deref(), seen.client_certificate, seen.error),
            (Some("localhost"), false, None)
        );
        let story = target.story(1);
        assert_eq!((story.request.conn, story.answer.answer.as_str()), (seen.conn, "200"));
        assert_eq!(target.closed(local).how, Ending::WeClosed);
    }
}

#[test]
fn the_protocol_is_what_both_sides_agree_on() {
    let both: &[&str] = &["h2", "http/1.1"];
    for (plan, offered, agreed) in [
        ("{}", both, Some("h2")),
        ("{}", &["http/1.1"], Some("http/1.1")),
        ("{}", &[], None),
        ("{ alpn: [http/1.1] }", both, Some("http/1.1")),
        ("{ alpn: [http/1.1, h2] }", both, Some("http/1.1")),
        ("{ alpn: [] }", both, None),
    ] {
        let target = target(plan);
        let (local, stream) = tls::connect(target.address("web"), &Wish { alpn: offered, ..Wish::default() });
        let stream = stream.unwrap_or_else(|error| panic!("{plan} {offered:?}: {error}"));
        let ours = stream.conn.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(ours.as_deref(), agreed, "{plan} {offered:?}");
        assert_eq!(target.tls(local).alpn.as_deref(), agreed, "{plan} {offered:?}");
    }
}

#[test]
fn a_client_with_no_protocol_in_common_is_refused() {
    let target = target("{ alpn: [h2] }");
    let (local, stream) =
        tls::connect(target.address("web"), &Wish { alpn: &["http/1.1"], ..Wish::default() });
    let error = stream.err().unwrap_or_default();
    assert!(error.contains("NoApplicationProtocol"), "{error}");
    assert!(target.tls(local).error.is_some());
}

#[test]
fn a_client_certificate_is_required_noted_or_not_asked_for() {
    for (wish, shows, served, seen) in [
        ("required", true, true, true),
        ("required", false, false, false),
        ("optional", true, true, true),
        ("optional", false, true, false),
        ("none", true, true, false),
    ] {
        let target = target(&format!("{{ client-certificate: {wish} }}"));
        let (local, answer) = ask(target.address("web"), &Wish { certificate: shows, ..Wish::default() });
        assert_eq!(answer.is_ok(), served, "{wish} {shows}: {answer:?}");
        let TlsSeen { client_certificate, error, .. } = target.tls(local);
        assert_eq!((client_certificate, error.is_none()), (seen, served), "{wish} {shows}: {error:?}");
        if !served {
            assert!(answer.is_err_and(|error| error.contains("CertificateRequired")));
            assert!(error.is_some_and(|error| error.contains("certificate")));
        }
    }
}

#[test]
fn only_the_planned_versions_are_spoken() {
    const OLD: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];
    const NEW: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];
    for (plan, versions, spoken) in [
        ("['1.2']", OLD, Some("TLSv1_2")),
        ("['1.2']", NEW, None),
        ("['1.3']", OLD, None),
        ("['1.3']", NEW, Some("TLSv1_3")),
        ("['1.2', '1.3']", OLD, Some("TLSv1_2")),
    ] {
        let target = target(&format!("{{ versions: {plan} }}"));
        let (local, answer) = ask(target.address("web"), &Wish { versions, ..Wish::default() });
        assert_eq!(answer.is_ok(), spoken.is_some(), "{plan}: {answer:?}");
        let seen = target.tls(local);
        assert_eq!((seen.version.as_deref(), seen.error.is_none()), (spoken, spoken.is_some()), "{plan}");
    }
}

#[test]
fn a_handshake_can_stall_for_ever() {
    let target =
        Target::start("listeners: { web: { port: 0, tls: {}, connections: hold, paths: { /: 200 } } }");
    let mut wire = Wire::connect(target.address("web"));
    let hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03";
    assert_eq!(wire.send(hello).hear(Duration::from_millis(300)).end, End::Open);
    let local = wire.local();
    drop(wire);
    let closed = target.closed(local);
    assert_eq!((closed.how, closed.received, closed.sent), (Ending::PeerClosed, hello.len() as u64, 0));
}

#[test]
fn plain_http_on_a_tls_port_is_a_failed_handshake() {
    let target = target("{}");
    let mut wire = Wire::connect(target.address("web"));
    let heard = wire.send(get("/")).hear_all();
    assert!(!heard.text().contains("HTTP/"), "{heard:?}");
    assert!(target.tls(wire.local()).error.is_some());
    assert_ne!(target.closed(wire.local()).how, Ending::PeerClosed);
}

#[test]
fn tls_on_a_plain_port_is_no_request() {
    let target = Target::start("listeners: { web: { port: 0, paths: { /: 200 } } }");
    let (local, stream) = tls::connect(target.address("web"), &Wish::default());
    assert!(stream.is_err_and(|error| error.contains("InvalidContentType")));
    let closed = target.closed(local);
    assert!(closed.error.is_some_and(|why| why.contains("400")), "the end says why");
}

#[test]
fn a_client_that_leaves_during_the_handshake_is_noted() {
    let target = target("{}");
    let wire = Wire::connect(target.address("web"));
    let local = wire.local();
    drop(wire);
    assert!(target.tls(local).error.is_some());
    assert_eq!(target.closed(local).how, Ending::PeerClosed);
}

#[test]
fn a_client_that_says_goodbye_by_tls_has_closed() {
    let target = target("{}");
    let (local, stream) = tls::connect(target.address("web"), &Wish::default());
    let mut stream = stream.unwrap_or_else(|error| panic!("{error}"));
    stream.conn.send_close_notify();
    stream.flush().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(target.closed(local).how, Ending::PeerClosed);
}

#[test]
fn faults_reach_through_tls_to_the_wire() {
    let target = Target::start(
        "listeners: { web: { port: 0, tls: {}, paths: { /reset: reset, /close: close, /cut: { body: { bytes: 5000 }, reset-after: 100 } } } }",
    );
    for (nth, (path, how, error)) in (1..).zip([
        ("/reset", Ending::WeReset, true),
        ("/close", Ending::WeClosed, false),
        ("/cut", Ending::WeReset, true),
    ]) {
        let (local, stream) = tls::connect(target.address("web"), &Wish::default());
        let mut stream = stream.unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = Vec::new();
        let read = stream.write_all(get(path).as_bytes()).and_then(|()| stream.read_to_end(&mut bytes));
        assert_eq!(read.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset), error, "{path}");
        assert_eq!(target.closed(local).how, how, "{path}");
        assert_eq!(target.story(nth).request.target, path);
    }
}

#[test]
fn a_tcp_listener_can_speak_tls_too() {
    let target = Target::start("listeners: { raw: { port: 0, protocol: tcp, tls: {} } }");
    let (local, stream) = tls::connect(target.address("raw"), &Wish::default());
    let mut stream = stream.unwrap_or_else(|error| panic!("{error}"));
    stream.write_all(b"hello").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(target.tls(local).error, None);
    drop(stream);
    assert_ne!(target.closed(local).how, Ending::WeReset);
}
