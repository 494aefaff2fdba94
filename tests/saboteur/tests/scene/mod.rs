//! A node and a pod, each in its own network namespace, the target in the pod, the proxy on the node, and a client
//! that probes as a kubelet does. The namespaces end with the threads and processes in them, so nothing needs to be
//! removed.
#![allow(dead_code, unreachable_pub, reason = "each test file has a copy and uses a part of it")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use probity_saboteur::board::Board;
use probity_saboteur::pods::probes::{PROBES, probes_of};
use probity_saboteur::pods::{self, PodsOptions};
use probity_script::Fact;
use probity_script::witness::Ending;
use probity_tests::target::Target;

/// The pod's address.
pub const POD: Ipv4Addr = Ipv4Addr::new(10, 244, 1, 7);
/// The node's address towards its pods.
pub const NODE: Ipv4Addr = Ipv4Addr::new(10, 244, 1, 1);
/// How long a test waits. Anything that takes longer has failed.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A target that answers in every way that the tests need.
pub const PLAN: &str = r#"
listeners:
  web:
    port: 8080
    paths:
      /ok: 200
      /n204: 204
      /e429: 429
      /e500: 500
      /slow: { status: 200, delay: 2s }
      /big: { body: { bytes: 40KiB } }
      /short: { body: text, framing: { content-length: 100 }, close-after: 4 }
      /hop: { status: 302, headers: ["Location: /ok"] }
      /loop: { status: 302, headers: ["Location: /loop"] }
      /away: { status: 302, headers: ["Location: http://10.244.1.9:8080/ok"] }
      /back: { status: 302, headers: ["Location: http://10.244.1.7:8081/ok"] }
      /flip: [{ answer: 200, times: 1 }, { answer: 500 }]
  other: { port: 8081, paths: { "*": 503 } }
  raw: { port: 8090, protocol: tcp }
  shy: { port: 8091, protocol: tcp, connections: close }
  chatty: { port: 8092, protocol: tcp, connections: { send: hello, then: hold } }
  sec: { port: 8443, tls: {}, paths: { /ok: 200, /n204: 204 } }
  sec1: { port: 8444, tls: { alpn: [] }, paths: { /ok: 200, /n204: 204 } }
  health: { port: 9090, protocol: grpc, services: { "": serving, b: not-serving, slow: { status: 1, delay: 2s } } }
"#;

/// The whole scene.
pub struct NodeScene {
    /// The target in the pod.
    pub target: Target,
    /// The defects.
    pub board: Board,
    /// Drives the proxy.
    pub runtime: tokio::runtime::Runtime,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// This status.
    Status(u16),
    /// The connection was refused.
    Refused,
    /// It was closed or reset before an answer.
    Broken,
    /// No answer in time.
    Timeout,
}

static SCENES: AtomicU32 = AtomicU32::new(0);

impl NodeScene {
    /// Creates the scene with a plan and the pod's specification. `None` without the necessary permissions; the test
    /// then proves nothing.
    #[must_use]
    pub fn new(plan: &str, spec: &str) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        unshare(CloneFlags::CLONE_NEWNET).unwrap_or_else(|error| panic!("no network namespace: {error}"));
        let plan = plan.to_owned();
        // The process inherits the namespace of the thread that starts it.
        let started = thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap_or_else(|error| panic!("no network namespace: {error}"));
            Target::start(&plan)
        });
        let target = started.join().unwrap_or_else(|_| panic!("the target did not start"));
        lay_cable(target.pid());
        let scene = Self { target, board: Board::default(), runtime: runtime() };
        scene.introduce_pod(spec);
        scene.start_proxy();
        Some(scene)
    }

    /// With the plan of most tests, and without known probes.
    #[must_use]
    pub fn plain() -> Option<Self> {
        Self::new(PLAN, "{}")
    }

    /// With the plan of most tests and the pod's specification.
    #[must_use]
    pub fn with_spec(spec: &str) -> Option<Self> {
        Self::new(PLAN, spec)
    }

    fn introduce_pod(&self, spec: &str) {
        let name = format!("probe-{}-{}", std::process::id(), SCENES.fetch_add(1, Ordering::Relaxed));
        self.board.learn_pod("run-1", &name, "uid", Some(IpAddr::V4(POD)), "sandbox");
        let spec: serde_json::Value =
            serde_saphyr::from_str(spec).unwrap_or_else(|error| panic!("the specification: {error}"));
        PROBES.learn("run-1", &name, probes_of(&serde_json::json!({ "spec": spec })));
    }

    fn start_proxy(&self) {
        let options =
            PodsOptions { pods_range: vec!["10.244.1.0/24".to_owned()], pods_port: 6446, pods_queue: 6446 };
        let board = self.board.clone();
        self.runtime.spawn(async move {
            if let Err(error) = pods::serve(options, board).await {
                panic!("the proxy ended: {error}");
            }
        });
        let until = Instant::now() + PATIENCE;
        while !run("iptables -w -t filter -S OUTPUT").contains("SABOTEUR") {
            assert!(Instant::now() < until, "the proxy makes no rules");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Activates a fault of the pod's probes, given as YAML.
    pub fn fault(&self, words: &str) {
        self.defect(&format!("{{ name: d, on: {{ namespace: run-1 }}, fault: {{ pods: {words} }} }}"));
    }

    /// Activates a defect, given as YAML.
    pub fn defect(&self, words: &str) {
        let defect = serde_saphyr::from_str(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        self.board.put(defect);
    }

    /// Deactivates all defects.
    pub fn clear(&self) {
        self.board.remove(|_| true);
    }

    /// How many requests the target has had, at these paths.
    #[must_use]
    pub fn asked(&self, path: &str) -> usize {
        let is_it = |fact: &Fact| matches!(fact, Fact::Request(request) if request.target.split('?').next() == Some(path));
        self.target.lines().iter().filter(|line| is_it(&line.fact)).count()
    }

    /// Waits until the target has had this number of requests for a path, and checks that no more come for a moment.
    pub fn expect_asked(&self, path: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while self.asked(path) < times && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(50));
        assert_eq!(self.asked(path), times, "requests for {path}");
    }

    /// How many connections a listener has had.
    #[must_use]
    pub fn connected(&self, listener: &str) -> usize {
        let is_it = |fact: &Fact| matches!(fact, Fact::Accepted(accepted) if accepted.listener == listener);
        self.target.lines().iter().filter(|line| is_it(&line.fact)).count()
    }

    /// The connections that a listener has had, each with its client and how it ended.
    #[must_use]
    pub fn connections(&self, listener: &str) -> Vec<(IpAddr, Option<Ending>, u64)> {
        let lines = self.target.lines();
        let end = |conn: u64| {
            lines.iter().find_map(|line| match &line.fact {
                Fact::Closed(closed) if closed.conn == conn => Some((closed.how, closed.received)),
                _ => None,
            })
        };
        let of_listener = lines.iter().filter_map(|line| match &line.fact {
            Fact::Accepted(accepted) if accepted.listener == listener => Some(accepted),
            _ => None,
        });
        of_listener
            .map(|accepted| {
                let peer: SocketAddr = accepted.peer.parse().unwrap_or_else(|error| panic!("{error}"));
                let peer = match peer.ip() {
                    IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
                    address => address,
                };
                let ended = end(accepted.conn);
                (peer, ended.map(|(how, _)| how), ended.map_or(0, |(_, received)| received))
            })
            .collect()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap_or_else(|error| panic!("no runtime: {error}"))
}

/// A virtual cable from this namespace to the namespace of the process.
fn lay_cable(pid: u32) {
    let inside = |words: &str| run(&format!("nsenter -t {pid} -n ip {words}"));
    run("ip link set lo up");
    run(&format!("ip link add cni0 type veth peer name eth0 netns {pid}"));
    run(&format!("ip address add {NODE}/24 dev cni0"));
    run("ip link set cni0 up");
    inside("link set lo up");
    inside(&format!("address add {POD}/24 dev eth0"));
    inside("link set eth0 up");
}

/// Runs a command and returns its output.
pub fn run(line: &str) -> String {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A port of the pod.
#[must_use]
pub fn at(port: u16) -> SocketAddr {
    (POD, port).into()
}

/// The request of a kubelet's probe.
#[must_use]
pub fn request(port: u16, path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {POD}:{port}\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
}

/// Connects as a TCP probe does.
#[must_use]
pub fn tcp(port: u16, patience: Duration) -> Got {
    match TcpStream::connect_timeout(&at(port), patience) {
        Ok(_) => Got::Status(0),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Got::Refused,
        Err(_) => Got::Timeout,
    }
}

/// Sends an HTTP probe with a timeout. Redirects are not followed.
#[must_use]
pub fn http_in(port: u16, path: &str, patience: Duration) -> Got {
    match raw(port, &request(port, path), patience) {
        Ok(bytes) => status_of(&bytes),
        Err(got) => got,
    }
}

/// Sends an HTTP probe.
#[must_use]
pub fn http(port: u16, path: &str) -> Got {
    http_in(port, path, PATIENCE)
}

fn status_of(bytes: &[u8]) -> Got {
    let text = String::from_utf8_lossy(bytes);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).map_or(Got::Broken, Got::Status)
}

/// Sends bytes and reads to the end.
///
/// # Errors
///
/// When there is no answer.
pub fn raw(port: u16, bytes: &str, patience: Duration) -> Result<Vec<u8>, Got> {
    let mut stream = match TcpStream::connect_timeout(&at(port), patience) {
        Ok(stream) => stream,
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => return Err(Got::Refused),
        Err(_) => return Err(Got::Timeout),
    };
    stream.set_read_timeout(Some(patience)).map_err(|_| Got::Broken)?;
    stream.write_all(bytes.as_bytes()).map_err(|_| Got::Broken)?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) if answer.is_empty() => Err(Got::Broken),
        Ok(_) => Ok(answer),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(Got::Timeout),
        Err(_) => Err(Got::Broken),
    }
}
