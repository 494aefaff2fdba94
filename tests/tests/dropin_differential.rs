//! The same requests to the Go agnhost and to ours; status line, headers and body must be the same after times,
//! process ids and chosen ports are masked.
//!
//! `AGNHOST_GO=/path/to/agnhost cargo test --test dropin_differential -- --ignored`

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use probity_tests::program::{Program, Stream, binary, free_port};
use probity_tests::raw_http::{Answered, get, send};

fn both() -> [PathBuf; 2] {
    let go = std::env::var_os("AGNHOST_GO").map(PathBuf::from);
    [go.filter(|path| path.is_file()).unwrap_or_else(missing), binary("agnhost-rs")]
}

fn missing() -> PathBuf {
    unreachable!("set AGNHOST_GO to the path of the Go agnhost")
}

/// Times, ports of clients and the like become letters; digits that differ by run become `#`.
fn mask(text: &str, ports: &[u16]) -> String {
    let mut text = text.to_owned();
    for (index, port) in ports.iter().enumerate() {
        text = text.replace(&port.to_string(), &format!("PORT{index}"));
    }
    let masked: Vec<String> = text.split_inclusive([' ', '\n', '"', '\'', '>']).map(mask_word).collect();
    masked.concat()
}

fn mask_word(word: &str) -> String {
    let is_client = word.starts_with("127.0.0.1:") && !word.contains("PORT");
    let is_stamp = ["m=+", "20"].iter().any(|start| word.starts_with(start))
        && word.matches(['-', '.', ':']).count() > 0
        || word.len() > 8 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
    if is_client || is_stamp { "MASKED ".to_owned() } else { word.to_owned() }
}

fn shown(answered: &Answered, ports: &[u16]) -> String {
    let mut headers: Vec<_> = answered
        .headers
        .iter()
        .map(|line| if line.starts_with("Date: ") { "Date: MASKED".to_owned() } else { line.clone() })
        .collect();
    headers.sort();
    // A masked body has a length of its own.
    let mut body = mask(&answered.text(), ports);
    if answered.header("transfer-encoding").is_some() {
        // The length of a chunk is hexadecimal in either case.
        body.make_ascii_lowercase();
    }
    if answered.status_line.starts_with("HTTP/1.1 400 Bad Request") && answered.header("date").is_none()
        || answered.text().starts_with("400 Bad Request")
    {
        // Go's parser refuses without a date and a length.
        headers.retain(|line| !line.starts_with("Content-Length") && !line.starts_with("Date"));
    }
    if body != answered.text() {
        headers.retain(|line| !line.starts_with("Content-Length"));
    }
    format!("{}\n{}\n\n{body}", answered.status_line, headers.join("\n"))
}

/// Asks both and compares; gives a list of differences.
fn compare(names: &[&str; 2], servers: &[(&mut Program, Vec<u16>)], requests: &[String]) -> Vec<String> {
    let mut differences = Vec::new();
    for request in requests {
        let answers: Vec<String> = servers
            .iter()
            .map(|(_, ports)| {
                let request = request.replace("{PORT}", &ports[0].to_string());
                shown(
                    &if request.starts_with('/') {
                        get(ports[0], &request)
                    } else {
                        send(ports[0], &request)
                    },
                    ports,
                )
            })
            .collect();
        if answers[0] != answers[1] {
            differences.push(format!(
                "== {request:?}\n-- {}:\n{}\n-- {}:\n{}\n",
                names[0], answers[0], names[1], answers[1]
            ));
        }
    }
    differences
}

const NAMES: [&str; 2] = ["agnhost", "agnhost-rs"];

fn logs(program: &Program, ports: &[u16]) -> Vec<String> {
    let text = program.text(Stream::Err);
    let mut lines: Vec<_> =
        text.lines().map(|line| mask(line.split_once("] ").map_or(line, |(_, text)| text), ports)).collect();
    lines.sort();
    lines
}

fn owned(targets: &[&str]) -> Vec<String> {
    targets.iter().map(|target| (*target).to_owned()).collect()
}

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn netexec_answers_and_logs_the_same() {
    let mut running: Vec<(Program, Vec<u16>)> = both()
        .iter()
        .map(|path| {
            let ports = vec![free_port(), free_port()];
            let (http, udp) = (format!("--http-port={}", ports[0]), ports[1].to_string());
            let mut program = Program::start(path, &["netexec", &http, "--udp_port", &udp, "-v=4"], &[]);
            program.wait_for_port(ports[0]);
            program.wait_for_line("Started UDP server");
            (program, ports)
        })
        .collect();
    let long = "x".repeat(3000);
    let mut requests = owned(&[
        "/",
        "/anything/else",
        "/clientip",
        "/serverport",
        "/header",
        "/header?key=X-A",
        "/hostname",
        "/hostName",
        "/healthz",
        "/readyz",
        "/h%65althz",
        "/echo",
        "/echo?msg=hi",
        "/echo?msg=a%20b+c&code=503",
        "/echo?msg=x&code=204",
        "/echo?msg=x&code=304",
        "/echo?msg=x&code=299",
        "/echo?msg=x&code=416",
        "/echo?msg=x&code=413",
        "/echo?msg=x&code=418",
        "/echo?msg=x&code=999",
        "/echo?msg=x&code=1000",
        "/echo?msg=x&code=99",
        "/echo?msg=x&code=-1",
        "/echo?msg=x&code=abc",
        "/echo?msg=x&code=%22q%0a",
        "/echo?msg=%3Chtml%3Ehello",
        "/echo?msg=%89PNG%0d%0a%1a%0a",
        "/echo?msg=%00%01",
        "/echo?msg=%zz",
        "/echo?msg=a;b",
        "//echo?msg=1",
        "/a/../echo?msg=1",
        "/./a%20b/../c%20d",
        "/echo/",
        "/%zz",
        "/redirect",
        "/redirect?location=/healthz",
        "/redirect?location=/a/../b%3Fx=1&code=301",
        "/redirect?location=x/y/&code=308",
        "/redirect?location=http://0.0.0.0/&code=307",
        "/redirect?location=//host/x",
        "/redirect?location=/x&code=200",
        "/redirect?location=/x&code=700",
        "/redirect?location=/x&code=abc",
        "/redirect?location=/x&code=12",
        "/redirect?location=/%C3%A9%3C%26",
        "/redirect?location=%3A80",
        "/redirect?location=mailto:x",
        "/redirect?location=a:b",
        "/dial?host=127.0.0.1&port={PORT}&request=echo?msg=dialled",
        "/dial?host=127.0.0.1&port={PORT}&request=hostname&tries=3",
        "/dial?host=127.0.0.1&port=1&request=x",
        "/dial?host=127.0.0.1&port=1&request=x&protocol=udp",
        "/dial?host=127.0.0.1&port=abc&request=x",
        "/dial?host=127.0.0.1&port=99999&request=x",
        "/dial?host=127.0.0.1&port=1",
        "/dial?host=127.0.0.1&port=1&request=x&protocol=foo",
        "/dial?host=127.0.0.1&port=1&request=x&tries=abc",
        "/dial?host=127.0.0.1&port={PORT}&request=redirect?location=/echo%253Fmsg=there",
        "/dial?host=127.0.0.1&port={PORT}&request=echo?code=204",
        "/dial?host=127.0.0.1&port={PORT}&request=shutdown&tries=0",
        "/dial?host=127.0.0.1&port={PORT}&request=echo?code=99",
        "/exit?code=abc",
        "/exit?timeout=abc",
        "/exit?wait=1",
        "HEAD /hostname HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "HEAD /echo?msg=abc HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "HEAD /redirect?location=/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "POST /redirect?location=/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "POST /echo?msg=query HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\nmsg=body",
        "DELETE /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "GET /echo?msg=old HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /header HTTP/1.1\r\nHost: h\r\nX-FOO: 1\r\nx-foo: <2>\r\nx-forwarded-for: a\r\nConnection: close\r\n\r\n",
        "GET /header?key=x-foo HTTP/1.1\r\nHost: h\r\nX-FOO: 1\r\nx-foo: <2>\r\nConnection: close\r\n\r\n",
    ]);
    requests.push(format!("/echo?msg={long}"));
    requests.push(format!("/echo?msg={}", &long[..2048]));
    let servers: Vec<_> = running.iter_mut().map(|(program, ports)| (program, ports.clone())).collect();
    let mut differences = compare(&NAMES, &servers, &requests);
    let udp: Vec<Vec<String>> = servers.iter().map(|(_, ports)| datagrams(ports[1], ports)).collect();
    if udp[0] != udp[1] {
        differences.push(format!("UDP: {udp:?}"));
    }
    std::thread::sleep(Duration::from_millis(100));
    let logged: Vec<_> = servers.iter().map(|(program, ports)| logs(program, ports)).collect();
    let kept = |lines: &[String]| -> Vec<String> {
        // A panic comes with a stack dump in Go.
        lines
            .iter()
            .filter(|line| line.starts_with("GET") || line.contains("UDP") || line.contains("udp"))
            .cloned()
            .collect()
    };
    let (go, ours) = (kept(&logged[0]), kept(&logged[1]));
    for line in go.iter().filter(|line| !ours.contains(line)) {
        differences.push(format!("log line only in agnhost: {line}"));
    }
    for line in ours.iter().filter(|line| !go.contains(line)) {
        differences.push(format!("log line only in agnhost-rs: {line}"));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn datagrams(port: u16, ports: &[u16]) -> Vec<String> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let ask = |text: &str| {
        socket.send(text.as_bytes()).unwrap();
        let mut buffer = [0; 4096];
        socket
            .recv(&mut buffer)
            .map_or("nothing".to_owned(), |n| mask(&String::from_utf8_lossy(&buffer[..n]), ports))
    };
    ["hostname", "HostName\n", "echo Hi There", "clientip", "serverport", "bogus", "echo"].map(ask).to_vec()
}

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn netexec_is_overridden_and_ends_the_same() {
    let ends: [(&str, &[&str]); 5] = [
        ("/exit?code=7", &[]),
        ("/exit?code=9&timeout=1s&wait=10ms", &[]),
        ("/shutdown", &[]),
        ("TERM", &["--delay-shutdown=1"]),
        ("TERM", &[]),
    ];
    for (end, flags) in ends {
        let seen: Vec<String> = both().iter().map(|path| ended_netexec(path, end, flags)).collect();
        assert_eq!(seen[0], seen[1], "{end} {flags:?}");
    }
    let overridden: Vec<String> = both()
        .iter()
        .map(|path| {
            let port = free_port();
            let http = port.to_string();
            let flags = [
                "netexec",
                "--http-port",
                &http,
                "--udp-port",
                "-1",
                "--http-override",
                "/echo?msg=over&code=201",
            ];
            let mut program = Program::start(path, &flags, &[]);
            program.wait_for_port(port);
            let plain = shown(&get(port, "/healthz"), &[port]);
            let unclean = shown(&get(port, "//healthz"), &[port]);
            format!("{plain}\n{unclean}\n{:?}", logs(&program, &[port]))
        })
        .collect();
    assert_eq!(overridden[0], overridden[1]);
}

fn ended_netexec(path: &std::path::Path, end: &str, flags: &[&str]) -> String {
    let (port, udp) = (free_port(), free_port());
    let (http, datagrams) = (port.to_string(), udp.to_string());
    let all = [&["netexec", "--http-port", http.as_str(), "--udp-port", datagrams.as_str()], flags].concat();
    let mut program = Program::start(path, &all, &[]);
    program.wait_for_port(port);
    program.wait_for_line("Started UDP server");
    let before = shown(&get(port, "/readyz"), &[port]);
    let at = Instant::now();
    let meanwhile = if end == "TERM" {
        program.signal(Signal::SIGTERM);
        std::thread::sleep(Duration::from_millis(300));
        if flags.is_empty() { String::new() } else { shown(&get(port, "/readyz"), &[port]) }
    } else {
        shown(&get(port, end), &[port])
    };
    let status = program.wait();
    let seconds = at.elapsed().as_secs();
    format!("{before}\n{meanwhile}\n{status} after {seconds} s\n{:#?}", logs(&program, &[port, udp]))
}

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn small_servers_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join("sub/d<&> e:f")).unwrap();
    std::fs::write(root.join("plain"), "0123456789").unwrap();
    std::fs::write(root.join("page.html"), "<p>hi").unwrap();
    std::fs::write(root.join("empty"), "").unwrap();
    std::fs::write(root.join("sub/index.html"), "index").unwrap();
    std::fs::write(root.join("big"), vec![b'y'; 300_000]).unwrap();
    let base = root.to_str().unwrap();
    let mut files: Vec<String> = [
        "",
        "/",
        "/plain",
        "/plain/",
        "/plain/x",
        "/page.html",
        "/empty",
        "/sub",
        "/sub/",
        "/sub?q=1",
        "/sub/index.html",
        "/missing",
        "/big",
        "/a/../plain",
        "/sub/d%3C&%3E%20e:f/",
        "/%70lain",
    ]
    .iter()
    .map(|path| format!("{base}{path}"))
    .collect();
    for header in [
        "Range: bytes=2-4",
        "Range: bytes=-3",
        "Range: bytes=20-",
        "Range: bytes=5-2",
        "Range: x",
        "If-Modified-Since: Sat, 21 Nov 2037 00:00:00 GMT",
        "If-None-Match: *",
        "If-Match: \"a\"",
        "If-Unmodified-Since: Sat, 21 Nov 2015 00:00:00 GMT",
        "If-Range: \"a\"\r\nRange: bytes=0-1",
    ] {
        files.push(format!("GET {base}/plain HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{header}\r\n\r\n"));
    }
    files.push(format!("HEAD {base}/big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    files.push(format!(
        "POST {base}/plain HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    ));
    differ(&["test-webserver", "--port={PORT}"], &files);
    differ(&["serve-hostname", "--port={PORT}"], &owned(&["/", "/x?y", "//z"]));
    differ(
        &["serve-hostname", "--close", "--port", "{PORT}"],
        &owned(&["/", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"]),
    );
    differ(&["grpc-health-checking", "--port=0", "--http-port={PORT}"], &owned(&["/", "/nothing", "//x"]));
    differ(&["porter", "SERVE_PORT_{PORT}=the text"], &owned(&["/", "//x", "/%20"]));
    differ(
        &["porter", "SERVE_TCP_PORT_{PORT}=<b>", "--json-response"],
        &owned(&["/", "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"]),
    );
}

fn differ(arguments: &[&str], requests: &[String]) {
    let mut running: Vec<(Program, Vec<u16>)> = both()
        .iter()
        .map(|path| {
            let port = free_port();
            let filled: Vec<String> =
                arguments.iter().map(|text| text.replace("{PORT}", &port.to_string())).collect();
            let flags: Vec<&str> =
                filled.iter().filter(|text| !text.starts_with("SERVE")).map(String::as_str).collect();
            let environment: Vec<_> =
                filled.iter().filter(|t| t.starts_with("SERVE")).filter_map(|t| t.split_once('=')).collect();
            let mut program = Program::start(path, &flags, &environment);
            program.wait_for_port(port);
            (program, vec![port])
        })
        .collect();
    let servers: Vec<_> = running.iter_mut().map(|(program, ports)| (program, ports.clone())).collect();
    let differences = compare(&NAMES, &servers, requests);
    assert!(differences.is_empty(), "{arguments:?}\n{}", differences.join("\n"));
    let statuses: Vec<_> = servers
        .into_iter()
        .map(|(program, _)| program)
        .filter(|_| arguments[0] != "serve-hostname")
        .map(|program| {
            program.signal(Signal::SIGTERM);
            program.wait().to_string()
        })
        .collect();
    assert!(statuses.windows(2).all(|pair| pair[0] == pair[1]), "{arguments:?}: {statuses:?}");
}

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn liveness_answers_the_same_before_and_after_its_turn() {
    let mut seen = Vec::new();
    for path in both() {
        let mut program = Program::start(&path, &["liveness"], &[]);
        program.wait_for_port(8080);
        let mut answers: Vec<String> = [
            "/healthz",
            "/",
            "/redirect?loc=/healthz",
            "/redirect?loc=http://0.0.0.0/",
            "/redirect?loc=http%3A%2F%2F0.0.0.0%3A8080%2F",
            "/redirect?loc=%25zz",
            "/redirect",
            "/redirect?loc=/a%252Fb%3Fc",
            "/healthz/",
            "//healthz",
        ]
        .iter()
        .map(|target| shown(&get(8080, target), &[]))
        .collect();
        let started = get(8080, "/started");
        answers.push(format!("{} {}", started.status_line, started.text().ends_with("ms")));
        while get(8080, "/healthz").status() == 200 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let turned = program.started().elapsed();
        assert!((Duration::from_secs(10)..Duration::from_millis(10_500)).contains(&turned), "{turned:?}");
        let bad = get(8080, "/healthz");
        answers.push(format!("{} {}", bad.status_line, &bad.text()[..10]));
        program.signal(Signal::SIGTERM);
        answers.push(program.wait().to_string());
        seen.push(answers);
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn commands_that_end_print_the_same_and_end_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().to_str().unwrap();
    let at = |flag: &str, name: &str| format!("--{flag}={base}/{name}");
    std::fs::write(folder.path().join("fresh"), "mount-tester new file\n").unwrap();
    let mount: Vec<Vec<String>> = vec![
        vec![
            at("fs_type", ""),
            at("new_file_0644", "a"),
            at("file_mode", "a"),
            at("file_perm", "a"),
            at("file_owner", "a"),
            at("file_content", "a"),
        ],
        vec!["--fs-type=/dev/shm".into(), "--file_mode=/tmp".into(), "--file-perm=/dev/null".into()],
        vec![
            at("new_file_0666", "b"),
            at("new_file_0660", "c"),
            at("new_file_0777", "d"),
            at("file_perm", "d"),
        ],
        vec!["--file_mode=/dev/null".into(), at("file_owner", "")],
        vec![
            at("fs_type", "no"),
            at("file_mode", "no"),
            at("file_perm", "no"),
            at("file_owner", "no"),
            at("file_content", "no"),
        ],
        vec![at("new_file_0644", "no/x"), at("file_content", "")],
        vec![at("file_content_in_loop", "fresh"), "--retry_time=3".into()],
        vec![at("file_content_in_loop", "no"), "--retry_time=1".into()],
        vec![
            "--file_content_in_loop=/dev/null".into(),
            "--retry_time=1".into(),
            "--break_on_expected_content=false".into(),
        ],
        vec!["--file_content_in_loop=/dev/null".into(), "--retry_time=1".into()],
    ];
    let mut calls: Vec<Vec<String>> =
        mount.into_iter().map(|flags| [vec!["mounttest".to_owned()], flags].concat()).collect();
    for call in [
        &["connect", "foo"][..],
        &["connect", "127.0.0.1:1"],
        &["connect", "--timeout=1s", "127.0.0.1:1"],
        &["connect", "127.0.0.1:abc"],
        &["connect", "::1:1"],
        &["connect", "127.0.0.1:1", "--protocol", "udp", "--timeout=500ms"],
        &["connect", "--protocol=bogus", "127.0.0.1:1"],
        &["connect", "--protocol=sctp", "--timeout=1s", "127.0.0.1:1"],
        &["entrypoint-tester", "override", "arguments"],
        &["entrypoint-tester"],
        &["serve-hostname", "--udp"],
        &["logs-generator"],
        &["logs-generator", "-t", "3"],
        &["grpc-health-checking", "--tls-cert-file=x"],
        &["netexec", "--http-port=99999", "--udp-port=-1"],
        &["netexec", "--udp-listen-addresses=x"],
        &["netexec", "--udp-port=-1", "--http-port=0", "--tls-cert-file=/no/such"],
        &["port-forward-tester"],
    ] {
        calls.push(owned(call));
    }
    let mut differences = Vec::new();
    for call in &calls {
        let seen: Vec<String> = both().iter().map(|path| called(path, call)).collect();
        if seen[0] != seen[1] {
            differences.push(format!("{call:?}\n-- agnhost: {}\n-- agnhost-rs: {}", seen[0], seen[1]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn called(path: &std::path::Path, call: &[String]) -> String {
    let output = Command::new(path).args(call).env("BIND_PORT", "x").output().unwrap();
    let own = path.to_str().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).replace(own, "SELF");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    // Go's klog dumps its stacks after a fatal line.
    let err: Vec<String> = err
        .lines()
        .take_while(|line| !line.starts_with("goroutine"))
        .map(|line| mask(line.split_once("] ").map_or(line, |(_, text)| text), &[]))
        .collect();
    format!("{} out {out:?} err {err:?}", output.status)
}
