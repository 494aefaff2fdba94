//! The harness's own 10 ms ticker: it tells when the harness itself was held up.
//!
//! What the harness stamps late because it did not get the processor must not be taken for the kubelet's lateness.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use probity_model::Clock;
use probity_model::history::{Listener, Noise};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::incoming::Incoming;
use crate::zero::Zero;

const TICK: Duration = Duration::from_millis(10);
const TICK_US: i64 = 10_000;
/// A tick that comes later than this is a stall.
const LATE_US: i64 = 50_000;

/// A ticker that runs until it is dropped.
pub struct Ticker {
    totals: Arc<Totals>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct Totals {
    stalls: AtomicU64,
    held_us: AtomicI64,
}

impl Ticker {
    /// Begins to tick, and tells every stall.
    #[must_use]
    pub fn start(zero: Zero, out: UnboundedSender<Incoming>) -> Self {
        let totals = Arc::new(Totals::default());
        let counting = Arc::clone(&totals);
        let task = tokio::spawn(async move {
            let mut due_us = zero.us() + TICK_US;
            loop {
                tokio::time::sleep(TICK).await;
                let us = zero.us();
                if let Some(noise) = stall(due_us, us) {
                    counting.stalls.fetch_add(1, Ordering::Relaxed);
                    counting.held_us.fetch_add(us - due_us, Ordering::Relaxed);
                    if out.send(Incoming::Noise { us, noise }).is_err() {
                        return;
                    }
                }
                due_us = us + TICK_US;
            }
        });
        Self { totals, _task: AbortOnDropHandle::new(task) }
    }

    /// How often the harness was held up so far, and for how many microseconds in all.
    #[must_use]
    pub fn totals(&self) -> (u64, i64) {
        (self.totals.stalls.load(Ordering::Relaxed), self.totals.held_us.load(Ordering::Relaxed))
    }
}

fn stall(due_us: i64, us: i64) -> Option<Noise> {
    let late = us - due_us > LATE_US;
    late.then_some(Noise { by: Listener::Harness, clock: Clock::Harness, from_us: due_us, to_us: us })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn only_a_tick_that_is_late_by_more_than_50_ms_is_a_stall() {
        assert_eq!(stall(0, 50_000), None);
        assert_eq!(stall(0, 50_001).map(|noise| (noise.from_us, noise.to_us)), Some((0, 50_001)));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_held_up_harness_tells_so() {
        let (out, mut told) = unbounded_channel();
        let ticker = Ticker::start(Zero::now(), out);
        tokio::time::sleep(Duration::from_millis(20)).await;
        std::thread::sleep(Duration::from_millis(120));
        let Incoming::Noise { noise, .. } = told.recv().await.unwrap() else { panic!("no noise") };
        assert!(noise.to_us - noise.from_us > 50_000, "{noise:?}");
        let (stalls, held_us) = ticker.totals();
        assert!(stalls >= 1 && held_us > 50_000);
    }
}
