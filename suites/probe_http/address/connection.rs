//! Each HTTP probe has a connection of its own.

use std::collections::BTreeMap;

use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::arrivals::{Arrival, arrivals};

/// A probe's request is the first and only one on its connection. Two probes of a kind are needed to show it.
/// Over HTTP/2, probes at the same time may share a connection: nothing is concluded from them.
pub(super) fn fresh_each_time(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let mut before: BTreeMap<(&str, String), EventId> = BTreeMap::new();
    for Arrival { hit, get } in arrivals(run).into_iter().filter(|arrival| arrival.hit.asked.is_http1()) {
        let (asked, connection) = (hit.asked, hit.connection);
        if asked.request.nth > 1 {
            let (words, nth, peer) = (get.words(), asked.request.nth, &connection.accepted.peer);
            let finding = format!("{words} was request {nth} on a connection from {peer}");
            seen.violated(finding, [connection.id, asked.id]);
        } else if let Some(previous) = before.insert((hit.attempt.boot, get.words()), asked.id) {
            seen.fine([previous, asked.id]);
        }
    }
}

#[cfg(test)]
mod tests;
