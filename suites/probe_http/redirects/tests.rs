//! Hand-written histories for the judges of redirects.

use probity_composer::{Composer, Told, timestamp};
use probity_model::history::Change;
use serde_json::{Value, json};

use crate::reading::http::scene::{led, redirect};
use crate::reading::scene::Scene;

const SAME_HOST: &str = "probe.http.redirect.same-host-followed";
const OTHER_PORT: &str = "probe.http.redirect.same-host-other-port";
const HTTPS: &str = "probe.http.redirect.http-to-https";
const KEPT: &str = "probe.http.redirect.headers-kept";
const CROSS_HOST: &str = "probe.http.redirect.cross-host-not-followed";
const BY_NAME: &str = "probe.http.redirect.cross-host-by-name";
const NOWHERE: &str = "probe.http.redirect.missing-location";
const LIMIT: &str = "probe.http.redirect.limit";

fn readiness(clause: &str, location: &str) -> Scene {
    let paths = json!({ "/r": redirect(302, location), "/ok": 200, "/fail": 500 });
    Scene::http(clause, "readinessProbe", &paths)
}

/// The request for `/r` and the redirected request.
fn to(target: &str, answer: u16) -> [Told; 2] {
    [Told::get("/r", 302), led(target, "/r", answer)]
}

fn on_port(port: u16, listener: &str, told: Told) -> Told {
    Told { port, listener: listener.to_owned(), ..told }
}

#[test]
fn a_followed_redirect_to_a_success_makes_ready() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probes(2..8, &to("/ok", 200)).ready(2.2, true);
    assert_eq!(scene.at(9.0), "holds");
}

#[test]
fn a_followed_redirect_to_a_failure_that_makes_ready_is_a_violation() {
    let mut scene = readiness(SAME_HOST, "/fail");
    scene.probes(2..8, &to("/fail", 500)).ready(2.2, true);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn a_container_that_has_not_started_is_not_unready_for_its_probe() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.run.running(2.0, false, false, 1).start(2.0, 1);
    scene.probes(3..12, &to("/ok", 200));
    scene.run.running(8.0, true, true, 1);
    assert_eq!(scene.at(12.0), "holds");
}

#[test]
fn a_redirect_on_the_host_that_is_not_followed_is_a_violation() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn what_a_held_up_node_did_not_follow_is_doubt() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probe(2.0, &[Told::get("/r", 302)]).run.noise(2.0, 2.9);
    scene.probe(3.0, &to("/ok", 200));
    assert_eq!(scene.at(4.0), "inconclusive");
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probes(2..8, &to("/ok", 200)).run.noise(2.0, 2.9);
    assert_eq!(scene.at(9.0), "violated", "the noise concerns the first of six");
}

#[test]
fn a_redirect_at_the_very_end_is_doubt() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probe(2.0, &[Told::get("/r", 302)]);
    assert_eq!(scene.at(2.1), "inconclusive");
}

#[test]
fn without_a_redirect_nothing_is_said() {
    let mut scene = readiness(SAME_HOST, "/ok");
    scene.probes(2..8, &[Told::get("/r", 503)]);
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn the_port_does_not_make_another_host() {
    let followed = [Told::get("/r", 302), on_port(8081, "other", led("/ok", "/r", 200))];
    let mut scene = readiness(OTHER_PORT, "http://{ip}:8081/ok");
    scene.probes(2..8, &followed).ready(2.2, true);
    assert_eq!(scene.at(9.0), "holds");
    let mut scene = readiness(OTHER_PORT, "http://{ip}:8081/ok");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn a_port_that_nobody_of_ours_serves_tells_nothing() {
    let mut scene = readiness(OTHER_PORT, "http://{ip}:9999/ok");
    scene.probes(2..8, &[Told::get("/r", 302)]);
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn https_on_the_host_is_followed() {
    let followed = |target: &str, answer: u16| {
        [Told::get("/r", 302), on_port(8443, "secure", led(target, "/r", answer))]
    };
    let mut scene = readiness(HTTPS, "https://{ip}:8443/ok");
    scene.probes(2..8, &followed("/ok", 200)).ready(2.2, true);
    assert_eq!(scene.at(9.0), "holds");
    let mut scene = readiness(HTTPS, "https://{ip}:8443/fail");
    scene.probes(2..8, &followed("/fail", 500)).ready(2.2, true);
    assert_eq!(scene.at(9.0), "violated");
    let mut scene = readiness(HTTPS, "https://{ip}:8443/ok");
    scene.probes(2..8, &[Told::get("/r", 302)]);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn https_that_is_well_but_not_yet_ready_is_doubt_only_while_it_is_short() {
    let mut scene = readiness(HTTPS, "https://{ip}:8443/ok");
    scene.probe(2.0, &[Told::get("/r", 302)]);
    assert_eq!(scene.at(3.0), "inconclusive");
}

fn with_header(clause: &str, name: &str, value: &str, location: &str) -> Scene {
    let get = json!({ "path": "/r", "port": 8080, "httpHeaders": [{ "name": name, "value": value }] });
    let probe = json!({ "readinessProbe": { "httpGet": get, "periodSeconds": 1, "failureThreshold": 1 } });
    let paths = json!({ "/r": redirect(302, location), "/ok": 200 });
    Scene::with(clause, &probe, &paths)
}

fn carrying(mut told: Told, name: &str, value: &str) -> Told {
    told.headers.retain(|(other, _)| other != name);
    told.headers.push((name.to_owned(), value.to_owned()));
    told
}

#[test]
fn a_header_that_is_sent_again_is_kept() {
    let first = carrying(Told::get("/r", 302), "X-A", "1");
    let mut scene = with_header(KEPT, "X-A", "1", "/ok");
    scene.probes(2..4, &[first.clone(), carrying(led("/ok", "/r", 200), "x-a", "1")]);
    assert_eq!(scene.at(5.0), "holds");
    let mut scene = with_header(KEPT, "X-A", "1", "/ok");
    scene.probes(2..4, &[first.clone(), led("/ok", "/r", 200)]);
    assert_eq!(scene.at(5.0), "violated");
    let mut scene = with_header(KEPT, "X-A", "1", "/ok");
    scene.probes(2..4, &[first]);
    assert_eq!(scene.at(5.0), "inconclusive");
}

#[test]
fn the_default_headers_are_sent_again() {
    let mut scene = readiness(KEPT, "/ok");
    scene.probes(2..4, &to("/ok", 200));
    assert_eq!(scene.at(5.0), "holds");
    for name in ["User-Agent", "Accept"] {
        let mut second = led("/ok", "/r", 200);
        second.headers.retain(|(other, _)| other != name);
        let mut scene = readiness(KEPT, "/ok");
        scene.probes(2..4, &[Told::get("/r", 302), second]);
        assert_eq!(scene.at(5.0), "violated", "{name}");
    }
}

#[test]
fn a_redirect_from_the_host_of_the_probe_is_followed() {
    let judged = |requests: &[Told]| {
        let get = json!({ "path": "/r", "port": 8080, "host": "127.0.0.1" });
        let probe =
            json!({ "readinessProbe": { "httpGet": get, "periodSeconds": 1, "failureThreshold": 1 } });
        let mut scene = Scene::with(SAME_HOST, &probe, &json!({ "/r": redirect(302, "/ok"), "/ok": 200 }));
        scene.probes(2..8, requests).ready(2.2, true);
        scene.at(9.0)
    };
    assert_eq!(judged(&to("/ok", 200)), "holds");
    assert_eq!(judged(&[Told::get("/r", 302)]), "violated");
}

fn warn(scene: &mut Scene, at: f64) {
    let message = "Readiness probe warning: Probe terminated redirects, Response body: ok";
    scene.run.event(at, "Warning", "ProbeWarning", message);
}

#[test]
fn another_host_is_a_success_with_a_warning() {
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    warn(&mut scene, 2.1);
    assert_eq!(scene.at(9.0), "holds");
}

#[test]
fn another_host_without_a_warning_is_a_violation() {
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn another_host_that_makes_unready_is_a_violation() {
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..8, &[Told::get("/r", 302)]);
    warn(&mut scene, 2.1);
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn another_host_that_is_asked_is_a_violation() {
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    warn(&mut scene, 2.1);
    scene
        .run
        .of("other", "target")
        .create(2.0, &json!({ "containers": [{ "name": "target" }] }))
        .start(2.0, 0);
    scene.run.http(7.01, &carrying(led("/x", "/r", 200), "Host", "10.9.9.9:8080"));
    assert_eq!(scene.at(9.0), "violated");
}

#[test]
fn a_warning_that_may_have_been_dropped_or_is_yet_to_come_is_doubt() {
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..4, &[Told::get("/r", 302)]);
    assert_eq!(scene.at(4.0), "inconclusive");
    let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
    scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
    for nth in 0..25 {
        scene.run.event(2.0 + f64::from(nth) / 10.0, "Warning", "Unhealthy", &format!("Liveness {nth}"));
    }
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn a_warning_may_wait_in_the_queue_of_its_kubelet() {
    let judged = |arrives: f64| {
        let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
        scene.probes(2..8, &[Told::get("/r", 302)]).ready(2.2, true);
        let event = json!({
            "metadata": { "name": "pod.other" }, "involvedObject": { "kind": "Pod", "name": "pod", "uid": "uid-pod" },
            "reason": "Unhealthy", "message": "Liveness probe failed", "type": "Warning", "count": 1,
            "source": { "component": "kubelet" }, "lastTimestamp": timestamp(8.0),
        });
        scene.run.sighting(arrives, "Event", "pod.other", Change::Added, event);
        scene.at(30.0)
    };
    assert_eq!(judged(25.0), "inconclusive");
    assert_eq!(judged(8.5), "violated");
}

#[test]
fn what_a_lost_watch_may_have_hidden_is_doubt() {
    for kind in ["Event", "Pod"] {
        let mut scene = readiness(CROSS_HOST, "http://10.9.9.9:8080/x");
        scene.probes(2..8, &[Told::get("/r", 302)]).run.gap(7.5, 8.5, kind);
        assert_eq!(scene.at(9.0), "inconclusive", "{kind}");
    }
}

#[test]
fn the_name_of_the_same_machine_is_another_host() {
    let named = || carrying(Told::get("/r", 302), "Host", "app.example");
    let mut scene = with_header(BY_NAME, "Host", "app.example", "http://app.example/ok");
    scene.probes(2..8, &[named()]).ready(2.2, true);
    warn(&mut scene, 2.1);
    assert_eq!(scene.at(9.0), "holds");
    let mut scene = with_header(BY_NAME, "Host", "app.example", "http://app.example/ok");
    scene.probes(2..8, &[named()]);
    warn(&mut scene, 2.1);
    assert_eq!(scene.at(9.0), "violated");
    let mut scene = with_header(BY_NAME, "Host", "app.example", "http://unrelated.example/ok");
    scene.probes(2..8, &[named()]);
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn a_relative_redirect_keeps_the_custom_host() {
    let named = || carrying(Told::get("/r", 302), "Host", "app.example");
    for (host, word) in [("app.example", "holds"), ("10.0.0.7:8080", "violated")] {
        let mut scene = with_header(BY_NAME, "Host", "app.example", "/ok");
        scene.probes(2..8, &[named(), carrying(led("/ok", "/r", 200), "Host", host)]);
        assert_eq!(scene.at(9.0), word, "{host}");
    }
}

fn liveness(clause: &str, told: &Value) -> Scene {
    Scene::http(clause, "livenessProbe", &json!({ "/r": told }))
}

#[test]
fn a_redirect_to_nowhere_lets_live_with_a_warning() {
    let warned = |warned: bool| {
        let mut scene = liveness(NOWHERE, &json!(304));
        scene.probes(2..8, &[Told::get("/r", 304)]);
        if warned {
            let message = "Liveness probe warning: Probe terminated redirects, Response body: ";
            scene.run.event(2.1, "Warning", "ProbeWarning", message);
        }
        scene.at(9.0)
    };
    assert_eq!(warned(true), "holds");
    assert_eq!(warned(false), "violated");
}

#[test]
fn a_redirect_to_nowhere_that_kills_is_a_violation() {
    let mut scene = liveness(NOWHERE, &redirect(300, "/ok"));
    scene.probe(2.0, &[Told::get("/r", 300)]);
    scene.killed(2.1);
    assert_eq!(scene.at(3.0), "violated");
}

#[test]
fn a_location_that_is_no_url_fails() {
    for (ready, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = readiness(NOWHERE, "/%zz");
        scene.probes(2..8, &[Told::get("/r", 302)]);
        if ready {
            scene.ready(2.2, true);
        }
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn without_a_plan_a_redirect_is_a_riddle() {
    let probe = json!({ "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1 });
    let mut run = Composer::new(&[NOWHERE]);
    let container = json!({ "name": "target", "livenessProbe": probe });
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).probe(2.0, "/r", 302);
    assert_eq!(crate::tests::verdict(&run.done(), NOWHERE), "inconclusive");
}

/// One request of a chain, by the second step of the script.
fn hop(nth: u64, hops: u64) -> Told {
    let target = |nth: u64| if nth == 0 { "/r".to_owned() } else { format!("/r?probity-hop={nth}") };
    let answer = if nth < hops { 302 } else { 200 };
    match nth {
        0 => Told { step: 1, ..Told::get("/r", answer) },
        _ => Told { step: 1, hop: Some(nth), ..led(&target(nth), &target(nth - 1), answer) },
    }
}

/// A container that is shown as ready and then answers with a chain of `hops` redirects, for which the kubelet sends
/// `requests` requests. `ready` says whether the container stays ready.
fn chain(hops: u64, requests: u64, ready: bool) -> Scene {
    let mut scene = Scene::http(
        LIMIT,
        "readinessProbe",
        &json!({ "/r": [
        { "answer": 200, "times": 3 }, { "answer": { "redirect": { "hops": hops } } },
    ] }),
    );
    scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.2, true);
    let requests: Vec<Told> = (0..requests).map(|nth| hop(nth, hops)).collect();
    scene.probes(5..11, &requests);
    if !ready {
        scene.ready(5.4, false);
    }
    scene
}

#[test]
fn ten_requests_and_a_failure_are_the_catalogued_way() {
    for hops in [10, 11, 12] {
        assert_eq!(chain(hops, 10, false).at(12.0), "diverges", "{hops}");
    }
}

#[test]
fn a_warning_after_eleven_redirects_is_the_documented_way() {
    let mut scene = chain(12, 11, true);
    warn(&mut scene, 5.5);
    assert_eq!(scene.at(12.0), "holds");
}

#[test]
fn a_warning_about_another_redirect_is_not_about_the_chain() {
    let mut scene = Scene::http(
        LIMIT,
        "readinessProbe",
        &json!({ "/r": [
        { "answer": redirect(302, "http://10.9.9.9/x"), "times": 3 }, { "answer": { "redirect": { "hops": 12 } } },
    ] }),
    );
    scene.probes(2..5, &[Told::get("/r", 302)]).ready(2.2, true);
    warn(&mut scene, 5.01);
    let hops: Vec<Told> = (0..10).map(|nth| hop(nth, 12)).collect();
    scene.probes(5..11, &hops).ready(5.4, false);
    assert_eq!(scene.at(12.0), "diverges");
}

#[test]
fn any_other_limit_is_a_violation() {
    assert_eq!(chain(12, 5, false).at(12.0), "violated");
    assert_eq!(chain(12, 10, true).at(12.0), "violated");
    assert_eq!(chain(12, 13, true).at(12.0), "violated");
    assert_eq!(chain(12, 11, true).at(12.0), "violated", "no warning");
}

#[test]
fn a_short_chain_is_not_what_the_limit_speaks_of() {
    assert_eq!(chain(9, 10, true).at(12.0), "inconclusive");
}
