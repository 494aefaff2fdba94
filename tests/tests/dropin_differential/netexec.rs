//! `netexec` compared with the original: endpoints, datagrams, override and exits.

use super::*;

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
        // A panic in Go prints a stack dump.
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
