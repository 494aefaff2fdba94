use probity_composer::{Composer, Told};
use probity_model::history::Header;
use serde_json::{Value, json};

use crate::tests::verdict;

const AGENT: &str = "probe.http.user-agent-default";
const ACCEPT: &str = "probe.http.accept-default";
const SET: &str = "probe.http.header-set";
const OVERRIDE: &str = "probe.http.headers-override";
const REMOVE: &str = "probe.http.headers-remove";

fn told(run: &mut Composer, written: &[(&str, &str)], headers: &[(&str, &str)]) {
    let written: Vec<Value> =
        written.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let get = json!({ "path": "/ready", "port": 8080, "httpHeaders": written });
    let container = json!({ "name": "target", "readinessProbe": { "httpGet": get } });
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    run.http(2.0, &Told { headers, ..Told::get("/ready", 200) });
}

/// A probe with some headers in its spec, and one request with exactly these headers.
fn sent(clause: &str, written: &[(&str, &str)], headers: &[(&str, &str)]) -> &'static str {
    let mut run = Composer::new(&[clause]);
    told(&mut run, written, headers);
    verdict(&run.done(), clause)
}

#[test]
fn the_version_of_the_kubelet_holds() {
    assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.36")]), "holds");
    assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.36+")]), "holds");
}

#[test]
fn another_version_another_name_or_none_is_a_violation() {
    assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.35")]), "violated");
    assert_eq!(sent(AGENT, &[], &[("User-Agent", "Go-http-client/1.1")]), "violated");
    assert_eq!(sent(AGENT, &[], &[]), "violated");
}

#[test]
fn a_user_agent_of_the_spec_says_nothing_of_the_default() {
    assert_eq!(sent(AGENT, &[("User-Agent", "mine")], &[("User-Agent", "mine")]), "inconclusive");
}

#[test]
fn an_unknown_kubelet_is_doubt_where_the_case_asks_and_silence_elsewhere() {
    let unknown = |judges: &[&str]| {
        let judges = judges.iter().filter_map(|id| id.parse().ok()).collect();
        let mut run = Composer::with_header(Header { judges, ..Header::default() });
        told(&mut run, &[], &[("User-Agent", "kube-probe/1.36")]);
        verdict(&run.done(), AGENT)
    };
    assert_eq!(unknown(&[AGENT]), "inconclusive");
    assert_eq!(unknown(&[]), "none");
}

#[test]
fn any_type_is_accepted_by_default() {
    assert_eq!(sent(ACCEPT, &[], &[("Accept", "*/*")]), "holds");
    assert_eq!(sent(ACCEPT, &[], &[("Accept", "text/html")]), "violated");
    assert_eq!(sent(ACCEPT, &[], &[]), "violated");
    assert_eq!(sent(ACCEPT, &[("Accept", "")], &[]), "inconclusive");
}

#[test]
fn three_headers_are_as_documented_and_a_fourth_diverges() {
    let mut headers = vec![("Host", "10.0.0.7:8080"), ("User-Agent", "kube-probe/1.36"), ("Accept", "*/*")];
    assert_eq!(sent(SET, &[], &headers), "holds");
    headers.push(("Connection", "close"));
    assert_eq!(sent(SET, &[], &headers), "diverges");
    headers.push(("Accept-Encoding", "gzip"));
    assert_eq!(sent(SET, &[], &headers), "violated");
}

#[test]
fn over_http2_there_are_two_headers_and_a_pseudo_header() {
    let over_http2 = |more: &[(&str, &str)]| {
        let mut run = Composer::new(&[SET]);
        let get = json!({ "path": "/ready", "port": 8080 });
        let container = json!({ "name": "target", "readinessProbe": { "httpGet": get } });
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        let usual = [(":authority", "10.0.0.7:8080"), ("user-agent", "kube-probe/1.36"), ("accept", "*/*")];
        let headers = usual.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let protocol = "HTTP/2".to_owned();
        run.http(2.0, &Told { headers: headers.collect(), protocol, ..Told::get("/ready", 200) });
        verdict(&run.done(), SET)
    };
    assert_eq!(over_http2(&[]), "holds");
    assert_eq!(over_http2(&[("accept-encoding", "gzip")]), "violated");
    assert_eq!(over_http2(&[("cookie", "session=probity")]), "violated");
}

#[test]
fn headers_of_the_spec_say_nothing_of_the_usual_set() {
    assert_eq!(sent(SET, &[("X-A", "1")], &[("X-A", "1")]), "inconclusive");
}

#[test]
fn a_value_of_the_spec_replaces_the_usual_one() {
    let written = [("Accept", "application/json")];
    assert_eq!(sent(OVERRIDE, &written, &written), "holds");
    assert_eq!(sent(OVERRIDE, &written, &[("Accept", "*/*")]), "violated");
    assert_eq!(sent(OVERRIDE, &written, &[("Accept", "*/*"), written[0]]), "violated");
    assert_eq!(sent(OVERRIDE, &[("X-A", "1")], &[("X-A", "1")]), "inconclusive");
}

#[test]
fn an_empty_value_removes_the_header() {
    let written = [("User-Agent", "")];
    assert_eq!(sent(REMOVE, &written, &[("Accept", "*/*")]), "holds");
    assert_eq!(sent(REMOVE, &written, &[("User-Agent", "")]), "violated");
    assert_eq!(sent(REMOVE, &written, &[("User-Agent", "Go-http-client/1.1")]), "violated");
    assert_eq!(sent(REMOVE, &[("User-Agent", "mine")], &[("User-Agent", "mine")]), "inconclusive");
}
