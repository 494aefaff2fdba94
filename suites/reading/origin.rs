//! Whether network probes come from the node and go to the pod's own address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use probity_model::mechanisms::{OFF_BEAT, ONE_MISSED, STRAYS};
use probity_model::timeline::{Asked, Connection, Handler, PodLife, Probe, ProbeKind, ProbedLife, Through};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::arrivals::{has_ip, on_node_network};

/// Probes by any mechanism that connects come from the node.
pub(crate) fn network_probes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    come_from_the_node(run, seen, |_| true);
}

/// TCP probes come from the node.
pub(crate) fn tcp_probes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    come_from_the_node(run, seen, |probe| matches!(probe.through, Through::Connection(_)));
}

fn come_from_the_node(run: &Timeline<'_>, seen: &mut Seen, concerns: impl Fn(&Probe<'_>) -> bool) {
    for life in run.lives().only(|life| !on_node_network(life.pod)) {
        // For each set of possible kinds: whether any probe came from the node, and the probes that came from inside
        // the pod.
        let mut unsigned: BTreeMap<_, (bool, Vec<EventId>)> = BTreeMap::new();
        for probe in life.probes.iter().filter(|probe| concerns(probe)) {
            let Some(connection) = life.connection_of(probe) else { continue };
            let Some(inside) = inside(run, life.pod, connection) else { continue };
            let signed = life.request(probe).is_some_and(Asked::from_prober);
            if !inside {
                seen.fine([connection.id, probe.id]);
            } else if signed {
                let finding = format!("a probe of {} came from {}", life.name(), connection.accepted.peer);
                seen.violated(finding, [connection.id]);
            }
            if !signed {
                let (from_node, ids) = unsigned.entry(probe.kinds.clone()).or_default();
                *from_node |= !inside;
                ids.extend(inside.then_some(connection.id));
            }
        }
        // A single bare connection from inside may have another source. But if all come from inside, they are the
        // probe's.
        for (_, ids) in unsigned.into_values().filter(|(from_node, ids)| !from_node && ids.len() > 1) {
            let of = life.name();
            seen.violated(
                format!("all connections to the probed port of {of} came from inside the pod"),
                ids,
            );
        }
    }
    for life in run.lives().of_each(&ProbeKind::ALL).only(|life| !on_node_network(life.pod)) {
        let from_inside = |connection: &Connection<'_>| inside(run, life.pod, connection) == Some(true);
        if let Some(strays) = strays(&life, from_inside) {
            let finding =
                format!("{} connections of {} came from inside the pod", strays.len(), life.words());
            seen.violated(finding, strays);
        }
    }
}

/// The connections of a TCP probe that meet a condition, if there are too many for any other source: each arrived about a
/// period after the previous connection and about a period before the next one, when only the probe itself was due.
fn strays(life: &ProbedLife<'_, '_>, such: impl Fn(&Connection<'_>) -> bool) -> Option<Vec<EventId>> {
    let bare = matches!(life.spec.handler, Handler::Tcp { .. });
    // A probe that has succeeded ends, or a kubelet is down, and then other clients are left. A container that is not a target
    // may be a client, and leaves no record.
    let mut beside = life.pod.containers.iter().chain(&life.pod.ephemeral);
    let others = life.spec.kind == ProbeKind::Startup
        || life.run.node_was_touched()
        || beside.any(|of| of.plan().is_none());
    if !bare || !life.is_unmistaken() || others || has_other_clients(life.run) {
        return None;
    }
    let (early, late) = (OFF_BEAT.of(life.spec.period), ONE_MISSED.of(life.spec.period));
    let due = life.probes.windows(3).filter_map(|three| {
        let [before, this, after] = three else { return None };
        let (since, until) = (this.at.at.lo - before.at.at.lo, after.at.at.lo - this.at.at.lo);
        let in_turn = [since, until].iter().all(|gap| (early..=late).contains(gap));
        // If the two neighbors are only a period apart, they are the probes, and this connection is not.
        let alone = since + until > late && life.before_deletion(&after.at);
        let connection = life.connection_of(this)?;
        (in_turn && alone && such(connection)).then_some(connection.id)
    });
    let due: Vec<EventId> = due.collect();
    u64::try_from(due.len()).is_ok_and(|many| many >= STRAYS).then_some(due)
}

/// Whether any container of the case has a hook, or may have opened a connection itself.
fn has_other_clients(run: &Timeline<'_>) -> bool {
    run.containers().any(|(_, container)| {
        let mut lines = container.attempts.iter().flat_map(|attempt| &attempt.lines);
        container.spec.get("lifecycle").is_some()
            || lines.any(|line| matches!(line.line.fact, Fact::Call(_) | Fact::Waited(_)))
    })
}

/// Whether a connection came from inside the pod; none if it came from another pod, or if its origin is not known.
fn inside(run: &Timeline<'_>, pod: &PodLife<'_>, connection: &Connection<'_>) -> Option<bool> {
    let peer: IpAddr = connection.peer_address().parse().ok()?;
    let address = |of: &PodLife<'_>| of.ip().and_then(|ip| ip.parse::<IpAddr>().ok());
    if peer.is_loopback() || peer == address(pod)? {
        return Some(true);
    }
    let of_another = run.pods.iter().any(|other| !on_node_network(other) && address(other) == Some(peer));
    (!of_another).then_some(false)
}

/// TCP probes without `host` arrive at the pod's address.
pub(crate) fn tcp_comes_to_the_pod(run: &Timeline<'_>, seen: &mut Seen) {
    for life in run.lives().of_each(&ProbeKind::ALL).only(|life| life.pod.ip().is_some()) {
        if !matches!(life.spec.handler, Handler::Tcp { host: None, .. }) {
            continue;
        }
        let connections = life.probes.iter().filter(|probe| probe.is(life.spec.kind));
        let connections = connections.filter_map(|probe| {
            let connection = life.connection_of(probe)?;
            Some((connection.id, connection.address().parse::<IpAddr>().ok()?))
        });
        let (right, wrong): (Vec<_>, Vec<_>) = connections.partition(|(_, ip)| has_ip(life.pod, *ip));
        let ids = |of: Vec<(EventId, IpAddr)>| of.into_iter().map(|(id, _)| id);
        // A single connection to another address may have another source.
        if right.is_empty() && wrong.len() > 1 {
            let finding = format!("{} has no host, but never arrived at the pod's address", life.words());
            seen.violated(finding, ids(wrong));
        } else if let Some(strays) = strays(&life, |connection| strays_from(run, life.pod, connection)) {
            let finding = format!(
                "{} has no host, but {} of its connections arrived at another address",
                life.words(),
                strays.len()
            );
            seen.violated(finding, strays);
        } else {
            seen.fine(ids(right));
        }
    }
}

/// Whether a connection arrived at an address that the pod never had. A pod that has lost its sandbox gets a new address,
/// and on the network of the node, anything may connect to any address.
fn strays_from(run: &Timeline<'_>, pod: &PodLife<'_>, connection: &Connection<'_>) -> bool {
    let ip = connection.address().parse::<IpAddr>();
    let elsewhere = ip.is_ok_and(|ip| !has_ip(pod, ip));
    elsewhere && !on_node_network(pod) && !run.lost_a_sandbox()
}

#[cfg(test)]
mod tests;
