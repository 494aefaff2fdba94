//! The lines of an instance of a container's process: its start, its commands, its signals, and lines that are lost.

use std::collections::BTreeMap;

use probity_model::EventId;
use probity_model::history::{Happening, Heard, Way};
use probity_script::WitnessLine;
use probity_script::witness::{Command, Entry, ExecEnded, ExecSeen, Fact, Hello, SignalSeen, Started};

use crate::{Boot, Composer, NODE, ZERO_WALL_US, mono, us};

impl Composer {
    /// The container's process starts: its connection to the recorder and its first line.
    pub fn start(&mut self, at: f64, attempt: u64) -> &mut Self {
        self.start_with(at, attempt, &["serve"])
    }

    /// The process starts with these arguments, connects to the recorder and says so.
    pub fn start_with(&mut self, at: f64, attempt: u64, args: &[&str]) -> &mut Self {
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
                args: args.iter().map(|word| (*word).to_owned()).collect(),
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

    /// The process connects to the recorder again.
    pub fn rejoin(&mut self, at: f64) -> &mut Self {
        let boot = self.boots.entry(self.key()).or_default().clone();
        let hello =
            Hello { v: 1, boot: boot.name, attempt: boot.attempt, hello: 1, identity: BTreeMap::new() };
        self.heard(at, Entry::Joined { hello, peer: "10.0.0.7:40001".to_owned() });
        self
    }

    pub(crate) fn key(&self) -> String {
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
}
