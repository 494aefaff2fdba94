//! The recorder pod of a run, and its stream.
//!
//! All targets send their witness lines there; one reader here takes them all, says of whom each is, and names what it may
//! have missed. The stream is asked for in portions rather than followed: on a busy cluster that costs far fewer messages,
//! and each portion says from where to where it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_model::history::{Gap, Heard, Source, Way};
use probity_model::manifest::{RUN, Setting};
use probity_script::witness::{Entry, Fact, Hello, Recorded};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::connect::Ground;
use crate::error::ClusterError;
use crate::forward::{Door, Reply};
use crate::incoming::Incoming;
use crate::ready::until_ready;
use crate::zero::Zero;

/// The recorder pod's name.
pub const NAME: &str = "probity-recorder";
const INGEST: u16 = 7070;
const QUERY: u16 = 7071;
/// How long the pod may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the recorder waits for the first line of a portion.
const WAIT: Duration = Duration::from_secs(5);
/// Between two portions, so that lines come in company.
const GATHER: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A recorder that runs.
pub struct Recorder {
    ground: Ground,
    namespace: String,
    token: String,
    address: String,
    node: String,
    image: String,
}

impl Recorder {
    /// Starts the recorder pod and waits until it is ready.
    ///
    /// # Errors
    ///
    /// If it is refused, or not ready within a minute: with the reason in words.
    pub async fn deploy(ground: &Ground, namespace: &str, setting: &Setting) -> Result<Self, ClusterError> {
        match ground.create(namespace, &manifest(namespace, setting), false).await {
            Ok(_) => {}
            Err(error) if error.code() == 409 => {
                let why = format!(
                    "another run's recorder is in it; wait for that run, or remove what it left: probity gc --namespace {namespace}"
                );
                return Err(ClusterError::Namespace { name: namespace.to_owned(), why });
            }
            Err(error) => return Err(error.into()),
        }
        let pod = until_ready(ground, namespace, NAME, PATIENCE).await?;
        let text = |of: &str, field: &str| {
            pod.get(of).and_then(|of| of.get(field)?.as_str()).unwrap_or_default().to_owned()
        };
        let status = pod.get("status").and_then(|of| of.get("containerStatuses")?.get(0));
        let image = status.and_then(|of| of.get("imageID")?.as_str()).unwrap_or_default().to_owned();
        let ip = text("status", "podIP");
        let address = match ip.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]:{INGEST}"),
            _ => format!("{ip}:{INGEST}"),
        };
        Ok(Self {
            ground: ground.clone(),
            namespace: namespace.to_owned(),
            token: setting.token.clone(),
            address,
            node: text("spec", "nodeName"),
            image,
        })
    }

    /// Where targets connect to: address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The node that it runs on, whose monotonic clock stamps what it receives.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The digest of the image that runs, as the pod's status tells it.
    #[must_use]
    pub fn image_digest(&self) -> &str {
        &self.image
    }

    /// Reads the stream until the handle is dropped, and tells each entry with whose it is.
    pub fn listen(&self, zero: Zero, out: UnboundedSender<Incoming>) -> AbortOnDropHandle<()> {
        let door = Door::closed(&self.ground, &self.namespace, NAME, QUERY, &self.token);
        AbortOnDropHandle::new(tokio::spawn(Ear::new(zero, out).listen(Arc::new(door))))
    }
}

fn manifest(namespace: &str, setting: &Setting) -> Value {
    let mut spec = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [{
            "name": "recorder",
            "image": setting.image,
            "imagePullPolicy": setting.pull_policy,
            "args": ["recorder"],
            "env": [{ "name": "AGNHOST_TOKEN", "value": setting.token }],
            "readinessProbe": { "httpGet": { "path": "/healthz", "port": QUERY }, "periodSeconds": 1, "failureThreshold": 30 },
            "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
            },
        }],
    });
    if let Some(node) = &setting.node {
        spec["nodeSelector"] = json!({ "kubernetes.io/hostname": node });
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": NAME, "namespace": namespace,
            "labels": { RUN: setting.run, "app.kubernetes.io/managed-by": "probity", "app.kubernetes.io/name": NAME },
        },
        "spec": spec,
    })
}

/// Who a life of a process belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Identity {
    pod: String,
    uid: String,
    container: String,
    node: String,
}

impl Identity {
    fn of(names: &BTreeMap<String, String>) -> Self {
        let name = |key: &str| names.get(key).cloned().unwrap_or_default();
        Self {
            pod: name("POD_NAME"),
            uid: name("POD_UID"),
            container: name("CONTAINER_NAME"),
            node: name("NODE_NAME"),
        }
    }
}

/// Reads the stream, portion by portion.
struct Ear {
    zero: Zero,
    out: UnboundedSender<Incoming>,
    cursor: u64,
    /// The life of the recorder that the cursor belongs to.
    life: String,
    heard_us: i64,
    lives: BTreeMap<String, Identity>,
    peers: BTreeMap<String, Identity>,
    strangers: BTreeSet<String>,
}

impl Ear {
    fn new(zero: Zero, out: UnboundedSender<Incoming>) -> Self {
        Self {
            zero,
            out,
            cursor: 0,
            life: String::new(),
            heard_us: zero.us(),
            lives: BTreeMap::new(),
            peers: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }

    async fn listen(mut self, door: Arc<Door>) {
        let mut pause = GATHER;
        while !self.out.is_closed() {
            let path = format!("/v1/lines?since={}&wait={}s", self.cursor, WAIT.as_secs());
            pause = match door.wait_for(&path, WAIT).await {
                Ok(reply) if reply.status == 200 => {
                    self.portion(&door, &reply).await;
                    GATHER
                }
                // A cursor of another life of the recorder: it restarted, and begins anew.
                Ok(reply) if reply.status == 409 => {
                    self.lost("the recorder restarted, and forgot what it had".to_owned());
                    (self.cursor, self.life) = (0, String::new());
                    GATHER
                }
                // Nothing is lost yet: the cursor is where it was.
                Ok(_) | Err(_) => (pause * 2).min(LONGEST_PAUSE),
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn portion(&mut self, door: &Door, reply: &Reply) {
        let header = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| header(name).and_then(|value| value.parse::<u64>().ok());
        let life = header("probity-recorder").unwrap_or_default().to_owned();
        if !self.life.is_empty() && life != self.life {
            self.lost("the recorder restarted, and forgot what it had".to_owned());
            (self.cursor, self.life) = (0, life);
            return;
        }
        self.life = life;
        let first = number("probity-first").unwrap_or(self.cursor);
        if first > self.cursor {
            self.lost(format!("the recorder forgot {} entries before they were read", first - self.cursor));
            self.learn(door).await;
        }
        for line in reply.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Recorded>(line) {
                Ok(recorded) => self.entry(recorded),
                Err(error) => self.lost(format!("an entry of the recorder could not be read: {error}")),
            }
        }
        self.cursor = number("probity-next").unwrap_or(self.cursor).max(self.cursor);
        self.heard_us = self.zero.us();
    }

    fn entry(&mut self, Recorded { cursor, received_mono_us, entry, .. }: Recorded) {
        self.cursor = self.cursor.max(cursor + 1);
        let (boot, peer) = match &entry {
            Entry::Joined { hello, peer } => {
                self.meet(hello, peer);
                (hello.boot.as_str(), "")
            }
            Entry::Line(line) => {
                if let Fact::Started(started) = &line.fact {
                    self.lives.insert(line.boot.clone(), Identity::of(&started.identity));
                }
                (line.boot.as_str(), "")
            }
            Entry::Missing { boot, .. }
            | Entry::Silent { boot, .. }
            | Entry::Resumed { boot, .. }
            | Entry::Left { boot, .. } => (boot.as_str(), ""),
            Entry::Nonsense { peer, .. } => ("", peer.as_str()),
        };
        let known = self.lives.get(boot).or_else(|| self.peers.get(peer)).cloned();
        if known.is_none() && self.strangers.insert(format!("{boot}{peer}")) {
            self.lost(format!("the recorder heard someone who did not say who it is ({boot}{peer})"));
        }
        let Identity { pod, uid, container, node } = known.unwrap_or_default();
        let received_us = Some(received_mono_us);
        let heard = Heard { pod, uid, container, node, by: Way::Recorder, received_us, entry };
        let _ = self.out.send(Incoming::Heard { us: self.zero.us(), heard });
    }

    fn meet(&mut self, hello: &Hello, peer: &str) {
        let identity = Identity::of(&hello.identity);
        self.peers.insert(peer.to_owned(), identity.clone());
        self.lives.insert(hello.boot.clone(), identity);
    }

    /// Learns who is there, where greetings may have been missed.
    async fn learn(&mut self, door: &Door) {
        #[derive(serde::Deserialize)]
        struct Target {
            hello: Hello,
            peer: String,
        }
        let Ok((200, body)) = door.get("/v1/targets").await else { return };
        let answer: Value = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let targets = match answer.get("targets") {
            Some(Value::Array(targets)) => targets.clone(),
            Some(Value::Object(targets)) => targets.values().cloned().collect(),
            _ => Vec::new(),
        };
        for target in targets {
            if let Ok(Target { hello, peer }) = serde_json::from_value(target) {
                self.meet(&hello, &peer);
            }
        }
    }

    fn lost(&mut self, why: String) {
        let us = self.zero.us();
        let gap = Gap { of: Source::Recorder, from_us: self.heard_us, to_us: us, why };
        let _ = self.out.send(Incoming::Gap { us, gap });
    }
}
