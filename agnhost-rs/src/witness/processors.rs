//! Whether the node has a processor left for anyone, by the kernel's own count of their idle time.
//!
//! A node that is busy all over makes everybody late, and that is no fault of a kubelet. A kubelet that is short of
//! processor time by itself, limited or starved on a node with idle processors, is another matter; so this looks at the
//! node and at no process of it.

use std::fs;

use super::Witness;
use probity_script::Fact;
use probity_script::witness::Saturated;

const FILE: &str = "/proc/stat";
/// A node is saturated while less than one part in this many of its processor time is idle.
const IDLE_PART: u64 = 20;

/// Looks at the processors in regular turns, and writes down for how long they were all busy.
#[derive(Debug, Default)]
pub(super) struct Processors {
    before: Option<Times>,
    busy_us: u64,
}

/// Processor time since the node started, of all processors, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    idle: u64,
    all: u64,
}

impl Processors {
    /// Another turn, so long after the one before. A stretch is told when it ends, or after `longest_us`.
    pub(super) fn look(&mut self, witness: &Witness, turn_us: u64, longest_us: u64) {
        let Some(now) = fs::read_to_string(FILE).ok().and_then(|text| Times::read(&text)) else { return };
        let told = self.take(now, turn_us, longest_us);
        if let Some(for_us) = told {
            witness.record(&Fact::Saturated(Saturated { for_us }));
        }
    }

    /// Takes the times of this turn; the length of a busy stretch that is to be told now.
    fn take(&mut self, now: Times, turn_us: u64, longest_us: u64) -> Option<u64> {
        let before = self.before.replace(now)?;
        let busy = now.is_busy_since(before);
        if busy {
            self.busy_us += turn_us;
        }
        (self.busy_us > 0 && (!busy || self.busy_us >= longest_us)).then(|| std::mem::take(&mut self.busy_us))
    }
}

impl Times {
    /// Reads the line of all processors: user, nice, system, idle, and more. Waiting for a disk counts as busy.
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // The last two of ten are parts of the first two.
        Some(Self { idle: *ticks.get(3)?, all: ticks.iter().take(8).sum() })
    }

    fn is_busy_since(self, before: Self) -> bool {
        let all = self.all.saturating_sub(before.all);
        all > 0 && self.idle.saturating_sub(before.idle) * IDLE_PART < all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(idle: u64, all: u64) -> Times {
        Times { idle, all }
    }

    #[test]
    fn the_line_of_all_processors_is_read() {
        let text = "cpu  10 1 20 300 4 0 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        assert_eq!(Times::read(text), Some(times(300, 346)));
        assert_eq!(Times::read("cpu0 1 1 1 1\n"), None);
    }

    #[test]
    fn a_busy_stretch_is_told_when_it_ends_or_has_lasted() {
        let mut processors = Processors::default();
        let mut told = |idle, all| processors.take(times(idle, all), 250, 1000);
        assert_eq!(told(0, 0), None, "one reading says nothing");
        assert_eq!(told(50, 50), None, "an idle node");
        assert_eq!(told(50, 100), None, "the stretch goes on");
        assert_eq!(told(52, 150), None);
        assert_eq!(told(80, 200), Some(500));
        assert_eq!(told(80, 250), None);
        assert_eq!([told(80, 300), told(80, 350), told(80, 400)], [None, None, Some(1000)]);
    }
}
