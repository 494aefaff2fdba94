//! Behavior that no well-behaved client shows: noise, floods, and connections that never become requests. On every kind
//! of
//! port the target answers or closes, its memory stays limited, and it keeps answering and recording.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use probity_script::Fact;
use probity_tests::frames::{self, PREFACE, frame, hello, kind};
use probity_tests::grpc;
use probity_tests::h2::H2;
use probity_tests::target::{PATIENCE, Target};
use probity_tests::tls::{self, Wish};
use probity_tests::wire::{End, Wire, ask, get, get_and_stay};

/// The most memory that the target may hold in any of these tests, in KiB. At rest it holds 10 MiB in this build. In
/// addition there are 5 MiB of witness lines, and at worst 64 KiB of head for each of 500 unfinished requests,
/// doubled while a buffer grows: 64 MiB. The rest is room for the allocator.
const CEILING: u64 = 96 * 1024;

const PORTS: [&str; 4] = ["web", "safe", "raw", "health"];

const PLAN: &str = "listeners: { web: { port: 0, paths: { /: 200, /hang: hang, /large: { body: { bytes: 64KiB } } } }, safe: { port: 0, tls: {}, paths: { /: 200 } }, raw: { port: 0, protocol: tcp }, health: { port: 0, protocol: grpc, services: { '': serving } } }";

fn target() -> Target {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_else(|error| panic!("{error}"));
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap_or_else(|error| panic!("{error}"));
    Target::start(PLAN)
}

/// Sends a valid request to each port, and checks that it was recorded and how much memory is used.
fn is_well(target: &Target) {
    let before = target.lines().len();
    assert_eq!(ask(target.address("web"), get("/?after")).reply().status, 200);
    let (_, stream) = tls::connect(target.address("safe"), &Wish::default());
    let mut stream = stream.unwrap_or_else(|error| panic!("no TLS: {error}"));
    let mut text = String::new();
    let asked = stream.write_all(get("/?safe").as_bytes()).and_then(|()| stream.read_to_string(&mut text));
    assert!(asked.is_ok() && text.starts_with("HTTP/1.1 200"), "{asked:?} {text}");
    let raw = Wire::connect(target.address("raw"));
    let local = raw.local();
    drop(raw);
    assert_eq!(target.closed(local).received, 0);
    let outcome = grpc::check(&H2::connect(target.address("health")), "");
    assert_eq!(outcome.map(|outcome| outcome.status), Ok(Some(1)));
    for wanted in ["/?after", "/?safe", "/grpc.health.v1.Health/Check"] {
        let mut count = 0;
        target.wait_for(&format!("the request for {wanted}"), |line| {
            count += 1;
            matches!(&line.fact, Fact::Request(request) if count > before && request.target == wanted)
                .then_some(())
        });
    }
    let memory = target.resident_kib();
    assert!(memory < CEILING, "{memory} KiB");
    nothing_is_lost_silently(target);
}

/// Checks that every line number exists, or that another line reports its loss. A loss is reported with the next line,
/// once the
/// reader has caught up.
fn nothing_is_lost_silently(target: &Target) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lines = target.lines();
        let next = lines.last().map_or(0, |line| line.seq + 1);
        let missing = next - lines.len() as u64;
        let lost = |line: &probity_script::WitnessLine| match &line.fact {
            Fact::Lost(lost) => lost.lines,
            _ => 0,
        };
        let told: u64 = lines.iter().map(lost).sum();
        if missing == told {
            return;
        }
        assert!(Instant::now() < deadline, "{missing} lines are missing, {told} of them are told");
        let _ = ask(target.address("web"), get("/?next"));
    }
}

/// Pseudo-random numbers that are the same each time (xorshift).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let count = self.next() % most + 1;
        (0..count).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}

/// Sends bytes to a peer that may close at any time, reads all the time, and returns how the connection ended.
fn flood(to: SocketAddr, pieces: impl Iterator<Item = Vec<u8>> + Send + 'static) -> End {
    let mut wire = Wire::connect(to);
    let mut writer = wire.socket().try_clone().unwrap_or_else(|error| panic!("{error}"));
    let sender = thread::spawn(move || {
        for piece in pieces {
            if writer.write_all(&piece).is_err() {
                return;
            }
        }
        // The other side may already be gone.
        let _ = writer.shutdown(std::net::Shutdown::Write);
    });
    let end = wire.hear_all().end;
    assert!(sender.join().is_ok(), "the sender failed");
    end
}

#[test]
fn random_bytes_on_every_port_are_answered_or_closed() {
    let target = target();
    let beginnings: [&[u8]; 6] = [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        PREFACE,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\x00\x00\x04\x04",
    ];
    let mut noise = Noise(0x5EED);
    for port in PORTS {
        for round in 0..60 {
            let mut wire = Wire::connect(target.address(port));
            let bytes = [beginnings[round % beginnings.len()], &noise.bytes(3000)].concat();
            // The target may reject the first bytes and close before the last.
            let _ = wire.try_send(&bytes);
            wire.half_close();
            assert_ne!(wire.hear_all().end, End::Open, "{port}, round {round}");
        }
    }
    is_well(&target);
}

#[test]
fn slow_heads_hold_nobody_up() {
    let target = target();
    let mut slow: Vec<_> = (0..50).map(|_| Wire::connect(target.address("web"))).collect();
    for byte in get_and_stay("/?slowly").bytes() {
        for wire in &mut slow {
            wire.send([byte]);
        }
    }
    for wire in &mut slow {
        assert_eq!(wire.reply().status, 200, "slow is not wrong");
        wire.send("GET /never");
    }
    let began = Instant::now();
    is_well(&target);
    assert!(began.elapsed() < Duration::from_secs(10), "others are answered meanwhile");
}

#[test]
#[ignore = "takes the 30 s that a head may take"]
fn a_head_that_never_ends_is_given_30_s() {
    let target = target();
    let mut wire = Wire::connect(target.address("web"));
    let began = Instant::now();
    wire.send("GET / HTTP/1.1\r\n");
    let heard = loop {
        let heard = wire.hear(Duration::from_secs(3));
        if heard.end != End::Open || began.elapsed() > Duration::from_secs(45) {
            break heard;
        }
        wire.send("X: y\r\n");
    };
    assert_eq!((heard.reply().status, heard.end), (408, End::Fin));
    assert!((28..40).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(target.closed(wire.local()).error.is_some_and(|why| why.contains("408")));
}

#[test]
fn huge_heads_are_refused() {
    let target = target();
    let huge = format!("GET /?{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    let mut wires: Vec<_> = (0..200).map(|_| Wire::connect(target.address("web"))).collect();
    for wire in &mut wires {
        // The rejection may come before the end of the head.
        let _ = wire.try_send(&huge[..60_000]);
    }
    assert!(target.resident_kib() < CEILING, "{} KiB", target.resident_kib());
    for wire in &mut wires {
        let _ = wire.try_send(&huge[60_000..]);
        let heard = wire.hear_all();
        assert_ne!(heard.end, End::Open);
        assert!(heard.bytes().is_empty() || heard.reply().status == 431, "{}", heard.text());
    }
    let fields =
        frames::block(&[(":method", "GET"), (":scheme", "http"), (":path", "/"), ("x", &"y".repeat(15_000))]);
    let more = frames::block(&[("x", &"y".repeat(16_000))]);
    for port in ["web", "health"] {
        let head = [hello(), frame(kind::HEADERS, 0x1, 1, &fields)].concat();
        let rest = frame(kind::CONTINUATION, 0, 1, &more);
        let end =
            flood(target.address(port), std::iter::once(head).chain((0..500).map(move |_| rest.clone())));
        assert_ne!(end, End::Open, "{port}: headers without end");
    }
    is_well(&target);
}

#[test]
fn a_flood_of_pipelined_requests_is_answered_in_full() {
    let target = target();
    let (count, mut wire) = (10_000, Wire::connect(target.address("web")));
    let mut writer = wire.socket().try_clone().unwrap_or_else(|error| panic!("{error}"));
    let sender = thread::spawn(move || writer.write_all(get_and_stay("/").repeat(count).as_bytes()));
    for _ in 0..count {
        assert_eq!(wire.reply().status, 200);
    }
    assert!(sender.join().is_ok_and(|sent| sent.is_ok()));
    // A reader that is slower than 10,000 requests loses lines, which a later line reports.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lines = target.lines();
        let answers = lines.iter().filter(|line| matches!(line.fact, Fact::Answer(_))).count();
        if answers >= count || lines.iter().any(|line| matches!(line.fact, Fact::Lost(_))) {
            break;
        }
        assert!(Instant::now() < deadline, "{answers} answers of {count} are in the witness");
        let _ = ask(target.address("web"), get("/?next"));
    }
    is_well(&target);
}

#[test]
fn a_reader_who_never_reads_costs_no_memory() {
    let target = target();
    let wires: Vec<_> = (0..20).map(|_| Wire::connect(target.address("web"))).collect();
    for wire in &wires {
        let limit = wire.socket().set_write_timeout(Some(Duration::from_millis(50)));
        limit.unwrap_or_else(|error| panic!("{error}"));
        // The answers are not read, so at some point the target stops reading the requests. The system's own buffers on
        // both sides of a connection take about ten megabytes, depending on its settings; the target's share has a
        // limit.
        let six_megabytes = get_and_stay("/large").repeat(100_000);
        let stuck = (0..10).any(|_| wire.socket().write_all(six_megabytes.as_bytes()).is_err());
        assert!(stuck, "sixty megabytes of requests were taken, although nobody reads the answers");
    }
    is_well(&target);
}

#[test]
fn floods_of_frames_are_answered_or_cut_off() {
    let target = target();
    let rapid = |n: u32| {
        let stream = 2 * n + 1;
        [frames::get(stream, "/hang"), frame(kind::RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
    };
    for port in ["web", "health"] {
        let to = target.address(port);
        let settings = |_| frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
        let pings = |n: u64| frame(kind::PING, 0, 0, &n.to_be_bytes());
        let empty = |_| frame(kind::DATA, 0, 1, &[]);
        let open = || std::iter::once(hello());
        for (name, end) in [
            ("settings", flood(to, open().chain((0..20_000).map(settings)))),
            ("pings", flood(to, open().chain((0..20_000).map(pings)))),
            ("rapid reset", flood(to, open().chain((0..5_000).map(rapid)))),
            ("empty data", flood(to, open().chain([frames::get(1, "/hang")]).chain((0..5_000).map(empty)))),
            ("streams", flood(to, open().chain((0..5_000).map(|n| frames::get(2 * n + 1, "/hang"))))),
        ] {
            assert_ne!(end, End::Open, "{port}: {name}");
        }
    }
    is_well(&target);
}

#[test]
fn five_hundred_unfinished_requests_are_held_within_bounds() {
    let target = target();
    let beginnings: [(&str, &[u8]); 4] = [
        ("web", b"GET / HTTP/1.1\r\nX-Half"),
        ("safe", b"\x16\x03\x01\x02\x00\x01\x00\x01"),
        ("raw", b"half a line"),
        ("health", &PREFACE[..20]),
    ];
    let mut wires = Vec::new();
    for (port, bytes) in beginnings.into_iter().cycle().take(500) {
        let mut wire = Wire::connect(target.address(port));
        wire.send(bytes);
        wires.push(wire);
    }
    is_well(&target);
    let locals: Vec<_> = wires.iter().map(Wire::local).collect();
    drop(wires);
    for local in [locals[0], locals[1], locals[2], locals[3], locals[499]] {
        assert!(target.closed(local).received > 0);
    }
}

#[test]
fn a_thousand_idle_connections_are_held_and_each_end_is_told() {
    let target = target();
    let wires: Vec<_> =
        PORTS.into_iter().cycle().take(1000).map(|port| Wire::connect(target.address(port))).collect();
    let _ = target.accepted(wires[999].local());
    is_well(&target);
    let peers: Vec<_> = wires.iter().map(|wire| wire.local().to_string()).collect();
    drop(wires);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lines = target.lines();
        let ours = lines.iter().filter_map(|line| match &line.fact {
            Fact::Accepted(accepted) if peers.contains(&accepted.peer) => Some(accepted.conn),
            _ => None,
        });
        let ours: std::collections::BTreeSet<_> = ours.collect();
        let ended =
            lines.iter().filter(|line| matches!(&line.fact, Fact::Closed(c) if ours.contains(&c.conn)));
        let ended = ended.count();
        if ended == 1000 {
            return;
        }
        assert!(Instant::now() < deadline, "{ended} of {} connections have ended", ours.len());
        thread::sleep(Duration::from_millis(50)); // between two looks at all lines
    }
}
