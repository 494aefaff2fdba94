//! The recorder's file: every entry of the merged stream is appended to it.
//!
//! The writer is an additional reader of the memory, so a slow disk does not delay anything. Entries that are dropped
//! from the memory before they are written, and entries that cannot be written, are counted. They cause a gap in the
//! cursors.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::state::RecorderState;
use crate::recent::LinesSince;

/// The maximum number of bytes that are written at once.
const PIECE: usize = 1 << 20;
/// The pause after a disk failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Appends entries to a file.
pub(super) struct FileWriter {
    file: Arc<File>,
    next: u64,
    complained: bool,
}

impl FileWriter {
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file), next: 0, complained: false }
    }

    /// Writes entries as they arrive, until it is stopped, and then all entries that have arrived by then.
    pub(super) async fn follow(mut self, state: Arc<RecorderState>, stop: CancellationToken) {
        loop {
            let since = tokio::select! {
                () = stop.cancelled() => break,
                since = state.follow(self.next, PIECE) => since,
            };
            if !self.write(&state, since).await {
                let _ = timeout(PAUSE, stop.cancelled()).await;
            }
        }
        self.finish(&state).await;
    }

    async fn finish(&mut self, state: &RecorderState) {
        while self.next < state.look(super::merged::MergedStream::next) {
            let since = state.since(self.next, PIECE);
            if !self.write(state, since).await {
                break;
            }
        }
        let file = Arc::clone(&self.file);
        // The system already has the entries. A failed sync changes nothing for a reader.
        let _ = tokio::task::spawn_blocking(move || file.sync_data()).await;
    }

    async fn write(&mut self, state: &RecorderState, since: LinesSince) -> bool {
        let forgotten = since.first.saturating_sub(self.next);
        state.unfiled.fetch_add(forgotten, Ordering::Relaxed);
        self.next = since.next;
        let (file, entries) = (Arc::clone(&self.file), since.next - since.first);
        let written = tokio::task::spawn_blocking(move || append(&file, &since)).await;
        let Err(error) = written.unwrap_or_else(|panic| Err(io::Error::other(panic))) else { return true };
        state.unfiled.fetch_add(entries, Ordering::Relaxed);
        if !std::mem::replace(&mut self.complained, true) {
            // If this message cannot be written either, the metric still shows the failure.
            let _ = writeln!(
                io::stderr().lock(),
                "agnhost-rs recorder: failed to append to the file: {error}; the file will have gaps in its \
                 cursors, and unfiled_entries in /metrics counts the missing entries"
            );
        }
        false
    }
}

/// Appends everything or nothing, as far as possible, because a truncated piece would damage the next line.
fn append(mut file: &File, since: &LinesSince) -> io::Result<()> {
    let before = file.metadata()?.len();
    let written = since.pieces.iter().try_for_each(|piece| file.write_all(piece));
    if written.is_err() {
        let _ = file.set_len(before);
    }
    written
}
