//! Shows the progress: on a terminal as moving lines, elsewhere as one line every minute.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use probity_cluster::RunClock;

use super::ProgressBoard;
use super::console::Console;
use crate::output;

/// How often moving lines are drawn.
const FRAME: Duration = Duration::from_millis(250);
/// How often a line is written elsewhere.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// How many cases are shown.
const SHOWN: usize = 8;

/// A board that several threads share.
pub(crate) type SharedBoard = Arc<Mutex<ProgressBoard>>;

/// Locks a board and calls `act` with it.
pub(crate) fn with<T>(board: &SharedBoard, act: impl FnOnce(&mut ProgressBoard) -> T) -> T {
    // After a panic elsewhere, the board has at worst old numbers.
    act(&mut board.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether lines may move: standard error must be a terminal.
fn moves() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The thread that shows the board.
pub(crate) struct Screen {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Screen {
    /// Starts to show a board, and returns the console that writes around it.
    pub(crate) fn open(board: SharedBoard, zero: RunClock) -> (Self, Console) {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        if moves() {
            let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let console = Console::beside(lines.clone());
            let thread = thread::spawn(move || draw(&lines, &board, zero, &stopped));
            return (Self { stop, thread }, console);
        }
        let console = Console::default();
        let writer = console.clone();
        let thread = thread::spawn(move || beat(&writer, &board, zero, &stopped));
        (Self { stop, thread }, console)
    }

    /// Stops the screen.
    pub(crate) fn close(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // A panic of the screen does not fail the run.
        let _ = self.thread.join();
    }
}

fn draw(lines: &MultiProgress, board: &SharedBoard, zero: RunClock, stop: &AtomicBool) {
    let style =
        ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let add = |_| lines.add(ProgressBar::new_spinner().with_style(style.clone()));
    let bars: Vec<ProgressBar> = (0..=SHOWN).map(add).collect();
    while !stop.load(Ordering::Relaxed) {
        let now = zero.us();
        let (headline, cases) = with(board, |board| (board.headline(now), board.cases(now, SHOWN)));
        let texts = std::iter::once(headline).chain(cases).chain(std::iter::repeat(String::new()));
        for (bar, text) in bars.iter().zip(texts) {
            let text = output::visible(&text);
            if bar.message() != text {
                bar.set_message(text.into_owned());
            }
        }
        thread::park_timeout(FRAME);
    }
    for bar in &bars {
        bar.finish_and_clear();
    }
    let _ = lines.clear();
}

fn beat(console: &Console, board: &SharedBoard, zero: RunClock, stop: &AtomicBool) {
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let left = HEARTBEAT.saturating_sub(last.elapsed());
        if left.is_zero() {
            console.err(&with(board, |board| board.heartbeat(zero.us())));
            last = Instant::now();
        } else {
            thread::park_timeout(left);
        }
    }
}
