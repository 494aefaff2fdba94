//! The merged stream of the lines of all targets, with entries for what is missing.
//!
//! For each process of a target, it knows which line comes next. So it drops duplicate lines, reports missing lines, and
//! reports which target became silent, left or returned. It has no clock and no sockets: every call has the instant at
//! which its bytes were received. Entries of one target are in the order in which they were received. Entries of
//! different targets may be swapped within the time that reading a few lines takes, so compare their times and not their
//! cursors.

use std::collections::{HashMap, VecDeque};

use probity_script::witness::{Entry, Hello, Recorded, VERSION};

use super::messages::{Nonsense, TargetMessage};
use super::target::{ConnectionClaim, RecorderCounts, Target};
use crate::clock::Reading;
use crate::recent::{LinesSince, RecentLines};

/// A connection without a beat or a line for this long is silent. Targets beat every 100 ms.
pub const SILENCE_US: u64 = 500_000;
/// How often [`MergedStream::sweep`] must be called.
pub const SWEEP_US: u64 = 50_000;
/// A later sweep means that the recorder itself was stalled, so targets are not called silent for a while.
const LATE_US: u64 = 2 * SWEEP_US;
/// How many processes are remembered after they left. A process that returns after it was forgotten starts again.
const MOST_DEPARTED: usize = 10_000;
/// How many bytes about these processes are remembered.
const MOST_DEPARTED_BYTES: usize = 16 << 20;

/// The merged stream and all its sources.
pub struct MergedStream {
    memory: RecentLines,
    targets: HashMap<String, Target>,
    /// Targets without a connection, in the order in which they left.
    departed: VecDeque<(String, u64)>,
    departed_bytes: usize,
    turns: u64,
    swept_mono_us: Option<u64>,
    lenient_until_us: u64,
    counts: RecorderCounts,
}

impl MergedStream {
    /// An empty stream that remembers this many bytes of entries.
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
            counts: RecorderCounts::default(),
        }
    }

    /// The cursor that the next entry will have.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.memory.next()
    }

    /// The entries in memory from a cursor on; see `RecentLines::since`.
    #[must_use]
    pub fn since(&self, cursor: u64, most: usize) -> LinesSince {
        self.memory.since(cursor, most)
    }

    /// The memory of the stream.
    #[must_use]
    pub fn memory(&self) -> &RecentLines {
        &self.memory
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> RecorderCounts {
        self.counts
    }

    /// Every remembered process, in the order in which they greeted.
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

    /// A connection greets. It gets its claim and the number of the line to begin with. An earlier connection for the
    /// same process loses its claim.
    pub fn join(&mut self, hello: Hello, peer: &str, at: Reading) -> (ConnectionClaim, u64) {
        let claim = ConnectionClaim { boot: hello.boot.clone(), turn: self.turns };
        self.turns += 1;
        self.counts.joined += 1;
        if let Some(former) = self.targets.get(&claim.boot).filter(|target| target.connected) {
            let former = ConnectionClaim { boot: claim.boot.clone(), turn: former.turn };
            self.leave(&former, "replaced by a new connection", at);
        }
        self.departed.retain(|(boot, _)| *boot != claim.boot);
        if let Some(target) = self.targets.get_mut(&claim.boot) {
            self.departed_bytes -= target.weight();
            target.greet(hello.clone(), peer, claim.turn, at);
        } else {
            self.targets.insert(claim.boot.clone(), Target::new(hello.clone(), peer, claim.turn, at));
        }
        self.enter(at, Entry::Joined { hello, peer: peer.to_owned() });
        self.step_over_stumbling_block(&claim.boot, at);
        let want = self.targets.get(&claim.boot).map_or(0, |target| target.next);
        (claim, want)
    }

    /// Drops a line that was rejected twice. Otherwise, its target would send it forever.
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

    /// Processes a message of a connection that has greeted. Returns false if the connection has lost its claim or sent
    /// something invalid.
    pub fn hear(
        &mut self,
        claim: &ConnectionClaim,
        peer: &str,
        said: &TargetMessage<'_>,
        at: Reading,
    ) -> bool {
        let Some(target) = self.targets.get_mut(&claim.boot).filter(|target| target.holds(claim)) else {
            return false;
        };
        match said {
            TargetMessage::Hello(_) => false,
            TargetMessage::Nonsense(nonsense) => {
                self.nonsense(peer, nonsense, at);
                self.stumble(claim);
                self.leave(claim, "sent nonsense", at);
                false
            }
            TargetMessage::Beat { next } => {
                target.beats += 1;
                target.told = target.told.max(*next);
                self.counts.beats += 1;
                self.sign_of_life(claim, at);
                true
            }
            TargetMessage::Line { seq, text } => {
                self.sign_of_life(claim, at);
                self.line(claim, *seq, text, at);
                true
            }
        }
    }

    fn line(&mut self, claim: &ConnectionClaim, seq: u64, text: &str, at: Reading) {
        let Some(target) = self.targets.get_mut(&claim.boot) else { return };
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
            self.enter(at, Entry::Missing { boot: claim.boot.clone(), first, lines });
        }
        self.memory.push(|cursor, buffer| {
            head(buffer, cursor, at);
            buffer.extend_from_slice(b"{\"line\":");
            buffer.extend_from_slice(text.as_bytes());
            buffer.extend_from_slice(b"}}\n");
        });
    }

    fn sign_of_life(&mut self, claim: &ConnectionClaim, at: Reading) {
        let Some(target) = self.targets.get_mut(&claim.boot) else { return };
        let silent_us = at.mono_us.saturating_sub(target.last_mono_us);
        target.last_mono_us = at.mono_us;
        if std::mem::take(&mut target.silent) {
            self.enter(at, Entry::Resumed { boot: claim.boot.clone(), silent_us });
        }
    }

    /// Bytes of a connection were dropped. The connection may not have greeted.
    pub fn nonsense(&mut self, peer: &str, nonsense: &Nonsense, at: Reading) {
        let Nonsense { bytes, error } = nonsense.clone();
        self.counts.nonsense += 1;
        self.enter(at, Entry::Nonsense { peer: peer.to_owned(), bytes, error });
    }

    fn stumble(&mut self, claim: &ConnectionClaim) {
        let Some(target) = self.targets.get_mut(&claim.boot) else { return };
        let times = if target.stumbled.0 == target.next { target.stumbled.1 + 1 } else { 1 };
        target.stumbled = (target.next, times.min(2));
    }

    /// A connection ended: `closed`, `reset`, or in another way. The end is ignored if the connection has lost its
    /// claim.
    pub fn leave(&mut self, claim: &ConnectionClaim, how: &str, at: Reading) {
        let Some(target) = self.targets.get_mut(&claim.boot).filter(|target| target.holds(claim)) else {
            return;
        };
        target.connected = false;
        target.silent = false;
        target.left = Some(how.to_owned());
        let (last_mono_us, told) = (target.last_mono_us, target.told);
        self.departed_bytes += target.weight();
        self.departed.push_back((claim.boot.clone(), claim.turn));
        self.counts.left += 1;
        self.enter(at, Entry::Left { boot: claim.boot.clone(), how: how.to_owned(), last_mono_us, told });
        while self.departed.len() > MOST_DEPARTED || self.departed_bytes > MOST_DEPARTED_BYTES {
            let Some((boot, _)) = self.departed.pop_front() else { break };
            self.departed_bytes -= self.targets.remove(&boot).map_or(0, |target| target.weight());
        }
    }

    /// Looks for silent targets. Call it every [`SWEEP_US`].
    ///
    /// After a late call, messages may still be unread, so no target counts as silent until there was time to read them.
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
            // Serializing these types into memory cannot fail.
            let _ = serde_json::to_writer(&mut *buffer, &recorded);
            buffer.push(b'\n');
        });
    }
}

/// Writes the beginning of an entry, in the same form as a serialized [`Recorded`].
fn head(buffer: &mut Vec<u8>, cursor: u64, at: Reading) {
    use std::io::Write as _;
    let Reading { mono_us, wall_us } = at;
    // Writing to a vector cannot fail.
    let _ = write!(
        buffer,
        "{{\"v\":{VERSION},\"cursor\":{cursor},\"received_mono_us\":{mono_us},\"received_wall_us\":{wall_us},\"entry\":"
    );
}

#[cfg(test)]
#[path = "merged_tests.rs"]
mod tests;
