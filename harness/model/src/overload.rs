//! How long a node was overloaded: its targets were stalled, or many tasks waited for each processor.

use std::collections::BTreeMap;

use crate::history::{Happening, History};
use crate::stamp::{Clock, Interval};
use crate::timeline::covered;

impl History {
    /// The time during which the most overloaded node was overloaded, and the length of this history, in microseconds.
    #[must_use]
    pub fn overloaded(&self) -> (i64, i64) {
        let mut nodes: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
        let (mut began, mut ended) = (None, 0);
        for (_, event) in self.events() {
            began = began.or(Some(event.us));
            ended = event.us;
            let Happening::Noise(noise) = &event.what else { continue };
            if let Clock::Node(node) = &noise.clock
                && noise.by.is_overload()
            {
                nodes.entry(node).or_default().push(Interval::new(noise.from_us, noise.to_us));
            }
        }
        (nodes.into_values().map(covered).max().unwrap_or(0), ended - began.unwrap_or(ended))
    }
}
