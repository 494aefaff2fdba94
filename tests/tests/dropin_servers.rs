//! The servers among the drop-ins, started as processes and tested over real sockets, with curl for TLS and HTTP/2.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use probity_tests::program::{PATIENCE, Program, binary, free_port};
use probity_tests::raw_http::{get, send};

fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Program {
    Program::start(&binary("agnhost-rs"), arguments, environment)
}

fn netexec(flags: &[&str]) -> (Program, u16, u16) {
    let (http, udp) = (free_port(), free_port());
    let (http_flag, udp_flag) = (format!("--http-port={http}"), format!("--udp-port={udp}"));
    let mut program = start(&[&["netexec", &http_flag, &udp_flag], flags].concat(), &[]);
    program.wait_for_port(http);
    program.wait_for_line("Started UDP server");
    (program, http, udp)
}

fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "10"])
        .args(arguments)
        .output()
        .unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn datagram(port: u16, text: &str) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.send(text.as_bytes()).unwrap();
    let mut buffer = [0; 2048];
    let count = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

#[test]
fn an_echo_leaves_the_log_line_that_hook_tests_match() {
    let (program, http, _) = netexec(&["-v=4"]);
    let answered = get(http, "/echo?msg=prestop&code=202");
    assert_eq!(
        (answered.status_line.as_str(), answered.text().as_str()),
        ("HTTP/1.1 202 Accepted", "prestop")
    );
    let line = program.wait_for_line("GET /echo?msg=prestop&code=202");
    assert!(line.text.starts_with('I') && line.text.contains(" log.go:244] GET /echo?"), "{line:?}");
}

#[test]
fn readiness_waits_for_udp_and_turns_at_sigterm() {
    let (mut program, http, udp) = netexec(&["--delay-shutdown", "1"]);
    program.wait_for_line("Started UDP server");
    assert_eq!((get(http, "/healthz").status(), get(http, "/readyz").text().as_str()), (200, "ok"));
    assert_eq!(datagram(udp, "echo Hi"), "hi");
    let at = Instant::now();
    program.signal(Signal::SIGTERM);
    program.wait_for_line("Sleeping 1 seconds before terminating...");
    let terminating = get(http, "/readyz");
    assert_eq!((terminating.status(), terminating.text().as_str()), (503, "shutting down"));
    assert_eq!(get(http, "/healthz").status(), 200);
    assert_eq!(program.wait().code(), Some(0));
    assert!((Duration::from_secs(1)..Duration::from_secs(2)).contains(&at.elapsed()), "{:?}", at.elapsed());
}

#[test]
fn without_udp_netexec_is_never_healthy() {
    let http = free_port();
    let port = http.to_string();
    let mut program = start(&["netexec", "--http-port", &port, "--udp-port", "-1"], &[]);
    program.wait_for_port(http);
    assert_eq!((get(http, "/healthz").status(), get(http, "/readyz").status()), (412, 412));
}

#[test]
fn shell_and_upload_are_refused_with_a_reason() {
    let (_program, http, _) = netexec(&[]);
    for path in ["/shell?cmd=id", "/shell?shellCommand=id", "/upload"] {
        let answered = get(http, path);
        assert_eq!(answered.status(), 403, "{path}");
        assert!(answered.text().contains("is not available: this program"), "{answered:?}");
    }
}

#[test]
fn exit_ends_with_the_code_that_was_asked_for() {
    let (mut at_once, http, _) = netexec(&[]);
    assert_eq!(get(http, "/exit?code=42").status(), 0);
    assert_eq!(at_once.wait().code(), Some(42));
    let (mut graceful, http, _) = netexec(&[]);
    assert_eq!(get(http, "/exit?code=3&timeout=2s&wait=50ms").status(), 200);
    assert_eq!(graceful.wait().code(), Some(3));
    graceful.wait_for_line("Graceful shutdown completed with: <nil>");
}

#[test]
fn a_dial_tells_answers_and_errors() {
    let (_program, http, udp) = netexec(&[]);
    let dial = |query: String| get(http, &format!("/dial?host=127.0.0.1&{query}")).text();
    assert_eq!(
        dial(format!("port={http}&request=echo?msg=there&tries=2")),
        r#"{"responses":["there","there"]}"#
    );
    assert_eq!(dial(format!("port={udp}&request=echo%20there&protocol=udp")), r#"{"responses":["there"]}"#);
    let refused = dial("port=1&request=x".to_owned());
    assert!(refused.contains("dial tcp 127.0.0.1:1: connect: connection refused"), "{refused}");
}

#[test]
fn netexec_speaks_https_with_the_pair_that_manifests_name() {
    let files = ["--tls-cert-file=/localhost.crt", "--tls-private-key-file=/localhost.key"];
    let (program, http, _) = netexec(&files);
    let url = format!("https://127.0.0.1:{http}/echo?msg=sealed");
    for version in ["--http1.1", "--http2"] {
        let shown = curl(&["--insecure", version, "--write-out", " %{http_version}", &url]);
        assert_eq!(shown, if version == "--http2" { "sealed 2" } else { "sealed 1.1" });
    }
    let plain = get(http, "/");
    assert_eq!(
        (plain.status(), plain.text().as_str()),
        (400, "Client sent an HTTP request to an HTTPS server.\n")
    );
    program.wait_for_line("http: TLS handshake error from 127.0.0.1:");
}

#[test]
fn grpc_health_answers_curl_and_is_switched_over_http() {
    let (grpc, http) = (free_port(), free_port());
    let flags = [
        "grpc-health-checking",
        &format!("--port={grpc}"),
        &format!("--http-port={http}"),
        "--service=known",
    ];
    let mut program = start(&flags, &[]);
    program.wait_for_port(http);
    program.wait_for_port(grpc);
    let folder = tempfile::tempdir().unwrap();
    let ask = |method: &str, service: &str| {
        let field = if service.is_empty() {
            vec![]
        } else {
            [&[0x0a, u8::try_from(service.len()).unwrap()], service.as_bytes()].concat()
        };
        let frame = [&[0, 0, 0, 0, u8::try_from(field.len()).unwrap()], field.as_slice()].concat();
        let (request, answer, headers) =
            (folder.path().join("q"), folder.path().join("a"), folder.path().join("h"));
        std::fs::write(&request, frame).unwrap();
        std::fs::write(&answer, "").unwrap();
        let said = curl(&[
            "--http2-prior-knowledge",
            "-H",
            "content-type: application/grpc",
            "-H",
            "te: trailers",
            "--data-binary",
            &format!("@{}", request.display()),
            "-o",
            answer.to_str().unwrap(),
            "-D",
            headers.to_str().unwrap(),
            &format!("http://127.0.0.1:{grpc}/grpc.health.v1.Health/{method}"),
        ]);
        assert_eq!(said, "");
        let headers = std::fs::read_to_string(headers).unwrap();
        let status = headers
            .lines()
            .find_map(|line| line.strip_prefix("grpc-status: "))
            .map(|code| code.trim().to_owned());
        (status.unwrap_or_default(), std::fs::read(answer).unwrap())
    };
    let serving = ("0".to_owned(), vec![0, 0, 0, 0, 2, 8, 1]);
    let not_serving = ("0".to_owned(), vec![0, 0, 0, 0, 2, 8, 2]);
    assert_eq!(ask("Check", "known"), serving);
    assert_eq!(ask("Check", "").0, "5");
    assert_eq!(ask("Watch", "known").0, "12");
    assert_eq!(ask("List", "").0, "12");
    assert_eq!(get(http, "/make-not-serving").status(), 200);
    assert_eq!(ask("Check", "known"), not_serving);
    assert_eq!(get(http, "/make-serving").status(), 200);
    assert_eq!(ask("Check", "known"), serving);
}

#[test]
fn files_are_served_whole_and_in_part_with_headers_for_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), "0123456789").unwrap();
    let port = free_port();
    let mut program = start(&["test-webserver", "--port", &port.to_string()], &[]);
    program.wait_for_port(port);
    let path = format!("{}/data", folder.path().display());
    let whole = get(port, &path);
    assert_eq!((whole.text().as_str(), whole.header("cache-control")), ("0123456789", Some("private")));
    assert_eq!(whole.header("access-control-allow-origin"), Some("*"));
    let part = send(
        port,
        &format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nRange: bytes=2-4\r\n\r\n"),
    );
    assert_eq!(
        (part.status(), part.text().as_str(), part.header("content-range")),
        (206, "234", Some("bytes 2-4/10"))
    );
    assert_eq!(get(port, &format!("{path}/more")).status(), 404);
    let listing = get(port, &format!("{}/", folder.path().display()));
    assert!(listing.text().contains("<a href=\"data\">data</a>"), "{listing:?}");
}

#[test]
fn the_host_name_comes_over_every_protocol() {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let port = free_port();
    let mut http = start(&["serve-hostname", "--port", &port.to_string()], &[]);
    http.wait_for_port(port);
    assert_eq!(get(port, "/").text(), name.trim());
    let port = free_port();
    let mut raw =
        start(&["serve-hostname", "--http=false", "--tcp", "--udp", "--port", &port.to_string()], &[]);
    raw.wait_for_port(port);
    let mut text = String::new();
    TcpStream::connect(("127.0.0.1", port)).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), datagram(port, "x").as_str()), (name.trim(), name.trim()));
}

#[test]
fn porter_serves_each_variable_on_its_port() {
    let ports: Vec<String> = (0..3).map(|_| free_port().to_string()).collect();
    let names = [
        format!("SERVE_PORT_{}", ports[0]),
        format!("SERVE_TLS_PORT_{}", ports[1]),
        format!("SERVE_UDP_PORT_{}", ports[2]),
    ];
    let environment = [(names[0].as_str(), "web"), (names[1].as_str(), "tls=1"), (names[2].as_str(), "udp")];
    let mut program = start(&["porter"], &environment);
    let numbers: Vec<u16> = ports.iter().map(|port| port.parse().unwrap()).collect();
    program.wait_for_port(numbers[0]);
    program.wait_for_port(numbers[1]);
    program.wait_for_line("Started UDP server on port");
    assert_eq!(get(numbers[0], "/any//path").text(), "web");
    assert_eq!(curl(&["--insecure", &format!("https://127.0.0.1:{}/", ports[1])]), "tls=1");
    assert_eq!(datagram(numbers[2], "?"), "udp");
}

#[test]
fn tcp_reset_resets_what_it_did_not_read() {
    let port = free_port();
    let mut program = start(&["tcp-reset", "--port", &port.to_string()], &[]);
    program.wait_for_port(port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"more than one byte").unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let error = stream.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait().code(), Some(0));
    program.wait_for_line("Shutting down after receiving signal: terminated.");
}

#[test]
fn port_forward_tester_sends_its_chunks_or_names_the_fault() {
    let serve = |sent: &[u8]| {
        let port = free_port();
        let number = port.to_string();
        let environment = [
            ("BIND_PORT", number.as_str()),
            ("BIND_ADDRESS", "127.0.0.1"),
            ("EXPECTED_CLIENT_DATA", "abc"),
            ("CHUNKS", "3"),
            ("CHUNK_SIZE", "10"),
            ("CHUNK_INTERVAL", "20"),
        ];
        let mut program = start(&["port-forward-tester"], &environment);
        let deadline = Instant::now() + PATIENCE;
        let mut stream = loop {
            // Only one connection: the test does not check first whether the port is open.
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        stream.write_all(sent).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        (text.len(), program.wait().code())
    };
    assert_eq!(serve(b"abc"), (30, Some(0)));
    assert_eq!(serve(b"ab"), (0, Some(2)));
    assert_eq!(serve(b"abd"), (0, Some(3)));
}
