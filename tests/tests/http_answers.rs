//! The bytes that an HTTP/1 client receives for each kind of answer, and the records of the witness about it.

use std::fmt::Write as _;

use probity_script::witness::Ending;
use probity_tests::target::Target;
use probity_tests::wire::{End, Wire, ask, get, get_and_stay};

/// A target with one HTTP listener and these paths.
fn target(paths: &str) -> Target {
    Target::start(&format!("listeners: {{ web: {{ port: 0, paths: {{ {paths} }} }} }}"))
}

#[test]
fn every_status_from_200_to_599_arrives_as_planned() {
    let mut paths = String::new();
    for status in 200..=599 {
        let _ = write!(paths, "/{status}: {status}, ");
    }
    let target = target(&paths);
    let mut wire = Wire::connect(target.address("web"));
    for (nth, status) in (1..).zip(200..=599) {
        let reply = wire.send(get_and_stay(&format!("/{status}"))).reply();
        assert_eq!(reply.status, status);
        let expected = if matches!(status, 204 | 304) { "" } else { "ok" };
        assert_eq!(reply.text(), expected, "{status}");
        let story = target.story(nth);
        assert_eq!(story.answer.answer, status.to_string());
        assert_eq!(story.answer.endpoint.as_ref().map(ToString::to_string), Some(format!("web:/{status}")));
        assert_eq!((story.request.probe, story.request.nth), (1, u64::try_from(nth).unwrap_or(0)));
        assert_eq!(story.answer.written, reply.length as u64, "{status}");
    }
}

#[test]
fn reply_headers_keep_the_plans_order_case_and_number() {
    let target =
        target("/: { headers: ['X-B: 1', 'x-a:  two', 'X-B: 3', 'Set-Cookie: a=b', 'no colon here'] }");
    let text = ask(target.address("web"), get("/")).text();
    let lines: Vec<_> = text.split("\r\n").skip(1).take(5).collect();
    assert_eq!(lines, ["X-B: 1", "x-a:  two", "X-B: 3", "Set-Cookie: a=b", "no colon here"]);
}

#[test]
fn templates_in_headers_name_the_connection() {
    let target = target("/: { headers: ['X-To: {ip}|{port}', 'X-Host: {host}'] }");
    let address = target.address("web");
    let reply = ask(address, "GET / HTTP/1.0\r\nHost: App.Example:81\r\n\r\n").reply();
    assert_eq!(reply.header("x-to"), Some(format!("127.0.0.1|{}", address.port()).as_str()));
    assert_eq!(reply.header("x-host"), Some("App.Example:81"));
}

#[test]
fn a_request_is_witnessed_as_it_was_on_the_wire() {
    let target = target("/a: 200");
    let mut wire = Wire::connect(target.address("web"));
    let head = "GET /a?x=1&y=%20 HTTP/1.1\r\nHost: one\r\nx-lower: a\r\nX-Twice: 1\r\nAccept: */*\r\nX-Twice: 2\r\nConnection: close\r\n\r\n";
    wire.send(head).hear_all();
    let accepted = target.accepted(wire.local());
    let story = target.story(1);
    assert_eq!(accepted.local, target.address("web").to_string());
    assert_eq!((accepted.listener.as_str(), accepted.answer.as_str(), accepted.step), ("web", "serve", 0));
    let seen = &story.request;
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str(), seen.protocol.as_str()),
        ("GET", "/a?x=1&y=%20", "HTTP/1.1")
    );
    let headers: Vec<_> = seen.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        headers,
        ["Host: one", "x-lower: a", "X-Twice: 1", "Accept: */*", "X-Twice: 2", "Connection: close"]
    );
    assert_eq!((seen.conn, story.answer.conn, story.answer.step), (accepted.conn, accepted.conn, 0));
}

#[test]
fn the_first_byte_of_a_request_has_its_own_time() {
    let target = target("/: 200");
    let mut wire = Wire::connect(target.address("web"));
    let pause = std::time::Duration::from_millis(150);
    wire.send("GET / HT");
    std::thread::sleep(pause); // the pause is what is measured
    wire.send("TP/1.1\r\nConnection: close\r\n\r\n").hear_all();
    let line = target.wait_for("the request", |line| {
        matches!(line.fact, probity_script::Fact::Request(_)).then(|| line.clone())
    });
    let probity_script::Fact::Request(request) = line.fact else { panic!("chosen above") };
    let between = line.mono_us - request.first_byte_us;
    // The first byte may be read late on a busy machine, but never by more than the pause that follows it.
    assert!((1..10_000_000).contains(&between), "{between} us between first byte and request");
    assert!(u128::from(between) >= pause.as_micros() / 2, "{between} us");
}

#[test]
fn bodies_have_exactly_the_size_that_is_planned() {
    let target = target(
        "/0: { body: '' }, /text: { body: 'hällo' }, /10239: { body: { bytes: 10239 } }, /10240: { body: { bytes: 10KiB } }, /10241: { body: { bytes: 10241 } }, /1m: { body: { bytes: 1MiB } }",
    );
    let sizes = [
        ("/0", 0),
        ("/text", 6),
        ("/10239", 10_239),
        ("/10240", 10_240),
        ("/10241", 10_241),
        ("/1m", 1 << 20),
    ];
    for (nth, (path, size)) in (1..).zip(sizes) {
        let heard = ask(target.address("web"), get(path));
        let reply = heard.reply();
        assert_eq!(reply.body.len(), size, "{path}");
        assert_eq!(reply.header("content-length"), Some(size.to_string().as_str()));
        assert_eq!(heard.end, End::Fin);
        let answer = target.story(nth).answer;
        assert_eq!(answer.written, heard.bytes().len() as u64, "{path}");
        assert_eq!(answer.error, None);
    }
}

#[test]
fn the_end_of_a_body_is_told_as_planned() {
    let target = target(
        "/length: { body: abc }, /chunked: { body: abc, framing: chunked }, /close: { body: abc, framing: close }",
    );
    let address = target.address("web");
    let mut wire = Wire::connect(address);
    let length = wire.send(get_and_stay("/length")).reply();
    let chunked = wire.send(get_and_stay("/chunked")).reply();
    let heard = wire.send(get_and_stay("/close")).hear_all();
    let close = heard.reply();
    assert_eq!([&length, &chunked, &close].map(|reply| reply.text()), ["abc", "abc", "abc"]);
    assert_eq!(length.header("content-length"), Some("3"));
    assert_eq!(
        (chunked.header("transfer-encoding"), chunked.header("content-length")),
        (Some("chunked"), None)
    );
    assert_eq!((close.header("content-length"), close.header("connection")), (None, Some("close")));
    assert_eq!(heard.end, End::Fin);
    assert_eq!(target.closed(wire.local()).how, Ending::WeClosed);
}

#[test]
fn a_content_length_may_lie() {
    let target = target(
        "/more: { body: short, framing: { content-length: 100 } }, /less: { body: longer than that, framing: { content-length: 3 } }",
    );
    let more = ask(target.address("web"), get("/more"));
    assert_eq!(more.reply().header("content-length"), Some("100"));
    assert!(more.text().ends_with("\r\n\r\nshort"), "{}", more.text());
    assert_eq!(more.end, End::Fin);
    let less = ask(target.address("web"), get("/less"));
    assert!(less.text().ends_with("\r\n\r\nlonger than that"), "{}", less.text());
    assert_eq!(target.story(1).answer.written, more.bytes().len() as u64);
}

#[test]
fn connections_end_before_any_header_as_planned() {
    let target = target("/close: close, /reset: reset, /garbage: garbage");
    let expected = [
        ("close", End::Fin, Ending::WeClosed, false),
        ("reset", End::Rst, Ending::WeReset, false),
        ("garbage", End::Fin, Ending::WeClosed, true),
    ];
    for (nth, (word, end, how, bytes)) in (1..).zip(expected) {
        let mut wire = Wire::connect(target.address("web"));
        let heard = wire.send(get_and_stay(&format!("/{word}"))).hear_all();
        assert_eq!((heard.end, heard.bytes().is_empty()), (end, !bytes), "{word}");
        assert!(!heard.text().starts_with("HTTP/"), "{word}");
        let story = target.story(nth);
        assert_eq!((story.answer.answer.as_str(), story.answer.written), (word, heard.bytes().len() as u64));
        let closed = target.closed(wire.local());
        assert_eq!((closed.how, closed.sent), (how, heard.bytes().len() as u64), "{word}");
        assert_eq!(closed.received, get_and_stay(&format!("/{word}")).len() as u64);
    }
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let target = target(r#"/: { raw: "HTTP/9.9 20 odd\r\nX\r\n\r\n\0" }"#);
    let heard = ask(target.address("web"), get("/"));
    assert_eq!(heard.text(), "HTTP/9.9 20 odd\r\nX\r\n\r\n\0");
    assert_eq!(heard.end, End::Fin);
    let answer = target.story(1).answer;
    assert_eq!((answer.answer.as_str(), answer.written), ("raw", heard.bytes().len() as u64));
}

#[test]
fn a_body_is_cut_exactly_where_it_is_planned() {
    let target = target(
        "/close: { body: { bytes: 5000 }, close-after: 1234 }, /reset: { body: { bytes: 5000 }, reset-after: 1234 }, /none: { body: { bytes: 5000 }, reset-after: 0 }",
    );
    let expected = [
        ("/close", 1234, End::Fin, Ending::WeClosed),
        ("/reset", 1234, End::Rst, Ending::WeReset),
        ("/none", 0, End::Rst, Ending::WeReset),
    ];
    for (nth, (path, size, end, how)) in (1..).zip(expected) {
        let mut wire = Wire::connect(target.address("web"));
        let heard = wire.send(get_and_stay(path)).hear_all();
        assert_eq!((heard.reply().body.len(), heard.end), (size, end), "{path}");
        assert_eq!(heard.reply().header("content-length"), Some("5000"));
        let answer = target.story(nth).answer;
        assert_eq!((answer.answer.as_str(), answer.written), ("200", heard.bytes().len() as u64));
        assert_eq!(target.closed(wire.local()).how, how);
    }
}

#[test]
fn an_endless_body_goes_on_until_the_client_has_enough() {
    for framing in ["chunked", "close"] {
        let target = target(&format!("/: {{ body: {{ endless: true }}, framing: {framing} }}"));
        let mut wire = Wire::connect(target.address("web"));
        let local = wire.local();
        let got = wire.send(get("/")).hear_bytes(300_000).len();
        wire.reset();
        let answer = target.story(1).answer;
        assert!(answer.written >= got as u64, "{} < {got}", answer.written);
        assert!(answer.error.is_some(), "the broken write is recorded: {answer:?}");
        let closed = target.closed(local);
        assert_eq!((closed.how, closed.sent), (Ending::PeerReset, answer.written));
    }
}

#[test]
fn extra_headers_make_a_head_as_large_as_planned() {
    let target = target("/: { extra-headers: { count: 100, bytes: 1KiB } }");
    let reply = ask(target.address("web"), get("/")).reply();
    let extra: Vec<_> = reply.headers.iter().filter(|(name, _)| name.starts_with("X-Extra-")).collect();
    assert_eq!(extra.len(), 100);
    assert!(extra.iter().all(|(_, value)| value.len() == 1024));
}

#[test]
fn a_path_outside_the_plan_is_404_unless_a_star_takes_it() {
    let target = Target::start(
        "listeners: { bare: { port: 0, paths: { /a: 200 } }, star: { port: 0, paths: { /a: 200, '*': 418 } } }",
    );
    assert_eq!(ask(target.address("bare"), get("/b")).reply().status, 404);
    let unknown = target.story(1);
    assert_eq!(
        (unknown.request.endpoint, unknown.request.probe, unknown.answer.answer.as_str()),
        (None, 0, "404")
    );
    assert_eq!(ask(target.address("star"), get("/b")).reply().status, 418);
    assert_eq!(ask(target.address("star"), get("/a")).reply().status, 200);
    let star = target.story(2);
    assert_eq!(star.request.endpoint.map(|endpoint| endpoint.to_string()), Some("star:*".to_owned()));
}
