//! What SIGINT and SIGTERM do: the first ends the run in good order, the second ends the program at once.

use probity_report::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::live::screen::{self, SharedBoard};
use crate::live::voice::Voice;

/// Waits for signals. `remains` says what may be left on the cluster, and how to remove it.
pub(crate) async fn listen(stop: CancellationToken, board: SharedBoard, voice: Voice, remains: String) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return voice
            .err("probity: signals cannot be listened to; an interruption will leave things behind\n");
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
    voice.err(&format!(
        "probity: {first}: no more cases begin, and all that was made is removed; once more to end at once\n"
    ));
    let second = next().await;
    voice.err(&format!("probity: {second} again: {remains}\n"));
    std::process::exit(i32::from(Exit::LeftBehind.code()));
}
