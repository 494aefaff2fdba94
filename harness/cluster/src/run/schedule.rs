//! The order of a run: all cases in parallel, as far as the nodes have capacity, the longest first, each as a whole.
//!
//! Cases wait most of their time, so their number does not limit a run. Two other numbers limit it: how many pods the
//! nodes can run, and how many containers can start at the same time before they delay each other. Cases that must run
//! alone run after all other cases, one by one. A case starts only while the nodes have idle processors, because a busy
//! node cannot be judged. But a run does not wait long for idle processors.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use probity_case::Case;
use probity_script::Span;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::run::history_writer::HistoryWriter;
use crate::run::start_slots::{StartPriority, StartSlot, StartSlots};
use crate::run_clock::RunClock;

const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The longest time by which noise delays new pods. A noisy machine must not stop a run.
const PATIENCE: Duration = Duration::from_secs(3);
/// Noise delays new pods only if it is more recent than this.
const RECENT_US: i64 = 400_000;
/// A busy node reports once a second that it is busy. Without a report in this time, it has an idle processor.
const BUSY_US: i64 = 1_500_000;
/// The longest time by which a busy node delays a case that has not begun.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);
/// A run waits for busy nodes for at most one nth of its time (2: half of it), because something else may keep them
/// busy.
const BUSY_PART: u32 = 2;

/// How many pods a run may have, and how many may start at the same time: on each node, for the cases that are bound to
/// it, and on all nodes together, for the other cases.
#[derive(Clone)]
pub(super) struct RunCapacity {
    pods: Arc<Semaphore>,
    all_pods: u32,
    starts: StartSlots,
    all_starts: u32,
    starts_on: Arc<BTreeMap<String, StartSlots>>,
    starts_a_node: u32,
    histories: HistoryWriter,
    clock: RunClock,
    /// How many times cases have checked whether a node is still busy.
    looks: Arc<AtomicU32>,
}

impl RunCapacity {
    /// The capacity for `pods` pods, of which `starts` may start at the same time on each of these nodes.
    pub(super) fn new<'n>(
        pods: u32,
        starts: u32,
        nodes: impl ExactSizeIterator<Item = &'n String>,
        histories: HistoryWriter,
        clock: RunClock,
    ) -> Self {
        let (all_pods, starts_a_node) = (pods.max(1), starts.max(1));
        let all_starts = starts_a_node.saturating_mul(u32::try_from(nodes.len().max(1)).unwrap_or(u32::MAX));
        let starts_on = nodes.map(|node| (node.clone(), StartSlots::new(starts_a_node))).collect();
        Self {
            pods: Arc::new(Semaphore::new(all_pods as usize)),
            all_pods,
            starts: StartSlots::new(all_starts),
            all_starts,
            starts_on: Arc::new(starts_on),
            starts_a_node,
            histories,
            clock,
            looks: Arc::default(),
        }
    }

    /// Waits for capacity for the pods of a case. The case keeps the capacity until the permit is dropped. A case that
    /// needs more than the total gets the total.
    pub(super) async fn room(&self, case: &Case) -> Option<OwnedSemaphorePermit> {
        let wanted = u32::try_from(case.most_pods()).unwrap_or(u32::MAX).clamp(1, self.all_pods);
        Arc::clone(&self.pods).acquire_many_owned(wanted).await.ok()
    }

    /// Waits for slots to start this many more pods of a case on a node, or on any node, if `node` is absent; a little
    /// longer while the node is stalled. A case that needs more than the total gets the total.
    pub(super) async fn start(
        &self,
        case: &Case,
        node: Option<&str>,
        fresh: bool,
        pods: u64,
    ) -> Option<StartSlot> {
        let (slots, most) = match node.and_then(|node| self.starts_on.get(node)) {
            Some(of_node) => (of_node, self.starts_a_node),
            None => (&self.starts, self.all_starts),
        };
        let wanted = u32::try_from(pods).unwrap_or(u32::MAX).clamp(1, most);
        let priority = StartPriority { fresh, takes_us: Reverse(case.forecast().micros()) };
        let slot = slots.take(wanted, priority).await?;
        let began = tokio::time::Instant::now();
        while began.elapsed() < PATIENCE && self.clock.us() - self.histories.last_noise_us(node) < RECENT_US {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        if fresh {
            self.wait_for_a_processor(node).await;
        }
        Some(slot)
    }

    async fn wait_for_a_processor(&self, node: Option<&str>) {
        let began = tokio::time::Instant::now();
        while began.elapsed() < BUSY_PATIENCE && self.clock.us() - self.histories.last_busy_us(node) < BUSY_US
        {
            let lasted = Duration::from_micros(self.clock.us().unsigned_abs());
            if LOOK_AGAIN * self.looks.load(Ordering::Relaxed) >= lasted / BUSY_PART {
                return;
            }
            self.looks.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Splits cases into the cases that may run together, the longest first, and the cases that must run alone.
#[must_use]
pub fn order(cases: Vec<Case>) -> (Vec<Case>, Vec<Case>) {
    let (alone, mut together): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.quiet);
    together
        .sort_by(|a, b| b.forecast().micros().cmp(&a.forecast().micros()).then_with(|| a.name.cmp(&b.name)));
    (together, alone)
}

/// How long a run of these cases probably takes, including the cleanup.
#[must_use]
pub fn forecast(cases: &[Case], starts: u32) -> Span {
    let us = |case: &Case| case.forecast().micros();
    let longest = cases.iter().filter(|case| !case.quiet).map(us).max().unwrap_or(0);
    let alone: u64 = cases.iter().filter(|case| case.quiet).map(us).sum();
    let pods: u64 = cases.iter().map(Case::most_pods).sum();
    Span::from_micros(10_000_000 + longest + alone + pods * 1_500_000 / u64::from(starts.max(1)))
}
