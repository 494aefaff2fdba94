//! The same answers over HTTP/2, with prior knowledge and over TLS.

use std::time::Duration;

use probity_script::witness::Ending;
use probity_tests::frames::{self, frames, hello, kind};
use probity_tests::h2::H2;
use probity_tests::target::Target;
use probity_tests::wire::{End, Wire};

fn target(paths: &str) -> Target {
    Target::start(&format!(
        "listeners: {{ web: {{ port: 0, paths: {{ {paths} }} }}, safe: {{ port: 0, tls: {{}}, paths: {{ {paths} }} }} }}"
    ))
}

/// The answer, or the failure for the test.
fn got(answer: Result<probity_tests::h2::Answer, String>) -> probity_tests::h2::Answer {
    answer.unwrap_or_else(|error| panic!("no answer: {error}"))
}

#[test]
fn statuses_headers_and_bodies_arrive_in_both_manners() {
    let target = target(
        "/a: { status: 503, headers: ['X-A: 1', 'X-A: 2', 'X-To: {ip}:{port}'], body: busy }, /empty: 204, /large: { body: { bytes: 1MiB } }",
    );
    for (listener, first) in [("web", 1), ("safe", 4)] {
        let address = target.address(listener);
        let h2 = if listener == "web" { H2::connect(address) } else { H2::connect_tls(address) };
        let answer = got(h2.get("/a"));
        assert_eq!((answer.status, answer.body.as_slice()), (503, b"busy".as_slice()));
        let twice: Vec<_> =
            answer.headers.iter().filter(|(name, _)| name == "x-a").map(|l| l.1.as_str()).collect();
        assert_eq!(twice, ["1", "2"]);
        assert_eq!(answer.header("x-to"), Some(address.to_string().as_str()));
        assert_eq!((got(h2.get("/empty")).status, got(h2.get("/large")).body.len()), (204, 1 << 20));
        let story = target.story(first);
        assert_eq!(story.request.endpoint.map(|e| e.to_string()), Some(format!("{listener}:/a")));
        assert_eq!((story.request.protocol.as_str(), story.request.target.as_str()), ("HTTP/2", "/a"));
        assert_eq!(
            (story.answer.answer.as_str(), story.answer.written, story.answer.error),
            ("503", 4, None)
        );
        assert!(story.request.headers.contains(&(":authority".to_owned(), "target:80".to_owned())));
        assert_eq!(target.story(first + 2).answer.written, 1 << 20);
        let local = h2.local();
        drop(h2);
        assert_eq!(target.closed(local).how, Ending::PeerClosed, "{listener}");
    }
}

#[test]
fn requests_on_one_connection_do_not_wait_for_one_another() {
    let target = target("/slow: { delay: 60s }, /fast: 200");
    let mut wire = Wire::connect(target.address("web"));
    wire.send([hello(), frames::get(1, "/slow"), frames::get(3, "/fast")].concat());
    let fast = target.wait_for("the fast answer", |line| match &line.fact {
        probity_script::Fact::Answer(answer) if answer.answer == "200" => Some(answer.clone()),
        _ => None,
    });
    assert_eq!((fast.nth, fast.error), (2, None));
    let local = wire.local();
    wire.half_close();
    wire.hear_all();
    let slow = target.answer(fast.conn, 1);
    assert_eq!((slow.written, slow.error.as_deref()), (0, Some("the peer gave up")));
    assert_eq!(target.closed(local).how, Ending::PeerClosed);
}

#[test]
fn a_head_and_a_body_wait_for_their_delays() {
    let target = target(
        "/head: { delay: 300ms }, /body: { body-delay: 300ms }, /drip: { body: abc, drip: { bytes: 1, every: 150ms } }",
    );
    let h2 = H2::connect(target.address("web"));
    for (nth, path) in (1..).zip(["/head", "/body", "/drip"]) {
        assert_eq!(got(h2.get(path)).status, 200);
        let took = target.story(nth).answer.took_us;
        assert!((300_000..5_300_000).contains(&took), "{path}: {took} us"); // 5 s for a busy machine
    }
}

#[test]
fn a_request_that_is_given_up_is_told() {
    let target = target("/hang: hang, /stall: { body: { bytes: 100 }, stall-after: 40 }");
    let h2 = H2::connect(target.address("web"));
    let patience = Duration::from_millis(300);
    for (nth, (path, answer, written)) in (1..).zip([("/hang", "hang", 0), ("/stall", "200", 40)]) {
        assert!(h2.send("GET", path, &[], Vec::new(), patience).is_err(), "{path}");
        let told = target.story(nth).answer;
        assert_eq!((told.answer.as_str(), told.written), (answer, written), "{path}");
        assert_eq!(told.error.as_deref(), Some("the peer gave up"));
        assert!(told.took_us >= 200_000, "{told:?}"); // the request may arrive after we began to wait
    }
    assert_eq!(target.request(1).conn, target.request(2).conn, "the connection outlives a request");
}

#[test]
fn a_connection_ends_on_the_wire_as_planned() {
    let target = target(
        "/close: close, /reset: reset, /garbage: garbage, /raw: { raw: raw bytes }, /closeafter: { body: { bytes: 5000 }, close-after: 1000 }, /resetafter: { body: { bytes: 5000 }, reset-after: 1000 }",
    );
    for (nth, (path, answer, end, how)) in (1..).zip([
        ("/close", "close", End::Fin, Ending::WeClosed),
        ("/reset", "reset", End::Rst, Ending::WeReset),
        ("/garbage", "garbage", End::Fin, Ending::WeClosed),
        ("/raw", "raw", End::Fin, Ending::WeClosed),
        ("/closeafter", "200", End::Fin, Ending::WeClosed),
        ("/resetafter", "200", End::Rst, Ending::WeReset),
    ]) {
        let mut wire = Wire::connect(target.address("web"));
        let heard = wire.send([hello(), frames::get(1, path)].concat()).hear_all();
        assert_eq!(heard.end, end, "{path}");
        let story = target.story(nth);
        assert_eq!((story.request.target.as_str(), story.answer.answer.as_str()), (path, answer));
        assert_eq!(target.closed(wire.local()).how, how, "{path}");
        let (whole, rest) = frames(&heard.bytes());
        let ended = whole.iter().any(|frame| frame.kind == kind::DATA && frame.flags & 1 == 1);
        assert!(!ended, "{path}: no body came to its end");
        match path {
            "/garbage" | "/raw" => {
                assert!(!rest.is_empty() || whole.iter().any(|frame| frame.kind > 9), "{whole:?}")
            }
            "/close" | "/reset" => assert!(whole.iter().all(|frame| frame.kind != kind::HEADERS)),
            _ => assert!(story.answer.written <= 1000, "{path}"),
        }
    }
}

#[test]
fn redirects_lead_on_as_in_http1() {
    let target = target("/: { redirect: { hops: 1, status: 307 } }");
    let h2 = H2::connect(target.address("web"));
    let answer = got(h2.get("/"));
    assert_eq!((answer.status, answer.header("location")), (307, Some("/?probity-hop=1")));
    assert_eq!(got(h2.get("/?probity-hop=1")).status, 200);
    let seen = [1, 2].map(|nth| target.request(nth)).map(|request| (request.probe, request.hop));
    assert_eq!(seen, [(1, None), (1, Some(1))]);
}

#[test]
fn head_gets_no_body_and_the_host_chooses() {
    let target =
        target("/: [{ answer: { status: 404, body: gone }, when: { host: target } }, { answer: 200 }]");
    let h2 = H2::connect(target.address("web"));
    let answer = got(h2.send("HEAD", "/", &[], Vec::new(), Duration::from_secs(20)));
    assert_eq!((answer.status, answer.body.len(), answer.header("content-length")), (404, 0, Some("4")));
    assert_eq!((target.story(1).request.method, target.story(1).answer.written), ("HEAD".to_owned(), 0));
}

#[test]
fn a_body_that_lies_about_its_length_breaks_the_stream() {
    let target = target("/: { body: short, framing: { content-length: 100 } }");
    let h2 = H2::connect(target.address("web"));
    let answer = got(h2.get("/"));
    assert_eq!((answer.header("content-length"), answer.status), (Some("100"), 200));
    assert!(answer.broken.is_some(), "{answer:?}");
}

#[test]
fn an_endless_body_ends_with_its_reader() {
    let target = target("/: { body: { endless: true } }");
    let h2 = H2::connect(target.address("web"));
    assert!(h2.send("GET", "/", &[], Vec::new(), Duration::from_millis(300)).is_err());
    let answer = target.story(1).answer;
    assert!(answer.written > 100_000 && answer.error.is_some(), "{answer:?}");
}
