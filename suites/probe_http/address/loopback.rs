//! A server in the node's network that listens only on the loopback address: only a probe with `host` reaches
//! it.

use std::net::IpAddr;

use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::port::{counted_as_success, event_about};
use crate::reading::arrivals::{Get, arrivals, gets, on_node_network};
use crate::reading::unvisited::local_port;

/// With `host: 127.0.0.1`, the probe arrives from the loopback address. Without `host`, it does not arrive, and fails.
pub(super) fn needs_host(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let arrivals = arrivals(run);
    let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    for get in gets(run).into_iter().filter(|get| on_node_network(get.pod)) {
        let Some(listening) = on_loopback(&get) else { continue };
        let here = get.host.is_some_and(is_loopback);
        if get.host.is_some() && !here {
            continue;
        }
        for arrival in arrivals.iter().filter(|arrival| std::ptr::eq(arrival.get.spec, get.spec)) {
            let (hit, words) = (&arrival.hit, get.words());
            let peer = hit.connection.peer_address();
            let finding = || match here {
                true => format!("{words} arrived at the loopback address from {peer}"),
                false => format!("{words} has no host, but arrived at the loopback address"),
            };
            seen.check(here && is_loopback(peer), finding, [listening, hit.connection.id, hit.asked.id]);
        }
        if !here {
            fails(&get, listening, seen);
        }
    }
}

/// A probe that cannot arrive is recorded as a failure and never counts as a success.
fn fails(get: &Get<'_, '_>, listening: EventId, seen: &mut Seen) {
    if let Some(shown) = counted_as_success(get.pod, get.container, get.spec.kind) {
        let finding = format!("{} has no host and cannot arrive, but succeeded", get.words());
        seen.violated(finding, [listening, shown]);
    }
    let failed = format!("{} probe failed", get.spec.kind.word());
    if let Some(event) = event_about(get.pod, get.container, "Unhealthy", &failed) {
        seen.fine([listening, event]);
    }
}

/// The record of a container of the pod that opened the probe's port on the loopback address, and only there.
fn on_loopback(get: &Get<'_, '_>) -> Option<EventId> {
    let attempts = get.pod.containers.iter().flat_map(|container| &container.attempts);
    let opened = attempts.flat_map(|attempt| &attempt.lines).filter_map(|line| {
        let Fact::Listening(listening) = &line.line.fact else { return None };
        let (local, port) = local_port(listening)?;
        (Some(port) == get.port.number && listening.state == "open").then_some((line.id, local))
    });
    let opened: Vec<_> = opened.collect();
    opened.iter().all(|(_, local)| *local).then(|| opened.first().map(|(id, _)| *id))?
}

#[cfg(test)]
mod tests;
