//! The witness: gives each fact its number and its time, and passes the line to all outlets.
//!
//! A line goes to up to three outlets (standard output, a journal file, the recorder) and into a bounded memory
//! from which late readers are served. Nothing here waits for a reader: an outlet that is full loses lines, counts
//! them, and says so as soon as there is room again.
//!
//! An *arrival* is offered to the system before it is answered, so a probe that kills us is still on record: at once by
//! `arrival`, or together with whatever else arrives in the same turn by `announce` and `offered`. Any other fact may
//! stay in the outlet's buffer for a millisecond, until its thread takes it along.

mod journal;
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
pub use link::follow as link_to_recorder;
pub use outlet::Outlet;
pub use ticker::start as start_ticker;

use crate::clock::{Clock, Reading};
use crate::locks::lock;
use crate::recent::{LinesSince, RecentLines};

/// Whose lines these are.
#[derive(Clone, Debug)]
pub struct Identity {
    /// A random name for this life of the process.
    pub boot: String,
    /// Which life of the container this is.
    pub attempt: u64,
    /// The file in which the attempt was counted, if it was.
    pub counter: Option<PathBuf>,
}

/// The number and the time that a fact was given.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The line's number.
    pub seq: u64,
    /// The line's time.
    pub at: Reading,
}

/// Hands out numbers and lines. Cheap to clone.
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
    /// How many readers wait for a line; waking nobody would still cost a system call for each line.
    readers: AtomicU64,
    seq: AtomicU64,
    /// Every line below this number has been offered to the system.
    offered: AtomicU64,
}

/// What must change together, so that the order of numbers, times and lines is one order.
struct WitnessState {
    seq: u64,
    line: Vec<u8>,
    recent: RecentLines,
    outlets: Arc<[Arc<Outlet>]>,
}

/// How soon a line has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// Before the call returns.
    Now,
    /// As soon as whoever wrote it down asks for it.
    Awaited,
    /// Within a millisecond or so.
    Soon,
}

thread_local! {
    static FACT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Witness {
    /// A witness without outlets; its memory holds so many bytes of lines.
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

    /// Whose lines these are.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Adds an outlet, which gets every line from here on.
    pub fn add(&self, outlet: Arc<Outlet>) {
        let mut state = lock(&self.shared.state);
        state.outlets = state.outlets.iter().cloned().chain([outlet]).collect();
    }

    /// Writes a fact down; its line leaves within a millisecond or so.
    pub fn record(&self, fact: &Fact) -> Stamp {
        self.write(fact, Urgency::Soon)
    }

    /// Writes down that something went wrong that the target goes on after.
    pub fn trouble(&self, doing: &str, error: &dyn std::fmt::Display) {
        self.record(&Fact::Trouble(Trouble { doing: doing.to_owned(), error: error.to_string() }));
    }

    /// Writes down the arrival of something that is about to be answered: the line has been offered to the system
    /// when this returns.
    pub fn arrival(&self, fact: &Fact) -> Stamp {
        self.write(fact, Urgency::Now)
    }

    /// Writes down the arrival of something that is answered only after [`offered`](Self::offered) has returned.
    pub fn announce(&self, fact: &Fact) -> Stamp {
        self.write(fact, Urgency::Awaited)
    }

    /// Returns when an announced line has been offered to the system.
    ///
    /// Everyone else who is ready gets a turn first, so under load one write takes many arrivals along, and nobody
    /// waits longer than for that: with nothing else to do it comes back at once.
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

    fn write(&self, fact: &Fact, urgency: Urgency) -> Stamp {
        let (stamp, recovered) = FACT.with_borrow_mut(|bytes| {
            bytes.clear();
            // Serialising our own types into memory cannot fail; if it ever does, the line must still be one.
            if serde_json::to_writer(&mut *bytes, fact).is_err() {
                bytes.clear();
                bytes.extend_from_slice(
                    b"{\"trouble\":{\"doing\":\"writing a fact down\",\"error\":\"not serializable\"}}",
                );
            }
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
        line.extend_from_slice(&shared.prefix);
        let Reading { mono_us, wall_us } = stamp.at;
        push_number(line, stamp.seq);
        line.extend_from_slice(b",\"mono_us\":");
        push_number(line, mono_us);
        line.extend_from_slice(b",\"wall_us\":");
        push_number(line, wall_us);
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

    /// The remembered lines from a number on, at most so many bytes; waits up to `patience` for the first.
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

    /// Leads an outlet to a new reader, who gets every remembered line from a number on and every new one after
    /// them, without a hole.
    fn resume(&self, outlet: &Outlet, seq: u64, way: OwnedFd) {
        let state = lock(&self.shared.state);
        outlet.refill(seq, &state.recent);
        outlet.connect(way);
    }

    /// Waits until every outlet has passed its lines on, but no longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        let outlets = Arc::clone(&lock(&self.shared.state).outlets);
        let deadline = Instant::now() + patience;
        for outlet in &*outlets {
            outlet.drain_until(deadline);
        }
    }
}

/// Appends a number. serde_json's way of doing it is several times as fast as `write!`, and cannot fail on a vector.
fn push_number(line: &mut Vec<u8>, number: u64) {
    let _ = serde_json::to_writer(line, &number);
}

#[cfg(test)]
#[path = "witness/tests.rs"]
mod tests;
