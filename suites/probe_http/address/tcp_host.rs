//! A TCP probe with `host`: it connects to that address, and the result counts for the probe's own pod.

use std::net::IpAddr;

use probity_model::measure::{Bound, Fit};
use probity_model::mechanisms::FIRST_TURNS;
use probity_model::timeline::{At, Connection, ContainerLife, Handler, Life, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::arrivals::{from_a_pod, has_ip};
use crate::reading::unreachable::watched_until;
use crate::reading::unvisited::opened;

/// A TCP probe whose host is the address of another pod of the case.
struct TcpElsewhere<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
    spec: &'t ProbeSpec,
    port: u16,
    /// The instance that listens at this address and port.
    server: Life<'t, 'h>,
    /// When this instance opened the port.
    opened: At,
}

/// A probe with the address of another pod connects to that pod, and its own container becomes ready.
pub(super) fn connects_there(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        let Some(probe) = TcpElsewhere::of(run, (pod, container, spec)) else { continue };
        let came = probe.server.attempt.connections.iter().find(|connection| probe.can_be(connection));
        match came {
            Some(connection) => {
                seen.fine([connection.id]);
                seen.facet("mechanism", "tcp");
                probe.judge_readiness(clause, connection, seen);
            }
            None => probe.judge_absence(clause, seen),
        }
    }
}

impl<'t, 'h> TcpElsewhere<'t, 'h> {
    fn of(
        run: &'t Timeline<'h>,
        (pod, container, spec): (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t ProbeSpec),
    ) -> Option<Self> {
        let Handler::Tcp { host: Some(host), .. } = &spec.handler else { return None };
        let (ip, port) = (host.parse::<IpAddr>().ok()?, spec.handler.port()?);
        // Another probe of the port could be mistaken for this probe.
        let alone = run.probes().filter(|(.., other)| other.handler.port() == Some(port)).count() == 1;
        let there = run.lives().only(|life| has_ip(life.pod, ip) && !has_ip(pod, ip));
        let server = there.iter().find_map(|life| Some((*life, At::of(opened(life.attempt, port)?))));
        let (server, opened) = server.filter(|_| alone)?;
        Some(Self { run, pod, container, spec, port, server, opened })
    }

    /// Whether a connection to the other pod can belong to this probe, which means that it comes from a node.
    fn can_be(&self, connection: &Connection<'_>) -> bool {
        connection.port() == Some(self.port) && !from_a_pod(self.run, connection)
    }

    /// When the container of the probe started, if nothing but the probe decides when the container becomes ready.
    fn began(&self) -> Option<&'t At> {
        let gated = self.spec.kind != ProbeKind::Startup
            && (self.container.probe(ProbeKind::Startup).is_some()
                || self.container.lifecycle("postStart").is_some());
        let [attempt] = self.container.attempts.as_slice() else { return None };
        let whole = self.run.gaps.is_empty() && !self.run.node_was_touched() && !gated;
        (whole && attempt.lives_on()).then_some(&attempt.began)
    }

    /// Reports that no connection arrived at the other pod, although its port was open.
    fn judge_absence(&self, clause: &Clause, seen: &mut Seen) {
        let Some(began) = self.began() else { return };
        let from = if self.run.at_least(began, &self.opened) > 0 { &self.opened } else { began };
        let most = self.spec.initial_delay + FIRST_TURNS.of(self.spec.period) + clause.slack_us();
        let bound = Bound::at_most(most, "initialDelaySeconds + 2 × periodSeconds + slack");
        self.must_be_over("none of its connections reached its host", from, bound, seen);
    }

    /// The container becomes ready, because the connection was made.
    fn judge_readiness(&self, clause: &Clause, connection: &Connection<'_>, seen: &mut Seen) {
        let mut revisions = self.pod.revisions.iter();
        let shown = revisions.any(|shown| shown.container(&self.container.name).is_some_and(|of| of.ready));
        if self.spec.kind != ProbeKind::Readiness || shown || self.began().is_none() {
            return;
        }
        let most = self.spec.successes * self.spec.period + clause.slack_us();
        let bound = Bound::at_most(most, "successThreshold × periodSeconds + slack");
        self.must_be_over("it connected, but its container is not ready", &At::of(connection), bound, seen);
    }

    /// Reports a state that lasts for longer than the bound allows.
    fn must_be_over(&self, what: &str, from: &At, bound: Bound, seen: &mut Seen) {
        let Some(end) = watched_until(self.run, self.pod) else { return };
        let of = format!("the {} probe of {}/{}", self.spec.kind.word(), self.pod.key, self.container.name);
        let measured = self.run.measure(format!("{of}: {what}"), &self.server.node, from, end, bound);
        if let Some(measured) = measured.filter(|measured| measured.fit() != Fit::Met) {
            seen.measure(measured);
        }
    }
}

#[cfg(test)]
mod tests;
