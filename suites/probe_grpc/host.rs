//! A gRPC probe has no host: it goes to the pod's address.

use std::net::{IpAddr, SocketAddr};

use probity_model::timeline::{Handler, ProbeSpec};
use probity_model::{Clause, Seen, Timeline};

use super::call::{asked, with_checks};
use crate::reading::arrivals::has_ip;
use crate::reading::unvisited::must_be_visited;
use crate::refusals;

/// Every check goes to the pod's address and names this address as the authority. An open port to which no connection comes is a
/// violation.
pub(super) fn is_the_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for life in with_checks(run).into_iter().filter(|life| life.pod.ip().is_some()) {
        for asked in asked(&life) {
            let Some(connection) = life.connection(asked) else { continue };
            let (Some(port), Ok(ip)) = (connection.port(), connection.address().parse::<IpAddr>()) else {
                continue;
            };
            let (of, named) = (life.words(), asked.header(":authority").next());
            let expected = SocketAddr::new(ip, port).to_string();
            if !has_ip(life.pod, ip) {
                let finding = format!("{of} arrived at {ip}, which is not an address of its pod");
                seen.violated(finding, [connection.id, asked.id]);
            } else if named != Some(expected.as_str()) {
                let named = named.unwrap_or("nobody");
                seen.violated(format!("{of} names {named} instead of {expected}"), [asked.id]);
            } else {
                seen.fine([connection.id, asked.id]);
            }
        }
    }
    let of_grpc = |spec: &ProbeSpec| matches!(spec.handler, Handler::Grpc { .. });
    for probed in run.probes().filter(|(.., spec)| of_grpc(spec)) {
        must_be_visited(run, clause, seen, probed);
    }
}

#[cfg(test)]
mod tests;
