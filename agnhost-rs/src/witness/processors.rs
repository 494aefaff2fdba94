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

/// A saturated node with more tasks than this for each processor is overloaded: nobody gets a turn in time.
const TASKS: u64 = 8;

/// Looks at the processors in regular turns, and writes down for how long they were all busy.
#[derive(Debug, Default)]
pub(super) struct Processors {
    before: Option<Counts>,
    load: Load,
    for_us: u64,
}

/// How busy the processors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Load {
    #[default]
    Light,
    Saturated,
    Overloaded,
}

/// What the kernel counts: processor time since the node started, of all processors, in ticks, and tasks that are ready to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    idle: u64,
    all: u64,
    ready: u64,
    processors: u64,
}

impl Processors {
    /// Another turn, so long after the one before. A stretch is told when it ends, or after `longest_us`.
    pub(super) fn look(&mut self, witness: &Witness, turn_us: u64, longest_us: u64) {
        let Some(now) = fs::read_to_string(FILE).ok().and_then(|text| Counts::read(&text)) else { return };
        if let Some(saturated) = self.take(now, turn_us, longest_us) {
            witness.record(&Fact::Saturated(saturated));
        }
    }

    /// Takes the counts of this turn; the busy stretch that is to be told now.
    fn take(&mut self, now: Counts, turn_us: u64, longest_us: u64) -> Option<Saturated> {
        let before = self.before.replace(now)?;
        let load = now.load_since(before);
        let ended = (load != self.load).then(|| self.tell()).flatten();
        self.load = load;
        if load != Load::Light {
            self.for_us += turn_us;
        }
        ended.or_else(|| if self.for_us >= longest_us { self.tell() } else { None })
    }

    fn tell(&mut self) -> Option<Saturated> {
        let overloaded = self.load == Load::Overloaded;
        let for_us = std::mem::take(&mut self.for_us);
        (for_us > 0).then_some(Saturated { for_us, overloaded })
    }
}

impl Counts {
    /// Reads the line of all processors (user, nice, system, idle, and more; waiting for a disk counts as busy), and the
    /// number of tasks.
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let processors = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
        let ready = text.lines().find_map(|line| line.strip_prefix("procs_running "))?;
        // The last two of ten ticks are parts of the first two.
        Some(Self {
            idle: *ticks.get(3)?,
            all: ticks.iter().take(8).sum(),
            ready: ready.trim().parse().ok()?,
            processors: u64::try_from(processors).ok()?.max(1),
        })
    }

    fn load_since(self, before: Self) -> Load {
        let all = self.all.saturating_sub(before.all);
        let busy = all > 0 && self.idle.saturating_sub(before.idle) * IDLE_PART < all;
        match busy {
            true if self.ready > TASKS * self.processors => Load::Overloaded,
            true => Load::Saturated,
            false => Load::Light,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(idle: u64, all: u64, ready: u64) -> Counts {
        Counts { idle, all, ready, processors: 2 }
    }

    fn told(for_us: u64, overloaded: bool) -> Option<Saturated> {
        Some(Saturated { for_us, overloaded })
    }

    #[test]
    fn the_lines_of_processors_and_tasks_are_read() {
        let text =
            "cpu  10 1 20 300 4 0 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 1 1 1 1\nintr 5\nprocs_running 3\n";
        assert_eq!(Counts::read(text), Some(counts(300, 346, 3)));
        assert_eq!(Counts::read("cpu0 1 1 1 1\n"), None);
    }

    #[test]
    fn a_busy_stretch_is_told_when_it_ends_or_has_lasted() {
        let mut processors = Processors::default();
        let mut take = |idle, all| processors.take(counts(idle, all, 3), 250, 1000);
        assert_eq!(take(0, 0), None, "one reading says nothing");
        assert_eq!(take(50, 50), None, "an idle node");
        assert_eq!(take(50, 100), None, "the stretch goes on");
        assert_eq!(take(52, 150), None);
        assert_eq!(take(80, 200), told(500, false));
        assert_eq!(take(80, 250), None);
        assert_eq!([take(80, 300), take(80, 350), take(80, 400)], [None, None, told(1000, false)]);
    }

    #[test]
    fn a_stretch_with_many_tasks_is_told_by_itself() {
        let mut processors = Processors::default();
        let mut take = |all, ready| processors.take(counts(0, all, ready), 250, 1000);
        assert_eq!([take(0, 3), take(50, 3), take(100, 16)], [None, None, None]);
        assert_eq!(take(150, 17), told(500, false));
        assert_eq!(take(200, 40), None);
        assert_eq!(take(250, 2), told(500, true));
    }
}
