//! Reads the recorder's stream, portion by portion, and finds the pod and container to which each entry belongs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probity_model::history::{Happening, Heard, Source, Way};
use probity_script::witness::{Entry, Fact, Hello, Recorded};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::api::port_forward::{ForwardedResponse, PortForwardClient};
use crate::listen::incoming::{Incoming, Reporter};
use crate::run_clock::RunClock;

/// How long the recorder waits for the first line of a portion.
const WAIT: Duration = Duration::from_secs(5);
/// The pause between two portions, so that a portion contains several lines.
const GATHER: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const RESTARTED: &str = "the recorder restarted and lost the lines that it had stored";

/// The properties that a process reports about itself, such as `POD_NAME`.
type ProcessIdentity = BTreeMap<String, String>;

/// The targets that the recorder knows.
#[derive(Deserialize)]
struct KnownTargets {
    targets: Vec<KnownTarget>,
}

#[derive(Deserialize)]
struct KnownTarget {
    hello: Hello,
    peer: String,
}

/// Reads the stream, portion by portion.
pub(crate) struct RecorderStream {
    reporter: Reporter,
    cursor: u64,
    /// The name of the recorder's process that the cursor belongs to.
    recorder: String,
    by_boot: BTreeMap<String, ProcessIdentity>,
    by_peer: BTreeMap<String, ProcessIdentity>,
    strangers: BTreeSet<String>,
}

impl RecorderStream {
    pub(crate) fn new(clock: RunClock, out: UnboundedSender<Incoming>) -> Self {
        Self {
            reporter: Reporter::new(Source::Recorder, clock, out),
            cursor: 0,
            recorder: String::new(),
            by_boot: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }

    pub(crate) async fn read(mut self, pod: PortForwardClient) {
        let mut pause = GATHER;
        while self.reporter.is_listened_to() {
            let path = format!("/v1/lines?since={}&wait={}s", self.cursor, WAIT.as_secs());
            pause = match pod.get(&path, WAIT).await {
                Ok(response) if response.status == 200 => {
                    self.reporter.back();
                    if self.portion(&response) {
                        self.learn_targets(&pod).await;
                    }
                    GATHER
                }
                // The cursor belongs to an earlier recorder process: the recorder restarted, and its stream begins
                // again.
                Ok(response) if response.status == 409 => {
                    self.restarted(String::new());
                    GATHER
                }
                // Nothing is lost yet: the cursor stays where it was.
                Ok(_) | Err(_) => {
                    self.reporter.away();
                    (pause * 2).min(LONGEST_PAUSE)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    fn restarted(&mut self, recorder: String) {
        self.reporter.gap(RESTARTED.to_owned());
        (self.cursor, self.recorder) = (0, recorder);
    }

    /// Takes a portion. Returns whether greetings may have been missed.
    fn portion(&mut self, response: &ForwardedResponse) -> bool {
        let header = |name: &str| response.headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| header(name).and_then(|value| value.parse::<u64>().ok());
        let recorder = header("probity-recorder").unwrap_or_default().to_owned();
        if !self.recorder.is_empty() && recorder != self.recorder {
            self.restarted(recorder);
            return false;
        }
        self.recorder = recorder;
        let missed = number("probity-first").unwrap_or_default().saturating_sub(self.cursor);
        if missed > 0 {
            self.reporter.gap(format!("the recorder discarded {missed} entries before they were read"));
        }
        for line in response.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Recorded>(line) {
                Ok(recorded) => self.entry(recorded),
                Err(error) => {
                    self.reporter.gap(format!("failed to read an entry of the recorder: {error}"));
                }
            }
        }
        self.cursor = number("probity-next").unwrap_or_default().max(self.cursor);
        self.reporter.heard();
        missed > 0
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
                    self.by_boot.insert(line.boot.clone(), started.identity.clone());
                }
                (line.boot.as_str(), "")
            }
            Entry::Missing { boot, .. }
            | Entry::Silent { boot, .. }
            | Entry::Resumed { boot, .. }
            | Entry::Left { boot, .. } => (boot.as_str(), ""),
            Entry::Nonsense { peer, .. } => ("", peer.as_str()),
        };
        let known = self.by_boot.get(boot).or_else(|| self.by_peer.get(peer));
        if known.is_none() && self.strangers.insert(format!("{boot}{peer}")) {
            let why = format!("a process connected to the recorder without its identity ({boot}{peer})");
            self.reporter.gap(why);
        }
        let name = |key: &str| known.and_then(|names| names.get(key)).cloned().unwrap_or_default();
        let heard = Heard {
            pod: name("POD_NAME"),
            uid: name("POD_UID"),
            container: name("CONTAINER_NAME"),
            node: name("NODE_NAME"),
            by: Way::Recorder,
            received_us: Some(received_mono_us),
            entry,
        };
        self.reporter.send(Happening::Witness(heard));
    }

    fn meet(&mut self, hello: &Hello, peer: &str) {
        self.by_peer.insert(peer.to_owned(), hello.identity.clone());
        self.by_boot.insert(hello.boot.clone(), hello.identity.clone());
    }

    /// Requests the list of targets, if greetings may have been missed.
    async fn learn_targets(&mut self, pod: &PortForwardClient) {
        if let Ok(answer) = pod.get("/v1/targets", Duration::ZERO).await
            && let Ok(known) = serde_json::from_slice::<KnownTargets>(&answer.body)
        {
            known.targets.iter().for_each(|KnownTarget { hello, peer }| self.meet(hello, peer));
        }
    }
}
