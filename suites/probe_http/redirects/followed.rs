//! Redirects to the probe's original host: the kubelet follows them with the custom headers of the probe, and the last
//! answer decides.

use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::Script;
use probity_script::answer::{ConnectionAnswer, ListenState};

use super::limit::MOST_REQUESTS;
use crate::reading::http::exchange::{Exchange, Leads, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::location::Url;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// The headers that a probe has unless its spec removes them.
const DEFAULTS: [&str; 2] = ["User-Agent", "Accept"];

/// Redirects to the same host, port and scheme are followed, and the final answer decides.
pub(super) fn same_host_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, |from, to| from.scheme == to.scheme && from.port == to.port);
}

/// The port does not matter when hosts are compared: a redirect to the pod's address on another port is followed, even
/// from HTTPS to HTTP.
pub(super) fn other_port_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, |from, to| from.port != to.port && !is_to_https(from, to));
}

fn is_to_https(from: &Url, to: &Url) -> bool {
    from.scheme == "http" && to.scheme == "https"
}

/// A same-host redirect from HTTP to HTTPS is followed, whatever the certificate.
pub(super) fn https_followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    followed(run, clause, seen, is_to_https);
}

/// Judges the redirects of one sort, which depends on the two URLs.
fn followed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, sort: impl Fn(&Url, &Url) -> bool) {
    for course in exchanges(run) {
        let reaction = Reaction::new(run, clause, &course);
        for at in 0..course.exchanges.len() {
            each_is_followed(&reaction, at, seen, &sort);
        }
        let of_this_sort = |exchange: &Exchange<'_, '_>| {
            let mut pairs = exchange.hops.windows(2);
            pairs.any(|pair| sort(&pair[0].url, &pair[1].url)).then(|| exchange.outcome())
        };
        for (outcome, range) in course.runs(of_this_sort) {
            if let Some(counts_as) = outcome.by_status() {
                let what = format!("were redirected on their host to a {}", counts_as.word());
                reaction.decide(&range, counts_as, &what, seen);
            }
        }
    }
}

/// Every redirect of this sort led to another request, unless the limit was reached or no target serves the port.
fn each_is_followed(
    reaction: &Reaction<'_, '_, '_>,
    at: usize,
    seen: &mut Seen,
    sort: &impl Fn(&Url, &Url) -> bool,
) {
    let (course, exchange) = (reaction.course, &reaction.course.exchanges[at]);
    for pair in exchange.hops.windows(2).filter(|pair| sort(&pair[0].url, &pair[1].url)) {
        seen.fine(pair[0].asked.events().into_iter().chain([pair[1].asked.id]));
    }
    let Some(last) = exchange.last() else { return };
    let Some(Leads::Here(to)) = &last.leads else { return };
    if !sort(&last.url, to) || exchange.hops.len() >= MOST_REQUESTS || !serves(course, to.port) {
        return;
    }
    let events = exchange.events.iter().copied();
    if exchange.late || reaction.is_excused(at, CountsAs::Success) {
        let why = "a redirect was not followed, but the probe may have timed out before";
        seen.doubt(Doubt::Ambiguous, why, events);
    } else if !reaction.doubt_if_hidden(&(at..at + 1), seen) && reaction.settled(at) {
        let (kind, of, from) = (course.spec.kind.word(), &course.container.name, &last.url.target);
        let finding = format!(
            "the {kind} probe of {of} was redirected from {from} to {}://{}:{}{}, but no request arrived there",
            to.scheme, to.host, to.port, to.target
        );
        let next = course.exchanges.get(at + 1).map(|next| next.id);
        seen.violated(finding, events.chain(next));
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

/// The headers of a probe are sent again on followed same-host redirects: the custom headers, and the two that a probe
/// has by default.
pub(super) fn headers_are_kept(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let custom = course.headers().iter();
        let custom = custom.filter(|(name, value)| !value.is_empty() && !name.eq_ignore_ascii_case("host"));
        let names: Vec<&str> = custom.map(|(name, _)| name.as_str()).chain(DEFAULTS).collect();
        for exchange in &course.exchanges {
            let Some((first, rest)) = exchange.hops.split_first() else { continue };
            for (hop, name) in rest.iter().flat_map(|hop| names.iter().map(move |name| (hop, *name))) {
                let sent: Vec<_> = first.asked.header(name).collect();
                let again: Vec<_> = hop.asked.header(name).collect();
                let finding =
                    || format!("{name} was {sent:?} in the first request and {again:?} after a redirect");
                seen.check(sent == again, finding, [first.asked.id, hop.asked.id]);
            }
        }
    }
}
