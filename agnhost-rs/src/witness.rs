//! The witness: gives each fact its number and its time, and passes the line to all outlets.
//!
//! A line goes to up to three outlets (standard output, a journal file, the recorder) and into a limited memory for late
//! readers. Nothing here waits for a reader: a full outlet loses lines, counts them, and reports this as soon as it has
//! room again.
//!
//! An *arrival* is offered to the system before it is answered, so a probe that kills the target is still on record.
//! `arrival` does this immediately. `announce` and `offered` do it for everything that arrives in the same turn of the
//! runtime. Any other fact may stay in the outlet's buffer for a millisecond, until the outlet's thread writes it.

mod journal;
mod line;
mod link;
mod outlet;
mod processors;
mod ticker;

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_script::witness::{Lost, Trouble, VERSION};

pub use journal::{Journal, JournalError};
pub use line::{AnswerSeen, EndpointSeen, Record, RequestSeen};
pub use link::follow as link_to_recorder;
pub use outlet::Outlet;
pub use ticker::start as start_ticker;

use crate::clock::{Clock, Reading};
use crate::locks::lock;
use crate::recent::{LinesSince, RecentLines};

/// The process that writes the lines.
#[derive(Clone, Debug)]
pub struct Identity {
    /// A random name for this process.
    pub boot: String,
    /// The attempt of the container.
    pub attempt: u64,
    /// The file in which the attempt was counted, if it was.
    pub counter: Option<PathBuf>,
}

/// The number and the time of a fact.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The line's number.
    pub seq: u64,
    /// The line's time.
    pub at: Reading,
}

/// Numbers facts and writes lines. Cheap to clone.
#[derive(Clone)]
pub struct Witness {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    identity: Identity,
    prefix: Vec<u8>,
    state: Mutex<WitnessState>,
    written: Condvar,
    /// How many readers wait for a line. Without readers, waking them would still cost a system call for each line.
    readers: AtomicU64,
    seq: AtomicU64,
    /// Every line below this number has been offered to the system.
    offered: AtomicU64,
}

/// The state that must change together, so that numbers, times and lines have the same order.
struct WitnessState {
    seq: u64,
    line: Vec<u8>,
    recent: RecentLines,
    outlets: Arc<[Arc<Outlet>]>,
}

/// How soon a line must be offered to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// Before the call returns.
    Now,
    /// As soon as its writer calls `offered`.
    Awaited,
    /// Within a millisecond or so.
    Soon,
}

thread_local! {
    static FACT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Witness {
    /// A witness without outlets. `memory` is how many bytes of lines it keeps.
    #[must_use]
    pub fn new(clock: Clock, identity: Identity, memory: usize) -> Self {
        let Identity { boot, attempt, .. } = &identity;
        let prefix =
            format!("{{\"v\":{VERSION},\"boot\":\"{boot}\",\"attempt\":{attempt},\"seq\":").into_bytes();
        let state = WitnessState {
            seq: 0,
            line: Vec::with_capacity(1024),
            recent: RecentLines::new(memory),
            outlets: Arc::new([]),
        };
        let (state, written) = (Mutex::new(state), Condvar::new());
        let (readers, seq, offered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { clock, identity, prefix, state, written, readers, seq, offered }) }
    }

    /// The clock that stamps the lines.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// The process that writes the lines.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Adds an outlet, which gets every line from here on.
    pub fn add(&self, outlet: Arc<Outlet>) {
        let mut state = lock(&self.shared.state);
        state.outlets = state.outlets.iter().cloned().chain([outlet]).collect();
    }

    /// Records a fact. Its line is sent within about a millisecond.
    pub fn record(&self, fact: &impl Record) -> Stamp {
        self.write(fact, Urgency::Soon)
    }

    /// Records a problem after which the target continues.
    pub fn trouble(&self, doing: &str, error: &dyn std::fmt::Display) {
        self.record(&Fact::Trouble(Trouble { doing: doing.to_owned(), error: error.to_string() }));
    }

    /// Records the arrival of something that is about to be answered. When this returns, the line has been offered to the
    /// system.
    pub fn arrival(&self, fact: &impl Record) -> Stamp {
        self.write(fact, Urgency::Now)
    }

    /// Records the arrival of something that is answered only after [`offered`](Self::offered) has returned.
    pub fn announce(&self, fact: &impl Record) -> Stamp {
        self.write(fact, Urgency::Awaited)
    }

    /// Returns when an announced line has been offered to the system.
    ///
    /// All other ready tasks run first, so under load one write includes many arrivals. If no other task is ready, this
    /// returns immediately.
    pub async fn offered(&self, stamp: Stamp) {
        tokio::task::yield_now().await;
        let shared = &*self.shared;
        if shared.offered.load(Ordering::Acquire) > stamp.seq {
            return;
        }
        let (outlets, next) = {
            let state = lock(&shared.state);
            (Arc::clone(&state.outlets), state.seq)
        };
        outlets.iter().for_each(|outlet| outlet.push());
        shared.offered.fetch_max(next, Ordering::Release);
    }

    fn write(&self, fact: &dyn Record, urgency: Urgency) -> Stamp {
        let (stamp, recovered) = FACT.with_borrow_mut(|bytes| {
            bytes.clear();
            fact.push(bytes);
            self.enter(bytes, urgency)
        });
        for loss in recovered {
            self.write(&Fact::Lost(loss), Urgency::Soon);
        }
        stamp
    }

    /// Gives the fact its number and passes the line on. Returns the losses of outlets that have room again.
    fn enter(&self, fact: &[u8], urgency: Urgency) -> (Stamp, Vec<Lost>) {
        let shared = &*self.shared;
        let mut state = lock(&shared.state);
        let WitnessState { seq, line, recent, outlets } = &mut *state;
        let stamp = Stamp { seq: *seq, at: shared.clock.read() };
        line.clear();
        line::number(line, &shared.prefix, stamp.seq);
        line::number(line, b",\"mono_us\":", stamp.at.mono_us);
        line::number(line, b",\"wall_us\":", stamp.at.wall_us);
        line.extend_from_slice(b",\"fact\":");
        line.extend_from_slice(fact);
        line.extend_from_slice(b"}\n");
        *seq += 1;
        shared.seq.store(*seq, Ordering::Relaxed);
        recent.push(|_, buffer| buffer.extend_from_slice(line));
        let recovered = outlets.iter().filter_map(|outlet| outlet.offer(stamp.seq, line, urgency)).collect();
        if shared.readers.load(Ordering::Relaxed) > 0 {
            shared.written.notify_all();
        }
        (stamp, recovered)
    }

    /// The number that the next line will have.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.shared.seq.load(Ordering::Relaxed)
    }

    /// The lines in memory from a number on, at most `most` bytes. Waits up to `patience` for the first line.
    #[must_use]
    pub fn since(&self, seq: u64, most: usize, patience: Duration) -> LinesSince {
        let deadline = Instant::now() + patience;
        let mut state = lock(&self.shared.state);
        self.shared.readers.fetch_add(1, Ordering::Relaxed);
        while state.seq <= seq {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            let waited = self.shared.written.wait_timeout(state, left);
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard);
        }
        self.shared.readers.fetch_sub(1, Ordering::Relaxed);
        state.recent.since(seq, most)
    }

    /// How many lines each outlet has lost so far.
    #[must_use]
    pub fn losses(&self) -> Vec<(&'static str, u64)> {
        lock(&self.shared.state).outlets.iter().map(|outlet| (outlet.name(), outlet.lost())).collect()
    }

    /// Connects an outlet to a new reader. The reader gets every line in memory from a number on, and all new lines after
    /// them, without a gap.
    fn resume(&self, outlet: &Outlet, seq: u64, way: OwnedFd) {
        let state = lock(&self.shared.state);
        outlet.refill(seq, &state.recent);
        outlet.connect(way);
    }

    /// Waits until every outlet has sent its lines, but no longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        let outlets = Arc::clone(&lock(&self.shared.state).outlets);
        let deadline = Instant::now() + patience;
        for outlet in &*outlets {
            outlet.drain_until(deadline);
        }
    }
}

#[cfg(test)]
#[path = "witness/tests.rs"]
mod tests;
