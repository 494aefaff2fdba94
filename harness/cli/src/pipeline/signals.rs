//! SIGINT and SIGTERM: the first one ends the run in good order, the second one ends the program immediately.

use probity_report::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::progress::console::Console;
use super::progress::screen::{self, SharedBoard};

/// Waits for signals. `abandon` is called before the program ends immediately, and returns what may be left on the cluster.
pub(crate) async fn listen(
    stop: CancellationToken,
    board: SharedBoard,
    console: Console,
    abandon: impl FnOnce() -> String,
) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return console.err("probity: cannot handle signals; an interruption will leave objects behind\n");
    };
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        }
    };
    let first = next().await;
    screen::with(&board, |board| board.note_interruption());
    stop.cancel();
    console.err(&format!(
        "probity: {first}: no new cases will start; cleaning up. Interrupt again to exit immediately.\n"
    ));
    let second = next().await;
    console.err(&format!("probity: {second} again: {}\n", abandon()));
    std::process::exit(i32::from(Exit::LeftBehind.code()));
}
