//! The other servers, compared with the original.

use super::*;

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
