#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Told;
use probity_script::witness::{Fact, Listening, Request};
use serde_json::json;

use crate::reading::scene::Scene;

const STATUS: &str = "probe.http.status-range";
const GET: &str = "probe.http.method-get";

fn answered(status: u16, ready: bool) -> &'static str {
    let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": status }));
    scene.probes(2..12, &[Told::get("/r", status)]).ready(2.4, ready);
    scene.at(12.0)
}

#[test]
fn below_four_hundred_is_success_and_above_is_not() {
    for status in [200, 299, 304, 399] {
        assert_eq!(answered(status, true), "holds", "{status}");
        assert_eq!(answered(status, false), "violated", "{status}");
    }
    for status in [400, 500, 599] {
        assert_eq!(answered(status, false), "holds", "{status}");
        assert_eq!(answered(status, true), "violated", "{status}");
    }
}

/// Judges four seconds of this status between two periods with the opposite result. `turns` says whether the
/// container's readiness follows.
fn between(status: u16, turns: bool) -> &'static str {
    let (good, other) = (status < 400, if status < 400 { 500 } else { 200 });
    let steps =
        json!([{ "answer": other, "times": 8 }, { "answer": status, "times": 4 }, { "answer": other }]);
    let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": steps }));
    scene.ready(2.2, !good);
    let told = |step, status: u16| Told { step, ..Told::get("/r", status) };
    scene.probes(2..10, &[told(0, other)]).probes(10..14, &[told(1, status)]);
    if turns {
        scene.ready(10.2, good);
    }
    scene.probes(14..20, &[told(2, other)]).ready(14.2, !good);
    scene.at(20.0)
}

#[test]
fn each_status_of_the_list_is_judged_by_itself() {
    let book = crate::catalogue().unwrap();
    let clause = book.iter().find(|clause| clause.id.as_str() == STATUS).unwrap();
    let statuses: Vec<u16> = clause.facets["status"].iter().map(|status| status.parse().unwrap()).collect();
    assert!(statuses.contains(&204) && statuses.contains(&429));
    for status in statuses {
        assert_eq!(between(status, true), "holds", "{status}");
        assert_eq!(between(status, false), "violated", "{status}");
    }
}

#[test]
fn noise_excuses_who_would_be_accused_and_hides_nothing_that_shows() {
    let judged = |ready: bool| {
        let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": 404 }));
        scene.probes(2..8, &[Told::get("/r", 404)]).ready(2.4, ready);
        scene.run.noise(2.5, 7.5);
        scene.at(8.0)
    };
    assert_eq!(judged(false), "holds");
    assert_eq!(judged(true), "inconclusive");
}

#[test]
fn a_status_that_is_too_new_is_doubt() {
    let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": 200 }));
    scene.probe(2.0, &[Told::get("/r", 200)]);
    assert_eq!(scene.at(2.5), "inconclusive");
}

#[test]
fn a_kill_for_a_good_status_is_a_violation() {
    let mut scene = Scene::http(STATUS, "livenessProbe", &json!({ "/r": 200 }));
    scene.probes(2..4, &[Told::get("/r", 200)]).killed(3.2);
    assert_eq!(scene.at(12.0), "violated");
}

#[test]
fn a_port_that_closes_ends_what_its_answers_meant() {
    let mut scene = Scene::http(STATUS, "readinessProbe", &json!({ "/r": 200 }));
    scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.4, true);
    let (listener, address) = ("web".to_owned(), String::new());
    let closed = Listening { listener, address, state: "closed".to_owned() };
    scene.run.fact(5.5, Fact::Listening(closed));
    scene.ready(6.2, false);
    assert_eq!(scene.at(20.0), "inconclusive");
}

fn asked(method: &str, target: &str, body: u64) -> &'static str {
    asked_of(Scene::http(GET, "readinessProbe", &json!({ "/r": 200 })), method, target, body)
}

fn asked_of(mut scene: Scene, method: &str, target: &str, body: u64) -> &'static str {
    let told = Told::get(target, 200);
    scene.run.connection(2.0, "web", 8080);
    scene.run.fact(
        2.0005,
        Fact::Request(Request {
            conn: 0,
            nth: 1,
            endpoint: None,
            probe: 1,
            hop: None,
            method: method.to_owned(),
            target: target.to_owned(),
            protocol: told.protocol,
            headers: told.headers,
            body,
            first_byte_us: 0,
            service: None,
        }),
    );
    scene.at(4.0)
}

#[test]
fn a_get_for_the_path_holds_and_anything_else_does_not() {
    assert_eq!(asked("GET", "/r", 0), "holds");
    assert_eq!(asked("HEAD", "/r", 0), "violated");
    assert_eq!(asked("GET", "/r", 5), "violated");
    assert_eq!(asked("GET", "/other", 0), "violated");
}

/// The verdict if a probe with this path requests this target.
fn slashed(path: &str, target: &str) -> &'static str {
    let probe = json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1 });
    asked_of(Scene::with(GET, &json!({ "readinessProbe": probe }), &json!({})), "GET", target, 0)
}

#[test]
fn a_path_has_one_slash_at_its_beginning() {
    assert_eq!(slashed("/a/b", "/a/b"), "holds");
    assert_eq!(slashed("a/b", "/a/b"), "holds");
    assert_eq!(slashed("/", "/"), "holds");
    assert_eq!(slashed("/a/b", "//a/b"), "violated");
    assert_eq!(slashed("a/b", "//a/b"), "violated");
    assert_eq!(slashed("a/b", "a/b"), "violated");
    assert_eq!(slashed("//a", "/a"), "holds", "how such a path is sent is not judged");
}

#[test]
fn answers_over_tls_decide_as_others_do() {
    let probe = json!({
        "httpGet": { "path": "/r", "port": 8443, "scheme": "HTTPS" }, "periodSeconds": 1, "failureThreshold": 1
    });
    let judged = |status: u16, ready: bool| {
        let fields = json!({ "readinessProbe": probe });
        let mut scene = Scene::with(STATUS, &fields, &json!({ "/r": status }));
        let (listener, protocol) = ("secure".to_owned(), "HTTP/2.0".to_owned());
        let told = Told { listener, protocol, port: 8443, ..Told::get("/r", status) };
        scene.probes(2..12, &[told]).ready(2.4, ready);
        scene.at(12.0)
    };
    assert_eq!(judged(200, true), "holds");
    assert_eq!(judged(503, false), "holds");
    assert_eq!(judged(200, false), "violated");
    assert_eq!(judged(503, true), "violated");
}

#[test]
fn another_path_is_nobodys_though_several_probes_share_the_port() {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1 });
    let fields = json!({ "readinessProbe": probe("/r"), "livenessProbe": probe("/l") });
    let scene = || Scene::with(GET, &fields, &json!({ "/r": 200, "/l": 200 }));
    assert_eq!(asked_of(scene(), "GET", "/l", 0), "holds");
    assert_eq!(asked_of(scene(), "GET", "/other", 0), "violated");
    let odd = json!({ "readinessProbe": probe("/r"), "livenessProbe": probe("/l#part") });
    assert_eq!(asked_of(Scene::with(GET, &odd, &json!({})), "GET", "/other", 0), "inconclusive");
}

#[test]
fn no_request_shows_nothing() {
    assert_eq!(Scene::http(GET, "readinessProbe", &json!({ "/r": 200 })).at(4.0), "inconclusive");
}

#[test]
fn an_escaped_path_is_sent_as_it_is_written() {
    for (path, plain) in
        [("/a%20b/", true), ("/a%2Fb?q=%26", true), ("/a%zz", false), ("/a b", false), ("//x", false)]
    {
        assert_eq!(super::is_plain(path), plain, "{path}");
    }
}
