//! The port that a probe goes to: a valid number, or the name of a port that the container declares.

use probity_model::timeline::{ContainerLife, Handler, PodLife, Port, ProbeKind, ProbeSpec, Through};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::arrivals::{arrivals, elsewhere};
use crate::reading::unvisited::must_be_visited;
use crate::refusals;

/// A probe whose port is the name of a declared port goes to that port.
pub(super) fn by_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec, port) in named(run).filter(|(.., port)| port.number.is_some()) {
        must_be_visited(run, clause, seen, (pod, container, spec));
        let same_port = container.probes.iter().filter(|other| other.handler.port() == port.number);
        if matches!(spec.handler, Handler::Tcp { .. }) && same_port.count() == 1 {
            let came = container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind));
            let bare = came.filter(|probe| matches!(probe.through, Through::Connection(_)));
            seen.fine(bare.map(|probe| probe.id));
        }
    }
    for arrival in arrivals(run).into_iter().filter(|arrival| is_name(arrival.get.port)) {
        seen.fine([arrival.hit.connection.id, arrival.hit.asked.id]);
    }
    for arrival in elsewhere(run).into_iter().filter(|arrival| is_name(arrival.get.port)) {
        let Some(number) = arrival.get.port.number else { continue };
        let (words, name, at) = (arrival.get.words(), &arrival.get.port.written, arrival.hit.port);
        let finding = format!("{words} has the port {name} ({number}), but arrived at {at}");
        seen.violated(finding, [arrival.hit.connection.id, arrival.hit.asked.id]);
    }
}

/// An undeclared name is accepted if it is a valid port name; a probe with such a name does not arrive anywhere, is
/// recorded as an error, and does not count.
pub(super) fn undeclared_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for (pod, container, spec, port) in named(run).filter(|(.., port)| port.number.is_none()) {
        let word = spec.kind.word();
        let event = |reason: &str, says: String| event_about(pod, container, reason, &says);
        let wrong = [
            ("failed", event("Unhealthy", format!("{word} probe failed"))),
            ("killed", event("Killing", format!("failed {word} probe"))),
            ("counted", counted_as_success(pod, container, spec.kind)),
        ];
        for (did, id) in wrong.into_iter().filter_map(|(did, id)| Some((did, id?))) {
            let of = format!("the {word} probe of {}/{}", pod.key, container.name);
            seen.violated(
                format!("{of} {did}, although no container declares its port {}", port.written),
                [id],
            );
        }
        seen.fine(event("Unhealthy", format!("{word} probe errored")));
    }
    for arrival in elsewhere(run).into_iter().filter(|arrival| is_name(arrival.get.port)) {
        if arrival.get.port.number.is_none() {
            let (words, name, at) = (arrival.get.words(), &arrival.get.port.written, arrival.hit.port);
            let finding = format!("{words} arrived at {at}, although no container declares its port {name}");
            seen.violated(finding, [arrival.hit.connection.id, arrival.hit.asked.id]);
        }
    }
}

/// The probes whose port is a name.
fn named<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t ProbeSpec, &'t Port)> {
    run.probes().filter_map(|(pod, container, spec)| match &spec.handler {
        Handler::Http { port, .. } | Handler::Tcp { port, .. } if is_name(port) => {
            Some((pod, container, spec, port))
        }
        _ => None,
    })
}

/// The first event for a container with this reason, whose message contains this lower-case text, whatever the case of
/// the message.
pub(super) fn event_about(
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    reason: &str,
    says: &str,
) -> Option<EventId> {
    let mut of = pod.events.iter().filter(|event| event.container == Some(container.name.as_str()));
    of.find(|event| event.reason == reason && event.message.to_lowercase().contains(says))
        .map(|event| event.id)
}

/// The first revision that shows an effect that only a success of a probe of this kind can have.
pub(in crate::probe_http) fn counted_as_success(
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    kind: ProbeKind,
) -> Option<EventId> {
    let shown = pod.revisions.iter().find(|shown| {
        shown.container(&container.name).is_some_and(|status| match kind {
            ProbeKind::Readiness => status.ready,
            ProbeKind::Startup => status.started == Some(true),
            ProbeKind::Liveness => false,
        })
    });
    shown.map(|shown| shown.id)
}

/// Whether a port is written as a name. A text that consists of digits is a number.
fn is_name(port: &Port) -> bool {
    !port.written.is_empty() && port.written.parse::<i64>().is_err()
}

#[cfg(test)]
mod tests;
