//! The order of a run: all cases at once, as far as the nodes bear it, the longest first, each as a whole.
//!
//! Cases wait most of their time, so what limits a run is not their number but two things: how many pods the nodes
//! take, and how many containers can start at the same time before they delay each other. Both are slots here. Cases
//! that must be alone run after all others, one by one.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use probity_case::Case;
use probity_script::Span;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Zero;
use crate::books::Books;
use crate::turns::{Precedence, Turn, Turns};

/// How long noise holds new pods back at most: a noisy machine must not stop a run.
const PATIENCE: Duration = Duration::from_secs(3);
/// Noise this young holds new pods back.
const YOUNG_US: i64 = 400_000;

/// The slots of a run.
#[derive(Clone)]
pub struct Slots {
    pods: Arc<Semaphore>,
    all_pods: u32,
    starts: Turns,
    all_starts: u32,
    books: Books,
    zero: Zero,
}

/// The pods of a case may be there as long as this lives.
pub struct Room {
    _pods: OwnedSemaphorePermit,
}

impl Slots {
    /// Slots for so many pods at once, and so many starting at the same time.
    #[must_use]
    pub fn new(pods: u32, starts: u32, books: Books, zero: Zero) -> Self {
        let (all_pods, all_starts) = (pods.max(1), starts.max(1));
        let pods = Arc::new(Semaphore::new(all_pods as usize));
        Self { pods, all_pods, starts: Turns::new(all_starts), all_starts, books, zero }
    }

    /// Waits for room for the pods of a case. A case that wants more than there is gets all there is.
    pub async fn room(&self, case: &Case) -> Option<Room> {
        let wanted = u32::try_from(case.most_pods()).unwrap_or(u32::MAX).clamp(1, self.all_pods);
        let pods = Arc::clone(&self.pods).acquire_many_owned(wanted).await.ok()?;
        Some(Room { _pods: pods })
    }

    /// Waits for the turn of so many more pods of a case to start, a little longer while the node is held up. Who wants
    /// more than may start at a time gets all turns there are.
    pub async fn start(&self, case: &Case, fresh: bool, pods: u64) -> Option<Turn> {
        let wanted = u32::try_from(pods).unwrap_or(u32::MAX).clamp(1, self.all_starts);
        let precedence = Precedence { fresh, takes_us: Reverse(case.forecast().micros()) };
        let turn = self.starts.take(wanted, precedence).await?;
        let began = tokio::time::Instant::now();
        while began.elapsed() < PATIENCE && self.zero.us() - self.books.last_noise_us() < YOUNG_US {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(turn)
    }
}

/// Splits cases into those that may run together, the longest first, and those that must be alone.
#[must_use]
pub fn order(cases: Vec<Case>) -> (Vec<Case>, Vec<Case>) {
    let (alone, mut together): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.quiet);
    together
        .sort_by(|a, b| b.forecast().micros().cmp(&a.forecast().micros()).then_with(|| a.name.cmp(&b.name)));
    (together, alone)
}

/// How long a run of these cases probably takes, clean-up included.
#[must_use]
pub fn forecast(cases: &[Case], starts: u32) -> Span {
    let us = |case: &Case| case.forecast().micros();
    let longest = cases.iter().filter(|case| !case.quiet).map(us).max().unwrap_or(0);
    let alone: u64 = cases.iter().filter(|case| case.quiet).map(us).sum();
    let pods: u64 = cases.iter().map(Case::most_pods).sum();
    Span::from_micros(10_000_000 + longest + alone + pods * 1_500_000 / u64::from(starts.max(1)))
}
