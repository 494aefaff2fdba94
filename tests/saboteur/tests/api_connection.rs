//! Faults between kubelet and API server, over real sockets: a kubelet, the proxy, and an API server with one pod.

mod api_scene;

use std::time::{Duration, Instant};

use api_scene::{ApiScene, patch_of, wait_for};
use probity_saboteur::api::Client;
use serde_json::{Value, json};

const POD: &str = "/api/v1/namespaces/run-1/pods/probe";
const STATUS: &str = "/api/v1/namespaces/run-1/pods/probe/status";

/// How long a test waits to see that nothing unwanted happens.
const MOMENT: Duration = Duration::from_millis(300);

fn ready(scene: &ApiScene) -> Value {
    scene.pod()["status"]["containerStatuses"][0]["ready"].clone()
}

#[test]
#[expect(clippy::print_stdout, reason = "who runs it wants to see the figures")]
fn without_a_defect_requests_and_answers_are_the_same() {
    let scene = ApiScene::new();
    let measure = |direct: bool| {
        let mut times: Vec<Duration> = (0..200)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(scene.ask_by(direct, "GET", POD, "").0, 200);
                began.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    };
    let (direct, through) = (measure(true), measure(false));
    assert!(through < direct + Duration::from_millis(2), "{through:?} through the proxy, {direct:?} without");
    println!("median of 200 requests: {through:?} through the proxy, {direct:?} without");
    let patch = patch_of(true).to_string();
    assert_eq!(scene.ask_by(false, "PATCH", STATUS, &patch), scene.ask_by(true, "PATCH", STATUS, &patch));
    let asked = scene.asked();
    let [through, direct] = &asked[asked.len() - 2..] else { panic!("two requests") };
    assert_eq!(through, direct, "method, path, header fields and body");
}

#[test]
fn a_late_status_is_taken_for_written_and_written_late() {
    let scene = ApiScene::new();
    scene.defect("{ status: { does: { late: { by: 600ms } } } }");
    let began = Instant::now();
    let (status, answer) = scene.ask("PATCH", STATUS, &patch_of(true).to_string());
    assert!(status == 200 && began.elapsed() < Duration::from_millis(500));
    let shown = |text: &str| {
        serde_json::from_str::<Value>(text).unwrap_or_default()["status"]["containerStatuses"][0]["ready"]
            .clone()
    };
    assert_eq!(shown(&answer), true, "the kubelet sees what it wrote");
    assert_eq!(shown(&scene.ask("GET", POD, "").1), true, "and reads it back");
    assert_eq!(ready(&scene), false, "although it is not written");
    wait_for("the status", || ready(&scene) == true);
    assert!(began.elapsed() >= Duration::from_millis(600));
}

#[test]
fn a_lost_status_is_never_written() {
    let scene = ApiScene::new();
    scene.defect("{ status: { if: { container: { ready: true } }, does: lost } }");
    assert_eq!(scene.ask("PATCH", STATUS, &patch_of(true).to_string()).0, 200);
    std::thread::sleep(MOMENT);
    assert_eq!(ready(&scene), false);
}

#[test]
fn a_field_is_written_otherwise_and_conditions_of_others_stay() {
    let scene = ApiScene::new();
    scene.defect("{ status: { does: { alter: { containers: [{ set: { restartCount: 7 } }], conditions: [{ type: Ready, change: { set: { reason: Made } } }] } } } }");
    scene.ask("PATCH", STATUS, &patch_of(true).to_string());
    wait_for("the status", || ready(&scene) == true);
    let status = scene.pod()["status"].clone();
    assert_eq!(status["containerStatuses"][0]["restartCount"], 7);
    assert_eq!(
        status["conditions"],
        json!([{"type": "Ready", "status": "True", "reason": "Made"}, {"type": "Gate", "status": "True"}])
    );
}

#[test]
fn a_late_status_is_written_before_the_pod_is_removed() {
    let scene = ApiScene::new();
    scene.defect("{ status: { does: { late: { by: 400ms } } } }");
    scene.ask("PATCH", STATUS, &patch_of(true).to_string());
    assert_eq!(scene.ask("DELETE", POD, "{}").0, 200);
    wait_for("the removal", || scene.asked().iter().any(|asked| asked.starts_with("DELETE")));
    let writes: Vec<String> = scene
        .asked()
        .iter()
        .filter(|asked| !asked.starts_with("GET"))
        .map(|asked| asked[..3].to_owned())
        .collect();
    assert_eq!(writes, ["PUT", "DEL"]);
}

#[test]
fn an_event_is_lost_with_its_later_changes() {
    let scene = ApiScene::new();
    scene.defect("{ event: { reason: Killing, does: lost } }");
    let event = |reason: &str| {
        let subject = json!({"kind": "Pod", "namespace": "run-1", "name": "probe"});
        let name = json!({"namespace": "run-1", "name": format!("probe.{reason}")});
        json!({"metadata": name, "involvedObject": subject, "reason": reason, "message": "m"}).to_string()
    };
    let events = "/api/v1/namespaces/run-1/events";
    assert_eq!(scene.ask("POST", events, &event("Killing")).0, 201);
    assert_eq!(scene.ask("PATCH", &format!("{events}/probe.Killing"), r#"{"count":2}"#).0, 200);
    assert_eq!(scene.asked(), [] as [String; 0]);
    scene.ask("POST", events, &event("Started"));
    assert_eq!(scene.asked().len(), 1);
}

#[test]
fn news_of_a_pod_are_heard_late_and_other_news_are_not() {
    let scene = ApiScene::new();
    scene.defect("{ heard: { news: [modified], does: { late: { by: 500ms } } } }");
    let began = Instant::now();
    let lines = scene.watch(3);
    let kinds: Vec<&str> = lines.iter().map(|(line, _)| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["ADDED", "BOOKMARK", "MODIFIED"]);
    assert!(
        lines[1].1 < began + Duration::from_millis(500) && lines[2].1 >= began + Duration::from_millis(500)
    );
}

#[test]
fn a_lease_is_refused() {
    let scene = ApiScene::new();
    scene.defect("{ other: { method: PUT, resource: leases, does: { refused: { status: 503 } } } }");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/run-1/leases/node1";
    assert_eq!(scene.ask("PUT", lease, "{}").0, 503);
    assert_eq!(scene.ask("GET", lease, "").0, 200);
}

#[test]
fn what_a_controller_writes_is_changed_pretended_and_refused() {
    let scene = ApiScene::of(Client::Controllers);
    let slices = "/apis/discovery.k8s.io/v1/namespaces/run-1/endpointslices";
    scene.fault(
        "{ controllers: { resource: endpointslices, does: { alter: { set: { endpoints/0/ready: true } } } } }",
    );
    let slice = json!({"metadata": {"generateName": "web-"}, "endpoints": [{"ready": false}]}).to_string();
    assert_eq!(scene.ask("POST", slices, &slice).0, 200);
    assert!(scene.asked()[0].contains(r#""endpoints":[{"ready":true}]"#), "{:?}", scene.asked());

    scene.fault("{ controllers: { resource: endpointslices, method: PUT, does: pretended } }");
    assert_eq!(scene.ask("PUT", &format!("{slices}/web-1"), &slice), (200, slice));
    scene.fault("{ controllers: { resource: pods, method: DELETE, does: { refused: { status: 403 } } } }");
    assert_eq!(scene.ask("DELETE", "/api/v1/namespaces/run-1/pods/a", "").0, 403);
    assert_eq!(scene.asked().len(), 1, "neither of them reached the API server");
    assert_eq!(scene.ask("GET", "/api/v1/namespaces/run-1/pods/a", "").0, 200);
}
