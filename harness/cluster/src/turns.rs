//! Turns to start pods, handed out by precedence.
//!
//! The pods of a case belong together: a client that runs its time out before its server has started shows nothing. So
//! a case that has begun comes before all that have not, and among those the longest comes first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Who comes first: the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Precedence {
    /// Whether the case has no pods yet.
    pub fresh: bool,
    /// How long the case takes.
    pub takes_us: Reverse<u64>,
}

/// So many turns.
#[derive(Clone)]
pub struct Turns {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    free: u32,
    asked: u64,
    /// Who waits; of equals, who asked first.
    waiting: BTreeMap<(Precedence, u64), Waiting>,
}

struct Waiting {
    wanted: u32,
    tell: oneshot::Sender<Turn>,
}

/// Turns that are taken as long as this lives.
pub struct Turn {
    turns: Turns,
    count: u32,
}

impl Turns {
    /// So many turns, all free.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { free: count, asked: 0, waiting: BTreeMap::new() })) }
    }

    /// Waits until so many turns are free and nobody with precedence wants them.
    pub async fn take(&self, wanted: u32, precedence: Precedence) -> Option<Turn> {
        let (tell, told) = oneshot::channel();
        {
            let mut inner = self.lock();
            let number = inner.asked;
            inner.asked += 1;
            inner.waiting.insert((precedence, number), Waiting { wanted, tell });
        }
        self.hand_out();
        told.await.ok()
    }

    /// Gives free turns to those who wait. The first of them is never overtaken by one that wants less.
    fn hand_out(&self) {
        while let Some(first) = self.next() {
            // Whoever has gone meanwhile gives the turn back: the refused one is dropped here, outside the lock.
            drop(first.tell.send(Turn { turns: self.clone(), count: first.wanted }));
        }
    }

    fn next(&self) -> Option<Waiting> {
        let mut inner = self.lock();
        let wanted = inner.waiting.first_key_value()?.1.wanted;
        inner.free = inner.free.checked_sub(wanted)?;
        inner.waiting.pop_first().map(|(_, first)| first)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.lock().free += self.count;
        self.turns.hand_out();
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const fn precedence(fresh: bool, takes_us: u64) -> Precedence {
        Precedence { fresh, takes_us: Reverse(takes_us) }
    }

    /// Who gets the only turn, one after the other, of those that asked while it was taken.
    async fn order(asking: &[(&'static str, Precedence)]) -> Vec<&'static str> {
        let turns = Turns::new(1);
        let taken = turns.take(1, precedence(true, 0)).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = tokio::task::JoinSet::new();
        for (name, precedence) in asking.iter().copied() {
            let (turns, order) = (turns.clone(), Arc::clone(&order));
            all.spawn(async move {
                let turn = turns.take(1, precedence).await.unwrap();
                order.lock().unwrap().push(name);
                drop(turn);
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
            ("short", precedence(true, 10)),
            ("long", precedence(true, 90)),
            ("also short", precedence(true, 10)),
            ("begun", precedence(false, 10)),
        ];
        assert_eq!(order(&asking).await, ["begun", "long", "short", "also short"]);
    }

    #[tokio::test]
    async fn who_wants_several_is_not_overtaken() {
        let turns = Turns::new(2);
        let one = turns.take(1, precedence(true, 50)).await.unwrap();
        let two = turns.take(2, precedence(true, 50));
        let small = turns.take(1, precedence(true, 10));
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
        let turns = Turns::new(1);
        let taken = turns.take(1, precedence(true, 50)).await.unwrap();
        let mut gone = Box::pin(turns.take(1, precedence(true, 50)));
        assert!(futures_util::poll!(&mut gone).is_pending());
        drop(gone);
        drop(taken);
        turns.take(1, precedence(true, 10)).await.unwrap();
    }
}
