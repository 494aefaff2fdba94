//! The ledger: merges what all targets say into one stream, and notices what they do not say.
//!
//! It knows for each life of a target which line comes next, so it drops what was sent twice, tells what was left
//! out, and tells who fell silent, left or came back. It has no clock and no sockets: every call brings the instant
//! at which its bytes were received. Entries of one target are in the order of their reception; those of different
//! targets may change places by the time that it takes to read a few lines, so times are compared, not cursors.

use std::collections::{HashMap, VecDeque};

use probity_script::witness::{Entry, Hello, Recorded, VERSION};

use super::intake::{Nonsense, Said};
use super::target::{Counts, Seat, Target};
use crate::clock::Reading;
use crate::recent::{LinesSince, RecentLines};

/// A connection without a sign of life for so long is silent; targets beat every 100 ms.
pub const SILENCE_US: u64 = 500_000;
/// How often somebody has to call [`Ledger::sweep`].
pub const SWEEP_US: u64 = 50_000;
/// A sweep later than this means that we were held up ourselves, and must not blame the targets for it.
const LATE_US: u64 = 2 * SWEEP_US;
/// So many lives are remembered after they left; a life that comes back after that begins anew.
const MOST_DEPARTED: usize = 10_000;
/// And so many bytes of what they said of themselves.
const MOST_DEPARTED_BYTES: usize = 16 << 20;

/// The merged stream and everyone who adds to it.
pub struct Ledger {
    memory: RecentLines,
    targets: HashMap<String, Target>,
    /// Those without a connection by the turn in which they left, the longest gone first.
    departed: VecDeque<(String, u64)>,
    departed_bytes: usize,
    turns: u64,
    swept_mono_us: Option<u64>,
    lenient_until_us: u64,
    counts: Counts,
}

impl Ledger {
    /// An empty ledger that remembers so many bytes of entries.
    #[must_use]
    pub fn new(memory: usize) -> Self {
        Self {
            memory: RecentLines::new(memory),
            targets: HashMap::new(),
            departed: VecDeque::new(),
            departed_bytes: 0,
            turns: 0,
            swept_mono_us: None,
            lenient_until_us: 0,
            counts: Counts::default(),
        }
    }

    /// The cursor that the next entry will have.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.memory.next()
    }

    /// The remembered entries from a cursor on; see [`RecentLines::since`].
    #[must_use]
    pub fn since(&self, cursor: u64, most: usize) -> LinesSince {
        self.memory.since(cursor, most)
    }

    /// The memory behind the stream.
    #[must_use]
    pub fn memory(&self) -> &RecentLines {
        &self.memory
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Every life that is remembered, those that greeted first in front.
    #[must_use]
    pub fn targets(&self) -> Vec<&Target> {
        let mut targets: Vec<_> = self.targets.values().collect();
        targets.sort_by_key(|target| target.turn);
        targets
    }

    /// How many targets have a connection, and how many of these are silent.
    #[must_use]
    pub fn present(&self) -> (usize, usize) {
        let connected = self.targets.values().filter(|target| target.connected);
        connected.fold((0, 0), |(all, silent), target| (all + 1, silent + usize::from(target.silent)))
    }

    /// A connection greets. It gets its seat and the number of the line that it should begin with; a connection
    /// that spoke for the same life before has lost its seat by that.
    pub fn join(&mut self, hello: Hello, peer: &str, at: Reading) -> (Seat, u64) {
        let seat = Seat { boot: hello.boot.clone(), turn: self.turns };
        self.turns += 1;
        self.counts.joined += 1;
        if let Some(former) = self.targets.get(&seat.boot).filter(|target| target.connected) {
            let former = Seat { boot: seat.boot.clone(), turn: former.turn };
            self.leave(&former, "replaced by a new connection", at);
        }
        self.departed.retain(|(boot, _)| *boot != seat.boot);
        if let Some(target) = self.targets.get_mut(&seat.boot) {
            self.departed_bytes -= target.weight();
            target.greet(hello.clone(), peer, seat.turn, at);
        } else {
            self.targets.insert(seat.boot.clone(), Target::new(hello.clone(), peer, seat.turn, at));
        }
        self.enter(at, Entry::Joined { hello, peer: peer.to_owned() });
        self.step_over_stumbling_block(&seat.boot, at);
        let want = self.targets.get(&seat.boot).map_or(0, |target| target.next);
        (seat, want)
    }

    /// A line that was refused twice is given up, or its target would send it for ever.
    fn step_over_stumbling_block(&mut self, boot: &str, at: Reading) {
        let Some(target) = self.targets.get_mut(boot) else { return };
        if target.stumbled == (target.next, 2) {
            let first = target.next;
            target.next += 1;
            target.missing += 1;
            self.counts.missing += 1;
            self.enter(at, Entry::Missing { boot: boot.to_owned(), first, lines: 1 });
        }
    }

    /// Something that a greeted connection said. False if it has lost its seat or its right to be heard.
    pub fn hear(&mut self, seat: &Seat, peer: &str, said: &Said<'_>, at: Reading) -> bool {
        let Some(target) = self.targets.get_mut(&seat.boot).filter(|target| target.holds(seat)) else {
            return false;
        };
        match said {
            Said::Hello(_) => false,
            Said::Nonsense(nonsense) => {
                self.nonsense(peer, nonsense, at);
                self.stumble(seat);
                self.leave(seat, "sent nonsense", at);
                false
            }
            Said::Beat { next } => {
                target.beats += 1;
                target.told = target.told.max(*next);
                self.counts.beats += 1;
                self.sign_of_life(seat, at);
                true
            }
            Said::Line { seq, text } => {
                self.sign_of_life(seat, at);
                self.line(seat, *seq, text, at);
                true
            }
        }
    }

    fn line(&mut self, seat: &Seat, seq: u64, text: &str, at: Reading) {
        let Some(target) = self.targets.get_mut(&seat.boot) else { return };
        if seq < target.next {
            target.duplicates += 1;
            self.counts.duplicates += 1;
            return;
        }
        let (first, lines) = (target.next, seq - target.next);
        target.missing = target.missing.saturating_add(lines);
        target.lines += 1;
        target.next = seq + 1;
        target.told = target.told.max(target.next);
        self.counts.lines += 1;
        self.counts.missing = self.counts.missing.saturating_add(lines);
        if lines > 0 {
            self.enter(at, Entry::Missing { boot: seat.boot.clone(), first, lines });
        }
        self.memory.push(|cursor, buffer| {
            head(buffer, cursor, at);
            buffer.extend_from_slice(b"{\"line\":");
            buffer.extend_from_slice(text.as_bytes());
            buffer.extend_from_slice(b"}}\n");
        });
    }

    fn sign_of_life(&mut self, seat: &Seat, at: Reading) {
        let Some(target) = self.targets.get_mut(&seat.boot) else { return };
        let silent_us = at.mono_us.saturating_sub(target.last_mono_us);
        target.last_mono_us = at.mono_us;
        if std::mem::take(&mut target.silent) {
            self.enter(at, Entry::Resumed { boot: seat.boot.clone(), silent_us });
        }
    }

    /// Bytes were dropped, of a connection that need not have greeted.
    pub fn nonsense(&mut self, peer: &str, nonsense: &Nonsense, at: Reading) {
        let Nonsense { bytes, error } = nonsense.clone();
        self.counts.nonsense += 1;
        self.enter(at, Entry::Nonsense { peer: peer.to_owned(), bytes, error });
    }

    fn stumble(&mut self, seat: &Seat) {
        let Some(target) = self.targets.get_mut(&seat.boot) else { return };
        let times = if target.stumbled.0 == target.next { target.stumbled.1 + 1 } else { 1 };
        target.stumbled = (target.next, times.min(2));
    }

    /// A connection ended: `closed`, `reset`, or in another way. Nothing happens if it has lost its seat.
    pub fn leave(&mut self, seat: &Seat, how: &str, at: Reading) {
        let Some(target) = self.targets.get_mut(&seat.boot).filter(|target| target.holds(seat)) else {
            return;
        };
        target.connected = false;
        target.silent = false;
        target.left = Some(how.to_owned());
        let (last_mono_us, told) = (target.last_mono_us, target.told);
        self.departed_bytes += target.weight();
        self.departed.push_back((seat.boot.clone(), seat.turn));
        self.counts.left += 1;
        self.enter(at, Entry::Left { boot: seat.boot.clone(), how: how.to_owned(), last_mono_us, told });
        while self.departed.len() > MOST_DEPARTED || self.departed_bytes > MOST_DEPARTED_BYTES {
            let Some((boot, _)) = self.departed.pop_front() else { break };
            self.departed_bytes -= self.targets.remove(&boot).map_or(0, |target| target.weight());
        }
    }

    /// Looks for targets that have fallen silent; to be called every [`SWEEP_US`].
    ///
    /// If that comes late, what the targets said meanwhile may still lie unread, so nobody is called silent until
    /// there was time to read it.
    pub fn sweep(&mut self, at: Reading) {
        let since = self.swept_mono_us.replace(at.mono_us).map_or(0, |last| at.mono_us.saturating_sub(last));
        if since > LATE_US {
            self.counts.stalls += 1;
            self.counts.worst_stall_us = self.counts.worst_stall_us.max(since - SWEEP_US);
            self.lenient_until_us = at.mono_us + SILENCE_US;
        }
        if at.mono_us < self.lenient_until_us {
            return;
        }
        let quiet = |target: &&mut Target| {
            target.connected && !target.silent && at.mono_us.saturating_sub(target.last_mono_us) > SILENCE_US
        };
        let mut fallen = Vec::new();
        for target in self.targets.values_mut().filter(quiet) {
            target.silent = true;
            fallen.push((target.hello.boot.clone(), target.last_mono_us));
        }
        for (boot, last_mono_us) in fallen {
            self.counts.silences += 1;
            self.enter(at, Entry::Silent { boot, last_mono_us });
        }
    }

    fn enter(&mut self, at: Reading, entry: Entry) {
        let Reading { mono_us, wall_us } = at;
        self.memory.push(|cursor, buffer| {
            let recorded =
                Recorded { v: VERSION, cursor, received_mono_us: mono_us, received_wall_us: wall_us, entry };
            // Serialising our own types into memory cannot fail.
            let _ = serde_json::to_writer(&mut *buffer, &recorded);
            buffer.push(b'\n');
        });
    }
}

/// The beginning of an entry, as [`Recorded`] is serialised.
fn head(buffer: &mut Vec<u8>, cursor: u64, at: Reading) {
    use std::io::Write as _;
    let Reading { mono_us, wall_us } = at;
    // Writing into a vector cannot fail.
    let _ = write!(
        buffer,
        "{{\"v\":{VERSION},\"cursor\":{cursor},\"received_mono_us\":{mono_us},\"received_wall_us\":{wall_us},\"entry\":"
    );
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
