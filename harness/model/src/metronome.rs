//! Listens to metronomes: idle pods with plain probes, one to a node, whose lateness is the node's and nobody else's.
//!
//! Where a plain probe of an idle container comes late, the node's kubelet was late for everyone, so a judge must not hold
//! it against a case. The ear hears witness lines and tells noise; it knows nothing of cases, and no clock but the lines'
//! own.

use std::collections::BTreeMap;

use probity_script::WitnessLine;
use probity_script::witness::{Entry, Fact};

use crate::history::{Heard, Listener, Noise};
use crate::stamp::Clock;

/// A probe that is later than this is noise, in microseconds: the usual lateness of a kubelet is a tenth of it.
pub const TOLERANCE_US: i64 = 100_000;

/// Hears the lines of metronomes. Only what a probe must do counts: a request, or a command.
#[derive(Clone, Debug)]
pub struct MetronomeReader {
    period_us: i64,
    beats: BTreeMap<(String, String), Beat>,
}

/// The last probe of an endpoint in a life of a process.
#[derive(Clone, Debug)]
struct Beat {
    boot: String,
    node: String,
    /// On the node's monotonic clock.
    came_us: i64,
    /// On the harness's.
    heard_us: i64,
}

impl MetronomeReader {
    /// An ear for metronomes whose probes all have this period.
    #[must_use]
    pub fn new(period_us: i64) -> Self {
        Self { period_us, beats: BTreeMap::new() }
    }

    /// Hears an entry of a metronome's, at a time of the harness's clock. Tells if the node was late.
    pub fn hear(&mut self, us: i64, heard: &Heard) -> Option<Noise> {
        match &heard.entry {
            Entry::Line(line) => self.line(us, heard, line),
            // Lines that are missing may have been beats: the next one tells nothing of the time before it.
            Entry::Missing { .. } | Entry::Left { .. } => {
                self.beats.retain(|(pod, _), _| *pod != heard.pod);
                None
            }
            _ => None,
        }
    }

    fn line(&mut self, us: i64, heard: &Heard, line: &WitnessLine) -> Option<Noise> {
        let (endpoint, came_us) = match &line.fact {
            Fact::Request(request) => (request.endpoint.as_ref()?.to_string(), request.first_byte_us),
            Fact::Exec(exec) => (exec.endpoint.to_string(), exec.command.began_mono_us),
            _ => return None,
        };
        let came_us = i64::try_from(came_us).unwrap_or(i64::MAX);
        let beat = Beat { boot: line.boot.clone(), node: heard.node.clone(), came_us, heard_us: us };
        let before = self.beats.insert((heard.pod.clone(), endpoint), beat)?;
        if before.boot != line.boot {
            return None;
        }
        self.noise(&before, came_us)
    }

    /// Probes that are overdue at a time of the harness's clock: noise that has not ended. Lines take a while to come, so
    /// only what is overdue by more than `travel_us` counts.
    #[must_use]
    pub fn overdue(&self, us: i64, travel_us: i64) -> Vec<Noise> {
        let late = |beat: &Beat| {
            let at_least = us.saturating_sub(beat.heard_us).saturating_sub(travel_us);
            self.noise(beat, beat.came_us.saturating_add(at_least))
        };
        self.beats.values().filter_map(late).collect()
    }

    fn noise(&self, before: &Beat, came_us: i64) -> Option<Noise> {
        let due_us = before.came_us.saturating_add(self.period_us);
        (came_us.saturating_sub(due_us) > TOLERANCE_US).then(|| Noise {
            by: Listener::Metronome,
            clock: Clock::Node(before.node.clone()),
            from_us: due_us,
            to_us: came_us,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Way;
    use probity_script::Endpoint;
    use probity_script::witness::{Request, VERSION};

    fn beat(boot: &str, at_us: u64) -> Heard {
        let request = Request {
            conn: 0,
            nth: 1,
            endpoint: Some(Endpoint::Of { listener: "web".to_owned(), name: "/ready".to_owned() }),
            probe: 1,
            hop: None,
            method: "GET".to_owned(),
            target: "/ready".to_owned(),
            protocol: "HTTP/1.1".to_owned(),
            headers: Vec::new(),
            body: 0,
            first_byte_us: at_us,
            service: None,
        };
        let line = WitnessLine {
            v: VERSION,
            boot: boot.to_owned(),
            attempt: 0,
            seq: 0,
            mono_us: at_us,
            wall_us: 0,
            fact: Fact::Request(request),
        };
        heard(Entry::Line(Box::new(line)))
    }

    fn heard(entry: Entry) -> Heard {
        Heard {
            pod: "probity-metronome-node1".to_owned(),
            uid: String::new(),
            container: "metronome".to_owned(),
            node: "node1".to_owned(),
            by: Way::Recorder,
            received_us: None,
            entry,
        }
    }

    /// What an ear tells of beats at these times on the node's clock.
    fn told(beats: &[u64]) -> Vec<Noise> {
        let mut ear = MetronomeReader::new(1_000_000);
        beats.iter().filter_map(|at| ear.hear(0, &beat("a", *at))).collect()
    }

    #[test]
    fn a_steady_beat_is_no_noise() {
        assert_eq!(told(&[5_000_000, 6_000_700, 7_000_000, 8_099_000]), []);
    }

    #[test]
    fn a_late_beat_is_noise_from_when_it_was_due_until_it_came() {
        let noise = Noise {
            by: Listener::Metronome,
            clock: Clock::Node("node1".to_owned()),
            from_us: 7_000_000,
            to_us: 10_000_000,
        };
        assert_eq!(told(&[5_000_000, 6_000_000, 10_000_000, 11_000_000]), [noise]);
    }

    #[test]
    fn a_restart_is_no_noise() {
        let mut ear = MetronomeReader::new(1_000_000);
        assert_eq!(ear.hear(0, &beat("a", 1_000_000)), None);
        assert_eq!(ear.hear(0, &beat("b", 9_000_000)), None);
    }

    #[test]
    fn lost_lines_are_no_noise() {
        let mut ear = MetronomeReader::new(1_000_000);
        assert_eq!(ear.hear(0, &beat("a", 1_000_000)), None);
        let missing = Entry::Missing { boot: "a".to_owned(), first: 3, lines: 20 };
        assert_eq!(ear.hear(0, &heard(missing)), None);
        assert_eq!(ear.hear(0, &beat("a", 9_000_000)), None);
    }

    #[test]
    fn a_beat_that_is_still_overdue_is_noise_already() {
        let mut ear = MetronomeReader::new(1_000_000);
        assert_eq!(ear.hear(500_000, &beat("a", 1_000_000)), None);
        assert_eq!(ear.overdue(1_700_000, 200_000), []);
        let noise = ear.overdue(4_700_000, 200_000);
        let spans: Vec<_> = noise.iter().map(|noise| (noise.from_us, noise.to_us)).collect();
        assert_eq!(spans, [(2_000_000, 5_000_000)]);
    }
}
