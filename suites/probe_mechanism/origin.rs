//! Where probes over the network come from: the node, and not the pod itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::reading::arrivals::on_node_network;
use probity_model::timeline::{Attempt, Connection, PodLife, Probe, Through};
use probity_model::{Clause, EventId, Seen, Timeline};

/// Probes by any mechanism that connects.
pub(super) fn network_probes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, false);
}

/// TCP probes.
pub(crate) fn tcp_probes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, true);
}

/// The connection that a probe came by, and whether it says by itself that a prober sent it.
pub(crate) fn connection<'t, 'h>(
    attempt: &'t Attempt<'h>,
    probe: &Probe<'_>,
) -> Option<(&'t Connection<'h>, bool)> {
    match probe.through {
        Through::Connection(at) => Some((attempt.connections.get(at)?, false)),
        Through::Request(at) => {
            let asked = attempt.requests.get(at)?;
            let says_so = asked.header("user-agent").any(|agent| agent.starts_with("kube-probe/"));
            Some((attempt.connection(asked)?, says_so))
        }
        Through::Command(_) => None,
    }
}

fn judge(run: &Timeline<'_>, seen: &mut Seen, bare: bool) {
    for (pod, container) in run.containers().filter(|(pod, _)| !on_node_network(pod)) {
        for attempt in &container.attempts {
            // By the kinds that each probe can be: whether any came from the node, and those that came from inside.
            let mut unsigned: BTreeMap<_, (bool, Vec<EventId>)> = BTreeMap::new();
            for probe in &attempt.probes {
                if bare && !matches!(probe.through, Through::Connection(_)) {
                    continue;
                }
                let Some((connection, says_so)) = connection(attempt, probe) else { continue };
                seen.applies();
                let Some(inside) = inside(run, pod, connection) else { continue };
                let of = format!("a probe of {}/{}", pod.key, container.name);
                match (inside, says_so) {
                    (false, true) => seen.fine([connection.id]),
                    (true, true) => {
                        let finding = format!("{of} came from {}", connection.accepted.peer);
                        seen.violated(finding, [connection.id]);
                    }
                    (inside, false) => {
                        let (from_node, ids) = unsigned.entry(probe.kinds.clone()).or_default();
                        *from_node |= !inside;
                        if inside {
                            ids.push(connection.id);
                        } else {
                            seen.fine([connection.id]);
                        }
                    }
                }
            }
            // A bare connection from inside may be anybody's; but if all are, they are the probe's.
            for (from_node, ids) in unsigned.into_values() {
                if !from_node && ids.len() > 1 {
                    let finding = format!(
                        "all connections to the probed port of {}/{} came from inside of the pod",
                        pod.key, container.name
                    );
                    seen.violated(finding, ids);
                }
            }
        }
    }
}

/// Whether a connection came from inside of the pod; none if it came from another pod, or that cannot be told.
fn inside(run: &Timeline<'_>, pod: &PodLife<'_>, connection: &Connection<'_>) -> Option<bool> {
    let peer: IpAddr = connection.peer_address().parse().ok()?;
    let own = pod.ip()?.parse::<IpAddr>().ok()?;
    let has = |other: &PodLife<'_>| other.ip().and_then(|ip| ip.parse::<IpAddr>().ok()) == Some(peer);
    if peer.is_loopback() || peer == own {
        return Some(true);
    }
    (!run.pods.iter().any(|other| !on_node_network(other) && has(other))).then_some(false)
}

#[cfg(test)]
mod tests;
