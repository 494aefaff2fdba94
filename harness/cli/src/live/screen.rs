//! Shows the board: on a terminal as lines that move, elsewhere as one line a minute.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use probity_cluster::RunClock;

use super::Board;
use super::voice::Voice;

/// How often a moving screen is drawn.
const FRAME: Duration = Duration::from_millis(250);
/// How often there is a sign of life elsewhere.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// So many cases are shown.
const SHOWN: usize = 8;

/// A board that several look at.
pub(crate) type SharedBoard = Arc<Mutex<Board>>;

/// Does something with a board.
pub(crate) fn with<T>(board: &SharedBoard, act: impl FnOnce(&mut Board) -> T) -> T {
    // Whoever panicked with the board in hand left numbers behind, and no broken promise.
    act(&mut board.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether lines may move: someone must be looking at standard error.
pub(crate) fn moves() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The thread that shows the board, until it is told to stop.
pub(crate) struct Screen {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Screen {
    /// Begins to show a board, and gives the voice to speak beside it.
    pub(crate) fn open(board: SharedBoard, zero: RunClock) -> (Self, Voice) {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        if moves() {
            let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let voice = Voice::beside(lines.clone());
            let thread = thread::spawn(move || draw(&lines, &board, zero, &stopped));
            return (Self { stop, thread }, voice);
        }
        let voice = Voice::default();
        let speaker = voice.clone();
        let thread = thread::spawn(move || beat(&speaker, &board, zero, &stopped));
        (Self { stop, thread }, voice)
    }

    /// Ends the show.
    pub(crate) fn close(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // A screen that broke takes nothing with it.
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
            if bar.message() != text {
                bar.set_message(text);
            }
        }
        thread::park_timeout(FRAME);
    }
    for bar in &bars {
        bar.finish_and_clear();
    }
    let _ = lines.clear();
}

fn beat(voice: &Voice, board: &SharedBoard, zero: RunClock, stop: &AtomicBool) {
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let left = HEARTBEAT.saturating_sub(last.elapsed());
        if left.is_zero() {
            voice.err(&with(board, |board| board.heartbeat(zero.us())));
            last = Instant::now();
        } else {
            thread::park_timeout(left);
        }
    }
}
