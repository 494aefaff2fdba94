//! The bounded workers of a listener: who gets one, who waits for one, and who is sent away.
//!
//! A request waits even when its sender has given up, and then takes its worker for no time at all.

use super::connection::Line;
use crate::pod::Pool;
use crate::world::World;

/// A worker of a listener, by its place.
pub(super) enum Place {
    /// All are served at once.
    Unbounded,
    /// This worker begins at this moment.
    Worker(usize, i64),
    /// All are busy, and so many wait that nobody more may.
    Full,
}

impl World<'_> {
    /// A request asks for a worker.
    pub(super) fn take_worker(&mut self, line: &Line) -> Place {
        let Some(workers) = line.door.listener.workers else { return Place::Unbounded };
        let Some(life) = self.life_mut(line.door.life) else { return Place::Unbounded };
        let pool = life.pools.entry(line.door.name.clone()).or_insert_with(|| Pool {
            free: vec![0; usize::from(workers.count).max(1)],
            waiting: Vec::new(),
        });
        pool.waiting.retain(|until| *until > line.from);
        let first = pool.free.iter().enumerate().min_by_key(|(_, free)| **free);
        let Some((worker, free)) = first.map(|(worker, free)| (worker, *free)) else {
            return Place::Unbounded;
        };
        if free <= line.from {
            return Place::Worker(worker, line.from);
        }
        if pool.waiting.len() >= workers.queue.map_or(usize::MAX, usize::from) {
            return Place::Full;
        }
        pool.waiting.push(free);
        Place::Worker(worker, free)
    }

    /// A request is done with at a moment, and its worker is free from then on.
    pub(super) fn release_worker(&mut self, line: &Line, at: i64) {
        let Some(worker) = line.worker else { return };
        let pool = self.life_mut(line.door.life).and_then(|life| life.pools.get_mut(&line.door.name));
        if let Some(free) = pool.and_then(|pool| pool.free.get_mut(worker)) {
            *free = at;
        }
    }
}
