//! Tests faults of a probe's request and of its answer, each with a real target behind a real packet filter.

mod scene;

use std::thread::sleep;
use std::time::{Duration, Instant};

use probity_tests::grpc;
use probity_tests::h2::H2;
use probity_tests::tls::{self, Wish};
use scene::{Got, NodeScene, PATIENCE, at, http, http_in, raw, request};

const SECOND: Duration = Duration::from_secs(1);

/// A gRPC health check: its status, or its error code.
fn health(service: &str) -> Result<Option<i32>, Option<i32>> {
    match grpc::check(&H2::connect(at(9090)), service) {
        Ok(outcome) if outcome.status.is_some() => Ok(outcome.status),
        Ok(outcome) => Err(outcome.code.and_then(|code| i32::try_from(code).ok())),
        Err(_) => Err(None),
    }
}

#[test]
fn statuses_are_judged_otherwise() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { judge: { statuses: [{ from: 204, to: 500 }, { from: 429, to: 200 }, { from: 500, up_to: 599, to: 204 }] } } }");
    let got: Vec<_> = ["/n204", "/e429", "/e500", "/ok"].map(|path| http(8080, path)).into();
    assert_eq!(got, [500, 200, 204, 200].map(Got::Status));
}

#[test]
fn the_request_is_another_one() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { request: { method: HEAD, path: /ok, without-query: true, remove: [accept], set: [{ name: User-Agent, value: other }], add: [{ name: X-A, value: '1' }] } } }");
    assert_eq!(http(8080, "/e500?a=1"), Got::Status(200));
    let request = scene.target.request(1);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("HEAD", "/ok"));
    let named = |name: &str| {
        request
            .headers
            .iter()
            .filter(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!((named("Accept"), named("User-Agent"), named("X-A")), (vec![], vec!["other"], vec!["1"]));
}

#[test]
fn an_answer_comes_late() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { late: { by: 700ms } } }");
    let began = Instant::now();
    assert_eq!(http(8080, "/ok"), Got::Status(200));
    assert!(began.elapsed() >= Duration::from_millis(700));
    // The answer is so late that even a client that is stalled before it reads does not find it.
    scene.fault("{ does: { late: { by: 60s } } }");
    assert_eq!(http_in(8080, "/ok", Duration::from_millis(300)), Got::Timeout);
}

#[test]
fn a_slow_answer_is_a_success_and_the_pod_is_waited_for() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { slow: { after: 500ms, as: success } } }");
    assert_eq!(http_in(8080, "/slow", SECOND), Got::Status(200));
    assert_eq!(http_in(8080, "/e500", SECOND), Got::Status(500), "an answer in time counts");
    let answer = scene.target.story(1).answer;
    assert!(answer.written > 0, "the pod could write its answer: {answer:?}");
}

#[test]
fn a_slow_answer_is_a_failure_too_early() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { slow: { after: 500ms, as: failure } } }");
    let began = Instant::now();
    assert_eq!(http(8080, "/slow"), Got::Status(503));
    assert!(began.elapsed() < 2 * SECOND);
}

#[test]
fn no_answer_is_a_success() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { judge: { silence: success } } }");
    assert_eq!(http(8099, "/ok"), Got::Status(200), "a closed port");
    assert_eq!(http(8091, "/ok"), Got::Status(200), "a port that closes");
}

#[test]
fn redirects_are_followed_by_other_rules() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { redirects: { limit: 3, beyond: failure } } }");
    assert_eq!(http(8080, "/hop"), Got::Status(200));
    assert_eq!(http(8080, "/loop"), Got::Status(503));
    scene.expect_asked("/loop", 4);
    assert_eq!(http(8080, "/back"), Got::Status(503), "the other port is followed to");
    scene.fault("{ does: { redirects: { same-port: true, beyond: success } } }");
    assert_eq!(http(8080, "/back"), Got::Status(200));
    assert_eq!(http(8080, "/away"), Got::Status(200), "another host is not followed to");
    scene.fault("{ does: { redirects: { limit: 0, beyond: success } } }");
    assert_eq!(http(8080, "/hop"), Got::Status(200));
    // Once on this port, and once on the other.
    scene.expect_asked("/ok", 2);
}

#[test]
fn a_body_is_read_to_another_limit() {
    let Some(scene) = NodeScene::plain() else { return };
    let length = |path: &str| raw(8080, &request(8080, path), PATIENCE).map(|bytes| bytes.len());
    scene.fault("{ does: { body: { read: 10 } } }");
    assert!(length("/big").is_ok_and(|length| length < 1000));
    scene.fault("{ does: { body: { read: 100000 } } }");
    assert!(
        length("/big").is_ok_and(|length| (10 << 10..11 << 10).contains(&length)),
        "the kubelet gets 10 KiB"
    );
    let story = scene.target.story(2);
    assert!(story.answer.written > 40 << 10, "and the pod wrote all: {:?}", story.answer);
    assert_eq!(http(8080, "/short"), Got::Broken);
    scene.fault("{ does: { body: { read: 100000, lenient: true } } }");
    assert_eq!(http(8080, "/short"), Got::Status(200));
}

#[test]
fn tls_is_ended_on_both_sides_and_the_answer_judged() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { judge: { statuses: [{ from: 204, to: 500 }] } } }");
    assert_eq!(https_h2("/n204"), Ok(500));
    assert_eq!(https_h2("/ok"), Ok(200));
    assert_eq!(scene.target.request(1).protocol, "HTTP/2");
    assert_eq!(https_h1(8444, "/n204"), Ok(500));
}

#[test]
fn the_pods_certificate_is_verified() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { tls: { verify: true } } }");
    assert!(https_h1(8444, "/ok").is_err());
    scene.clear();
    assert_eq!(https_h1(8444, "/ok"), Ok(200));
}

#[test]
fn the_handshake_offers_other_things() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { tls: { version: '1.2', server-name: pod.local, protocols: [http/1.1] } } }");
    assert_eq!(https_h1(8443, "/ok"), Ok(200));
    let seen = scene.target.wait_for("the handshake", |line| match &line.fact {
        probity_script::Fact::Tls(seen) => Some(format!("{seen:?}")),
        _ => None,
    });
    for word in ["pod.local", "TLSv1_2", "http/1.1"] {
        assert!(seen.contains(word), "{word}: {seen}");
    }
}

#[test]
fn tls_is_taken_off_and_put_on() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ of: { port: 8080 }, does: { request: { scheme: https } } }");
    assert_eq!(http(8080, "/ok"), Got::Broken, "the pod speaks no TLS there");
    scene.fault("{ of: { port: 8444 }, does: { request: { scheme: http } } }");
    assert!(https_h1(8444, "/ok").is_err(), "the pod speaks nothing else there");
}

#[test]
fn health_statuses_and_errors_are_judged_otherwise() {
    let Some(scene) = NodeScene::plain() else { return };
    assert_eq!((health(""), health("b"), health("none")), (Ok(Some(1)), Ok(Some(2)), Err(Some(5))));
    scene.fault("{ does: { judge: { health: [{ from: 2, to: 1 }, { from: 1, to: 2 }], errors: [{ code: 5, to: 1 }] } } }");
    assert_eq!((health(""), health("b"), health("none")), (Ok(Some(2)), Ok(Some(1)), Ok(Some(1))));
    let names = |nth| scene.target.request(nth).headers.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(1), names(4), "the proxy adds no field and drops none");
}

#[test]
fn another_service_is_asked_for() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { grpc: { service: b, user-agent: other } } }");
    assert_eq!(health(""), Ok(Some(2)));
    let request = scene.target.request(1);
    assert!(
        request.headers.iter().any(|(name, value)| name == "user-agent" && value == "other"),
        "{request:?}"
    );
}

#[test]
fn grpc_tries_tls_in_vain() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { grpc: { tls: true } } }");
    assert!(health("").is_err());
}

#[test]
fn grpc_probes_are_doubled_skipped_and_kept_on_one_connection() {
    let Some(scene) = NodeScene::plain() else { return };
    let checked = |scene: &NodeScene| scene.asked("/grpc.health.v1.Health/Check");
    scene.fault("{ does: { double: { times: 1 } } }");
    assert_eq!(health(""), Ok(Some(1)));
    sleep(SECOND / 4);
    assert_eq!((checked(&scene), scene.connected("health")), (2, 2));
    scene.fault("{ does: { skip: { answer: failure } } }");
    assert_eq!(health(""), Ok(Some(2)));
    assert_eq!(checked(&scene), 2);
    scene.fault("{ does: keep-alive }");
    assert_eq!((health(""), health(""), health("")), (Ok(Some(1)), Ok(Some(1)), Ok(Some(1))));
    assert_eq!((checked(&scene), scene.connected("health")), (5, 3));
}

#[test]
fn a_slow_service_is_a_success() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { slow: { after: 500ms, as: success } } }");
    let began = Instant::now();
    assert_eq!(health("slow"), Ok(Some(1)));
    assert!(began.elapsed() < 2 * SECOND);
}

#[test]
fn only_one_service_is_struck() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ of: { service: b }, does: { skip: { answer: success } } }");
    assert_eq!((health(""), health("b")), (Ok(Some(1)), Ok(Some(1))));
    scene.expect_asked("/grpc.health.v1.Health/Check", 1);
}

/// A request over TLS in HTTP/1.1.
fn https_h1(port: u16, path: &str) -> Result<u16, String> {
    use std::io::{Read, Write};
    let wish = Wish { alpn: &["http/1.1"], ..Wish::default() };
    let mut stream = tls::connect(at(port), &wish).1?;
    stream.write_all(request(port, path).as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    // A peer that closes without a TLS close message has still sent its answer.
    stream.read_to_end(&mut answer).ok();
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| "no answer".to_owned())
}

/// A request over TLS in HTTP/2.
fn https_h2(path: &str) -> Result<u16, String> {
    H2::connect_tls(at(8443)).get(path).map(|answer| answer.status)
}
