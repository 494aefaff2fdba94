//! Evaluates metronomes: idle pods with plain probes, one on each node.
//!
//! If a plain probe of an idle container arrives late, the node's kubelet was late for all pods. This lateness is a
//! finding about the kubelet, unless the node itself was stalled. The targets' tickers and the kernel's idle time show
//! stalls independently of the kubelet. The reader receives witness lines and reports noise; it does not know any case,
//! or any clock except those in the lines.

use std::collections::BTreeMap;

use probity_script::WitnessLine;
use probity_script::witness::{Entry, Fact, Saturated};

use crate::history::{Heard, Listener, Noise};
use crate::stamp::{Clock, counted};

/// A probe that is later than this number of microseconds is noise. The usual lateness of a kubelet is a tenth of it.
pub const TOLERANCE_US: i64 = 100_000;

/// Reads the lines of metronomes. Only lines that a probe necessarily causes are considered: requests and commands.
#[derive(Clone, Debug)]
pub struct MetronomeReader {
    period_us: i64,
    beats: BTreeMap<(String, String), Beat>,
}

/// The last probe of an endpoint during one life of a process.
#[derive(Clone, Debug)]
struct Beat {
    boot: String,
    node: String,
    /// On the node's monotonic clock.
    came_us: i64,
    /// On the harness's clock.
    heard_us: i64,
}

impl MetronomeReader {
    /// A reader of metronomes whose probes all have this period.
    #[must_use]
    pub fn new(period_us: i64) -> Self {
        Self { period_us, beats: BTreeMap::new() }
    }

    /// Reads an entry of a metronome that arrived at this time on the harness's clock. Returns noise if the node was
    /// late.
    pub fn hear(&mut self, us: i64, heard: &Heard) -> Option<Noise> {
        match &heard.entry {
            Entry::Line(line) => self.line(us, heard, line),
            // Missing lines may have been probes, so the next probe does not show anything about the time before it.
            Entry::Missing { .. } | Entry::Left { .. } => {
                self.beats.retain(|(pod, _), _| *pod != heard.pod);
                None
            }
            _ => None,
        }
    }

    fn line(&mut self, us: i64, heard: &Heard, line: &WitnessLine) -> Option<Noise> {
        let (endpoint, came_us) = match &line.fact {
            Fact::Saturated(saturated) => return Some(saturation(heard, line, saturated)),
            Fact::Request(request) => (request.endpoint.as_ref()?.to_string(), request.first_byte_us),
            Fact::Exec(exec) => (exec.endpoint.to_string(), exec.command.began_mono_us),
            _ => return None,
        };
        let came_us = counted(came_us);
        let beat = Beat { boot: line.boot.clone(), node: heard.node.clone(), came_us, heard_us: us };
        let before = self.beats.insert((heard.pod.clone(), endpoint), beat)?;
        if before.boot != line.boot {
            return None;
        }
        self.noise(&before, came_us)
    }

    /// Probes that are overdue at this time on the harness's clock: noise that has not ended. Lines take time to arrive,
    /// so only probes that are overdue by more than `travel_us` count.
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

/// All processors of the node were busy, according to its metronome.
fn saturation(heard: &Heard, line: &WitnessLine, saturated: &Saturated) -> Noise {
    Noise {
        by: if saturated.overloaded { Listener::Overload } else { Listener::Node },
        clock: Clock::Node(heard.node.clone()),
        from_us: counted(line.mono_us.saturating_sub(saturated.for_us)),
        to_us: counted(line.mono_us),
    }
}

#[cfg(test)]
mod tests;
