//! The rules of HTTP/1 connections: when a connection can be reused, which requests may have a body, and which are rejected.

use probity_script::witness::Ending;
use probity_tests::target::Target;
use probity_tests::wire::{End, Wire, ask, get, get_and_stay};

fn target() -> Target {
    Target::start("listeners: { web: { port: 0, paths: { /a: 200, /b: { status: 503, body: busy } } } }")
}

#[test]
fn a_connection_carries_requests_one_after_another() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    for (nth, (path, status)) in (1..).zip([("/a", 200), ("/b", 503), ("/a", 200)]) {
        assert_eq!(wire.send(get_and_stay(path)).reply().status, status);
        let request = target.request(nth);
        assert_eq!((request.conn, request.nth), (target.accepted(wire.local()).conn, nth as u64));
    }
    assert_eq!(target.request(3).probe, 2, "probes are counted for each path");
    wire.half_close();
    assert_eq!(wire.hear_all().end, End::Fin);
    assert_eq!(target.closed(wire.local()).how, Ending::PeerClosed);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    wire.send([get_and_stay("/a"), get_and_stay("/b"), get("/a")].concat());
    assert_eq!([wire.reply(), wire.reply(), wire.reply()].map(|reply| reply.status), [200, 503, 200]);
    assert_eq!(wire.hear_all().end, End::Fin);
    assert_eq!([1, 2, 3].map(|nth| target.story(nth).request.nth), [1, 2, 3]);
}

#[test]
fn the_connection_stays_open_as_version_and_header_say() {
    let target = target();
    for (version, header, stays) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "connection: Keep-Alive, CLOSE\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
    ] {
        let mut wire = Wire::connect(target.address("web"));
        let reply = wire.send(format!("GET /a HTTP/{version}\r\n{header}\r\n")).reply();
        assert_eq!(reply.header("connection") == Some("close"), !stays, "{version} {header}");
        if stays {
            assert_eq!(wire.send(get("/b")).reply().status, 503, "{version} {header}");
        } else {
            assert_eq!(wire.hear_all().end, End::Fin, "{version} {header}");
            assert_eq!(target.closed(wire.local()).how, Ending::WeClosed);
        }
    }
    let old = target.wait_for("the request in HTTP/1.0", |line| match &line.fact {
        probity_script::Fact::Request(request) if request.protocol == "HTTP/1.0" => Some(request.clone()),
        _ => None,
    });
    assert_eq!(old.target, "/a");
}

#[test]
fn head_gets_the_head_alone() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /: { body: { bytes: 5000 } }, /chunked: { body: abc, framing: chunked } } } }",
    );
    for path in ["/", "/chunked"] {
        let heard = ask(target.address("web"), format!("HEAD {path} HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert!(heard.text().ends_with("\r\n\r\n"), "{}", heard.text());
    }
    let story = target.story(1);
    assert_eq!((story.request.method.as_str(), story.answer.answer.as_str()), ("HEAD", "200"));
    assert!(ask(target.address("web"), "HEAD / HTTP/1.0\r\n\r\n").text().contains("Content-Length: 5000"));
}

#[test]
fn a_request_may_bring_a_body_of_known_length_or_in_chunks() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    assert_eq!(wire.send("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").reply().status, 200);
    let chunks =
        "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n";
    assert_eq!(wire.send(chunks).reply().status, 503);
    assert_eq!(wire.send(get_and_stay("/a")).reply().status, 200, "the connection goes on behind both");
    assert_eq!([1, 2, 3].map(|nth| target.request(nth).body), [5, 7, 0]);
}

#[test]
fn large_chunks_and_trailers_are_read_to_their_end() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    let chunk = [b"200000\r\n".as_slice(), &vec![b'x'; 0x20_0000], b"\r\n0\r\nX-Trailer: 1\r\n\r\n"].concat();
    wire.send("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").send(chunk);
    assert_eq!(wire.reply().status, 200);
    assert_eq!(target.request(1).body, 0x20_0000);
    assert_eq!(wire.send(get("/b")).reply().status, 503, "the trailer was not taken for a request");
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    wire.send("POST /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(wire.reply().line, "HTTP/1.1 100 Continue");
    assert_eq!(wire.send("hello").reply().status, 200);
    let story = target.story(1);
    assert_eq!(story.request.body, 5);
    assert!(story.request.headers.contains(&("Expect".to_owned(), "100-continue".to_owned())));
}

#[test]
fn a_request_whose_end_is_disputed_ends_the_connection_with_its_answer() {
    let target = target();
    for disputed in [
        "POST /a HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST /a HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nffffffffffffffff\r\nab",
    ] {
        let mut wire = Wire::connect(target.address("web"));
        let heard = wire.send(format!("{disputed}{}", get("/b"))).hear_all();
        assert_eq!((heard.reply().status, heard.end), (200, End::Fin), "{disputed}");
        assert_eq!(heard.text().matches("HTTP/1.1").count(), 1, "no second answer: {disputed}");
        assert_eq!(target.closed(wire.local()).how, Ending::WeClosed);
    }
}

#[test]
fn what_is_no_request_is_refused_and_the_witness_says_why() {
    let target = target();
    let huge = format!("GET /a HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let many = format!("GET /a HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(300));
    for (bytes, status) in
        [("\x16\x03\x01\r\n\r\n", 400), ("GET\r\n\r\n", 400), (huge.as_str(), 431), (many.as_str(), 431)]
    {
        let mut wire = Wire::connect(target.address("web"));
        let heard = wire.send(bytes).hear_all();
        assert_eq!(heard.reply().status, status);
        let closed = target.closed(wire.local());
        assert_eq!(closed.how, Ending::WeClosed);
        assert!(closed.error.is_some_and(|why| why.contains(&status.to_string())), "{status}");
    }
}

#[test]
fn a_peer_that_aborts_is_told_from_one_that_closes() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    let local = wire.local();
    assert_eq!(wire.send(get_and_stay("/a")).reply().status, 200);
    wire.reset();
    assert_eq!(target.closed(local).how, Ending::PeerReset);
    let mut wire = Wire::connect(target.address("web"));
    let local = wire.local();
    assert_eq!(wire.send(get_and_stay("/a")).reply().status, 200);
    drop(wire);
    let closed = target.closed(local);
    assert_eq!((closed.how, closed.error), (Ending::PeerClosed, None));
}
