//! The default destination of HTTP and TCP probes: the pod's own address.

use std::net::IpAddr;

use probity_model::timeline::Handler;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::arrivals::{arrivals, has_ip};
use crate::reading::http::reaction::CountsAs;
use crate::reading::origin::tcp_comes_to_the_pod;
use crate::reading::unreachable::{There, UnreachableProbe, judge_unreachable};

/// Without `host`, a probe connects to the pod's address, so it does not reach a server that listens only on the
/// loopback address.
pub(super) fn targets_pod_ip(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.host.is_none()) {
        let connection = arrival.hit.connection;
        let Ok(ip) = connection.address().parse::<IpAddr>() else { continue };
        if has_ip(arrival.get.pod, ip) {
            seen.fine([connection.id, arrival.hit.asked.id]);
            seen.facet("server", "on-every-address");
        } else if arrival.get.pod.ip().is_some() {
            let finding = format!("{} has no host, but arrived at {ip}", arrival.get.words());
            seen.violated(finding, [connection.id]);
        }
    }
    tcp_comes_to_the_pod(run, seen);
    let why = ("whose port listens on the loopback address only", CountsAs::Failure);
    seen.in_facet("server", "on-loopback", |seen| {
        judge_unreachable(run, clause, seen, why, |probe| {
            let by_address = matches!(probe.spec.handler, Handler::Http { .. } | Handler::Tcp { .. });
            by_address && listens_to_loopback(probe) && probe.there() == There::Nobody
        });
    });
}

/// Whether the container's plan opens the probe's port on the loopback address.
fn listens_to_loopback(probe: &UnreachableProbe<'_, '_>) -> bool {
    let plan = probe.container.plan().unwrap_or_default();
    let port = probe.spec.handler.port();
    plan.listeners.values().any(|of| Some(of.port) == port && of.bind.is_some_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests;
