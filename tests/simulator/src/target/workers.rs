//! The limited workers of a listener: which requests get one, wait for one, or are rejected.
//!
//! A request waits even if its sender has given up, and then occupies its worker for no time.

use super::connection::Line;
use crate::pod::Pool;
use crate::world::World;

impl World<'_> {
    /// Gives a request a worker as soon as one is free. Returns whether the request is served at all; it is not served
    /// if all workers are busy and the queue is full.
    pub(super) fn take_worker(&mut self, line: &mut Line) -> bool {
        let Some(workers) = line.door.listener.workers else { return true };
        let Some(life) = self.life_mut(line.door.life) else { return true };
        let pool = life.pools.entry(line.door.name.clone()).or_insert_with(|| Pool {
            free: vec![0; usize::from(workers.count).max(1)],
            waiting: Vec::new(),
        });
        pool.waiting.retain(|until| *until > line.from);
        let first = pool.free.iter().copied().enumerate().min_by_key(|(_, free)| *free);
        let Some((worker, free)) = first else { return true };
        if free > line.from {
            if pool.waiting.len() >= workers.queue.map_or(usize::MAX, usize::from) {
                return false;
            }
            pool.waiting.push(free);
        }
        (line.came, line.worker, line.from) = (Some(line.from), Some(worker), free.max(line.from));
        true
    }

    /// Releases the worker of a request that is complete at a given time.
    pub(super) fn release_worker(&mut self, line: &Line, at: i64) {
        let Some(worker) = line.worker else { return };
        let pool = self.life_mut(line.door.life).and_then(|life| life.pools.get_mut(&line.door.name));
        if let Some(free) = pool.and_then(|pool| pool.free.get_mut(worker)) {
            *free = at;
        }
    }
}
