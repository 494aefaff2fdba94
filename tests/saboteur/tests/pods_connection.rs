//! Tests faults of a probe's connection, each with a real target behind a real packet filter.

mod scene;

use std::time::{Duration, Instant};

use probity_script::witness::Ending;
use scene::{Got, NODE, NodeScene, PATIENCE, http, http_in, raw, request, tcp};

const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(100);

#[test]
#[expect(clippy::print_stdout, reason = "who runs it wants to see the figures")]
fn without_a_defect_bytes_and_times_are_the_same() {
    let Some(scene) = NodeScene::plain() else { return };
    let measure = || {
        let mut times: Vec<Duration> = (0..200)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(http(8080, "/ok"), Got::Status(200));
                began.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    };
    let answer = raw(8080, &request(8080, "/ok"), PATIENCE);
    let with = measure();
    for table in ["mangle", "nat", "filter"] {
        scene::run(&format!("iptables -w -t {table} -D OUTPUT -j SABOTEUR"));
    }
    let without = measure();
    assert_eq!(answer, raw(8080, &request(8080, "/ok"), PATIENCE));
    let requests: Vec<_> = [1, 400].map(|nth| scene.target.request(nth).headers).into_iter().collect();
    assert_eq!(requests[0], requests[1]);
    assert!(with < without + Duration::from_millis(2), "{with:?} with the proxy, {without:?} without");
    println!("median of 200 probes: {with:?} with the proxy, {without:?} without");
}

#[test]
fn a_defect_of_another_namespace_or_port_changes_nothing() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.defect("{ name: d, on: { namespace: run-2 }, fault: { pods: { does: refuse } } }");
    scene.fault("{ of: { port: 8081 }, does: refuse }");
    assert_eq!(http(8080, "/ok"), Got::Status(200));
    assert_eq!(http(8081, "/ok"), Got::Refused);
}

#[test]
fn a_dropped_probe_times_out_and_the_pod_never_sees_it() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: drop }");
    assert_eq!(http_in(8080, "/ok", 3 * SECOND), Got::Timeout, "and neither do its repetitions");
    assert_eq!(scene.connected("web"), 0);
    scene.clear();
    assert_eq!(http(8080, "/ok"), Got::Status(200));
}

#[test]
fn a_probe_dropped_by_its_path_never_reaches_the_pod() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ of: { path: /ok }, does: drop }");
    assert_eq!(http_in(8080, "/ok", SECOND), Got::Timeout);
    assert_eq!(scene.connected("web"), 0);
    assert_eq!(http(8080, "/e500"), Got::Status(500));
    scene.expect_asked("/ok", 0);
}

#[test]
fn a_refused_probe_is_refused_at_once() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: refuse }");
    let began = Instant::now();
    assert_eq!(http(8080, "/ok"), Got::Refused);
    assert!(began.elapsed() < SECOND);
}

#[test]
fn a_closed_port_stays_closed() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { judge: { statuses: [{ from: 200, to: 500 }] } } }");
    assert_eq!(http(8099, "/ok"), Got::Refused);
    scene.fault("{ does: { tcp: open-anyway } }");
    assert_eq!(tcp(8099, SECOND), Got::Status(0));
}

#[test]
fn a_delayed_probe_comes_late() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { delay: { by: 500ms } } }");
    let began = Instant::now();
    assert_eq!(http(8080, "/ok"), Got::Status(200));
    assert!(began.elapsed() >= 5 * MOMENT, "{:?}", began.elapsed());
    scene.expect_asked("/ok", 1);
}

#[test]
fn a_doubled_probe_comes_twice() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { double: { times: 1 } } }");
    assert_eq!(http(8080, "/ok"), Got::Status(200));
    scene.expect_asked("/ok", 2);
    assert_eq!(tcp(8090, SECOND), Got::Status(0));
    std::thread::sleep(3 * MOMENT);
    assert_eq!(scene.connected("raw"), 2);
}

#[test]
fn one_probe_in_three_reaches_the_pod_and_the_others_get_its_last_answer() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { skip: { pass: 3, answer: last } } }");
    let got: Vec<_> = (0..7).map(|_| http(8080, "/flip")).collect();
    let status = |number| Got::Status(number);
    assert_eq!(got[..3], [status(200), status(200), status(200)]);
    assert_eq!(got[3..], [status(500), status(500), status(500), status(500)]);
    scene.expect_asked("/flip", 3);
}

#[test]
fn a_probe_that_never_reaches_the_pod_is_a_success_or_a_failure() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { skip: { answer: success } } }");
    assert_eq!(http(8080, "/e500"), Got::Status(200));
    assert_eq!(tcp(8099, SECOND), Got::Status(0));
    scene.fault("{ does: { skip: { answer: failure } } }");
    assert_eq!(http(8080, "/ok"), Got::Status(503));
    std::thread::sleep(MOMENT);
    assert_eq!(scene.connected("web"), 0);
}

#[test]
fn tcp_probes_are_skipped_before_their_handshake() {
    let spec = "{ containers: [{ name: c, readinessProbe: { tcpSocket: { port: 8090 } } }] }";
    let Some(scene) = NodeScene::with_spec(spec) else { return };
    scene.fault("{ does: { skip: { answer: failure } } }");
    assert_eq!(tcp(8090, SECOND), Got::Refused);
    scene.fault("{ does: { skip: { pass: 2, answer: last } } }");
    let got: Vec<_> = (0..4).map(|_| tcp(8090, SECOND)).collect();
    assert_eq!(got, vec![Got::Status(0); 4]);
    std::thread::sleep(MOMENT);
    assert_eq!(scene.connected("raw"), 2);
}

#[test]
fn a_pod_is_probed_at_a_pace_of_its_own() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { pace: { period: 200ms, burst: 2 } } }");
    for _ in 0..4 {
        assert_eq!(http(8080, "/ok"), Got::Status(200));
        std::thread::sleep(2 * MOMENT);
    }
    let asked = scene.asked("/ok");
    assert!((8..=12).contains(&asked), "{asked} in 0.8 s, two each 0.2 s");
}

#[test]
fn a_probe_goes_to_another_port() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ of: { port: 8080 }, does: { elsewhere: { port: 8081 } } }");
    assert_eq!(http(8080, "/ok"), Got::Status(503));
    scene.fault("{ of: { port: 8080 }, does: { elsewhere: { port: 8099 } } }");
    assert_eq!(http(8080, "/ok"), Got::Refused, "a closed port there refuses");
    assert_eq!(scene.connected("web"), 0);
}

#[test]
fn one_connection_serves_all_probes() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: keep-alive }");
    for _ in 0..4 {
        assert_eq!(http(8080, "/ok"), Got::Status(200));
    }
    scene.expect_asked("/ok", 4);
    assert_eq!(scene.connected("web"), 1);
}

#[test]
fn a_connection_lingers() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { linger: { for: 600ms } } }");
    assert_eq!(tcp(8090, SECOND), Got::Status(0));
    std::thread::sleep(3 * MOMENT);
    assert_eq!(scene.connections("raw"), [(NODE.into(), None, 0)]);
    std::thread::sleep(6 * MOMENT);
    assert_eq!(scene.connections("raw"), [(NODE.into(), Some(Ending::PeerClosed), 0)]);
}

#[test]
fn a_tcp_probe_says_something() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ of: { by: tcp }, does: { tcp: { send: hello } } }");
    assert_eq!(tcp(8090, SECOND), Got::Status(0));
    std::thread::sleep(2 * MOMENT);
    assert_eq!(scene.connections("raw"), [(NODE.into(), Some(Ending::PeerClosed), 5)]);
    assert_eq!(http(8080, "/ok"), Got::Status(200), "an HTTP probe is none of its business");
}

#[test]
fn a_tcp_probe_ends_with_a_reset() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { tcp: reset } }");
    assert_eq!(tcp(8090, SECOND), Got::Status(0));
    std::thread::sleep(2 * MOMENT);
    assert_eq!(scene.connections("raw"), [(NODE.into(), Some(Ending::PeerReset), 0)]);
}

#[test]
fn a_tcp_probe_wants_more_than_an_open_port() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.fault("{ does: { tcp: { needs-open: { for: 200ms } } } }");
    assert_eq!(tcp(8091, SECOND), Got::Refused, "it closes at once");
    assert_eq!(tcp(8090, SECOND), Got::Status(0));
    scene.fault("{ does: { tcp: { needs-banner: { within: 200ms } } } }");
    assert_eq!(tcp(8090, SECOND), Got::Refused, "it says nothing");
    assert_eq!(tcp(8092, SECOND), Got::Status(0));
}

#[test]
fn one_probe_in_two_is_struck() {
    let Some(scene) = NodeScene::plain() else { return };
    scene.defect(
        "{ name: d, on: { namespace: run-1 }, when: { every: 2 }, fault: { pods: { does: refuse } } }",
    );
    let got: Vec<_> = (0..4).map(|_| http(8080, "/ok")).collect();
    assert_eq!(got, [Got::Status(200), Got::Refused, Got::Status(200), Got::Refused]);
}

#[test]
fn only_the_liveness_probe_is_struck() {
    let spec = "{ containers: [{ name: c, livenessProbe: { httpGet: { path: /ok, port: 8080 } }, readinessProbe: { httpGet: { path: /n204, port: 8080 } } }] }";
    let Some(scene) = NodeScene::with_spec(spec) else { return };
    scene.fault("{ of: { probe: liveness }, does: { skip: { answer: failure } } }");
    assert_eq!(http(8080, "/ok"), Got::Status(503));
    assert_eq!(http(8080, "/n204"), Got::Status(204));
    scene.expect_asked("/ok", 0);
    scene.expect_asked("/n204", 1);
}

#[test]
fn a_probe_comes_from_inside_the_pod() {
    let Some(scene) = NodeScene::plain() else { return };
    let name = format!("saboteur-test-{}", scene.target.pid());
    scene::run(&format!("ip netns attach {name} {}", scene.target.pid()));
    scene.fault("{ does: from-inside }");
    let got = http(8080, "/ok");
    scene::run(&format!("ip netns del {name}"));
    assert_eq!(got, Got::Status(200));
    assert_eq!(scene.connections("web")[0].0, std::net::IpAddr::from(scene::POD));
}
