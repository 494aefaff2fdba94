#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::thread;
use std::time::Instant;

use probity_script::witness::{Entry, Fact, Mark, Recorded, WitnessLine};
use tokio::sync::oneshot;

use super::*;
use crate::witness::{Identity, Outlet, Witness, link_to_recorder, start_ticker};

#[path = "strangers_tests.rs"]
mod strangers;

const PATIENCE: Duration = Duration::from_secs(10);

/// A recorder in its own thread, which is stopped when this is dropped.
struct Running {
    ingest: SocketAddr,
    query: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(memory: usize, file: Option<File>, ingest: SocketAddr) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async move {
                let ingest = TcpListener::bind(ingest).await.unwrap();
                let query = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send((ingest.local_addr().unwrap(), query.local_addr().unwrap())).unwrap();
                let token = Token::new("s3cret").unwrap();
                let options = Options { clock: Clock::start(), token, memory, file };
                serve(ingest, query, options, async { stopped.await.unwrap_or_default() }).await;
            });
        });
        let (ingest, query) = told.recv().unwrap();
        Self { ingest, query, stop: Some(stop), thread: Some(thread) }
    }

    fn usual() -> Self {
        Self::start(16 << 20, None, "127.0.0.1:0".parse().unwrap())
    }

    fn target(&self, boot: &str) -> (TcpStream, String) {
        self.greet(&format!(
            r#"{{"v":1,"boot":"{boot}","attempt":0,"hello":0,"identity":{{}},"token":"s3cret"}}"#
        ))
    }

    fn greet(&self, hello: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.ingest).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        writeln!(stream, "{hello}").unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        (stream, answer)
    }

    /// Sends a query; the answer has no transfer coding, since HTTP/1.0 has none.
    fn ask(&self, target: &str, authorization: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.query).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {target} HTTP/1.0\r\n{authorization}\r\n").unwrap();
        stream
    }

    fn get(&self, target: &str) -> (String, String) {
        let mut text = String::new();
        self.ask(target, "Authorization: Bearer s3cret\r\n").read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn entries(&self) -> Vec<Entry> {
        let (_, body) = self.get("/v1/lines?most=64MiB");
        body.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap().entry).collect()
    }

    /// Waits until the entries are as they should be.
    fn until(&self, wanted: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
        let began = Instant::now();
        loop {
            let entries = self.entries();
            if wanted(&entries) {
                return entries;
            }
            assert!(began.elapsed() < PATIENCE, "{entries:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn measure(&self, name: &str) -> u64 {
        let (_, body) = self.get("/metrics");
        let line = body.lines().find(|line| line.starts_with(&format!("probity_recorder_{name} "))).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    fn until_measure(&self, name: &str, wanted: u64) {
        let began = Instant::now();
        while self.measure(name) != wanted {
            assert!(began.elapsed() < PATIENCE, "{name} is {}", self.measure(name));
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

fn mark(name: &str) -> Fact {
    Fact::Mark(Mark { name: name.to_owned(), by: "test".to_owned() })
}

fn line(boot: &str, seq: u64) -> String {
    let fact = mark(&"x".repeat(200));
    let line = WitnessLine { v: 1, boot: boot.to_owned(), attempt: 0, seq, mono_us: 5, wall_us: 6, fact };
    serde_json::to_string(&line).unwrap() + "\n"
}

fn seqs(entries: &[Entry], boot: &str) -> Vec<u64> {
    let seq = |entry: &Entry| match entry {
        Entry::Line(line) if line.boot == boot => Some(line.seq),
        _ => None,
    };
    entries.iter().filter_map(seq).collect()
}

/// The real client, linked to a recorder.
fn linked(boot: &str, address: SocketAddr) -> (Witness, Arc<Outlet>) {
    let identity = Identity { boot: boot.to_owned(), attempt: 3, counter: None };
    let witness = Witness::new(Clock::start(), identity, 1 << 20);
    let outlet = Outlet::unconnected("recorder", 2 << 20);
    witness.add(Arc::clone(&outlet));
    let token = Token::new("s3cret").unwrap();
    link_to_recorder(witness.clone(), Arc::clone(&outlet), (address.to_string(), token));
    (witness, outlet)
}

#[test]
fn the_real_client_is_recorded_and_a_new_recorder_gets_what_it_remembers() {
    let recorder = Running::usual();
    let address = recorder.ingest;
    let (witness, _) = linked("real", address);
    (0..100).for_each(|n| {
        witness.record(&mark(&format!("m{n}")));
    });
    let entries = recorder.until(|entries| seqs(entries, "real").len() >= 100);
    assert_eq!(seqs(&entries, "real"), (0..100).collect::<Vec<_>>());
    let Entry::Joined { hello, .. } = &entries[0] else { panic!("{entries:?}") };
    assert_eq!((hello.boot.as_str(), hello.attempt), ("real", 3));
    recorder.stop();
    (100..150).for_each(|n| {
        witness.record(&mark(&format!("m{n}")));
    });
    let again = Running::start(16 << 20, None, address);
    let entries = again.until(|entries| seqs(entries, "real").len() >= 150);
    assert_eq!(seqs(&entries, "real"), (0..150).collect::<Vec<_>>());
}

#[test]
fn beats_keep_the_silence_away_and_their_absence_is_told() {
    let recorder = Running::usual();
    let (witness, outlet) = linked("beating", recorder.ingest);
    start_ticker(witness, Some(outlet), false);
    let (_quiet, _) = recorder.target("quiet");
    let entries = recorder.until(|entries| entries.iter().any(|entry| matches!(entry, Entry::Silent { .. })));
    for entry in &entries {
        assert!(!matches!(entry, Entry::Silent { boot, .. } if boot != "quiet"), "{entry:?}");
    }
    let (_, targets) = recorder.get("/v1/targets");
    let targets: serde_json::Value = serde_json::from_str(&targets).unwrap();
    let one = |boot: &str| {
        let mut all = targets["targets"].as_array().unwrap().iter();
        all.find(|target| target["hello"]["boot"] == boot).unwrap().clone()
    };
    assert_eq!((&one("quiet")["silent"], &one("beating")["silent"]), (&true.into(), &false.into()));
    assert!(one("beating")["beats"].as_u64().unwrap() >= 3);
    assert_eq!(recorder.measure("silent_targets"), 1);
}

#[test]
fn how_a_connection_ended_is_told_at_once() {
    let recorder = Running::usual();
    for (boot, linger, how) in [("fin", false, "closed"), ("rst", true, "reset")] {
        let (mut stream, want) = recorder.target(boot);
        assert_eq!(want, "{\"want\":0}\n");
        stream.write_all(line(boot, 0).as_bytes()).unwrap();
        recorder.until(|entries| seqs(entries, boot) == [0]);
        if linger {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        let began = Instant::now();
        drop(stream);
        let left = |entry: &Entry| matches!(entry, Entry::Left { boot: b, how: h, told: 1, .. } if b == boot && h == how);
        recorder.until(|entries| entries.iter().any(left));
        assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
    }
    let (_stream, want) = recorder.target("rst");
    assert_eq!(want, "{\"want\":1}\n", "a life goes on where it stopped");
}

#[test]
fn a_target_of_a_later_version_is_refused_with_words() {
    let recorder = Running::usual();
    let (mut stream, answer) =
        recorder.greet(r#"{"v":2,"boot":"new","hello":{"other":"form"},"token":"s3cret"}"#);
    assert!(answer.contains("version 2 of the format; this recorder knows version 1"), "{answer}");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    let entries = recorder.entries();
    assert!(
        matches!(&entries[..], [Entry::Nonsense { error, .. }] if error.contains("version 2")),
        "{entries:?}"
    );
}

#[test]
fn nothing_is_told_without_the_token() {
    let recorder = Running::usual();
    for path in ["/v1/lines", "/v1/stream", "/v1/targets", "/v1/clock", "/metrics", "/nothing"] {
        for authorization in ["", "Authorization: Bearer wrong\r\n"] {
            let mut text = String::new();
            recorder.ask(path, authorization).read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.0 401 "), "{path}: {text}");
            assert!(text.contains("www-authenticate: Bearer") && text.contains("{\"error\":\""), "{text}");
            assert!(!text.contains("probity-recorder"), "{text}");
        }
    }
    assert_eq!(recorder.measure("refused_queries_total"), 12);
    let mut text = String::new();
    recorder.ask("/healthz", "").read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 ") && text.ends_with("\r\n\r\nok\n"), "{text}");
}

#[test]
fn a_wrong_query_is_answered_with_a_sentence() {
    let recorder = Running::usual();
    for (path, status, why) in [
        (
            "/v1/lines?sinse=3",
            "400",
            "`sinse` is not a parameter of this query; the parameters are since, wait, most",
        ),
        ("/v1/lines?since=x", "400", "since: `x` is not a cursor"),
        ("/v1/lines?wait=5", "400", "wait: `5` is not a span of time"),
        ("/v1/lines?wait=1h", "400", "wait: at most 300s"),
        ("/v1/lines?most=much", "400", "most: `much` is not a size"),
        ("/v1/stream?since=5", "409", "the cursor 5 is in the future, the next one is 0"),
        ("/nothing", "404", "there is no such path"),
    ] {
        let (head, body) = recorder.get(path);
        assert!(head.starts_with(&format!("HTTP/1.0 {status}")), "{path}: {head}");
        assert!(body.contains(why), "{path}: {body}");
    }
    let (_, body) = recorder.get("/v1/clock");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert!(body["mono_us"].as_u64() > Some(0) && body["wall_us"].as_u64() > Some(1_600_000_000_000_000));
}

#[test]
fn a_query_waits_for_the_first_entry_and_gives_its_cursors() {
    let recorder = Running::usual();
    let began = Instant::now();
    assert!(recorder.get("/v1/lines?wait=200ms").0.contains("probity-next: 0"));
    assert!(began.elapsed() >= Duration::from_millis(200));
    let ingest = recorder.ingest;
    let later = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let mut stream = TcpStream::connect(ingest).unwrap();
        stream.write_all(b"{\"token\":\"s3cret\"}\n").unwrap();
    });
    let began = Instant::now();
    let (head, body) = recorder.get("/v1/lines?wait=10s");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(head.contains("probity-first: 0") && head.contains("probity-next: 1"), "{head}");
    assert!(body.contains("\"nonsense\""), "{body}");
    later.join().unwrap();
}

#[test]
fn a_follower_gets_every_entry_and_its_place_is_free_when_it_leaves() {
    let recorder = Running::usual();
    let mut follower = BufReader::new(recorder.ask("/v1/stream", "Authorization: Bearer s3cret\r\n"));
    let (mut stream, _) = recorder.target("a");
    let writer = thread::spawn(move || {
        (0..2_000).for_each(|seq| stream.write_all(line("a", seq).as_bytes()).unwrap());
        stream
    });
    let mut text = String::new();
    while follower.read_line(&mut text).unwrap() > 2 {
        text.clear();
    }
    for cursor in 0..2_001 {
        text.clear();
        follower.read_line(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Recorded>(&text).unwrap().cursor, cursor);
    }
    assert_eq!(recorder.measure("followers"), 1);
    drop(follower);
    recorder.until_measure("followers", 0);
    drop(writer.join().unwrap());
}

#[test]
fn a_reader_that_does_not_read_holds_up_nobody_and_what_is_forgotten_shows() {
    let recorder = Running::start(1 << 20, None, "127.0.0.1:0".parse().unwrap());
    let asleep = recorder.ask("/v1/stream", "Authorization: Bearer s3cret\r\n");
    let (mut stream, _) = recorder.target("a");
    let text: String = (0..60_000).map(|seq| line("a", seq)).collect();
    stream.write_all(text.as_bytes()).unwrap();
    recorder.until_measure("lines_total", 60_000);
    assert!(recorder.measure("memory_bytes") <= 1 << 20);
    let (head, body) = recorder.get("/v1/lines?since=3");
    let first: Recorded = serde_json::from_str(body.lines().next().unwrap()).unwrap();
    assert!(first.cursor > 3 && head.contains(&format!("probity-first: {}", first.cursor)), "{head}");
    // The sleeping reader wakes up. The entries that it gets have a gap, and continue to the end.
    let mut last = None;
    let mut gap = false;
    for text in BufReader::new(asleep).lines().map(Result::unwrap).skip_while(|text| !text.starts_with('{')) {
        let cursor = serde_json::from_str::<Recorded>(&text).unwrap().cursor;
        gap |= last.is_some_and(|last| cursor > last + 1);
        assert!(last.is_none_or(|last| cursor > last));
        last = Some(cursor);
        if cursor == 60_000 {
            break;
        }
    }
    assert!(gap);
}

#[test]
fn the_file_has_every_entry_when_the_recorder_has_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stream.jsonl");
    let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let recorder = Running::start(64 << 20, Some(file), "127.0.0.1:0".parse().unwrap());
    let (mut stream, _) = recorder.target("a");
    let text: String = (0..20_000).map(|seq| line("a", seq)).collect();
    stream.write_all(text.as_bytes()).unwrap();
    recorder.until_measure("lines_total", 20_000);
    let began = Instant::now();
    recorder.stop();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let text = fs::read_to_string(&path).unwrap();
    let cursors = text.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap().cursor);
    assert_eq!(cursors.collect::<Vec<_>>(), (0..=20_000).collect::<Vec<_>>());
}

fn args() -> RecorderArgs {
    RecorderArgs {
        ingest_port: 0,
        query_port: 0,
        address: Some(Ipv4Addr::LOCALHOST.into()),
        memory: Size(1 << 20),
        file: None,
        token: Some("s3cret".to_owned()),
    }
}

#[test]
fn what_is_wrong_at_the_start_is_told_with_what_to_do() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = busy.local_addr().unwrap().port();
    for (args, words) in [
        (RecorderArgs { token: None, ..args() }, vec!["no token", "AGNHOST_TOKEN"]),
        (RecorderArgs { token: Some(String::new()), ..args() }, vec!["no token", "--token"]),
        (RecorderArgs { memory: Size(5), ..args() }, vec!["memory of 5 is too small", "1MiB"]),
        (
            RecorderArgs { file: Some("/nowhere/at/all".into()), ..args() },
            vec!["failed to open /nowhere/at/all", "--file"],
        ),
        (
            RecorderArgs { query_port: port, ..args() },
            vec!["failed to listen on 127.0.0.1:", "in use", "--query-port"],
        ),
        (RecorderArgs { ingest_port: port, ..args() }, vec!["in use", "--ingest-port"]),
    ] {
        let error = start(&args, Clock::start()).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert!(!error.contains('\n') && !error.contains("s3cret"), "{error}");
        assert_eq!(run(&args, Clock::start()), ExitCode::from(2));
    }
}
