use probity_composer::{Composer, Told};
use probity_model::history::{Change, Did};
use probity_script::witness::{Fact, TlsSeen};
use serde_json::{Value, json};

use crate::tests::verdict;

const PATH: &str = "probe.http.default-path";
const SCHEME: &str = "probe.http.default-scheme";

fn pod(get: &Value) -> Value {
    json!({ "kind": "Pod", "spec": { "containers": [{ "name": "target", "readinessProbe": { "httpGet": get } }] } })
}

/// A pod whose probe sets only its port, and for which the API server returns these values.
fn read_back(clause: &str, path: &str, scheme: &str) -> Composer {
    let mut run = Composer::new(&[clause]);
    let (name, kind, manifest) = ("pod".to_owned(), "Pod".to_owned(), pod(&json!({ "port": 8080 })));
    run.deed(0.0, Did::Created { kind, name, manifest });
    let shown = pod(&json!({ "port": 8080, "path": path, "scheme": scheme }));
    run.pod_seen(0.1, &shown["spec"], &json!({ "phase": "Pending" }), Change::Added).start(1.0, 0);
    run
}

fn scheme_tried(scheme: &str, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[SCHEME]);
    run.tried(0.0, scheme, pod(&json!({ "port": 8080, "scheme": scheme })), code, message, Value::Null);
    verdict(&run.done(), SCHEME)
}

#[test]
fn a_slash_read_back_and_asked_for_holds() {
    let mut run = read_back(PATH, "/", "HTTP");
    run.probe(2.0, "/", 200);
    assert_eq!(verdict(&run.done(), PATH), "holds");
}

#[test]
fn another_path_read_back_is_a_violation() {
    assert_eq!(verdict(&read_back(PATH, "/healthz", "HTTP").done(), PATH), "violated");
}

#[test]
fn another_path_asked_for_is_a_violation() {
    let mut run = read_back(PATH, "/", "HTTP");
    run.probe(2.0, "/healthz", 404);
    assert_eq!(verdict(&run.done(), PATH), "violated");
}

#[test]
fn a_redirect_is_followed_to_any_path() {
    let mut run = read_back(PATH, "/", "HTTP");
    let mut followed = Told::get("/elsewhere", 200);
    followed.headers.push(("Referer".to_owned(), "http://10.0.0.7:8080/".to_owned()));
    run.probe(2.0, "/", 302);
    run.http(2.1, &followed);
    assert_eq!(verdict(&run.done(), PATH), "holds");
}

#[test]
fn a_path_that_is_written_says_nothing_of_the_default() {
    let mut run = Composer::new(&[]);
    run.create(0.0, &pod(&json!({ "port": 8080, "path": "/ready" }))["spec"]).start(1.0, 0);
    run.probe(2.0, "/ready", 200);
    assert_eq!(verdict(&run.done(), PATH), "none");
}

#[test]
fn a_plain_request_without_a_scheme_holds() {
    let mut run = read_back(SCHEME, "/", "HTTP");
    run.probe(2.0, "/", 200);
    assert_eq!(verdict(&run.done(), SCHEME), "holds");
}

#[test]
fn tls_without_a_scheme_is_a_violation() {
    let mut run = read_back(SCHEME, "/", "HTTP");
    let version = Some("TLSv1.3".to_owned());
    run.probe(2.0, "/", 200);
    let (alpn, server_name, error) = (None, None, None);
    let tls = TlsSeen { conn: 0, version, alpn, server_name, client_certificate: false, error };
    run.fact(2.0, Fact::Tls(tls));
    assert_eq!(verdict(&run.done(), SCHEME), "violated");
}

#[test]
fn https_read_back_is_a_violation() {
    assert_eq!(verdict(&read_back(SCHEME, "/", "HTTPS").done(), SCHEME), "violated");
}

#[test]
fn other_schemes_are_refused_by_name() {
    let refusal = "spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value";
    assert_eq!(scheme_tried("FTP", 422, refusal), "holds");
    assert_eq!(scheme_tried("http", 201, ""), "violated");
    assert_eq!(scheme_tried("HTTPS", 422, refusal), "violated");
    assert_eq!(scheme_tried("FTP", 403, "pods is forbidden"), "inconclusive");
}
