//! Finds the occurrences that expectations name in the life of a pod.

use probity_script::Endpoint;

use super::narrow::Hit;
use crate::clocks::Stamp;
use crate::expectation::{Occurrence, Only};
use crate::history::{EventId, Gap, Source};
use crate::timeline::{Attempt, ContainerSeen, PodLife, Probe, Revision, State, Through, Timeline};

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// The certain occurrences, in the order of their times, each on its own clock.
    pub(super) certain: Vec<(EventId, Stamp)>,
    /// Ambiguous occurrences.
    pub(super) unclear: Vec<EventId>,
}

/// All occurrences in a pod's life.
pub(super) fn found(run: &Timeline<'_>, pod: &PodLife<'_>, of: &Occurrence) -> Found {
    let all = |of| hits(pod, of, None);
    match of {
        Occurrence::Only(only) => only.narrow(run, hits(pod, &only.what, only.container.as_deref())),
        of => Found::of(all(of)),
    }
}

/// Everything that ends the state that an occurrence started; empty for an event without duration.
pub(super) fn ends(run: &Timeline<'_>, pod: &PodLife<'_>, of: &Occurrence) -> Option<Found> {
    if let Occurrence::Only(only) = of {
        // The end of a state counts even if it comes before the step that `since` names.
        let end = end(&only.what)?;
        let limits = Only { what: end, since: None, ..only.as_ref().clone() };
        return Some(found(run, pod, &Occurrence::Only(Box::new(limits))));
    }
    if let Occurrence::Phase(phase) = of {
        return Some(Found::of(phases(pod, |now| now != phase)));
    }
    end(of).map(|end| found(run, pod, &end))
}

/// The occurrence that ends a state. A phase ends with any other phase.
fn end(of: &Occurrence) -> Option<Occurrence> {
    match of {
        Occurrence::SuccessOf(at) => Some(Occurrence::FailureOf(at.clone())),
        Occurrence::FailureOf(at) => Some(Occurrence::SuccessOf(at.clone())),
        Occurrence::Ready => Some(Occurrence::Unready),
        Occurrence::Unready => Some(Occurrence::Ready),
        _ => None,
    }
}

/// Whether anything arrived from the source that would report such an occurrence.
pub(super) fn listened(pod: &PodLife<'_>, of: &Occurrence) -> bool {
    if of.is_witnessed() { attempts(pod).next().is_some() } else { !pod.revisions.is_empty() }
}

impl Found {
    fn of(hits: Vec<Hit<'_>>) -> Self {
        let mut found = Self::default();
        hits.into_iter().for_each(|hit| found.add(hit));
        found
    }

    /// Adds an occurrence.
    pub(super) fn add(&mut self, hit: Hit<'_>) {
        if hit.clear {
            self.certain.push((hit.id, hit.at));
        } else {
            self.unclear.push(hit.id);
        }
    }
}

impl Occurrence {
    /// Whether the target reports the occurrence; otherwise the API server does.
    pub(super) fn is_witnessed(&self) -> bool {
        matches!(self.what(), Self::ProbeOf(_) | Self::SuccessOf(_) | Self::FailureOf(_) | Self::Signal(_))
    }

    fn is_event(&self) -> bool {
        matches!(self.what(), Self::Event(_) | Self::EventSaying { .. })
    }

    /// Whether the occurrence may have been missed in a gap.
    pub(super) fn may_hide_in(&self, gap: &Gap, of: &PodLife<'_>) -> bool {
        match &gap.of {
            Source::Recorder => self.is_witnessed(),
            Source::Witness { pod, .. } => self.is_witnessed() && *pod == of.name,
            Source::Watch(kind) if kind == "Event" => self.is_event(),
            Source::Watch(kind) => kind == "Pod" && !self.is_witnessed() && !self.is_event(),
        }
    }
}

/// All occurrences in a pod's lifetime. `container` selects the readiness of that container instead of the pod's.
fn hits<'p>(pod: &'p PodLife<'_>, of: &'p Occurrence, container: Option<&str>) -> Vec<Hit<'p>> {
    match of {
        Occurrence::ProbeOf(at) => {
            let arrived = |(name, attempt, probe): (&'p str, u64, &'p Probe<'_>)| Hit {
                container: Some(name),
                attempt: Some(attempt),
                ..Hit::new(probe.id, &probe.at)
            };
            probes(pod, at).map(arrived).collect()
        }
        Occurrence::SuccessOf(at) => settled(pod, at, true),
        Occurrence::FailureOf(at) => settled(pod, at, false),
        Occurrence::Restart => restarts(pod),
        Occurrence::Started => turns(pod, |seen| seen.started == Some(true)),
        Occurrence::Ended => ended(pod),
        Occurrence::Ready | Occurrence::Unready => {
            let ready = *of == Occurrence::Ready;
            match container {
                Some(_) if ready => turns(pod, |seen| seen.ready),
                Some(_) => turns_back(pod, |seen| seen.ready),
                None => conditions(pod, ready),
            }
        }
        Occurrence::Signal(signal) => signals(pod, signal),
        Occurrence::Event(reason) => events(pod, reason, ""),
        Occurrence::EventSaying { reason, says } => events(pod, reason, says),
        Occurrence::Phase(phase) => phases(pod, |now| now == phase),
        Occurrence::Only(_) => Vec::new(),
    }
}

fn attempts<'p, 'h>(pod: &'p PodLife<'h>) -> impl Iterator<Item = (&'p str, &'p Attempt<'h>)> {
    let of = |container: &'p crate::timeline::ContainerLife<'h>| {
        container.attempts.iter().map(move |attempt| (container.name.as_str(), attempt))
    };
    pod.containers.iter().flat_map(of)
}

fn probes<'p, 'h>(
    pod: &'p PodLife<'h>,
    of: &'p Endpoint,
) -> impl Iterator<Item = (&'p str, u64, &'p Probe<'h>)> {
    let at_listener = move |attempt: &Attempt<'_>, probe: &Probe<'_>| match (probe.through, of) {
        (Through::Connection(at), Endpoint::Connections(listener)) => {
            attempt.connections.get(at).is_some_and(|connection| connection.accepted.listener == *listener)
        }
        _ => probe.endpoint == Some(of),
    };
    attempts(pod).flat_map(move |(name, attempt)| {
        let probes = attempt.probes.iter().filter(move |probe| at_listener(attempt, probe));
        probes.map(move |probe| (name, attempt.earlier_processes(), probe))
    })
}

fn settled<'p>(pod: &'p PodLife<'_>, at: &'p Endpoint, passed: bool) -> Vec<Hit<'p>> {
    let of_probe = |(name, attempt, probe): (&'p str, u64, &'p Probe<'_>)| {
        let (id, at, clear) = match (probe.passed, &probe.settled) {
            (Some(did), Some(at)) if did == passed => (at.id, &at.stamp, true),
            (Some(did), None) if did == passed => (probe.id, &probe.at, true),
            (None, _) => (probe.id, &probe.at, false),
            (Some(_), _) => return None,
        };
        Some(Hit { clear, container: Some(name), attempt: Some(attempt), ..Hit::new(id, at) })
    };
    probes(pod, at).filter_map(of_probe).collect()
}

fn signals<'p>(pod: &'p PodLife<'_>, signal: &str) -> Vec<Hit<'p>> {
    let of_attempt = |(name, attempt): (&'p str, &'p Attempt<'_>)| {
        let seen = attempt.signals().filter(|(_, _, seen)| seen.signal == signal);
        let hit = |(id, at, _): (EventId, &Stamp, _)| Hit {
            container: Some(name),
            attempt: Some(attempt.earlier_processes()),
            ..Hit::new(id, at)
        };
        seen.map(hit).collect::<Vec<_>>()
    };
    attempts(pod).flat_map(of_attempt).collect()
}

fn events<'p>(pod: &'p PodLife<'_>, reason: &str, says: &str) -> Vec<Hit<'p>> {
    let wanted = pod.events.iter().filter(|event| event.reason == reason && event.message.contains(says));
    wanted.map(|event| Hit { container: event.container, ..Hit::new(event.id, &event.at) }).collect()
}

/// The maximum number of occurrences that one status change can show: a history can contain any restart count.
const MOST_AT_ONCE: u64 = 1000;

/// The occurrences that `count` finds in each change of a container's status, in the order of the events.
fn of_statuses<'p>(
    pod: &'p PodLife<'_>,
    mut count: impl FnMut(Option<&ContainerSeen<'_>>, &ContainerSeen<'_>) -> u64,
) -> Vec<Hit<'p>> {
    let mut all = Vec::new();
    for container in &pod.containers {
        let mut last = None;
        for (revision, seen) in pod.changes_of(&container.name) {
            for _ in 0..count(last.as_ref(), &seen).min(MOST_AT_ONCE) {
                all.push(Hit {
                    container: Some(&container.name),
                    attempt: Some(seen.restarts),
                    ..Hit::new(revision.id, &revision.at)
                });
            }
            last = Some(seen);
        }
    }
    all.sort_by_key(|hit| hit.id);
    all
}

/// One occurrence for each restart in a container's restart count. One revision may show several restarts.
fn restarts<'p>(pod: &'p PodLife<'_>) -> Vec<Hit<'p>> {
    of_statuses(pod, |last, now| now.restarts.saturating_sub(last.map_or(0, |last| last.restarts)))
}

/// The ends of containers: shown by the current state, or by the last state if they occurred between two revisions.
fn ended<'p>(pod: &'p PodLife<'_>) -> Vec<Hit<'p>> {
    let over = |state: &State<'_>| matches!(state, State::Terminated { .. });
    of_statuses(pod, |last, now| {
        let known = |state: &State<'_>| last.is_some_and(|last| last.state == *state || last.last == *state);
        let new = |state: &State<'_>| u64::from(over(state) && !known(state));
        new(&now.state) + new(&now.last)
    })
}

/// The revisions at which `is` became true for a container.
fn turns<'p>(pod: &'p PodLife<'_>, is: impl Fn(&ContainerSeen<'_>) -> bool) -> Vec<Hit<'p>> {
    of_statuses(pod, |last, now| {
        let again = last.is_some_and(|last| is(last) && last.restarts == now.restarts);
        u64::from(is(now) && !again)
    })
}

/// The revisions at which `is` was no longer true for a container.
fn turns_back<'p>(pod: &'p PodLife<'_>, is: impl Fn(&ContainerSeen<'_>) -> bool) -> Vec<Hit<'p>> {
    of_statuses(pod, |last, now| u64::from(!is(now) && last.is_some_and(&is)))
}

fn at_revision<'p>(revision: &Revision<'_>) -> Hit<'p> {
    Hit::new(revision.id, &revision.at)
}

/// The revisions at which the pod became ready or, if `ready` is false, stopped being ready.
fn conditions<'p>(pod: &'p PodLife<'_>, ready: bool) -> Vec<Hit<'p>> {
    pod.changes_of_condition("Ready")
        .skip_while(|(_, now)| !now)
        .filter(|(_, now)| *now == ready)
        .map(|(revision, _)| at_revision(revision))
        .collect()
}

fn phases<'p>(pod: &'p PodLife<'_>, wanted: impl Fn(&str) -> bool) -> Vec<Hit<'p>> {
    let mut last = None;
    let turned = pod.revisions.iter().filter(|revision| {
        let now = revision.phase();
        last.replace(now) != Some(now) && wanted(now)
    });
    turned.map(at_revision).collect()
}
