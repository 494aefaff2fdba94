//! SIGINT and SIGTERM: the first one ends the run and cleans up, the second one ends the program immediately.

use std::io;

use probity_report::Exit;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::progress::console::Console;
use super::progress::screen::{self, SharedBoard};

/// The signals that the program handles. Until they are opened, a signal ends the program immediately.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Starts to queue signals. Call this before creating anything that could be left behind. It must run inside a
    /// runtime.
    pub(crate) fn open() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}

/// Waits for signals. `cleaned` is cancelled when the cleanup is over. If the program exits before that, `abandon` is called,
/// and returns what may be left on the cluster.
pub(crate) async fn listen(
    mut signals: Signals,
    (stop, cleaned): (CancellationToken, CancellationToken),
    board: SharedBoard,
    console: Console,
    abandon: impl FnOnce() -> String,
) {
    let first = signals.next().await;
    let doing = if cleaned.is_cancelled() {
        "the run has ended; writing its results"
    } else {
        screen::with(&board, |board| board.note_interruption());
        stop.cancel();
        "no new cases will start; cleaning up"
    };
    console.err(&format!("probity: {first}: {doing}. Interrupt again to exit immediately.\n"));
    let second = signals.next().await;
    if cleaned.is_cancelled() {
        console.err(&format!("probity: {second}: the results may be incomplete\n"));
        std::process::exit(i32::from(Exit::Interrupted.code()));
    }
    console.err(&format!("probity: {second} again: {}\n", abandon()));
    std::process::exit(i32::from(Exit::LeftBehind.code()));
}
