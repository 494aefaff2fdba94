//! Answers that depend on a pool of workers, on another endpoint, or on the target's own state.

use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_script::witness::Call;
use probity_tests::program::free_port;
use probity_tests::target::Target;
use probity_tests::wire::{Wire, ask, get};

/// How many requests have arrived.
fn arrived(target: &Target, count: usize) {
    let _ = target.request(count);
}

#[test]
fn a_full_queue_is_answered_503_at_once() {
    let target = Target::start(
        "listeners: { web: { port: 0, workers: { count: 1, queue: 1 }, paths: { /slow: { delay: 700ms }, /fast: 200 } } }",
    );
    let address = target.address("web");
    let mut working = Wire::connect(address);
    working.send(get("/slow"));
    arrived(&target, 1);
    let mut waiting = Wire::connect(address);
    waiting.send(get("/slow"));
    arrived(&target, 2);
    // The second has arrived, and takes its place in the queue right after that.
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    let full = ask(address, get("/fast")).reply();
    assert!(full.status == 503 && full.text().contains("queue is full"), "{full:?}");
    assert!(began.elapsed() < Duration::from_millis(600), "it did not wait for a worker");
    assert_eq!([working.hear_all().reply().status, waiting.hear_all().reply().status], [200, 200]);
    assert_eq!(target.story(3).answer.answer, "503");
    // An arrival is recorded before the request asks for a worker, so on a busy machine either request may get it first.
    let took = [1, 2].map(|nth| target.story(nth).answer.took_us);
    let longest = took[0].max(took[1]);
    assert!(longest >= 1_200_000, "one waited for the worker and then for its own delay: {took:?}");
}

#[test]
fn without_a_limit_all_wait_for_a_worker() {
    let target = Target::start(
        "listeners: { web: { port: 0, workers: { count: 2 }, paths: { /: { delay: 200ms } } } }",
    );
    let address = target.address("web");
    let mut wires: Vec<_> = (0..6).map(|_| Wire::connect(address)).collect();
    for wire in &mut wires {
        wire.send(get("/"));
    }
    let statuses: Vec<_> = wires.iter_mut().map(|wire| wire.hear_all().reply().status).collect();
    assert_eq!(statuses, [200; 6]);
    let mut took: Vec<_> = (1..=6).map(|nth| target.story(nth).answer.took_us).collect();
    took.sort_unstable();
    // Six requests of 200 ms with two workers take three rounds; arrivals may be some milliseconds apart.
    assert!(took[5] >= 500_000 && took[0] >= 200_000, "{took:?}");
}

fn call(target: &Target, nth: usize) -> Call {
    let mut count = 0;
    target.wait_for("the call of the dependency", |line| {
        let Fact::Call(call) = &line.fact else { return None };
        count += 1;
        (count == nth).then(|| call.clone())
    })
}

#[test]
fn a_dependency_decides_over_the_answer() {
    let port = free_port();
    let gone = free_port();
    let target = Target::start(&format!(
        "listeners: {{ web: {{ port: 0, paths: {{ /ready: {{ body: fine, depends-on: {{ url: 'http://127.0.0.1:{port}/db' }} }}, /gone: {{ depends-on: {{ url: 'http://127.0.0.1:{gone}/' }} }}, /slow: {{ depends-on: {{ url: 'http://127.0.0.1:{port}/hang', timeout: 200ms }} }} }} }}, db: {{ port: {port}, paths: {{ /db: [{{ answer: 301, times: 1 }}, {{ answer: 500 }}], /hang: hang }} }} }}"
    ));
    let address = target.address("web");
    let _ = target.address("db");
    let fine = ask(address, get("/ready")).reply();
    assert_eq!((fine.status, fine.text().as_str()), (200, "fine"));
    let bad = ask(address, get("/ready")).reply();
    assert!(bad.status == 503 && bad.text().contains("500"), "{bad:?}");
    let gone = ask(address, get("/gone")).reply();
    assert!(gone.status == 503 && gone.text().contains("refused"), "{gone:?}");
    let slow = ask(address, get("/slow")).reply();
    assert!(slow.status == 503 && slow.text().contains("200ms"), "{slow:?}");
    let calls = [1, 2, 3, 4].map(|nth| call(&target, nth));
    let told: Vec<_> =
        calls.iter().map(|call| (call.by.as_str(), call.status, call.error.is_some())).collect();
    assert_eq!(
        told,
        [
            ("web:/ready", Some(301), false),
            ("web:/ready", Some(500), false),
            ("web:/gone", None, true),
            ("web:/slow", None, true)
        ]
    );
    assert!(calls[3].took_us >= 200_000, "{:?}", calls[3]);
}

#[test]
fn a_target_reports_who_it_is_and_what_it_was_asked() {
    let plan = "listeners: { web: { port: 0, paths: { /who: { body: { report: identity } }, /counters: { body: { report: counters } }, /dump: { body: { report: dump } } } } }";
    let target = Target::start_with(plan, &[("POD_NAME", "web-0"), ("POD_UID", "u1")]);
    let address = target.address("web");
    let json = |path: &str| -> serde_json::Value {
        let reply = ask(address, get(path)).reply();
        assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
        serde_json::from_str(&reply.text())
            .unwrap_or_else(|error| panic!("{path}: {error} in {}", reply.text()))
    };
    assert_eq!(json("/who")["request"], 1);
    let who = json("/who");
    let line = target.wait_for("any line", |line| Some(line.clone()));
    assert_eq!((who["request"].as_u64(), who["boot"].as_str()), (Some(2), Some(line.boot.as_str())));
    assert_eq!(
        (who["names"]["POD_NAME"].as_str(), who["names"]["POD_UID"].as_str()),
        (Some("web-0"), Some("u1"))
    );
    assert!(who["host"].as_str().is_some_and(|host| !host.is_empty()));
    assert_eq!(json("/counters")["web"]["/who"], 2);
    assert!(json("/dump").is_object());
}
