//! Slots to start pods, handed out by priority.
//!
//! The pods of a case belong together: a client that times out before its server has started shows nothing. So a case
//! that has begun comes before all that have not, and among those the longest comes first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The least comes first.
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
    /// Those who wait; of equals, the first to ask comes first.
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
    /// This number of slots, all free.
    pub(super) fn new(count: u32) -> Self {
        Self { state: Arc::new(Mutex::new(SlotState { free: count, requests: 0, waiting: BTreeMap::new() })) }
    }

    /// Waits until this many slots are free and nobody with a higher priority wants them.
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

    /// Gives free slots to those who wait. The first is never overtaken by one that wants less.
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const fn priority(fresh: bool, takes_us: u64) -> StartPriority {
        StartPriority { fresh, takes_us: Reverse(takes_us) }
    }

    /// Who gets the only slot, one after the other, of those that asked while it was taken.
    async fn order(asking: &[(&'static str, StartPriority)]) -> Vec<&'static str> {
        let slots = StartSlots::new(1);
        let taken = slots.take(1, priority(true, 0)).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = tokio::task::JoinSet::new();
        for (name, priority) in asking.iter().copied() {
            let (slots, order) = (slots.clone(), Arc::clone(&order));
            all.spawn(async move {
                let slot = slots.take(1, priority).await.unwrap();
                order.lock().unwrap().push(name);
                drop(slot);
            });
            tokio::task::yield_now().await;
        }
        drop(taken);
        all.join_all().await;
        order.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn who_has_begun_comes_first_then_the_longest_then_who_asked_first() {
        let asking = [
            ("short", priority(true, 10)),
            ("long", priority(true, 90)),
            ("also short", priority(true, 10)),
            ("begun", priority(false, 10)),
        ];
        assert_eq!(order(&asking).await, ["begun", "long", "short", "also short"]);
    }

    #[tokio::test]
    async fn who_wants_several_is_not_overtaken() {
        let slots = StartSlots::new(2);
        let one = slots.take(1, priority(true, 50)).await.unwrap();
        let two = slots.take(2, priority(true, 50));
        let small = slots.take(1, priority(true, 10));
        let (mut two, mut small) = (Box::pin(two), Box::pin(small));
        assert!(futures_util::poll!(&mut two).is_pending());
        assert!(futures_util::poll!(&mut small).is_pending());
        drop(one);
        let two = two.await.unwrap();
        assert!(futures_util::poll!(&mut small).is_pending());
        drop(two);
        small.await.unwrap();
    }

    #[tokio::test]
    async fn who_has_gone_holds_nothing() {
        let slots = StartSlots::new(1);
        let taken = slots.take(1, priority(true, 50)).await.unwrap();
        let mut gone = Box::pin(slots.take(1, priority(true, 50)));
        assert!(futures_util::poll!(&mut gone).is_pending());
        drop(gone);
        drop(taken);
        slots.take(1, priority(true, 10)).await.unwrap();
    }
}
