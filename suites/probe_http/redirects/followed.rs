//! Redirects to the host that the probe began with: they are followed, with the pod's own headers, and the last answer
//! decides.

use std::ops::Range;

use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::Script;
use probity_script::answer::{ConnectionAnswer, ListenState};

use super::limit::MOST_REQUESTS;
use crate::reading::http::exchange::{Exchange, HttpOutcome, Leads, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::location::Url;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// Redirects to the same host are followed and the final answer decides.
pub(super) fn same_host_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, |from, to| from.scheme == to.scheme && from.port == to.port);
}

/// Host comparison ignores the port: a redirect to the pod's address on another port is followed.
pub(super) fn other_port_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, |from, to| from.scheme == to.scheme && from.port != to.port);
}

/// A same-host redirect from HTTP to HTTPS is followed, whatever the certificate.
pub(super) fn https_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, |from, to| from.scheme == "http" && to.scheme == "https");
}

/// Judges the redirects of one sort: from one URL to another.
fn followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, sort: impl Fn(&Url, &Url) -> bool) {
    for course in exchanges(run) {
        let jury = Reaction::new(run, clause, &course);
        for at in 0..course.exchanges.len() {
            each_is_followed(&jury, at, seen, &sort);
        }
        let of_this_sort = |exchange: &Exchange<'_, '_>| {
            let pairs = exchange.hops.windows(2);
            pairs.into_iter().any(|pair| sort(&pair[0].url, &pair[1].url)).then(|| exchange.outcome())
        };
        for (outcome, range) in course.runs(of_this_sort) {
            final_answer_decides(&jury, outcome, &range, seen);
        }
    }
}

fn final_answer_decides(
    jury: &Reaction<'_, '_, '_>,
    outcome: HttpOutcome,
    range: &Range<usize>,
    seen: &mut Seen,
) {
    match outcome {
        HttpOutcome::Good => {
            jury.decide(range, CountsAs::Success, "were redirected on their host to a success", seen);
        }
        HttpOutcome::Bad => {
            jury.decide(range, CountsAs::Failure, "were redirected on their host to a failure", seen);
        }
        _ => {}
    }
}

/// Every redirect of this sort led to another request, unless the limit was reached or nobody serves there.
fn each_is_followed(
    jury: &Reaction<'_, '_, '_>,
    at: usize,
    seen: &mut Seen,
    sort: &impl Fn(&Url, &Url) -> bool,
) {
    let exchange = &jury.course.exchanges[at];
    for pair in exchange.hops.windows(2) {
        if sort(&pair[0].url, &pair[1].url) {
            seen.fine(pair[0].asked.events().into_iter().chain([pair[1].asked.id]));
        }
    }
    let Some(last) = exchange.last() else { return };
    let Some(Leads::Here(to)) = &last.leads else { return };
    if !sort(&last.url, to) || exchange.hops.len() >= MOST_REQUESTS || !serves(jury.course, to.port) {
        return;
    }
    seen.applies();
    let events = || exchange.events.iter().copied();
    if exchange.late || jury.held_up(&(at..at + 1)) {
        let why = "a redirect was not followed, but the probe may have timed out before";
        seen.doubt(Doubt::Ambiguous, why, events());
    } else if jury.doubt_if_hidden(&(at..at + 1), seen) {
        // What it led to may be among what was missed.
    } else if jury.settled(at) {
        let finding = format!(
            "the {} probe of {} was redirected from {} to {}://{}:{}{}, but no request came there",
            jury.course.spec.kind.word(),
            jury.course.container.name,
            last.url.target,
            to.scheme,
            to.host,
            to.port,
            to.target
        );
        let next = jury.course.exchanges.get(at + 1).map(|next| next.id);
        seen.violated(finding, events().chain(next));
    }
}

/// Whether a target of the pod always answers on this port.
fn serves(course: &Exchanges<'_, '_>, port: u16) -> bool {
    course.pod.containers.iter().filter_map(|container| container.plan()).any(|plan| {
        plan.listeners.values().any(|listener| {
            listener.port == port
                && listener.listen == Script::always(ListenState::Open)
                && listener.connections == Script::always(ConnectionAnswer::Serve)
        })
    })
}

/// Custom headers are sent again on followed same-host redirects.
pub(super) fn headers_are_kept(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let names: Vec<&str> = course
            .headers()
            .iter()
            .filter(|(name, value)| !value.is_empty() && !name.eq_ignore_ascii_case("host"))
            .map(|(name, _)| name.as_str())
            .collect();
        for exchange in course.exchanges.iter().filter(|_| !names.is_empty()) {
            let Some((first, rest)) = exchange.hops.split_first() else { continue };
            for hop in rest {
                for name in &names {
                    let sent: Vec<_> = first.asked.header(name).collect();
                    let again: Vec<_> = hop.asked.header(name).collect();
                    let events = [first.asked.id, hop.asked.id];
                    if sent == again {
                        seen.fine(events);
                    } else {
                        let finding =
                            format!("{name} was sent as {sent:?} at first and as {again:?} after a redirect");
                        seen.violated(finding, events);
                    }
                }
            }
        }
    }
}
