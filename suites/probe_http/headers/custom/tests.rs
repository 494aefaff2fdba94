use probity_composer::{Composer, Told};
use serde_json::{Value, json};

use crate::tests::verdict;

const CUSTOM: &str = "probe.http.custom-headers";
const REPEATED: &str = "probe.http.repeated-headers";
const NAMES: &str = "probe.http.header-name-validation";

fn pod(headers: &[(&str, &str)]) -> Value {
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let get = json!({ "path": "/ready", "port": 8080, "httpHeaders": headers });
    json!({ "kind": "Pod", "spec": { "containers": [{ "name": "target", "readinessProbe": { "httpGet": get } }] } })
}

/// A probe with some headers in its spec, and one request with other headers.
fn sent(clause: &str, written: &[(&str, &str)], sent: &[(&str, &str)]) -> &'static str {
    sent_over("HTTP/1.1", clause, written, sent)
}

fn sent_over(protocol: &str, clause: &str, written: &[(&str, &str)], sent: &[(&str, &str)]) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &pod(written)["spec"]).start(1.0, 0);
    let mut told = Told { protocol: protocol.to_owned(), ..Told::get("/ready", 200) };
    told.headers.extend(sent.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    run.http(2.0, &told);
    verdict(&run.done(), clause)
}

fn tried(name: &str, code: u16, message: &str) -> &'static str {
    let mut run = Composer::new(&[NAMES]);
    run.tried(0.0, "name", pod(&[(name, "x")]), code, message, Value::Null);
    verdict(&run.done(), NAMES)
}

#[test]
fn a_header_that_comes_holds() {
    assert_eq!(sent(CUSTOM, &[("x-conformance", "abc")], &[("X-Conformance", "abc")]), "holds");
}

#[test]
fn names_are_sent_in_canonical_form_over_http1_only() {
    let spelled = |protocol, name| sent_over(protocol, CUSTOM, &[("x-CONFORMANCE", "abc")], &[(name, "abc")]);
    assert_eq!(spelled("HTTP/1.1", "X-Conformance"), "holds");
    assert_eq!(spelled("HTTP/1.1", "x-CONFORMANCE"), "violated");
    assert_eq!(spelled("HTTP/1.1", "x-conformance"), "violated");
    assert_eq!(spelled("HTTP/2.0", "x-conformance"), "holds");
}

#[test]
fn names_that_other_clauses_are_about_may_be_spelled_in_any_way() {
    let (written, came) = ([("X-A", "1"), ("connection", "close")], [("X-A", "1"), ("connection", "close")]);
    assert_eq!(sent(CUSTOM, &written, &came), "holds");
}

#[test]
fn a_header_that_is_missing_or_changed_is_a_violation() {
    assert_eq!(sent(CUSTOM, &[("X-Conformance", "abc")], &[]), "violated");
    assert_eq!(sent(CUSTOM, &[("X-Conformance", "abc")], &[("X-Conformance", "abcd")]), "violated");
    assert_eq!(sent(CUSTOM, &[("X-Raw", "a$(B)$$")], &[("X-Raw", "ahello$")]), "violated");
}

#[test]
fn no_header_of_ones_own_says_nothing() {
    assert_eq!(sent(CUSTOM, &[("Accept", "text/plain"), ("Host", "a")], &[]), "inconclusive");
}

#[test]
fn both_values_in_their_order_hold() {
    let written = [("X-A", "1"), ("x-a", "2")];
    assert_eq!(sent(REPEATED, &written, &[("X-A", "1"), ("X-A", "2")]), "holds");
}

#[test]
fn one_value_or_the_other_order_is_a_violation() {
    let written = [("X-A", "1"), ("x-a", "2")];
    assert_eq!(sent(REPEATED, &written, &[("X-A", "2")]), "violated");
    assert_eq!(sent(REPEATED, &written, &[("X-A", "2"), ("X-A", "1")]), "violated");
}

#[test]
fn names_that_are_not_repeated_say_nothing() {
    assert_eq!(sent(REPEATED, &[("X-A", "1"), ("X-B", "2")], &[("X-A", "1")]), "inconclusive");
}

#[test]
fn names_are_refused_for_what_they_are() {
    let refusal = "spec.containers[0].readinessProbe.httpGet.httpHeaders: Invalid value";
    assert_eq!(tried("x_y", 422, refusal), "holds");
    assert_eq!(tried("", 422, refusal), "holds");
    assert_eq!(tried("x_y", 201, ""), "violated");
    assert_eq!(tried("X-Y", 422, refusal), "violated");
    assert_eq!(tried("x_y", 403, "pods is forbidden"), "inconclusive");
}
