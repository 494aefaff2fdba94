//! The shared state of the recorder's tasks: the merged stream with its lock, the clock, and the notification of
//! readers.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::merged::MergedStream;
use crate::clock::Clock;
use crate::locks::lock;
use crate::recent::LinesSince;
use crate::token::Token;

/// A follower waits this long for more lines, so that it does not wake up for each line.
const GATHER: Duration = Duration::from_millis(2);
/// With this many bytes, a follower does not wait for more.
const PLENTY: usize = 32 * 1024;

/// Further connections of targets are closed immediately.
const MOST_CONNECTIONS: usize = 4096;
/// This many of these connections may have a long unfinished line at the same time.
const MOST_LONG_LINES: usize = 32;
/// This many readers may follow the stream at the same time.
const MOST_FOLLOWERS: usize = 64;

/// The shared state of the recorder.
pub(super) struct RecorderState {
    pub(super) clock: Clock,
    /// The token that greetings and queries must contain.
    pub(super) token: Token,
    /// The random name of this process. Cursors of another process are not valid here.
    pub(super) name: String,
    merged: Mutex<MergedStream>,
    next: watch::Sender<u64>,
    /// Connections that were refused because there were too many.
    pub(super) turned_away: AtomicU64,
    /// Open connections of targets, greeted or not.
    pub(super) connections: Slots,
    /// Connections with a long unfinished line.
    pub(super) long_lines: Slots,
    /// Connections that were closed because they did not greet with the token.
    pub(super) strangers: AtomicU64,
    /// Queries that were refused because the token was missing or wrong.
    pub(super) refused: AtomicU64,
    /// Readers that follow the stream.
    pub(super) followers: Slots,
    /// Entries that are missing in the file, because they were dropped from memory before they were written, or because
    /// writing failed.
    pub(super) unfiled: AtomicU64,
}

impl RecorderState {
    pub(super) fn new(clock: Clock, token: Token, memory: usize) -> Self {
        Self {
            clock,
            token,
            name: crate::identity::random_name(),
            merged: Mutex::new(MergedStream::new(memory)),
            next: watch::Sender::new(0),
            turned_away: AtomicU64::new(0),
            connections: Slots::new(MOST_CONNECTIONS),
            long_lines: Slots::new(MOST_LONG_LINES),
            strangers: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            followers: Slots::new(MOST_FOLLOWERS),
            unfiled: AtomicU64::new(0),
        }
    }

    /// Changes the stream, and wakes the readers if entries were added.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut MergedStream) -> T) -> T {
        let (result, next) = {
            let mut merged = lock(&self.merged);
            let result = change(&mut merged);
            (result, merged.next())
        };
        self.next.send_if_modified(|told| {
            let news = next > *told;
            *told = next.max(*told);
            news
        });
        result
    }

    /// Calls `look` with the stream.
    pub(super) fn look<T>(&self, look: impl FnOnce(&MergedStream) -> T) -> T {
        look(&lock(&self.merged))
    }

    /// The entries in memory from a cursor on, at most `most` bytes.
    pub(super) fn since(&self, cursor: u64, most: usize) -> LinesSince {
        self.look(|merged| merged.since(cursor, most))
    }

    /// Like [`Self::since`], but waits for the first entry, and then a moment for more.
    pub(super) async fn follow(&self, cursor: u64, most: usize) -> LinesSince {
        self.wait_for(cursor).await;
        let since = self.since(cursor, most);
        if since.len() >= PLENTY.min(most) {
            return since;
        }
        tokio::time::sleep(GATHER).await;
        self.since(cursor, most)
    }

    /// Waits until there is an entry with this cursor.
    pub(super) async fn wait_for(&self, cursor: u64) {
        // The sender exists as long as `self`, so this ends only when the entry exists.
        let _ = self.next.subscribe().wait_for(|next| *next > cursor).await;
    }
}

/// A limited number of slots.
pub(super) struct Slots {
    free: Arc<Semaphore>,
    most: usize,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), most }
    }

    /// Takes a slot, which is free again when the permit is dropped. `None` if all are taken.
    pub(super) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> u64 {
        (self.most - self.free.available_permits()) as u64
    }
}
