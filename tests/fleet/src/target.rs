//! The lines that a metronome on an idle node sends to the recorder: two HTTP probes a second, each with the four lines of
//! its connection, and ten beats a second, as the target sends them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use probity_script::Endpoint;
use probity_script::witness::{
    Accepted, Answered, Beat, Closed, Ending, Fact, Greeting, Hello, Request, Started, VERSION, Want,
    WitnessLine,
};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::kubelet::ClockTimes;

const BEAT_EVERY: Duration = Duration::from_millis(100);
/// Each probe comes once in this many beats.
const BEATS_PER_PROBE: u64 = 10;
const PROBED: [&str; 2] = ["/ready", "/live"];

/// A container that sends lines, until this is dropped.
pub(crate) struct FakeTarget(JoinHandle<()>);

impl Drop for FakeTarget {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts the containers of a pod that are metronomes. The targets of cases send nothing.
pub(crate) fn play_all(pod: &Value) -> Vec<FakeTarget> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let metronomes = containers.filter(|container| container["name"] == "metronome");
    metronomes.filter_map(|container| play(pod, container)).collect()
}

fn play(pod: &Value, container: &Value) -> Option<FakeTarget> {
    let value = |name: &str| {
        let mut entries = container["env"].as_array()?.iter();
        entries.find(|entry| entry["name"] == name)?["value"].as_str().map(str::to_owned)
    };
    let recorder = value("AGNHOST_RECORDER")?;
    let token = value("AGNHOST_TOKEN").unwrap_or_default();
    let of_pod = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let identity: BTreeMap<String, String> = [
        ("POD_NAME", of_pod("/metadata/name")),
        ("POD_UID", of_pod("/metadata/uid")),
        ("NODE_NAME", of_pod("/spec/nodeName")),
        ("CONTAINER_NAME", value("CONTAINER_NAME").unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let process = FakeProcess { boot: format!("{:016x}", fastrand::u64(..)), identity, seq: 0, conn: 0 };
    // A broken link is not resumed: the recorder then reports the end of the target.
    Some(FakeTarget(tokio::spawn(async move {
        let _ = process.talk(&recorder, token).await;
    })))
}

struct FakeProcess {
    boot: String,
    identity: BTreeMap<String, String>,
    seq: u64,
    conn: u64,
}

impl FakeProcess {
    async fn talk(mut self, recorder: &str, token: String) -> io::Result<()> {
        let mut stream = TcpStream::connect(recorder).await?;
        stream.set_nodelay(true)?;
        let hello = Hello {
            v: VERSION,
            boot: self.boot.clone(),
            attempt: 0,
            hello: 0,
            identity: self.identity.clone(),
        };
        stream.write_all(&line(&Greeting { hello, token })?).await?;
        let mut answer = String::new();
        BufReader::new(&mut stream).read_line(&mut answer).await?;
        let Want { .. } = serde_json::from_str(&answer)?;
        let started = self.fact(Fact::Started(self.started()))?;
        stream.write_all(&started).await?;
        let phase = fastrand::u64(..BEATS_PER_PROBE);
        for tick in 0_u64.. {
            tokio::time::sleep(BEAT_EVERY).await;
            let mut bytes = self.beat()?;
            if tick % BEATS_PER_PROBE == phase {
                for path in PROBED {
                    bytes.extend(self.probe(path)?);
                }
            }
            stream.write_all(&bytes).await?;
        }
        Ok(())
    }

    fn started(&self) -> Started {
        Started {
            version: String::from("fake"),
            pid: 1,
            args: vec!["serve".to_owned()],
            host: self.identity.get("POD_NAME").cloned().unwrap_or_default(),
            plan: String::new(),
            seed: 0,
            attempt_known: false,
            began_mono_us: ClockTimes::now().mono_us,
            identity: self.identity.clone(),
        }
    }

    /// The four lines of a probe that is answered with 200.
    fn probe(&mut self, path: &str) -> io::Result<Vec<u8>> {
        self.conn += 1;
        let (conn, listener) = (self.conn, "web".to_owned());
        let endpoint = Some(Endpoint::Of { listener: listener.clone(), name: path.to_owned() });
        let at = ClockTimes::now().mono_us;
        let (peer, local) = ("198.18.0.1:40000".to_owned(), "198.18.0.2:8080".to_owned());
        let headers = [
            ("Host", "198.18.0.2:8080"),
            ("User-Agent", "kube-probe/1.36"),
            ("Accept", "*/*"),
            ("Connection", "close"),
        ];
        let facts = [
            Fact::Accepted(Accepted { conn, listener, peer, local, step: 0, answer: "serve".to_owned() }),
            Fact::Request(Request {
                conn,
                nth: 1,
                endpoint: endpoint.clone(),
                probe: self.conn.div_ceil(PROBED.len() as u64),
                hop: None,
                method: "GET".to_owned(),
                target: path.to_owned(),
                protocol: "HTTP/1.1".to_owned(),
                headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                body: 0,
                first_byte_us: at,
                service: None,
            }),
            Fact::Answer(Answered {
                conn,
                nth: 1,
                endpoint,
                step: 0,
                answer: "200".to_owned(),
                written: 75,
                took_us: 100,
                last_send_us: Some(at + 100),
                error: None,
            }),
            Fact::Closed(Closed {
                conn,
                how: Ending::PeerClosed,
                received: 110,
                sent: 75,
                lived_us: 200,
                error: None,
            }),
        ];
        let mut bytes = Vec::new();
        for fact in facts {
            bytes.extend(self.fact(fact)?);
        }
        Ok(bytes)
    }

    fn fact(&mut self, fact: Fact) -> io::Result<Vec<u8>> {
        let ClockTimes { mono_us, wall_us } = ClockTimes::now();
        let seq = self.seq;
        self.seq += 1;
        line(&WitnessLine { v: VERSION, boot: self.boot.clone(), attempt: 0, seq, mono_us, wall_us, fact })
    }

    fn beat(&self) -> io::Result<Vec<u8>> {
        let ClockTimes { mono_us, wall_us } = ClockTimes::now();
        line(&Beat { v: VERSION, boot: self.boot.clone(), beat: self.seq, mono_us, wall_us })
    }
}

fn line(what: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(what)?;
    bytes.push(b'\n');
    Ok(bytes)
}
