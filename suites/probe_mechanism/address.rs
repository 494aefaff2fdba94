//! Where probes over HTTP and TCP go by default: the pod's own address.

use std::net::IpAddr;

use probity_model::timeline::{Handler, Through};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::arrivals::{arrivals, has_ip};
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, UnreachableProbe, own_port, there};

/// Without `host`, a probe connects to the pod's address: a server that listens to the loopback alone is not reached.
pub(super) fn targets_pod_ip(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.host.is_none()) {
        seen.applies();
        let connection = arrival.hit.connection;
        let Ok(ip) = connection.address().parse::<IpAddr>() else { continue };
        if arrival.get.pod.ip().is_none() {
            continue;
        }
        if has_ip(arrival.get.pod, ip) {
            seen.fine([connection.id]);
        } else {
            let finding = format!("{} has no host, and came to {ip}", arrival.get.words());
            seen.violated(finding, [connection.id]);
        }
    }
    tcp_at_pod_ip(run, seen);
    for (pod, container, spec) in run.probes() {
        let Some(port) = own_port(&spec.handler) else { continue };
        let local = container.plan().is_some_and(|plan| {
            plan.listeners.values().any(|of| of.port == port && of.bind.is_some_and(|ip| ip.is_loopback()))
        });
        let by_address = matches!(spec.handler, Handler::Http { .. } | Handler::Tcp { .. });
        if local && by_address && there(pod, port) == There::Nobody {
            let why = "whose port listens to the loopback alone";
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

/// TCP probes without `host` come to the pod's address.
pub(crate) fn tcp_at_pod_ip(run: &Timeline<'_>, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { host: None, .. } = &spec.handler else { continue };
        if pod.ip().is_none() {
            continue;
        }
        for attempt in &container.attempts {
            let (mut right, mut wrong) = (Vec::new(), Vec::new());
            for probe in attempt.probes_of(spec.kind) {
                let Through::Connection(at) = probe.through else { continue };
                let Some(connection) = attempt.connections.get(at) else { continue };
                let Ok(ip) = connection.address().parse::<IpAddr>() else { continue };
                if has_ip(pod, ip) { right.push(connection.id) } else { wrong.push(connection.id) }
            }
            // A single connection elsewhere may be anybody's.
            if right.is_empty() && wrong.len() > 1 {
                let kind = spec.kind.word();
                let finding = format!(
                    "the {kind} probe of {}/{} has no host, and never came to the pod's address",
                    pod.key, container.name
                );
                seen.violated(finding, wrong);
            } else {
                seen.fine(right);
            }
        }
    }
}

#[cfg(test)]
mod tests;
