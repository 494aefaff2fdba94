//! The default headers of a probe: User-Agent and Accept, which a spec can replace or remove.

use probity_model::history::NodeFacts;
use probity_model::verdict::Doubt;
use probity_model::version::minor;
use probity_model::{Clause, Seen, Timeline};

use super::list;
use crate::reading::arrivals::{Arrival, arrivals};

/// The headers that can be replaced.
const OWN: [&str; 2] = ["User-Agent", "Accept"];

/// By default, User-Agent contains the kubelet's version. If the version cannot be read, nothing is concluded from
/// a User-Agent with the right form.
pub(super) fn user_agent(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for arrival in without(run, "User-Agent") {
        let asked = arrival.hit.asked;
        let sent: Vec<&str> = asked.header("user-agent").collect();
        let version = match sent.as_slice() {
            [agent] => agent.strip_prefix("kube-probe/").and_then(minor),
            _ => None,
        };
        let node = run.history.header.nodes.get(&arrival.hit.attempt.node);
        let kubelet = node.and_then(NodeFacts::kubelet_minor);
        let came = format!("{} sent the User-Agent {}", arrival.get.words(), list(sent, "(none)"));
        match (version, kubelet) {
            (None, _) => seen.violated(came, [asked.id]),
            (Some(version), Some(kubelet)) => {
                let finding = || format!("{came} from a kubelet {}.{}", kubelet.0, kubelet.1);
                seen.check(version == kubelet, finding, [asked.id]);
            }
            (Some(_), None) if run.history.header.judges.contains(&clause.id) => {
                let why = "the kubelet's version is not known: the harness has no permission to read nodes";
                seen.doubt(Doubt::Ambiguous, why, [asked.id]);
            }
            (Some(_), None) => {}
        }
    }
}

/// By default, Accept is `*/*`.
pub(super) fn accept(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in without(run, "Accept") {
        expect(&arrival, "Accept", &["*/*"], seen);
    }
}

/// The probes whose spec does not have this header.
fn without<'t, 'h>(run: &'t Timeline<'h>, name: &'static str) -> impl Iterator<Item = Arrival<'t, 'h>> {
    arrivals(run).into_iter().filter(move |arrival| arrival.get.sets(name).next().is_none())
}

/// No header other than Host, User-Agent and Accept is sent; upstream adds `Connection: close`. HTTP/2 has no Connection
/// header, and a pseudo-header in place of Host.
pub(super) fn nothing_else(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let plain = |arrival: &Arrival<'_, '_>| arrival.get.headers.is_empty();
    for arrival in arrivals(run).into_iter().filter(plain) {
        let asked = arrival.hit.asked;
        let mut names: Vec<String> =
            asked.request.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort_unstable();
        let http1 = asked.is_http1();
        let names = names.iter().map(String::as_str).filter(|name| http1 || !name.starts_with(':'));
        let names: Vec<&str> = names.collect();
        let closes = asked.header("connection").any(|value| value.eq_ignore_ascii_case("close"));
        let words = arrival.get.words();
        match names.as_slice() {
            ["accept", "host", "user-agent"] if http1 => seen.fine([asked.id]),
            ["accept", "user-agent"] if !http1 => seen.fine([asked.id]),
            ["accept", "connection", "host", "user-agent"] if http1 && closes => {
                seen.diverges(format!("{words} also sent `Connection: close`"), [asked.id]);
            }
            names => {
                seen.violated(format!("{words} sent these headers: {}", names.join(", ")), [asked.id]);
            }
        }
    }
}

/// A value in the spec replaces the default.
pub(super) fn overridden(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (arrival, name, value) in own_headers(run) {
        if !value.trim().is_empty() {
            expect(&arrival, name, &[value.trim()], seen);
        }
    }
}

/// An empty value in the spec removes the header.
pub(super) fn removed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (arrival, name, _) in own_headers(run).filter(|(.., value)| value.is_empty()) {
        expect(&arrival, name, &[], seen);
    }
}

/// The default headers that the spec of a probe sets exactly once, with the value.
fn own_headers<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (Arrival<'t, 'h>, &'static str, &'t str)> {
    arrivals(run).into_iter().flat_map(|arrival| {
        OWN.into_iter().filter_map(move |name| {
            let mut values = arrival.get.sets(name);
            Some((arrival, name, values.next().filter(|_| values.next().is_none())?))
        })
    })
}

fn expect(arrival: &Arrival<'_, '_>, name: &str, wanted: &[&str], seen: &mut Seen) {
    let asked = arrival.hit.asked;
    let sent: Vec<&str> = asked.header(name).map(str::trim).collect();
    let kept = sent == wanted;
    let finding = || {
        let (sent, wanted) = (list(sent, "(none)"), list(wanted.iter().copied(), "(none)"));
        format!("{} sent {name} {sent} instead of {wanted}", arrival.get.words())
    };
    seen.check(kept, finding, [asked.id]);
}

#[cfg(test)]
mod tests;
