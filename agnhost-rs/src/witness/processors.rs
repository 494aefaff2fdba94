//! Whether the node has an idle processor, and whether all of its tasks wait for a disk, both according to the kernel's
//! counts.
//!
//! On a node with no idle processor, everything is late, which is not a fault of the kubelet. It is different if only the
//! kubelet lacks CPU time on a node with idle processors, for example because of a limit. So this module measures only
//! the node, and not its processes.

use std::fs;

use super::Witness;
use probity_script::Fact;
use probity_script::witness::Saturated;

const FILE: &str = "/proc/stat";
/// Not every kernel has this file. Without it, a node that waits for its disk does not count as saturated.
const DISK_FILE: &str = "/proc/pressure/io";
/// A node is also saturated if all tasks that have work wait for a disk for more than one part in this many of the time.
/// Its processors may be idle, but no task makes progress.
const WAITING_PART: u64 = 2;
/// A node is saturated while less than one part in this many of its CPU time is idle.
const IDLE_PART: u64 = 20;

/// A saturated node with more tasks than this for each processor is overloaded: no task runs in time.
const TASKS: u64 = 8;

/// Checks the processors at regular intervals, and records for how long all of them were busy.
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

/// The kernel's counts: the CPU time of all processors since the node started, in ticks, and the tasks that are ready to
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    idle: u64,
    all: u64,
    ready: u64,
    processors: u64,
    /// For how long all tasks that had work waited for a disk, in microseconds.
    waited_us: u64,
}

impl Processors {
    /// Checks again, `turn_us` after the previous check. A busy period is recorded when it ends, or after `longest_us`.
    pub(super) fn look(&mut self, witness: &Witness, turn_us: u64, longest_us: u64) {
        let disk = fs::read_to_string(DISK_FILE).unwrap_or_default();
        let Some(now) = fs::read_to_string(FILE).ok().and_then(|text| Counts::read(&text, &disk)) else {
            return;
        };
        if let Some(saturated) = self.take(now, turn_us, longest_us) {
            witness.record(&Fact::Saturated(saturated));
        }
    }

    /// Processes the counts of this check. Returns the busy period to record now, if there is one.
    fn take(&mut self, now: Counts, turn_us: u64, longest_us: u64) -> Option<Saturated> {
        let before = self.before.replace(now)?;
        let load = now.load_since(before, turn_us);
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
    /// Reads the line of all processors (user, nice, system, idle, and more), and the number of tasks. Waiting for a disk
    /// counts as busy. `disk` is the kernel's text about waiting for disks.
    fn read(text: &str, disk: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let processors = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
        let ready = text.lines().find_map(|line| line.strip_prefix("procs_running "))?;
        // The last two of the ten tick counts are included in the first two.
        Some(Self {
            idle: *ticks.get(3)?,
            all: ticks.iter().take(8).sum(),
            ready: ready.trim().parse().ok()?,
            processors: u64::try_from(processors).ok()?.max(1),
            waited_us: all_waited_us(disk).unwrap_or(0),
        })
    }

    fn load_since(self, before: Self, turn_us: u64) -> Load {
        let all = self.all.saturating_sub(before.all);
        let waits = self.waited_us.saturating_sub(before.waited_us) * WAITING_PART > turn_us;
        let busy = all > 0 && self.idle.saturating_sub(before.idle) * IDLE_PART < all;
        match busy {
            true if self.ready > TASKS * self.processors => Load::Overloaded,
            true => Load::Saturated,
            false if waits => Load::Saturated,
            false => Load::Light,
        }
    }
}

/// The total of the line `full avg10=0.00 … total=1234`.
fn all_waited_us(disk: &str) -> Option<u64> {
    let line = disk.lines().find(|line| line.starts_with("full "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(idle: u64, all: u64, ready: u64) -> Counts {
        Counts { idle, all, ready, processors: 2, waited_us: 0 }
    }

    fn told(for_us: u64, overloaded: bool) -> Option<Saturated> {
        Some(Saturated { for_us, overloaded })
    }

    #[test]
    fn the_lines_of_processors_and_tasks_are_read() {
        let text =
            "cpu  10 1 20 300 4 0 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 1 1 1 1\nintr 5\nprocs_running 3\n";
        assert_eq!(Counts::read(text, ""), Some(counts(300, 346, 3)));
        assert_eq!(Counts::read("cpu0 1 1 1 1\n", ""), None);
        let disk = "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(Counts::read(text, disk).map(|counts| counts.waited_us), Some(7));
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
    fn a_node_that_waits_for_its_disk_is_busy_with_idle_processors() {
        let mut processors = Processors::default();
        let mut take =
            |all, waited_us| processors.take(Counts { waited_us, ..counts(all, all, 3) }, 250, 1000);
        assert_eq!([take(0, 0), take(50, 125), take(100, 251)], [None, None, None]);
        assert_eq!(take(150, 260), told(250, false), "half of a turn is not enough");
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
