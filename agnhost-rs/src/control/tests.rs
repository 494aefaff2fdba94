#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Instant;

use probity_script::{Changed, WitnessLine};
use serde_json::Value;

use super::*;
use crate::clock::Clock;
use crate::locks::lock;
use crate::witness::{Identity, Witness};

pub(super) const TOKEN: &str = "open-sesame";

const PLAN: &str = "listeners: { http: { port: 8080, paths: { /ready: 200, /live: 200 } } }";

/// A control port on a free port of the loopback interface, with the receiver of its exit orders.
pub(super) struct Port {
    pub(super) address: SocketAddr,
    pub(super) stage: Stage,
    meters: Meters,
    exits: std::sync::Mutex<mpsc::Receiver<ExitOrder>>,
}

pub(super) fn port() -> Port {
    let identity = Identity { boot: "cafe".to_owned(), attempt: 3, counter: None };
    let witness = Witness::new(Clock::start(), identity, 1 << 20);
    let stage = Stage::new(probity_document::plan("plan", PLAN).unwrap(), witness);
    let (meters, gate) = (Meters::default(), ShutdownGate::default());
    let (sender, exits) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let control = Control {
        stage: stage.clone(),
        gate,
        meters: meters.clone(),
        token: Token::new(TOKEN).unwrap(),
        dump: || Dump { host: "pod-1".to_owned(), ..Dump::default() },
        exit: Box::new(move |order| lock(&sender).send(order).unwrap()),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = start(listener, control).unwrap();
    Port { address, stage, meters, exits: std::sync::Mutex::new(exits) }
}

/// An answer as it was on the wire.
pub(super) struct TestResponse {
    pub(super) status: u16,
    head: String,
    body: Vec<u8>,
}

impl TestResponse {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}: ")));
        line.map_or("", |line| &line[name.len() + 2..])
    }
}

impl Port {
    pub(super) fn connect(&self) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and reads until the other side closes.
    pub(super) fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The other side may close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn ask_as(&self, authorization: &str, method: &str, target: &str, body: &[u8]) -> TestResponse {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: control\r\n{authorization}Connection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = self.raw(&[head.as_bytes(), body].concat());
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        TestResponse { status: head[9..12].parse().unwrap(), head, body: answer[end..].to_vec() }
    }

    pub(super) fn ask(&self, method: &str, target: &str, body: &str) -> TestResponse {
        self.ask_as(&format!("Authorization: Bearer {TOKEN}\r\n"), method, target, body.as_bytes())
    }

    /// All facts that were recorded so far.
    pub(super) fn facts(&self) -> Vec<WitnessLine> {
        let lines = self.stage.witness().since(0, usize::MAX, Duration::ZERO).concat();
        lines.split_inclusive(|byte| *byte == b'\n').map(|l| serde_json::from_slice(l).unwrap()).collect()
    }

    fn refusals(&self) -> Vec<Refused> {
        let refused = |line: WitnessLine| match line.fact {
            Fact::Refused(refused) => Some(refused),
            _ => None,
        };
        self.facts().into_iter().filter_map(refused).collect()
    }
}

#[test]
fn the_port_is_witnessed_as_open() {
    let port = port();
    let Fact::Listening(state) = &port.facts()[0].fact else { panic!() };
    assert_eq!((state.listener.as_str(), state.state.as_str()), ("control", "open"));
    assert_eq!(state.address, port.address.to_string());
}

#[test]
fn without_the_right_token_every_route_refuses_and_witnesses() {
    let port = port();
    let routes = [
        ("GET", "/v1/clock"),
        ("POST", "/v1/change"),
        ("POST", "/v1/reset"),
        ("POST", "/v1/marks/a"),
        ("GET", "/v1/plan"),
        ("GET", "/v1/counters"),
        ("GET", "/v1/witness"),
        ("POST", "/v1/exit"),
        ("GET", "/v1/dump"),
        ("GET", "/v1/file?path=/etc/hostname"),
        ("PUT", "/v1/file?path=/nowhere"),
        ("DELETE", "/v1/file?path=/nowhere"),
        ("GET", "/v1/stat?path=/"),
        ("GET", "/metrics"),
        ("GET", "/nothing"),
    ];
    for (method, target) in routes {
        let answer = port.ask_as("", method, target, b"");
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer"), "{target}");
        assert!(answer.json()["error"].as_str().unwrap().contains("there is no token"));
        let answer = port.ask_as("Authorization: Bearer open-sesamy\r\n", method, target, b"");
        assert_eq!(answer.status, 401, "{target}");
    }
    let refusals = port.refusals();
    assert_eq!(refusals.len(), 2 * routes.len());
    for (pair, (method, target)) in refusals.chunks(2).zip(routes) {
        assert_eq!(pair[0].request, format!("{method} {target}"));
        assert!(pair[0].peer.starts_with("127.0.0.1:"));
        assert!(pair[0].why.contains("no token") && pair[1].why.contains("the token is wrong"));
    }
    assert_eq!(port.stage.counted("http", "/ready"), 0);
}

#[test]
fn the_clock_is_the_witnesss_clock() {
    let port = port();
    let before = port.stage.witness().clock().mono_us();
    let clock = port.ask("GET", "/v1/clock", "").json();
    let after = port.stage.witness().clock().mono_us();
    assert!((before..=after).contains(&clock["mono_us"].as_u64().unwrap()), "{clock}");
    assert_eq!((clock["boot"].as_str().unwrap(), clock["attempt"].as_u64().unwrap()), ("cafe", 3));
}

#[test]
fn a_change_takes_effect_as_a_whole_and_says_when() {
    let port = port();
    let change = "listeners:\n  http:\n    paths:\n      /ready: 503\n      /live: hang\n";
    let answer = port.ask("POST", "/v1/change", change);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let changed: Changed = serde_json::from_slice(&answer.body).unwrap();
    let lines = port.facts();
    let line = lines.iter().find(|line| line.seq == changed.seq).unwrap();
    assert!(matches!(line.fact, Fact::Change(_)));
    assert_eq!((line.mono_us, line.wall_us), (changed.mono_us, changed.wall_us));
    assert_eq!(changed.endpoints.len(), 2);
    let plan = port.ask("GET", "/v1/plan", "").json();
    assert_eq!(plan["listeners"]["http"]["paths"]["/ready"][0]["answer"]["status"], 503);
    let json = r#"{"listeners": {"http": {"paths": {"/ready": "close"}}}}"#;
    assert_eq!(port.ask("POST", "/v1/change", json).status, 200, "JSON is as good as YAML");
    assert_eq!(port.ask("POST", "/v1/reset", "").status, 200);
    let plan = port.ask("GET", "/v1/plan", "").json();
    assert_eq!(plan["listeners"]["http"]["paths"]["/ready"][0]["answer"]["status"], 200);
}

#[test]
fn a_wrong_change_is_explained_and_changes_nothing() {
    let port = port();
    let before = port.stage.plan();
    for (change, place, sentence, nearest) in [
        ("listeners:\n  http:\n    paths:\n      /ready: hnag\n", (4, 15), "`hnag`", "hang"),
        ("listeners:\n  http:\n    pahts: {}\n", (3, 5), "no setting `pahts`", "paths"),
        ("listeners:\n  htpp:\n    paths:\n      /a: 200\n", (2, 3), "did you mean `http`?", ""),
        ("listeners: { http: { services: { a: serving } } }", (1, 22), "belong to protocol grpc", ""),
        ("{}", (1, 1), "is empty", ""),
    ] {
        let answer = port.ask("POST", "/v1/change", change);
        let fault = answer.json();
        assert_eq!(answer.status, 422, "{fault}");
        assert_eq!(
            (fault["line"].as_u64(), fault["column"].as_u64()),
            (Some(place.0), Some(place.1)),
            "{fault}"
        );
        assert!(fault["error"].as_str().unwrap().contains(sentence), "{fault}");
        assert_eq!(fault["nearest"].as_str().unwrap_or_default(), nearest, "{fault}");
    }
    assert!(port.ask("POST", "/v1/change", "").json()["error"].as_str().unwrap().contains("empty"));
    assert_eq!(port.stage.plan(), before);
}

#[test]
fn a_mark_is_an_event() {
    let port = port();
    let stamp = port.ask("POST", "/v1/marks/half-time", "").json();
    let lines = port.facts();
    let line = lines.iter().find(|line| Some(line.seq) == stamp["seq"].as_u64()).unwrap();
    let Fact::Mark(mark) = &line.fact else { panic!("{line:?}") };
    assert_eq!((mark.name.as_str(), mark.by.as_str()), ("half-time", "control"));
    assert!(port.stage.since().contains_key("half-time"));
    for name in ["sigterm", "a%20b", &"a".repeat(65)] {
        assert_eq!(port.ask("POST", &format!("/v1/marks/{name}"), "").status, 400, "{name}");
    }
}

#[test]
fn counters_are_those_of_the_stage() {
    let port = port();
    for _ in 0..3 {
        port.stage.count("http", "/ready");
    }
    assert_eq!(port.ask("GET", "/v1/counters", "").json()["http"]["/ready"], 3);
}

#[test]
fn the_witness_is_read_on_from_where_it_was_left() {
    let port = port();
    port.stage.mark("one", "test");
    let answer = port.ask("GET", "/v1/witness?since=1", "");
    assert_eq!((answer.header("probity-first"), answer.header("probity-next")), ("1", "2"));
    assert!(answer.text().contains("\"one\"") && answer.text().lines().count() == 1);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let answer = port.ask("GET", "/v1/witness?most=1", "");
    assert_eq!((answer.text().lines().count(), answer.header("probity-next")), (1, "1"));
    for query in ["since=x", "wait=10", "wait=2h", "most=1GiB", "sicne=1"] {
        let answer = port.ask("GET", &format!("/v1/witness?{query}"), "");
        assert!(answer.status == 400 && answer.json()["error"].is_string(), "{query}");
    }
}

#[test]
fn a_waiting_reader_is_woken_and_holds_nobody_up() {
    let port = port();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| port.ask("GET", "/v1/witness?since=1&wait=30s", ""));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(port.ask("GET", "/v1/clock", "").status, 200);
        assert!(!reader.is_finished());
        port.stage.mark("wake", "test");
        assert!(reader.join().unwrap().text().contains("wake"));
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    let answer = port.ask("GET", "/v1/witness?since=99&wait=50ms", "");
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
}

#[test]
fn an_exit_order_is_answered_before_it_is_carried_out() {
    let port = port();
    let answer = port.ask("POST", "/v1/exit", "{ code: 7, way: abort, after: 200ms }");
    assert_eq!(answer.status, 202);
    assert!(lock(&port.exits).try_recv().is_err());
    let order = lock(&port.exits).recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!((order.code, order.way), (7, ExitWay::Abort));
    let fault = port.ask("POST", "/v1/exit", "{ cod: 7 }").json();
    assert_eq!(fault["nearest"], "code");
}

#[test]
fn a_dump_is_what_the_process_sees() {
    assert_eq!(port().ask("GET", "/v1/dump", "").json()["host"], "pod-1");
}

#[test]
fn files_are_written_read_described_and_removed() {
    let port = port();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a file").display().to_string().replace(' ', "%20");
    assert_eq!(port.ask("PUT", &format!("/v1/file?path={path}"), "hello").json()["bytes"], 5);
    assert_eq!(port.ask("GET", &format!("/v1/file?path={path}"), "").text(), "hello");
    let stat = port.ask("GET", &format!("/v1/stat?path={path}"), "").json();
    assert_eq!((stat["kind"].as_str(), stat["size"].as_u64()), (Some("file"), Some(5)));
    let stat = port.ask("GET", &format!("/v1/stat?path={}", folder.path().display()), "").json();
    assert_eq!((stat["kind"].as_str(), stat["entries"][0].as_str()), (Some("folder"), Some("a file")));
    assert_eq!(port.ask("DELETE", &format!("/v1/file?path={path}"), "").status, 200);
    let answer = port.ask("GET", &format!("/v1/file?path={path}"), "");
    assert_eq!((answer.status, answer.json()["os"].as_str()), (404, Some("ENOENT")));
    assert_eq!(port.ask("GET", "/v1/file", "").status, 400);
}

#[test]
fn files_without_end_and_pipes_without_readers_hold_nobody_up() {
    let port = port();
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(port.ask("GET", "/v1/file?path=/dev/zero", "").status, 413);
    let answer = port.ask("PUT", &format!("/v1/file?path={}", pipe.display()), "x");
    assert_eq!((answer.status, answer.json()["os"].as_str()), (409, Some("ENXIO")));
    assert_eq!(port.ask("GET", &format!("/v1/file?path={}", pipe.display()), "").status, 200);
    let answer = port.ask("PUT", "/v1/file?path=/dev/full", "x");
    assert_eq!((answer.status, answer.json()["os"].as_str()), (507, Some("ENOSPC")));
    let answer = port.ask("GET", &format!("/v1/file?path={}", folder.path().display()), "");
    assert_eq!(answer.json()["os"], "EISDIR");
}

#[test]
fn metrics_are_open_metrics() {
    let port = port();
    port.stage.count("http", "/ready");
    let (_open, closed) = (port.meters.connection(), port.meters.connection());
    drop(closed);
    port.stage.witness().add(crate::witness::Outlet::unconnected("recorder", 10));
    port.stage.mark("lost", "test");
    let answer = port.ask("GET", "/metrics", "");
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let page = answer.text();
    for line in [
        "agnhost_probes_total{group=\"http\",name=\"/ready\"} 1",
        "agnhost_connections_accepted_total 2",
        "agnhost_connections_open 1",
        "agnhost_witness_lines_total 2",
        "agnhost_witness_lost_lines_total{outlet=\"recorder\"} 1",
        "agnhost_process_info{boot=\"cafe\",attempt=\"3\"} 1",
        "agnhost_doors_open 1",
        "# EOF",
    ] {
        assert!(page.lines().any(|seen| seen == line), "{line} is missing in\n{page}");
    }
}

#[test]
fn what_is_not_there_is_said_in_json() {
    let port = port();
    assert_eq!(port.ask("GET", "/nothing", "").json()["error"], "there is nothing at /nothing");
    let answer = port.ask("DELETE", "/v1/plan", "");
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (405, Some("/v1/plan does not support DELETE"))
    );
}
