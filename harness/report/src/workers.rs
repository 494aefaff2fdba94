//! Work on many items at the same time, with the results in the order of the items.
//!
//! Histories are judged in this way: each is read, judged and dropped before its thread takes the next one, so only as
//! many are in memory as there are threads. The results do not depend on the number of threads.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How many results for each thread may wait for an earlier one. A long item does not stop the other threads at once, and
/// the waiting results do not fill the memory.
const AHEAD: usize = 4;

/// The stack of a thread: that of a main thread, because the same code runs in both.
const STACK: usize = 8 << 20;

/// A number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    threads: usize,
}

impl Workers {
    /// One thread for each processor that this process may use.
    #[must_use]
    pub fn all() -> Self {
        Self::of(thread::available_parallelism().map_or(1, usize::from))
    }

    /// This many threads, at least one.
    #[must_use]
    pub fn of(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Does the work for each item, on all threads, and calls `take` with the results on this thread, in the order of
    /// the items. Stops at the first error of `take`. If the work panics, so does this function, when it is the turn of
    /// that item. If no thread can be started, or only one is wanted, this thread does the work.
    ///
    /// # Errors
    ///
    /// The error of `take`.
    pub fn in_order<T: Sync, R: Send, E>(
        self,
        items: &[T],
        work: impl Fn(&T) -> R + Sync,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let threads = self.threads.min(items.len());
        let queue = Queue::new(items.len(), threads * AHEAD);
        let worker = || {
            while let Some(at) = queue.next() {
                queue.put(at, catch_unwind(AssertUnwindSafe(|| work(&items[at]))));
            }
        };
        thread::scope(|scope| {
            // Also if `take` panics, because the scope waits for the threads.
            let _stop = StopAtTheEnd(&queue);
            let start = |nth: &usize| {
                let thread = thread::Builder::new().name(format!("worker-{nth}")).stack_size(STACK);
                thread.spawn_scoped(scope, worker).is_ok()
            };
            let started = if threads > 1 { (0..threads).filter(start).count() } else { 0 };
            if started == 0 {
                return items.iter().try_for_each(|item| take(work(item)));
            }
            (0..items.len())
                .try_for_each(|at| take(queue.wait_for(at).unwrap_or_else(|panic| resume_unwind(panic))))
        })
    }
}

/// The items that no thread has taken yet, and the results that nobody has taken yet.
struct Queue<R> {
    items: usize,
    ahead: usize,
    state: Mutex<State<R>>,
    changed: Condvar,
}

struct State<R> {
    /// The next item to work on.
    next: usize,
    /// How many results have been taken.
    taken: usize,
    done: BTreeMap<usize, thread::Result<R>>,
    stopped: bool,
}

impl<R> Queue<R> {
    fn new(items: usize, ahead: usize) -> Self {
        let state = State { next: 0, taken: 0, done: BTreeMap::new(), stopped: false };
        Self { items, ahead, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next item, as soon as not too many results wait. `None` at the end.
    fn next(&self) -> Option<usize> {
        let waits = |state: &mut State<R>| {
            !state.stopped && state.next < self.items && state.next >= state.taken + self.ahead
        };
        let state = self.changed.wait_while(self.lock(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let at = state.next;
        if state.stopped || at >= self.items {
            return None;
        }
        state.next += 1;
        Some(at)
    }

    fn put(&self, at: usize, result: thread::Result<R>) {
        self.lock().done.insert(at, result);
        self.changed.notify_all();
    }

    /// Waits for a result. The results are taken in their order.
    fn wait_for(&self, at: usize) -> thread::Result<R> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.done.remove(&at) {
                state.taken = at + 1;
                drop(state);
                self.changed.notify_all();
                return result;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct StopAtTheEnd<'q, R>(&'q Queue<R>);

impl<R> Drop for StopAtTheEnd<'_, R> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Work that takes longer for some items, so that the threads end in another order.
    fn uneven(item: &u64) -> u64 {
        (0..(item * 7919 % 13) * 2000).for_each(|_| std::hint::spin_loop());
        item * 2
    }

    #[test]
    fn results_come_in_the_order_of_the_items_with_any_number_of_threads() {
        let items: Vec<u64> = (0..500).collect();
        let doubled: Vec<u64> = items.iter().map(|item| item * 2).collect();
        for threads in [0, 1, 2, 3, 16, 600] {
            let mut taken = Vec::new();
            let ended = Workers::of(threads).in_order(&items, uneven, |result| {
                taken.push(result);
                Ok::<(), Infallible>(())
            });
            assert!(ended.is_ok() && taken == doubled, "{threads} threads");
        }
    }

    #[test]
    fn only_as_many_items_are_worked_on_as_there_are_threads_and_few_results_wait() {
        let (busy, most, begun) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<u64> = (0..200).collect();
        let work = |item: &u64| {
            begun.fetch_add(1, Ordering::SeqCst);
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let result = uneven(item);
            busy.fetch_sub(1, Ordering::SeqCst);
            result
        };
        let mut taken = 0;
        let ended = Workers::of(3).in_order(&items, work, |_| {
            assert!(begun.load(Ordering::SeqCst) <= taken + 1 + 3 * AHEAD, "{taken}");
            taken += 1;
            Ok::<(), Infallible>(())
        });
        assert!(ended.is_ok() && most.load(Ordering::SeqCst) <= 3);
    }

    #[test]
    fn the_first_error_stops_the_work() {
        let begun = AtomicUsize::new(0);
        let items: Vec<u64> = (0..10_000).collect();
        let work = |item: &u64| {
            begun.fetch_add(1, Ordering::SeqCst);
            *item
        };
        let ended =
            Workers::of(4).in_order(&items, work, |item| if item == 9 { Err("nine") } else { Ok(()) });
        assert_eq!(ended, Err("nine"));
        assert!(begun.load(Ordering::SeqCst) < 100);
    }

    #[test]
    fn a_panic_of_the_work_or_of_the_taker_is_passed_on_and_nothing_waits_forever() {
        let items: Vec<u64> = (0..1000).collect();
        for (work_panics, threads) in [(true, 1), (true, 4), (false, 1), (false, 4)] {
            let run = || {
                let work = |item: &u64| assert!(!(work_panics && *item == 5), "the work");
                let mut taken = 0;
                Workers::of(threads).in_order(&items, work, |()| {
                    taken += 1;
                    assert!(work_panics || taken < 6, "the taker");
                    Ok::<(), Infallible>(())
                })
            };
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            let said = if work_panics { "the work" } else { "the taker" };
            assert_eq!(panic.downcast_ref::<&str>(), Some(&said), "{threads} threads");
        }
    }
}
