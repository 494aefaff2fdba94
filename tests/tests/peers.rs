//! The same promises, tested with clients from other projects: curl, OpenSSL, nghttp2 and grpc-go.
//!
//! A test here fails if its tool is missing, and the message shows how to get it: `ci/peers` installs them all.

use std::path::PathBuf;
use std::process::{Command, Output};

use probity_tests::target::Target;
use probity_tests::tls::{self, Wish, shown};

/// The output of a tool, standard output first, and its exit status.
struct Said {
    text: String,
    code: i32,
}

fn run(mut command: Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| {
        panic!("cannot run {:?}: {error}; ci/peers installs it", command.get_program())
    });
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Said { text, code: status.code().unwrap_or(-1) }
}

fn tool(name: &str, args: &[&str]) -> Said {
    let mut command = Command::new(name);
    command.args(args);
    run(command)
}

fn curl(args: &[&str]) -> Said {
    tool("curl", &[&["-sS", "--noproxy", "*", "--max-time", "20"], args].concat())
}

/// The program that `ci/peers` builds from tests/peers/grpc-health.
fn grpc_health(args: &[&str]) -> Said {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let ours = std::env::var_os("PROBITY_CACHE").map(PathBuf::from);
    let cache = ours.unwrap_or_else(|| cache.or_else(home).unwrap_or_default().join("probity"));
    let mut command = Command::new(cache.join("peers/grpc-health"));
    command.args(args);
    run(command)
}

const PLAN: &str = "listeners: { web: { port: 0, paths: { /ok: 200, /busy: { status: 503, headers: ['X-Why: test'], body: busy }, /chain: { redirect: { hops: 9 } }, /loop: { redirect: { hops: endless } }, /short: { body: abc, framing: { content-length: 10 } }, /close: close, /reset: reset, /garbage: garbage, /chunked: { body: { bytes: 100000 }, framing: chunked } } }, safe: { port: 0, tls: {}, paths: { /ok: 200, /large: { body: { bytes: 1MiB } } } } }";

#[test]
fn curl_gets_status_headers_and_body_by_http1() {
    let target = Target::start(PLAN);
    let url = format!("http://{}/busy", target.address("web"));
    let said = curl(&["-i", &url]);
    assert!(said.text.starts_with("HTTP/1.1 503 Service Unavailable\r\nX-Why: test\r\n"), "{}", said.text);
    assert!(said.text.ends_with("\r\n\r\nbusy"), "{}", said.text);
    let request = target.story(1).request;
    let names: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Host", "User-Agent", "Accept"], "as curl writes them");
}

#[test]
fn curl_follows_chains_and_gives_up_loops() {
    let target = Target::start(PLAN);
    let base = format!("http://{}", target.address("web"));
    let args = ["-L", "--max-redirs", "20", "-o", "/dev/null", "-w", "%{http_code} %{num_redirects}"];
    let chain = curl(&[&args, [format!("{base}/chain").as_str()].as_slice()].concat());
    assert_eq!((chain.text.as_str(), chain.code), ("200 9", 0));
    let round = curl(&[&args, [format!("{base}/loop").as_str()].as_slice()].concat());
    assert_eq!(round.code, 47, "too many redirects: {}", round.text);
    assert_eq!(target.request(10).hop, Some(9));
}

#[test]
fn curl_names_each_fault_of_a_connection() {
    let target = Target::start(PLAN);
    let base = format!("http://{}", target.address("web"));
    for (path, code) in [("/short", 18), ("/close", 52), ("/reset", 56), ("/garbage", 1), ("/chunked", 0)] {
        let said = curl(&["-o", "/dev/null", &format!("{base}{path}")]);
        assert_eq!(said.code, code, "{path}: {}", said.text);
    }
}

#[test]
fn curl_speaks_http2_with_and_without_tls() {
    let target = Target::start(PLAN);
    let args = ["-k", "-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}"];
    let plain = format!("http://{}/ok", target.address("web"));
    let safe = format!("https://{}/large", target.address("safe"));
    let said = curl(&[&["--http2-prior-knowledge"], args.as_slice(), &[&plain]].concat());
    assert_eq!(said.text, "2 200 2");
    let said = curl(&[&["--http2"], args.as_slice(), &[&safe]].concat());
    assert_eq!(said.text, "2 200 1048576");
    let said = curl(&[&["--http1.1"], args.as_slice(), &[&safe]].concat());
    assert_eq!(said.text, "1.1 200 1048576");
    let protocols: Vec<_> = (1..=3).map(|nth| target.request(nth).protocol).collect();
    assert_eq!(protocols, ["HTTP/2", "HTTP/2", "HTTP/1.1"]);
}

#[test]
fn curl_checks_a_certificate_that_it_was_told_to_trust() {
    for (kind, code) in [("self-signed", 0), ("expired", 60), ("not-yet-valid", 60), ("wrong-name", 60)] {
        let target = Target::start(&format!(
            "listeners: {{ web: {{ port: 0, tls: {{ certificate: {kind} }}, paths: {{ /: 200 }} }} }}"
        ));
        let address = target.address("web");
        let file = certificate(&target);
        let path = file.path().to_string_lossy().into_owned();
        let resolve = format!("localhost:{}:127.0.0.1", address.port());
        let url = format!("https://localhost:{}/", address.port());
        let said = curl(&["--cacert", &path, "--resolve", &resolve, "-o", "/dev/null", &url]);
        assert_eq!(said.code, code, "{kind}: {}", said.text);
        let untrusted = curl(&["--resolve", &resolve, "-o", "/dev/null", &url]);
        assert_eq!(untrusted.code, 60, "{kind}: nobody signed it");
    }
}

#[test]
fn openssl_names_the_fault_of_each_certificate() {
    for (kind, verdict) in [
        ("self-signed", "Verify return code: 0 (ok)"),
        ("expired", "Verify return code: 10 (certificate has expired)"),
        ("not-yet-valid", "Verify return code: 9 (certificate is not yet valid)"),
        ("wrong-name", "Verify return code: 62 (hostname mismatch)"),
    ] {
        let target = Target::start(&format!(
            "listeners: {{ web: {{ port: 0, tls: {{ certificate: {kind}, versions: ['1.2'] }}, paths: {{ /: 200 }} }} }}"
        ));
        let file = certificate(&target);
        let mut command = Command::new("openssl");
        command.args([
            "s_client",
            "-verify_hostname",
            "localhost",
            "-connect",
            &target.address("web").to_string(),
        ]);
        command.arg("-CAfile").arg(file.path()).stdin(std::process::Stdio::null());
        let said = run(command);
        assert!(said.text.contains(verdict), "{kind}: {}", said.text);
        assert!(said.text.contains("Protocol  : TLSv1.2"), "{kind}: {}", said.text);
    }
}

/// The certificate of listener `web` as a file.
fn certificate(target: &Target) -> tempfile::NamedTempFile {
    let (_, stream) = tls::connect(target.address("web"), &Wish::default());
    let certificate = shown(&stream.unwrap_or_else(|error| panic!("{error}")));
    let der = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("{error}"));
    let pem = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(der.path(), &certificate).unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new("openssl");
    command.args(["x509", "-inform", "der", "-in"]).arg(der.path()).arg("-out").arg(pem.path());
    let said = run(command);
    assert_eq!(said.code, 0, "{}", said.text);
    pem
}

#[test]
fn nghttp_reads_every_frame_of_an_answer() {
    let target = Target::start(PLAN);
    let said = tool("nghttp", &["-v", "-n", &format!("http://{}/busy", target.address("web"))]);
    for part in [":status: 503", "x-why: test", "recv DATA frame <length=4"] {
        assert!(said.text.contains(part), "{part} in {}", said.text);
    }
    assert_eq!(target.story(1).answer.written, 4);
}

#[test]
fn h2load_gets_every_answer_and_each_is_witnessed() {
    let target = Target::start(PLAN);
    // So few requests that all their lines fit into the buffer for standard output: even a slow reader loses none.
    for (listener, requests) in [("web", 600), ("safe", 300)] {
        let scheme = if listener == "web" { "http" } else { "https" };
        let url = format!("{scheme}://{}/ok", target.address(listener));
        let said = tool("h2load", &["-n", &requests.to_string(), "-c", "10", "-m", "20", &url]);
        let all = format!("{requests} succeeded, 0 failed, 0 errored, 0 timeout");
        assert!(said.text.contains(&all), "{}", said.text);
    }
    let mut answers = 0;
    target.wait_for("900 answers", |line| {
        let probity_script::Fact::Answer(answer) = &line.fact else { return None };
        assert_eq!((answer.answer.as_str(), answer.error.as_deref()), ("200", None));
        answers += 1;
        (answers == 900).then_some(())
    });
    let lines = target.lines();
    assert!((0..).zip(&lines).all(|(seq, line)| line.seq == seq), "no line is missing");
}

const HEALTH: &str = "listeners: { health: { port: 0, protocol: grpc, services: { '': serving, bad: not-serving, odd: 77, nf: not-found, un: unimplemented, no: { code: 14, message: 'as planned' }, hang: hang, close: close, reset: reset, half: half-frame, slow: { delay: 300ms }, go: [{ answer: serving, times: 1, mark: go }, { answer: serving }], flip: [{ answer: not-serving, for: 1500ms }, { answer: serving }] } }, safe: { port: 0, protocol: grpc, tls: {}, services: { '': serving } } }";

#[test]
fn grpc_go_understands_every_health_answer() {
    let target = Target::start(HEALTH);
    let address = target.address("health").to_string();
    for (nth, (service, text, code)) in (1..).zip([
        ("", "status SERVING", 0),
        ("bad", "status NOT_SERVING", 2),
        ("odd", "status 77", 2),
        ("nf", "code NotFound", 1),
        ("un", "code Unimplemented", 1),
        ("no", "code Unavailable: as planned", 1),
        ("slow", "status SERVING", 0),
        ("unheard-of", "code NotFound", 1),
    ]) {
        let said = grpc_health(&["-address", &address, "-service", service]);
        assert!(said.text.starts_with(text), "{service}: {}", said.text);
        assert_eq!(said.code, code, "{service}");
        let request = target.story(nth).request;
        assert_eq!(request.service.as_deref(), Some(service));
        let agent = request.headers.iter().find(|(name, _)| name == "user-agent").map(|line| line.1.as_str());
        assert!(agent.is_some_and(|agent| agent.contains("grpc-go/")), "{agent:?}");
        assert!(request.headers.iter().any(|(name, _)| name == "grpc-timeout"), "{:?}", request.headers);
    }
}

#[test]
fn grpc_go_meets_its_deadline_when_nobody_answers() {
    let target = Target::start(HEALTH);
    let address = target.address("health").to_string();
    let said = grpc_health(&["-address", &address, "-service", "hang", "-timeout", "500ms"]);
    assert!(said.text.starts_with("code DeadlineExceeded"), "{}", said.text);
    let answer = target.story(1).answer;
    assert_eq!((answer.answer.as_str(), answer.error.as_deref()), ("hang", Some("the peer gave up")));
}

#[test]
fn grpc_go_sees_a_lost_connection_as_unavailable() {
    let target = Target::start(HEALTH);
    let address = target.address("health").to_string();
    for service in ["close", "reset", "half"] {
        let said = grpc_health(&["-address", &address, "-service", service, "-timeout", "5s"]);
        let lost =
            said.text.starts_with("code Unavailable") || said.text.starts_with("code DeadlineExceeded");
        assert!(lost, "{service}: {}", said.text);
    }
}

#[test]
fn grpc_go_watches_a_status_change() {
    let target = Target::start(HEALTH);
    let address = target.address("health").to_string();
    let said = grpc_health(&["-address", &address, "-service", "flip", "-watch", "2", "-timeout", "15s"]);
    // On a machine that is busy for more than a second, the client starts after the change.
    let watched = said.text.starts_with("status NOT_SERVING\nstatus SERVING\n");
    assert!(watched || said.text.starts_with("status SERVING\n"), "{}", said.text);
}

#[test]
fn grpc_go_speaks_tls_only_if_it_is_told_to() {
    let target = Target::start(HEALTH);
    let address = target.address("safe").to_string();
    let said = grpc_health(&["-address", &address, "-tls"]);
    assert_eq!((said.text.trim(), said.code), ("status SERVING", 0));
    let plain = grpc_health(&["-address", &address, "-timeout", "500ms"]);
    assert!(plain.code == 1, "{}", plain.text);
}
