//! Each HTTP probe has its own connection, which is closed after the probe.

use std::collections::BTreeMap;

use probity_model::measure::seconds;
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::arrivals::{Arrival, arrivals};
use crate::reading::ports::{judge_late_end, stays_open};

/// A probe's request is the only request on its connection. Two probes of the same kind are needed to show this. Over
/// HTTP/2, different probes that run at the same time may share a connection. Nothing is concluded from such probes.
pub(super) fn fresh_each_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut before: BTreeMap<(&str, String), EventId> = BTreeMap::new();
    let all = arrivals(run);
    let judged = |arrival: &&Arrival<'_, '_>| arrival.hit.asked.is_http1() || has_its_own(arrival, &all);
    for Arrival { hit, get } in all.iter().filter(judged) {
        let (asked, connection, open_for) = (hit.asked, hit.connection, clause.tolerance_us("open"));
        if let Some(answer) = &asked.answer {
            judge_late_end(run, hit.attempt, connection, (&answer.at, open_for, get.words()), seen);
        }
        if let Some(answer) = &asked.answer
            && stays_open(run, (hit.pod, hit.attempt), connection, (&answer.at, open_for))
        {
            let (words, span) = (get.words(), seconds(open_for));
            let finding = format!("a connection of {words} was still open {span} after its answer");
            seen.violated(finding, [connection.id, answer.at.id]);
        }
        if asked.request.nth > 1 {
            let (words, nth, peer) = (get.words(), asked.request.nth, &connection.accepted.peer);
            let finding = format!("{words} sent request {nth} on a connection from {peer}");
            seen.violated(finding, [connection.id, asked.id]);
        } else if let Some(previous) = before.insert((hit.attempt.boot, get.words()), asked.id) {
            seen.fine([previous, asked.id]);
        }
    }
}

/// Whether every request on the connection of a probe was sent by the same probe.
fn has_its_own(arrival: &Arrival<'_, '_>, all: &[Arrival<'_, '_>]) -> bool {
    let (hit, words) = (&arrival.hit, arrival.get.words());
    let own = all.iter().filter(|other| {
        let same =
            other.hit.attempt.boot == hit.attempt.boot && other.hit.asked.connection == hit.asked.connection;
        same && other.get.words() == words
    });
    let on_it = hit.attempt.requests.iter().filter(|asked| asked.connection == hit.asked.connection);
    own.count() == on_it.count()
}

#[cfg(test)]
mod tests;
