//! Slots to start pods, handed out by priority.
//!
//! The pods of a case belong together: a client that times out before its server has started shows nothing. So a case
//! that has started comes before all cases that have not started. Of the cases that have not started, the longest comes
//! first.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The lowest value comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StartPriority {
    /// Whether the case has no pods yet.
    pub(super) fresh: bool,
    /// How long the case takes.
    pub(super) takes_us: Reverse<u64>,
}

/// A number of slots to start pods.
#[derive(Clone)]
pub(super) struct StartSlots {
    state: Arc<Mutex<SlotState>>,
}

struct SlotState {
    free: u32,
    requests: u64,
    /// The waiting requests. Among requests with the same priority, the oldest comes first.
    waiting: BTreeMap<(StartPriority, u64), WaitingForSlots>,
}

struct WaitingForSlots {
    wanted: u32,
    give: oneshot::Sender<StartSlot>,
}

/// Slots that are taken until this is dropped.
pub(super) struct StartSlot {
    slots: StartSlots,
    count: u32,
}

impl StartSlots {
    /// Creates this number of slots, all of them free.
    pub(super) fn new(count: u32) -> Self {
        Self { state: Arc::new(Mutex::new(SlotState { free: count, requests: 0, waiting: BTreeMap::new() })) }
    }

    /// Waits until this many slots are free and no request with a higher priority needs them.
    pub(super) async fn take(&self, wanted: u32, priority: StartPriority) -> Option<StartSlot> {
        let (give, given) = oneshot::channel();
        {
            let mut state = self.lock();
            let number = state.requests;
            state.requests += 1;
            state.waiting.insert((priority, number), WaitingForSlots { wanted, give });
        }
        self.hand_out();
        given.await.ok()
    }

    /// Gives free slots to waiting requests. A smaller request never overtakes the first one.
    fn hand_out(&self) {
        while let Some(first) = self.next() {
            // If the receiver is gone, the slot is dropped here, outside the lock, and is free again.
            drop(first.give.send(StartSlot { slots: self.clone(), count: first.wanted }));
        }
    }

    fn next(&self) -> Option<WaitingForSlots> {
        let mut state = self.lock();
        let wanted = state.waiting.first_key_value()?.1.wanted;
        state.free = state.free.checked_sub(wanted)?;
        state.waiting.pop_first().map(|(_, first)| first)
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StartSlot {
    fn drop(&mut self) {
        self.slots.lock().free += self.count;
        self.slots.hand_out();
    }
}
