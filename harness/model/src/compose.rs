//! Writes histories without a cluster, for tests of judges and for the simulator.
//!
//! A [`Composer`] keeps the books that a real run keeps: event times, sequence numbers, connection numbers, resource
//! versions. Times are seconds since the run's zero, on one node whose monotonic clock is ahead of the harness's by a
//! constant that the readings tell to within a millisecond.

use std::collections::BTreeMap;

use probity_script::WitnessLine;
use probity_script::witness::{
    Accepted, Answered, Closed, Command, Ending, Entry, ExecEnded, ExecSeen, Fact, Hello, Request,
    SignalSeen, Started,
};
use serde_json::{Value, json};

use crate::history::{
    Change, Deed, Did, Gap, Happening, Header, Heard, Listener, NodeFacts, Noise, Reading, Sighting, Source,
    Tried, Way,
};
use crate::{Clock, EventId, History};

/// The node of a composed history.
pub const NODE: &str = "node1";
/// How far the node's monotonic clock is ahead of the harness's, in microseconds.
pub const AHEAD_US: i64 = 1_000_000_000;
/// The wall clock at the run's zero: 2026-01-01T00:00:00Z.
pub const ZERO_WALL_US: i64 = 1_767_225_600_000_000;

/// What a health check asks for.
const CHECK: &str = "/grpc.health.v1.Health/Check";

/// A history in the making.
pub struct Composer {
    history: History,
    pod: String,
    container: String,
    boots: BTreeMap<String, Boot>,
    revision: u64,
}

/// A life of a process that is being told.
#[derive(Clone, Debug, Default)]
struct Boot {
    name: String,
    attempt: u64,
    seq: u64,
    conn: u64,
    exec: u64,
}

/// How an HTTP request is told by [`Composer::http`].
#[derive(Clone, Debug)]
pub struct Told {
    /// The listener's name.
    pub listener: String,
    /// The port that was connected to.
    pub port: u16,
    /// The request target.
    pub target: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The step of the endpoint's script that answers.
    pub step: usize,
    /// The answer in short: a status or a word.
    pub answer: String,
    /// Why the answer broke off.
    pub error: Option<String>,
    /// From arrival to the end of the answer, in seconds.
    pub took: f64,
    /// How the connection ended.
    pub ending: Ending,
    /// Bytes of the answer.
    pub written: u64,
    /// The protocol.
    pub protocol: String,
    /// Who connected.
    pub peer: String,
    /// The hop of a redirect chain.
    pub hop: Option<u64>,
    /// What the target does with the connection, in short.
    pub connection: String,
    /// The address that was connected to.
    pub local: String,
}

impl Told {
    /// What a faithful kubelet sends to a path of the port 8080, and an answer to it.
    #[must_use]
    pub fn get(target: &str, answer: impl ToString) -> Self {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            listener: "web".to_owned(),
            port: 8080,
            target: target.to_owned(),
            headers: vec![
                header("Host", "10.0.0.7:8080"),
                header("User-Agent", "kube-probe/1.36"),
                header("Accept", "*/*"),
                header("Connection", "close"),
            ],
            step: 0,
            answer: answer.to_string(),
            error: None,
            took: 0.001,
            ending: Ending::WeClosed,
            written: 100,
            protocol: "HTTP/1.1".to_owned(),
            peer: String::new(),
            hop: None,
            connection: "serve".to_owned(),
            local: "10.0.0.7".to_owned(),
        }
    }
}

/// Seconds as microseconds.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "times of a composed history are small")]
pub fn us(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

impl Composer {
    /// A history of a case that must give evidence for these clauses, on a cluster of version 1.36.
    ///
    /// # Panics
    ///
    /// If a clause's name is none.
    #[must_use]
    pub fn new(judges: &[&str]) -> Self {
        let facts = NodeFacts { kubelet: "v1.36.3".to_owned(), ..NodeFacts::default() };
        #[expect(clippy::expect_used, reason = "the names are constants of the caller")]
        let judges = judges.iter().map(|id| id.parse().expect("a clause's name")).collect();
        let header = Header {
            run: "composed".to_owned(),
            case: "composed".to_owned(),
            judges,
            server: "v1.36.3".to_owned(),
            nodes: BTreeMap::from([(NODE.to_owned(), facts)]),
            began_wall_us: ZERO_WALL_US,
            ..Header::default()
        };
        Self::with_header(header)
    }

    /// A history with this header.
    #[must_use]
    pub fn with_header(header: Header) -> Self {
        let (pod, container) = ("pod".to_owned(), "target".to_owned());
        let mut composer =
            Self { history: History::new(header), pod, container, boots: BTreeMap::new(), revision: 100 };
        composer.reading(0.0);
        composer
    }

    /// The history.
    #[must_use]
    pub fn done(self) -> History {
        self.history
    }

    /// Speaks of this pod and container from here on.
    pub fn of(&mut self, pod: &str, container: &str) -> &mut Self {
        pod.clone_into(&mut self.pod);
        container.clone_into(&mut self.container);
        self
    }

    /// Adds anything.
    pub fn push(&mut self, at: f64, what: Happening) -> EventId {
        self.history.push(us(at), what)
    }

    /// Adds something that the harness did.
    pub fn deed(&mut self, at: f64, did: Did) -> EventId {
        self.push(at, Happening::Deed(Deed { began_us: us(at), did }))
    }

    /// Reads the node's clocks.
    pub fn reading(&mut self, at: f64) -> &mut Self {
        let now = us(at);
        let (mono_us, wall_us) = (now + AHEAD_US, now + ZERO_WALL_US);
        let node = NODE.to_owned();
        self.push(
            at,
            Happening::Reading(Reading {
                node,
                sent_us: now - 500,
                received_us: now + 500,
                mono_us,
                wall_us,
            }),
        );
        self
    }

    /// Creates the pod: the deed, and its first revision, bound to the node.
    pub fn create(&mut self, at: f64, spec: &Value) -> &mut Self {
        let (name, kind) = (self.pod.clone(), "Pod".to_owned());
        let manifest = self.pod_object(spec, &json!({}));
        self.deed(at, Did::Created { kind, name, manifest });
        let mut bound = spec.clone();
        bound["nodeName"] = json!(NODE);
        self.pod_seen(at, &bound, &json!({ "phase": "Pending" }), Change::Added)
    }

    /// A revision of the pod, as the API server shows it.
    pub fn pod_seen(&mut self, at: f64, spec: &Value, status: &Value, change: Change) -> &mut Self {
        let object = self.pod_object(spec, status);
        self.sighting(at, "Pod", &self.pod.clone(), change, object)
    }

    /// A revision with this status; the spec is that of the last one.
    pub fn status(&mut self, at: f64, status: &Value) -> &mut Self {
        let name = self.pod.clone();
        let last = self.history.events().rev().find_map(|(_, event)| match &event.what {
            Happening::Sighting(seen) if seen.kind == "Pod" && seen.name == name => {
                Some(seen.object["spec"].clone())
            }
            _ => None,
        });
        self.pod_seen(at, &last.unwrap_or_default(), status, Change::Modified)
    }

    /// A usual status of a running pod with one container.
    pub fn running(&mut self, at: f64, ready: bool, started: bool, restarts: u64) -> &mut Self {
        let status = running_status(&self.container, at, ready, started, restarts);
        self.status(at, &status)
    }

    fn pod_object(&self, spec: &Value, status: &Value) -> Value {
        json!({
            "metadata": { "name": self.pod, "uid": format!("uid-{}", self.pod), "labels": { "probity.dev/pod": self.pod } },
            "spec": spec, "status": status,
        })
    }

    /// A revision of any object.
    pub fn sighting(&mut self, at: f64, kind: &str, name: &str, change: Change, object: Value) -> &mut Self {
        self.revision += 1;
        let (kind, name, revision) = (kind.to_owned(), name.to_owned(), self.revision.to_string());
        self.push(at, Happening::Sighting(Sighting { kind, name, change, revision, object }));
        self
    }

    /// An event recorded for the container of the pod.
    pub fn event(&mut self, at: f64, kind: &str, reason: &str, message: &str) -> &mut Self {
        let path = format!("spec.containers{{{}}}", self.container);
        let name = format!("{}.{}", self.pod, self.revision);
        let object = json!({
            "metadata": { "name": name },
            "involvedObject": { "kind": "Pod", "name": self.pod, "uid": format!("uid-{}", self.pod), "fieldPath": path },
            "reason": reason, "message": message, "type": kind, "count": 1,
        });
        self.sighting(at, "Event", &name, Change::Added, object)
    }

    /// An EndpointSlice of a service with this pod's endpoint alone.
    pub fn slice(&mut self, at: f64, service: &str, conditions: &Value) -> &mut Self {
        let name = format!("{service}-abcde");
        let object = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": service } },
            "endpoints": [{
                "addresses": ["10.0.0.7"], "conditions": conditions, "targetRef": { "kind": "Pod", "name": self.pod },
            }],
        });
        self.sighting(at, "EndpointSlice", &name, Change::Modified, object)
    }

    /// A manifest was tried by a dry run.
    pub fn tried(
        &mut self,
        at: f64,
        name: &str,
        manifest: Value,
        code: u16,
        message: &str,
        stored: Value,
    ) -> EventId {
        let (name, message) = (name.to_owned(), message.to_owned());
        self.deed(at, Did::Tried(Tried { name, manifest, code, message, stored }))
    }

    /// The container's process starts: its connection to the recorder and its first line.
    pub fn start(&mut self, at: f64, attempt: u64) -> &mut Self {
        let name = format!("{}-{}-{attempt}", self.pod, self.container);
        let boot = Boot { name: name.clone(), attempt, ..Boot::default() };
        self.boots.insert(self.key(), boot);
        let hello = Hello { v: 1, boot: name, attempt, hello: 0, identity: BTreeMap::new() };
        self.heard(at, Entry::Joined { hello, peer: "10.0.0.7:40000".to_owned() });
        let began_mono_us = mono(at);
        self.fact(
            at,
            Fact::Started(Started {
                version: "0.1.0".to_owned(),
                pid: 1,
                args: vec!["serve".to_owned()],
                host: self.pod.clone(),
                plan: String::new(),
                seed: 0,
                attempt_known: true,
                began_mono_us,
                identity: BTreeMap::new(),
            }),
        );
        self
    }

    fn key(&self) -> String {
        format!("{}/{}", self.pod, self.container)
    }

    fn heard(&mut self, at: f64, entry: Entry) -> EventId {
        let heard = Heard {
            pod: self.pod.clone(),
            uid: format!("uid-{}", self.pod),
            container: self.container.clone(),
            node: NODE.to_owned(),
            by: Way::Recorder,
            received_us: Some(mono(at)),
            entry,
        };
        self.push(at, Happening::Witness(heard))
    }

    /// A line of the process that was started last.
    pub fn fact(&mut self, at: f64, fact: Fact) -> EventId {
        let key = self.key();
        let boot = self.boots.entry(key).or_default();
        let line = WitnessLine {
            v: 1,
            boot: boot.name.clone(),
            attempt: boot.attempt,
            seq: boot.seq,
            mono_us: mono(at),
            wall_us: u64::try_from(us(at) + ZERO_WALL_US).unwrap_or_default(),
            fact,
        };
        boot.seq += 1;
        self.heard(at, Entry::Line(Box::new(line)))
    }

    /// Leaves out a line, as if it had been lost on the way.
    pub fn lose_line(&mut self) -> &mut Self {
        let key = self.key();
        self.boots.entry(key).or_default().seq += 1;
        self
    }

    /// The process ends: its connection to the recorder closes.
    pub fn left(&mut self, at: f64) -> &mut Self {
        let boot = self.boots.entry(self.key()).or_default().clone();
        let how = "closed".to_owned();
        self.heard(at, Entry::Left { boot: boot.name, how, last_mono_us: mono(at), told: boot.seq });
        self
    }

    /// A connection without a request.
    pub fn connection(&mut self, at: f64, listener: &str, port: u16) -> EventId {
        let told = Told { listener: listener.to_owned(), port, ..Told::get("", "") };
        let (conn, id) = self.accept(at, &told);
        self.close(at + 0.001, conn, &told, 0);
        id
    }

    /// A bare connection, as a TCP probe makes one: nothing is said, and it ends as told, after as long as told. The
    /// event is that of the connection.
    pub fn tcp(&mut self, at: f64, told: &Told) -> EventId {
        let (conn, id) = self.accept(at, told);
        let lived_us = u64::try_from(us(told.took)).unwrap_or_default();
        let closed = Closed { conn, how: told.ending, received: 0, sent: 0, lived_us, error: None };
        self.fact(at + told.took, Fact::Closed(closed));
        id
    }

    /// A health check over gRPC as a faithful kubelet sends it to the port 9090, and its answer as the target writes it
    /// (`status 1`, `not-found`). The event is that of the request.
    pub fn grpc(&mut self, at: f64, service: &str, answer: &str) -> EventId {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![
            header(":authority", "10.0.0.7:9090"),
            header("content-type", "application/grpc"),
            header("user-agent", "kube-probe/1.36 grpc-go/1.79.3"),
            header("te", "trailers"),
            header("grpc-timeout", "998m"),
        ];
        self.call(at, service, &Told { headers, answer: answer.to_owned(), ..Told::get(CHECK, "") })
    }

    /// A health check with these headers and this answer, on a connection of its own to the port 9090.
    pub fn call(&mut self, at: f64, service: &str, told: &Told) -> EventId {
        let told =
            Told { listener: "grpc".to_owned(), port: 9090, ending: Ending::PeerClosed, ..told.clone() };
        let (conn, _) = self.accept(at, &told);
        let endpoint = format!("grpc:{service}").parse().ok();
        let id = self.fact(
            at,
            Fact::Request(Request {
                conn,
                nth: 1,
                endpoint: endpoint.clone(),
                probe: 1,
                hop: None,
                method: "POST".to_owned(),
                target: told.target.clone(),
                protocol: "HTTP/2".to_owned(),
                headers: told.headers.clone(),
                body: 0,
                first_byte_us: mono(at),
                service: Some(service.to_owned()),
            }),
        );
        let took_us = u64::try_from(us(told.took)).unwrap_or_default();
        let (answer, error) = (told.answer.clone(), told.error.clone());
        let answered =
            Answered { conn, nth: 1, endpoint, step: told.step, answer, written: 7, took_us, error };
        self.fact(at + told.took, Fact::Answer(answered));
        self.close(at + told.took + 0.0005, conn, &told, told.written);
        id
    }

    /// A request, its answer, and its connection around it. The event is that of the request.
    pub fn http(&mut self, at: f64, told: &Told) -> EventId {
        let (conn, _) = self.accept(at, told);
        let endpoint =
            format!("{}:{}", told.listener, told.target.split('?').next().unwrap_or_default()).parse().ok();
        let id = self.fact(
            at,
            Fact::Request(Request {
                conn,
                nth: 1,
                endpoint: endpoint.clone(),
                probe: 1,
                hop: told.hop,
                method: "GET".to_owned(),
                target: told.target.clone(),
                protocol: told.protocol.clone(),
                headers: told.headers.clone(),
                body: 0,
                first_byte_us: mono(at),
                service: None,
            }),
        );
        let took_us = u64::try_from(us(told.took)).unwrap_or_default();
        self.fact(
            at + told.took,
            Fact::Answer(Answered {
                conn,
                nth: 1,
                endpoint,
                step: told.step,
                answer: told.answer.clone(),
                written: told.written,
                took_us,
                error: told.error.clone(),
            }),
        );
        self.close(at + told.took + 0.0005, conn, told, told.written);
        id
    }

    /// A plain probe of a path: arrival and answer.
    pub fn probe(&mut self, at: f64, path: &str, status: u16) -> EventId {
        self.http(at, &Told::get(path, status))
    }

    fn accept(&mut self, at: f64, told: &Told) -> (u64, EventId) {
        let key = self.key();
        let boot = self.boots.entry(key).or_default();
        let conn = boot.conn;
        boot.conn += 1;
        let peer =
            if told.peer.is_empty() { format!("10.0.0.1:{}", 40_000 + conn) } else { told.peer.clone() };
        let accepted = Accepted {
            conn,
            listener: told.listener.clone(),
            peer,
            local: format!("{}:{}", told.local, told.port),
            step: 0,
            answer: told.connection.clone(),
        };
        (conn, self.fact(at, Fact::Accepted(accepted)))
    }

    fn close(&mut self, at: f64, conn: u64, told: &Told, sent: u64) {
        let closed = Closed { conn, how: told.ending, received: 100, sent, lived_us: 1000, error: None };
        self.fact(at, Fact::Closed(closed));
    }

    /// A command, run as `agnhost-rs exec NAME`.
    pub fn exec(&mut self, at: f64, name: &str, exit: Option<u8>) -> EventId {
        let key = self.key();
        let boot = self.boots.entry(key).or_default();
        let exec = boot.exec;
        boot.exec += 1;
        let args = ["/agnhost-rs", "exec", name].map(str::to_owned).to_vec();
        let command = Command { args, ..Command::default() };
        let endpoint = probity_script::Endpoint::Exec(name.to_owned());
        let answer = exit.map_or_else(|| "hang".to_owned(), |exit| exit.to_string());
        let id =
            self.fact(at, Fact::Exec(ExecSeen { exec, endpoint, probe: exec + 1, step: 0, answer, command }));
        self.fact(at + 0.001, Fact::ExecEnded(ExecEnded { exec, exit, signals: Vec::new(), lived_us: 1000 }));
        id
    }

    /// A signal.
    pub fn signal(&mut self, at: f64, signal: &str) -> EventId {
        let (signal, answer) = (signal.to_owned(), "exit".to_owned());
        self.fact(at, Fact::Signal(SignalSeen { signal, child: None, answer }))
    }

    /// Someone was held up.
    pub fn noise(&mut self, from: f64, to: f64) -> &mut Self {
        let clock = Clock::Node(NODE.to_owned());
        let (from_us, to_us) = (us(from) + AHEAD_US, us(to) + AHEAD_US);
        self.push(to, Happening::Noise(Noise { by: Listener::Metronome, clock, from_us, to_us }));
        self
    }

    /// A watch was lost for a while.
    pub fn gap(&mut self, from: f64, to: f64, kind: &str) -> &mut Self {
        let of = Source::Watch(kind.to_owned());
        let why = "the watch ended with 410 Gone".to_owned();
        self.push(to, Happening::Gap(Gap { of, from_us: us(from), to_us: us(to), why }));
        self
    }
}

fn mono(at: f64) -> u64 {
    u64::try_from(us(at) + AHEAD_US).unwrap_or_default()
}

/// A usual status of a running pod with one container, whose life began a tenth of a second before.
#[must_use]
pub fn running_status(container: &str, at: f64, ready: bool, started: bool, restarts: u64) -> Value {
    let word = |holds: bool| if holds { "True" } else { "False" };
    let condition = |kind: &str, holds: bool| json!({ "type": kind, "status": word(holds) });
    json!({
        "phase": "Running", "podIP": "10.0.0.7",
        "conditions": [
            condition("Initialized", true), condition("ContainersReady", ready), condition("Ready", ready),
            condition("PodScheduled", true),
        ],
        "containerStatuses": [{
            "name": container, "ready": ready, "started": started, "restartCount": restarts,
            "containerID": format!("containerd://{container}-{restarts}"),
            "state": { "running": { "startedAt": timestamp(at) } }, "lastState": {},
        }],
    })
}

/// A time of the composed run as the API writes it: cut to the second.
#[must_use]
pub fn timestamp(at: f64) -> String {
    let second = (us(at) + ZERO_WALL_US).div_euclid(1_000_000);
    jiff::Timestamp::from_second(second).map(|at| at.to_string()).unwrap_or_default()
}
