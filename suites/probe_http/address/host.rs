//! The host that a probe goes to, which is the pod's address unless `host` names another host. Also the Host header of
//! the probe.

use std::net::IpAddr;

use probity_model::timeline::{Asked, Connection, ProbeOutcome};
use probity_model::{Clause, Seen, Timeline};

use super::{port, tcp_host};
use crate::reading::arrivals::{Arrival, Get, arrivals, gets, has_ip, hits, on_node_network};
use crate::reading::unvisited::must_be_visited;

/// Without `host`, a probe goes to the pod's address. It also names this address in its Host header, unless
/// `httpHeaders` has such a header.
pub(super) fn pod_ip_by_default(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for get in gets(run).iter().filter(|get| get.host.is_none() && get.port.number.is_some()) {
        must_be_visited(run, clause, seen, (get.pod, get.container, get.spec));
    }
    for (arrival, at_own_ip) in without_host(run) {
        if at_own_ip {
            let expected = authority(arrival.hit.connection.address(), arrival.hit.port);
            let names_no_host = arrival.get.sets("Host").next().is_none();
            names_host(&arrival, names_no_host.then_some(expected.as_str()), seen);
        } else {
            came_elsewhere(&arrival, "has no host", seen);
        }
    }
}

/// A Host header in the spec changes only the named host, not the address that the probe goes to.
pub(super) fn virtual_host(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (arrival, at_own_ip) in without_host(run) {
        let wanted: Vec<&str> = arrival.get.sets("Host").map(str::trim).collect();
        match wanted.as_slice() {
            [] | [""] | [_, _, ..] => {}
            _ if !at_own_ip => came_elsewhere(&arrival, "sets a Host header", seen),
            [wanted] => names_host(&arrival, Some(wanted), seen),
        }
    }
}

/// The probes without `host`, each with whether it arrived at an address of its pod. Pods without a recorded address
/// are left out.
fn without_host<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Arrival<'t, 'h>, bool)> {
    arrivals(run).into_iter().filter(|arrival| arrival.get.host.is_none()).filter_map(|arrival| {
        let ip = arrival.hit.connection.address().parse::<IpAddr>().ok()?;
        arrival.get.pod.ip()?;
        Some((arrival, has_ip(arrival.get.pod, ip)))
    })
}

fn came_elsewhere(arrival: &Arrival<'_, '_>, though: &str, seen: &mut Seen) {
    let (hit, words) = (&arrival.hit, arrival.get.words());
    let finding = format!("{words} {though}, but arrived at {}", hit.connection.address());
    seen.violated(finding, [hit.connection.id, hit.asked.id]);
}

/// The request names the host `wanted`; if this is `None`, it may name any host.
fn names_host(arrival: &Arrival<'_, '_>, wanted: Option<&str>, seen: &mut Seen) {
    let (hit, hosts) = (&arrival.hit, arrival.hit.hosts());
    let finding = || {
        let named = if hosts.is_empty() { "(none)".to_owned() } else { hosts.join(" and ") };
        let wanted = wanted.unwrap_or_default();
        format!("{} names the host {named} instead of {wanted}", arrival.get.words())
    };
    let kept = wanted.is_none_or(|wanted| hosts == [wanted]);
    seen.check(kept, finding, [hit.connection.id, hit.asked.id]);
}

/// With `host`, a probe goes to that address and names it in its Host header, unless `httpHeaders` has such a header.
/// Its answers count for the probe's own pod.
pub(super) fn field_overrides_address(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    seen.in_facet("mechanism", "http", |seen| http_goes_there(run, seen));
    tcp_host::connects_there(run, clause, seen);
}

fn http_goes_there(run: &Timeline<'_>, seen: &mut Seen) {
    let (gets, hits) = (gets(run), hits(run));
    for get in &gets {
        let Some(host) = get.host else { continue };
        let Ok(ip) = host.parse::<IpAddr>() else { continue };
        if !leads_somewhere(run, get, ip) || !is_unique(get, &gets) {
            continue;
        }
        for hit in hits.iter().filter(|hit| is_of(hit.asked, hit.port, get)) {
            let at = hit.connection.address();
            if at.parse::<IpAddr>() == Ok(ip) {
                let expected = get.sets("Host").next().is_none().then(|| authority(host, hit.port));
                names_host(&Arrival { hit: *hit, get: *get }, expected.as_deref(), seen);
            } else {
                let finding = format!("{} has the host {ip}, but arrived at {at}", get.words());
                seen.violated(finding, [hit.connection.id, hit.asked.id]);
            }
        }
        let shown = port::counted_as_success(get.pod, get.container, get.spec.kind);
        if let Some(shown) = shown.filter(|_| never_passed(run, get, ip)) {
            let finding = format!("{} succeeded, but nothing at {ip} answered with success", get.words());
            seen.violated(finding, [shown]);
        }
    }
}

/// Whether every answer of the pods at an address is known, and none of them was a success, whoever sent the request.
fn never_passed(run: &Timeline<'_>, get: &Get<'_, '_>, ip: IpAddr) -> bool {
    let there =
        run.lives().only(|life| has_ip(life.pod, ip) || (ip.is_loopback() && on_node_network(life.pod)));
    there.iter().all(|life| {
        let failed = |asked: &Asked<'_>| {
            asked.status().is_some_and(|status| ProbeOutcome::of_status(status) == ProbeOutcome::Failure)
        };
        let port = |asked: &Asked<'_>| life.connection(asked).and_then(Connection::port).unwrap_or_default();
        let passed = |asked: &Asked<'_>| !failed(asked) && is_of(asked, port(asked), get);
        life.holes.is_empty() && !life.requests.iter().any(passed)
    })
}

/// Whether a probe of this address would be recorded: the address belongs to another pod, or is the node's loopback
/// address.
fn leads_somewhere(run: &Timeline<'_>, get: &Get<'_, '_>, ip: IpAddr) -> bool {
    match ip.is_loopback() {
        true => on_node_network(get.pod),
        false => !has_ip(get.pod, ip) && run.pods.iter().any(|pod| has_ip(pod, ip)),
    }
}

fn is_unique(get: &Get<'_, '_>, gets: &[Get<'_, '_>]) -> bool {
    let same = |other: &&Get<'_, '_>| {
        other.port.number == get.port.number
            && other.path.trim_start_matches('/') == get.path.trim_start_matches('/')
    };
    gets.iter().filter(same).count() == 1
}

fn is_of(asked: &Asked<'_>, port: u16, get: &Get<'_, '_>) -> bool {
    let target = asked.request.target.trim_start_matches('/');
    get.port.number == Some(port) && target == get.path.trim_start_matches('/')
}

/// An address and port as in a Host header: `10.0.0.7:8080`, `[fd00::7]:8080`.
fn authority(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

#[cfg(test)]
mod tests;
