//! Detects stalls of the harness itself, with a timer of 10 ms.
//!
//! If the harness stamps an event late because it was not scheduled, this must not count as lateness of the
//! kubelet.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::listen::incoming::{Incoming, harness_noise};
use crate::run_clock::RunClock;

const TICK: Duration = Duration::from_millis(10);
const TICK_US: i64 = 10_000;
/// A tick that comes later than this is a stall.
const LATE_US: i64 = 50_000;

/// Looks for stalls until it is dropped.
pub(crate) struct StallDetector {
    totals: watch::Receiver<(u64, i64)>,
    _task: AbortOnDropHandle<()>,
}

impl StallDetector {
    /// Starts, and reports every stall.
    pub(crate) fn start(clock: RunClock, out: UnboundedSender<Incoming>) -> Self {
        let (counting, totals) = watch::channel((0, 0));
        let task = tokio::spawn(async move {
            let mut due_us = clock.us() + TICK_US;
            loop {
                tokio::time::sleep(TICK).await;
                let us = clock.us();
                if is_stall(due_us, us) {
                    counting.send_modify(|(stalls, stalled_us)| {
                        *stalls += 1;
                        *stalled_us += us - due_us;
                    });
                    let what = harness_noise(due_us, us);
                    if out.send(Incoming::Happening { us, what }).is_err() {
                        return;
                    }
                }
                due_us = us + TICK_US;
            }
        });
        Self { totals, _task: AbortOnDropHandle::new(task) }
    }

    /// The number of stalls, and their total length in microseconds.
    pub(crate) fn totals(&self) -> (u64, i64) {
        *self.totals.borrow()
    }
}

fn is_stall(due_us: i64, us: i64) -> bool {
    us - due_us > LATE_US
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use probity_model::history::Happening;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn only_a_tick_that_is_late_by_more_than_50_ms_is_a_stall() {
        assert!(!is_stall(0, 50_000));
        assert!(is_stall(0, 50_001));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_stalled_harness_reports_it() {
        let (out, mut reported) = unbounded_channel();
        let detector = StallDetector::start(RunClock::now(), out);
        tokio::time::sleep(Duration::from_millis(20)).await;
        std::thread::sleep(Duration::from_millis(120));
        let Incoming::Happening { what: Happening::Noise(noise), .. } = reported.recv().await.unwrap() else {
            panic!("no noise")
        };
        assert!(noise.to_us - noise.from_us > 50_000, "{noise:?}");
        let (stalls, stalled_us) = detector.totals();
        assert!(stalls >= 1 && stalled_us > 50_000);
    }
}
