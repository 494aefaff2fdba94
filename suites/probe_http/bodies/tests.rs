//! Hand-written histories for the judges of bodies and of what answers mean.

use probity_composer::{Composer, Told};
use probity_script::Fact;
use probity_script::witness::{Accepted, Closed, Ending, Listening};
use serde_json::{Value, json};

use crate::reading::scene::Scene;
use crate::tests::verdict;

const LIMIT: &str = "probe.http.body.limit-10kib";
const ABRUPT: &str = "probe.http.body.abrupt-close";
const SHORT: &str = "probe.http.body.short-body-error";
const REFUSED: &str = "probe.http.refused-fails";
const EVENT: &str = "probe.http.event-omits-body";

fn readiness(clause: &str, told: Value) -> Scene {
    Scene::http(clause, "readinessProbe", &json!({ "/r": told }))
}

fn gave_up(took: f64) -> Told {
    Told { error: Some("the peer gave up".to_owned()), took, written: 10_340, ..Told::get("/r", 200) }
}

#[test]
fn a_large_body_with_a_good_status_is_a_success() {
    for (ready, word) in [(true, "holds"), (false, "violated")] {
        let mut scene = readiness(LIMIT, json!({ "body": { "bytes": 10240 } }));
        scene.probes(2..8, &[Told::get("/r", 200)]);
        if ready {
            scene.ready(2.2, true);
        }
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn a_large_body_with_a_bad_status_is_a_failure() {
    for (ready, word) in [(false, "holds"), (true, "violated")] {
        let mut scene = readiness(LIMIT, json!({ "status": 500, "body": { "bytes": "1MiB" } }));
        scene.probes(2..8, &[Told::get("/r", 500)]);
        if ready {
            scene.ready(2.2, true);
        }
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn a_body_that_stalls_at_the_limit_is_not_waited_for() {
    for (took, word) in [(0.01, "holds"), (0.99, "violated")] {
        let mut scene = readiness(LIMIT, json!({ "body": { "bytes": "1MiB" }, "stall-after": 10240 }));
        scene.probes(2..8, &[gave_up(took)]).ready(2.2, true);
        assert_eq!(scene.at(9.0), word);
    }
}

#[test]
fn a_wait_that_the_node_was_held_up_for_is_doubt() {
    let mut scene = readiness(LIMIT, json!({ "body": { "bytes": "1MiB" }, "stall-after": 10240 }));
    scene.probe(2.0, &[gave_up(0.8)]).run.noise(2.0, 2.7);
    assert_eq!(scene.at(3.0), "inconclusive");
}

#[test]
fn a_small_body_says_nothing_about_the_limit() {
    let mut scene = readiness(LIMIT, json!({ "body": { "bytes": 10239 } }));
    scene.probes(2..8, &[Told::get("/r", 200)]).ready(2.2, true);
    assert_eq!(scene.at(9.0), "inconclusive");
}

fn huge(error: Option<&str>, written: u64, took: f64) -> &'static str {
    let mut scene = readiness(ABRUPT, json!({ "body": { "endless": true } }));
    let told = Told { error: error.map(str::to_owned), written, took, ..Told::get("/r", 200) };
    scene.probe(2.0, &[told]);
    scene.at(4.0)
}

#[test]
fn a_huge_body_breaks_off_at_once() {
    assert_eq!(huge(Some("Connection reset by peer (os error 104)"), 300_000, 0.01), "holds");
    assert_eq!(huge(Some("Broken pipe (os error 32)"), 300_000, 0.01), "holds");
}

#[test]
fn a_huge_body_that_is_read_to_the_timeout_or_the_end_is_a_violation() {
    assert_eq!(huge(Some("Connection reset by peer (os error 104)"), 900_000_000, 0.99), "violated");
    let mut scene = readiness(ABRUPT, json!({ "body": { "bytes": "64MiB" } }));
    scene.probe(2.0, &[Told { written: 64 << 20, ..Told::get("/r", 200) }]);
    assert_eq!(scene.at(4.0), "violated");
}

#[test]
fn a_body_that_the_buffers_took_tells_nothing() {
    let mut scene = readiness(ABRUPT, json!({ "body": { "bytes": "1MiB" } }));
    scene.probe(2.0, &[Told { written: 1 << 20, ..Told::get("/r", 200) }]);
    assert_eq!(scene.at(4.0), "inconclusive");
}

/// A probe every two seconds that makes `tries` requests and gets truncated answers.
fn short(status: u16, tries: u32, was_ready: bool, is_ready: bool) -> Scene {
    let get = json!({ "path": "/r", "port": 8080 });
    let probe = json!({ "readinessProbe": { "httpGet": get, "periodSeconds": 2, "failureThreshold": 1 } });
    let told = json!({ "status": status, "body": "hello", "framing": { "content-length": 100 } });
    let script = json!([{ "answer": 200, "times": 1 }, { "answer": told }]);
    let mut scene = Scene::with(SHORT, &probe, &json!({ "/r": script }));
    if was_ready {
        scene.probe(2.0, &[Told::get("/r", 200)]).ready(2.2, true);
    }
    let told = Told { step: 1, ..Told::get("/r", status) };
    for burst in [4.0, 6.0, 8.0] {
        for nth in 0..tries {
            scene.probe(burst + f64::from(nth) / 100.0, std::slice::from_ref(&told));
        }
    }
    if is_ready != was_ready {
        scene.ready(4.2, is_ready);
    }
    scene
}

#[test]
fn three_tries_without_a_result_are_the_catalogued_way() {
    for status in [200, 500] {
        assert_eq!(short(status, 3, true, true).at(14.0), "diverges", "{status}");
    }
    assert_eq!(short(200, 3, false, false).at(14.0), "diverges");
    assert_eq!(short(500, 3, false, false).at(14.0), "inconclusive", "a failure would look the same");
}

#[test]
fn one_try_by_the_status_is_the_documented_way() {
    assert_eq!(short(200, 1, false, true).at(14.0), "holds");
    assert_eq!(short(500, 1, true, false).at(14.0), "holds");
    assert_eq!(short(500, 3, true, false).at(14.0), "holds", "the number of requests is not documented");
}

#[test]
fn any_other_way_with_a_short_body_is_a_violation() {
    assert_eq!(short(500, 6, true, true).at(14.0), "violated");
    assert_eq!(short(200, 3, true, false).at(14.0), "violated");
    assert_eq!(short(200, 2, true, true).at(14.0), "violated");
    assert_eq!(short(200, 1, true, false).at(14.0), "violated");
}

#[test]
fn tries_that_cannot_be_told_from_probes_are_doubt() {
    let mut scene = readiness(SHORT, json!({ "body": { "bytes": 100 }, "stall-after": 40 }));
    scene.probes(2..8, &[gave_up(0.99)]);
    assert_eq!(scene.at(9.0), "inconclusive");
}

#[test]
fn answers_that_are_no_http_are_failures() {
    for word in ["reset", "close", "garbage"] {
        for (ready, verdict) in [(false, "holds"), (true, "violated")] {
            let mut scene = readiness(REFUSED, json!([{ "answer": 200, "times": 3 }, { "answer": word }]));
            scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.2, true);
            scene.probes(5..11, &[Told { step: 1, ..Told::get("/r", word) }]);
            if !ready {
                scene.ready(5.2, false);
            }
            assert_eq!(scene.at(12.0), verdict, "{word}");
        }
    }
}

#[test]
fn a_container_that_lives_on_without_an_answer_is_a_violation() {
    for (killed, verdict) in [(true, "holds"), (false, "violated")] {
        let mut scene = Scene::http(REFUSED, "livenessProbe", &json!({ "/r": "reset" }));
        scene.probe(2.0, &[Told::get("/r", "reset")]);
        if killed {
            scene.killed(2.1);
        }
        assert_eq!(scene.at(8.0), verdict);
    }
}

#[test]
fn a_container_that_is_stopped_for_another_reason_is_doubt() {
    let mut scene = Scene::http(REFUSED, "livenessProbe", &json!({ "/r": "reset" }));
    scene.probe(2.0, &[Told::get("/r", "reset")]).run.signal(2.1, "SIGTERM");
    assert_eq!(scene.at(8.0), "inconclusive");
}

#[test]
fn a_container_that_is_deleted_meanwhile_is_doubt() {
    let mut scene = Scene::http(REFUSED, "livenessProbe", &json!({ "/r": "reset" }));
    scene.probe(2.0, &[Told::get("/r", "reset")]);
    let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
    scene.run.deed(2.05, probity_model::history::Did::Deleted { kind, name, grace: None });
    scene.killed(2.1);
    assert_eq!(scene.at(8.0), "inconclusive");
}

/// A connection that breaks before any request.
fn broken(scene: &mut Scene, at: f64, conn: u64) {
    let (peer, local) = ("10.0.0.1:40000".to_owned(), "10.0.0.7:8080".to_owned());
    let (listener, answer) = ("web".to_owned(), "reset".to_owned());
    scene.run.fact(at, Fact::Accepted(Accepted { conn, listener, peer, local, step: 0, answer }));
    let how = Ending::WeReset;
    scene.run.fact(at, Fact::Closed(Closed { conn, how, received: 0, sent: 0, lived_us: 9, error: None }));
}

#[test]
fn connections_that_are_broken_off_are_failures() {
    for (ready, verdict) in [(false, "holds"), (true, "violated")] {
        let mut scene = readiness(REFUSED, json!(200));
        scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.2, true);
        for second in 5..11_u32 {
            broken(&mut scene, f64::from(second), 100 + u64::from(second));
        }
        if !ready {
            scene.ready(5.2, false);
        }
        assert_eq!(scene.at(12.0), verdict);
    }
}

#[test]
fn a_closed_port_is_a_failure() {
    for (ready, end, verdict) in
        [(false, 12.0, "holds"), (true, 12.0, "violated"), (true, 6.0, "inconclusive")]
    {
        let mut scene = readiness(REFUSED, json!(200));
        scene.probes(2..5, &[Told::get("/r", 200)]).ready(2.2, true);
        let (listener, state) = ("web".to_owned(), "closed".to_owned());
        scene.run.fact(4.5, Fact::Listening(Listening { listener, address: String::new(), state }));
        if !ready {
            scene.ready(5.2, false);
        }
        assert_eq!(scene.at(end), verdict, "{ready} {end}");
    }
}

#[test]
fn a_closed_port_takes_as_many_probes_as_the_threshold_says() {
    let judged = |fell: f64, failed: bool| {
        let probe = json!({ "readinessProbe": {
            "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 2, "failureThreshold": 3,
        } });
        let mut scene = Scene::with(REFUSED, &probe, &json!({ "/r": 200 }));
        for at in [2.0, 4.0, 6.0, 8.0] {
            let status = if failed && at > 7.0 { 500 } else { 200 };
            scene.probe(at, &[Told::get("/r", status)]);
        }
        scene.ready(2.2, true);
        let (listener, state) = ("web".to_owned(), "closed".to_owned());
        scene.run.fact(9.0, Fact::Listening(Listening { listener, address: String::new(), state }));
        scene.ready(fell, false);
        scene.at(24.0)
    };
    assert_eq!(judged(14.2, false), "holds");
    assert_eq!(judged(10.2, false), "violated", "one refusal was enough");
    assert_eq!(judged(10.2, true), "holds", "another probe had failed before");
}

#[test]
fn a_port_that_closes_ends_a_live_container() {
    let judged = |killed: bool, end: f64| {
        let mut scene = Scene::http(REFUSED, "livenessProbe", &json!({ "/r": 200 }));
        scene.probes(2..5, &[Told::get("/r", 200)]);
        let (listener, state) = ("web".to_owned(), "closed".to_owned());
        scene.run.fact(4.5, Fact::Listening(Listening { listener, address: String::new(), state }));
        if killed {
            scene.killed(5.2);
        }
        scene.at(end)
    };
    assert_eq!(judged(true, 14.0), "holds");
    assert_eq!(judged(false, 14.0), "violated");
    assert_eq!(
        judged(false, 9.0),
        "inconclusive",
        "the kubelet's worker for the pod may be busy for that long"
    );
}

/// A startup probe of a port that never opens. `started` is what the API shows for its container, `told` says whether
/// an event reports that the container is killed, and `stopped` is the time of its stop signal.
fn unopened(started: bool, (told, stopped): (bool, Option<f64>), end: f64) -> &'static str {
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/r": 200 } } } }).to_string();
    let get = json!({ "path": "/r", "port": 9999 });
    let container = json!({
        "name": "target",
        "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
        "startupProbe": { "httpGet": get, "periodSeconds": 2, "failureThreshold": 2 },
    });
    let mut run = Composer::new(&[REFUSED]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, started, 0);
    if told {
        run.event(5.0, "Normal", "Killing", "Container target failed startup probe, will be restarted");
    }
    if let Some(stopped) = stopped {
        run.signal(stopped, "SIGTERM");
        run.left(stopped + 0.2);
    }
    run.reading(end);
    verdict(&run.done(), REFUSED)
}

#[test]
fn a_port_that_never_opens_is_a_failure() {
    assert_eq!(unopened(false, (true, Some(5.0)), 8.0), "holds");
    assert_eq!(unopened(false, (false, Some(5.0)), 8.0), "holds", "its event may be lost");
    assert_eq!(unopened(false, (true, Some(35.0)), 40.0), "violated", "too late");
    assert_eq!(unopened(true, (false, None), 8.0), "violated");
    assert_eq!(unopened(false, (false, None), 40.0), "violated");
    assert_eq!(
        unopened(false, (true, None), 40.0),
        "violated",
        "an event reports a kill that did not happen"
    );
    assert_eq!(unopened(false, (false, None), 15.0), "inconclusive", "a busy kubelet may be late");
    assert_eq!(unopened(false, (true, None), 8.0), "inconclusive", "an event alone proves nothing");
}

fn event(message: &str) -> &'static str {
    let mut scene = readiness(EVENT, json!({ "status": 500, "body": "secret-token" }));
    scene.probes(2..4, &[Told::get("/r", 500)]);
    if !message.is_empty() {
        scene.run.event(2.1, "Warning", "Unhealthy", message);
    }
    scene.at(8.0)
}

#[test]
fn the_event_tells_the_status_and_not_the_body() {
    assert_eq!(event("Readiness probe failed: HTTP probe failed with statuscode: 500"), "holds");
    assert_eq!(event("Readiness probe failed: statuscode: 500, body: secret-token"), "violated");
    assert_eq!(event("Readiness probe failed: it is not well"), "violated");
    assert_eq!(event("Readiness probe failed: Get \"/r\": EOF"), "violated");
    assert_eq!(event("Liveness probe failed: it is not well"), "inconclusive");
    assert_eq!(event(""), "inconclusive");
}

#[test]
fn an_event_with_the_right_status_does_not_excuse_one_with_another() {
    let judged = |status: u16| {
        let mut scene = readiness(EVENT, json!({ "status": 500, "body": "secret-token" }));
        scene.probes(2..4, &[Told::get("/r", 500)]);
        for (at, status) in [(2.1, 500), (3.1, status)] {
            let message = format!("Readiness probe failed: HTTP probe failed with statuscode: {status}");
            scene.run.event(at, "Warning", "Unhealthy", &message);
        }
        scene.at(8.0)
    };
    assert_eq!(judged(500), "holds");
    assert_eq!(judged(503), "violated", "no probe got it");
}

/// A liveness probe over HTTPS of a port without TLS, and the time of the stop signal. If a later main container is named, it
/// starts at this time, after an init container, and the probed container is a sidecar.
fn handshakes(stopped: Option<f64>, main_at: Option<f64>) -> &'static str {
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/r": 200 } } } }).to_string();
    let get = json!({ "path": "/r", "port": 8080, "scheme": "HTTPS" });
    let mut container = json!({
        "name": "target",
        "env": [{ "name": "AGNHOST_PLAN", "value": plan }],
        "livenessProbe": { "httpGet": get, "periodSeconds": 2, "failureThreshold": 2 },
    });
    let spec = if main_at.is_some() {
        container["restartPolicy"] = json!("Always");
        let main = json!({ "name": "main", "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] });
        json!({ "initContainers": [container, { "name": "prepare" }], "containers": [main] })
    } else {
        json!({ "containers": [container] })
    };
    let mut run = Composer::new(&[REFUSED]);
    run.create(0.0, &spec).start(1.0, 0).running(1.2, false, true, 0);
    if let Some(at) = main_at {
        run.of("pod", "prepare").start(2.0, 0).left(4.0);
        run.of("pod", "main").start(at, 0);
        run.of("pod", "target");
    }
    if let Some(stopped) = stopped {
        run.signal(stopped, "SIGTERM");
        run.left(stopped + 0.2);
    }
    run.reading(120.0);
    verdict(&run.done(), REFUSED)
}

#[test]
fn a_failed_handshake_is_a_failure() {
    assert_eq!(handshakes(Some(6.0), None), "holds");
    assert_eq!(handshakes(None, None), "violated");
    assert_eq!(handshakes(Some(40.0), None), "violated");
    assert_ne!(
        handshakes(Some(40.0), Some(38.0)),
        "violated",
        "the kubelet was still starting the main container"
    );
    assert_eq!(handshakes(Some(100.0), Some(38.0)), "violated");
}
