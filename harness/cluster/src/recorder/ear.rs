//! Reads the recorder's stream, portion by portion, and says whose each entry is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probity_model::history::{Gap, Heard, Source, Way};
use probity_script::witness::{Entry, Fact, Hello, Recorded};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::forward::{Door, Reply};
use crate::incoming::Incoming;
use crate::zero::Zero;

/// How long the recorder waits for the first line of a portion.
const WAIT: Duration = Duration::from_secs(5);
/// Between two portions, so that lines come in company.
const GATHER: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

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
pub(super) struct Ear {
    zero: Zero,
    out: UnboundedSender<Incoming>,
    cursor: u64,
    /// The life of the recorder that the cursor belongs to.
    life: String,
    heard_us: i64,
    away: bool,
    lives: BTreeMap<String, Identity>,
    peers: BTreeMap<String, Identity>,
    strangers: BTreeSet<String>,
}

impl Ear {
    pub(super) fn new(zero: Zero, out: UnboundedSender<Incoming>) -> Self {
        Self {
            zero,
            out,
            cursor: 0,
            life: String::new(),
            heard_us: zero.us(),
            away: false,
            lives: BTreeMap::new(),
            peers: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }

    pub(super) async fn listen(mut self, door: Door) {
        let mut pause = GATHER;
        while !self.out.is_closed() {
            let path = format!("/v1/lines?since={}&wait={}s", self.cursor, WAIT.as_secs());
            pause = match door.wait_for(&path, WAIT).await {
                Ok(reply) if reply.status == 200 => {
                    self.back();
                    if self.portion(&reply) {
                        self.learn(&door).await;
                    }
                    GATHER
                }
                // A cursor of another life of the recorder: it restarted, and begins anew.
                Ok(reply) if reply.status == 409 => {
                    self.lost("the recorder restarted, and forgot what it had".to_owned());
                    (self.cursor, self.life) = (0, String::new());
                    GATHER
                }
                // Nothing is lost yet: the cursor is where it was.
                Ok(_) | Err(_) => {
                    self.gone();
                    (pause * 2).min(LONGEST_PAUSE)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// The recorder can't be heard since it was heard last.
    fn gone(&mut self) {
        if !self.away {
            self.away = true;
            let _ = self.out.send(Incoming::Away { of: Source::Recorder, since_us: self.heard_us });
        }
    }

    fn back(&mut self) {
        if self.away {
            self.away = false;
            let _ = self.out.send(Incoming::Back { of: Source::Recorder });
        }
    }

    /// Takes a portion. Says whether greetings may have been missed.
    fn portion(&mut self, reply: &Reply) -> bool {
        let header = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| header(name).and_then(|value| value.parse::<u64>().ok());
        let life = header("probity-recorder").unwrap_or_default().to_owned();
        if !self.life.is_empty() && life != self.life {
            self.lost("the recorder restarted, and forgot what it had".to_owned());
            (self.cursor, self.life) = (0, life);
            return false;
        }
        self.life = life;
        let first = number("probity-first").unwrap_or(self.cursor);
        let missed = first > self.cursor;
        if missed {
            self.lost(format!("the recorder forgot {} entries before they were read", first - self.cursor));
        }
        for line in reply.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Recorded>(line) {
                Ok(recorded) => self.entry(recorded),
                Err(error) => self.lost(format!("an entry of the recorder could not be read: {error}")),
            }
        }
        self.cursor = number("probity-next").unwrap_or(self.cursor).max(self.cursor);
        self.heard_us = self.zero.us();
        missed
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use http::HeaderMap;
    use probity_script::witness::VERSION;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn ear() -> (Ear, UnboundedReceiver<Incoming>) {
        let (out, told) = unbounded_channel();
        (Ear::new(Zero::now(), out), told)
    }

    /// A portion of a recorder's stream.
    fn portion(life: &str, first: u64, entries: &[Entry]) -> Reply {
        let mut headers = HeaderMap::new();
        let next = first + entries.len() as u64;
        for (name, value) in [
            ("probity-recorder", life.to_owned()),
            ("probity-first", first.to_string()),
            ("probity-next", next.to_string()),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let lines = entries.iter().zip(first..).map(|(entry, cursor)| {
            let recorded = Recorded {
                v: VERSION,
                cursor,
                received_mono_us: 7,
                received_wall_us: 8,
                entry: entry.clone(),
            };
            serde_json::to_string(&recorded).unwrap() + "\n"
        });
        Reply { status: 200, headers, body: lines.collect::<String>().into() }
    }

    fn joined(boot: &str, pod: &str) -> Entry {
        let identity =
            [("POD_NAME".to_owned(), pod.to_owned()), ("CONTAINER_NAME".to_owned(), "target".to_owned())];
        let hello =
            Hello { v: VERSION, boot: boot.to_owned(), attempt: 0, hello: 0, identity: identity.into() };
        Entry::Joined { hello, peer: "10.0.0.7:4000".to_owned() }
    }

    fn left(boot: &str) -> Entry {
        Entry::Left { boot: boot.to_owned(), how: "reset".to_owned(), last_mono_us: 5, told: 3 }
    }

    /// What was told, as short lines.
    fn lines(mut told: UnboundedReceiver<Incoming>) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(incoming) = told.try_recv() {
            lines.push(match incoming {
                Incoming::Heard { heard, .. } => format!("{}/{}", heard.pod, heard.container),
                Incoming::Gap { gap, .. } => format!("gap: {}", gap.why),
                other => panic!("{other:?}"),
            });
        }
        lines
    }

    #[test]
    fn each_entry_is_told_with_whose_it_is() {
        let (mut ear, told) = ear();
        assert!(!ear.portion(&portion("x", 0, &[joined("a", "one"), joined("b", "two"), left("a")])));
        assert_eq!(lines(told), ["one/target", "two/target", "one/target"]);
        assert_eq!(ear.cursor, 3);
    }

    #[test]
    fn a_greeting_of_an_earlier_portion_is_remembered() {
        let (mut ear, told) = ear();
        ear.portion(&portion("x", 0, &[joined("a", "one")]));
        ear.portion(&portion("x", 1, &[left("a")]));
        assert_eq!(lines(told), ["one/target", "one/target"]);
    }

    #[test]
    fn a_forgotten_cursor_is_a_gap_and_greetings_are_asked_for() {
        let (mut ear, told) = ear();
        ear.portion(&portion("x", 0, &[joined("a", "one")]));
        assert!(ear.portion(&portion("x", 9, &[left("a")])));
        assert_eq!(lines(told)[1], "gap: the recorder forgot 8 entries before they were read");
    }

    #[test]
    fn another_life_of_the_recorder_is_a_gap_and_is_read_from_its_beginning() {
        let (mut ear, told) = ear();
        ear.portion(&portion("x", 0, &[joined("a", "one")]));
        ear.portion(&portion("y", 1, &[left("a")]));
        assert_eq!(ear.cursor, 0);
        ear.portion(&portion("y", 0, &[joined("b", "two")]));
        assert_eq!(
            lines(told),
            ["one/target", "gap: the recorder restarted, and forgot what it had", "two/target"]
        );
    }

    #[test]
    fn a_stranger_is_a_gap_once_and_its_entries_have_no_pod() {
        let (mut ear, told) = ear();
        ear.portion(&portion("x", 0, &[left("s"), left("s")]));
        let lines = lines(told);
        assert!(lines[0].starts_with("gap") && lines[1..] == ["/", "/"], "{lines:?}");
    }

    #[test]
    fn nonsense_is_its_senders() {
        let (mut ear, told) = ear();
        let nonsense =
            Entry::Nonsense { peer: "10.0.0.7:4000".to_owned(), bytes: 3, error: "no JSON".to_owned() };
        ear.portion(&portion("x", 0, &[joined("a", "one"), nonsense]));
        assert_eq!(lines(told), ["one/target", "one/target"]);
    }
}
