//! The limit on the number of redirects that are followed.

use std::ops::Range;

use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::answer::{Hops, HttpAnswer};

use crate::reading::http::exchange::{Exchange, HttpOutcome, Leads, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// How many requests the upstream kubelet makes for one probe (`maxRedirects` of `net/http`).
pub(super) const MOST_REQUESTS: usize = 10;

/// The number of redirects that is too many, according to the documentation.
const TOO_MANY: u64 = 11;

/// A chain of redirects in one probe that is long enough for the clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    /// How many redirects the chain has if all are followed.
    length: u64,
    /// How many requests were made.
    requests: usize,
}

/// Too many redirects are a success with a warning; in the known upstream deviation, the probe fails at the tenth
/// redirect.
pub(super) fn too_many_are_a_warning(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let reaction = Reaction::new(run, clause, &course);
        for (chain, range) in course.runs(chain) {
            seen.applies();
            judge(chain, &reaction, &range, seen);
        }
    }
}

fn judge(chain: Chain, reaction: &Reaction<'_, '_, '_>, range: &Range<usize>, seen: &mut Seen) {
    let Some(taken) = reaction.taken(range, seen) else { return };
    let Chain { length, requests } = chain;
    let warning = reaction.warning(range);
    let events =
        || reaction.course.events(range).into_iter().chain(taken.events.iter().copied()).chain(warning);
    let redirects = if length == u64::MAX { "endless".to_owned() } else { length.to_string() };
    let facts = format!("in a chain of {redirects} redirects the kubelet sent {requests} requests");
    let warned = warning.is_some();
    match taken.only() {
        Some(CountsAs::Success) if requests > MOST_REQUESTS && (length < TOO_MANY || warned) => {
            seen.fine(events());
        }
        Some(CountsAs::Failure)
            if requests == MOST_REQUESTS && (!warned || warned_for_others(reaction.course)) =>
        {
            seen.diverges(format!("{facts}, and the probe failed"), events());
        }
        _ if reaction.is_held_up(range) => {
            seen.doubt(Doubt::Ambiguous, format!("{facts}, but the node was stalled at the time"), events());
        }
        Some(result) => {
            let (result, warned) = (result.word(), if warned { "with" } else { "without" });
            seen.violated(
                format!("{facts}, and the probe counted as a {result} {warned} a warning"),
                events(),
            );
        }
        None => {}
    }
}

/// Whether any instance answered the same probe with another redirect that is not followed: a warning may be about that
/// redirect.
fn warned_for_others(course: &Exchanges<'_, '_>) -> bool {
    let same = |other: &Exchanges<'_, '_>| {
        other.pod.name == course.pod.name
            && other.container.name == course.container.name
            && other.spec.kind == course.spec.kind
    };
    let parted = |exchange: &Exchange<'_, '_>| exchange.outcome() == HttpOutcome::Parted;
    exchanges(course.run).iter().any(|other| same(other) && other.exchanges.iter().any(parted))
}

/// The chain of a probe, if the planned or the observed redirects number at least ten.
fn chain(exchange: &Exchange<'_, '_>) -> Option<Chain> {
    let requests = exchange.hops.len();
    let first = exchange.hops.first()?;
    let planned = match &first.planned {
        Some(HttpAnswer::Reply(reply)) => reply.redirect.as_ref().map(|redirect| match redirect.hops {
            Hops::Count(hops) => hops,
            Hops::Endless => u64::MAX,
        }),
        _ => None,
    };
    let onward = |leads: &Option<Leads>| matches!(leads, Some(Leads::Here(_)));
    let loops = requests >= MOST_REQUESTS && exchange.hops.iter().all(|hop| onward(&hop.leads));
    let length = planned.filter(|_| onward(&first.leads)).or(loops.then_some(u64::MAX))?;
    // The script may have advanced in the meantime and ended the chain early.
    let ended_early = requests as u64 <= length && !onward(&exchange.last()?.leads);
    (length >= MOST_REQUESTS as u64 && !ended_early).then_some(Chain { length, requests })
}
