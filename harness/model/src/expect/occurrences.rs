//! Where something of the expectations' vocabulary occurred in the life of a pod.

use probity_script::Endpoint;

use crate::clocks::Stamp;
use crate::expectation::Occurrence;
use crate::history::{EventId, Gap, Source};
use crate::timeline::{Attempt, PodLife, Probe, Through, Timeline};

/// What was found.
pub(super) struct Found {
    /// What did occur, in the order of time on its own clock.
    pub(super) certain: Vec<(EventId, Stamp)>,
    /// What can be read either way.
    pub(super) unclear: Vec<EventId>,
}

/// All occurrences in a pod's life.
pub(super) fn found(run: &Timeline<'_>, pod: &PodLife<'_>, of: &Occurrence) -> Found {
    let certain = match of {
        Occurrence::ProbeOf(at) => probes(pod, at).map(|probe| (probe.id, probe.at.clone())).collect(),
        Occurrence::SuccessOf(at) => return settled(pod, at, true),
        Occurrence::FailureOf(at) => return settled(pod, at, false),
        Occurrence::Restart => restarts(pod),
        Occurrence::Ready => conditions(pod, true),
        Occurrence::Unready => conditions(pod, false),
        Occurrence::Signal(signal) => attempts(pod)
            .flat_map(|attempt| attempt.signals())
            .filter(|(_, _, seen)| seen.signal == *signal)
            .map(|(id, at, _)| (id, at.clone()))
            .collect(),
        Occurrence::Event(reason) => pod
            .events
            .iter()
            .filter(|event| event.reason == reason)
            .map(|event| (event.id, run.heard(event.id)))
            .collect(),
        Occurrence::Phase(phase) => phases(pod, |now| now == phase),
    };
    Found { certain, unclear: Vec::new() }
}

/// All that ends the state which an occurrence began; none for a moment.
pub(super) fn ends(run: &Timeline<'_>, pod: &PodLife<'_>, of: &Occurrence) -> Option<Found> {
    match of {
        Occurrence::SuccessOf(at) => Some(settled(pod, at, false)),
        Occurrence::FailureOf(at) => Some(settled(pod, at, true)),
        Occurrence::Ready => Some(found(run, pod, &Occurrence::Unready)),
        Occurrence::Unready => Some(found(run, pod, &Occurrence::Ready)),
        Occurrence::Phase(phase) => {
            Some(Found { certain: phases(pod, |now| now != phase), unclear: Vec::new() })
        }
        Occurrence::ProbeOf(_) | Occurrence::Restart | Occurrence::Signal(_) | Occurrence::Event(_) => None,
    }
}

/// Whether anything was heard from where such an occurrence would be told.
pub(super) fn listened(pod: &PodLife<'_>, of: &Occurrence) -> bool {
    if of.is_witnessed() { attempts(pod).next().is_some() } else { !pod.revisions.is_empty() }
}

impl Occurrence {
    /// Whether the target tells of it; otherwise the API server does.
    pub(super) fn is_witnessed(&self) -> bool {
        matches!(self, Self::ProbeOf(_) | Self::SuccessOf(_) | Self::FailureOf(_) | Self::Signal(_))
    }

    /// Whether it may have been missed in a gap.
    pub(super) fn may_hide_in(&self, gap: &Gap, of: &PodLife<'_>) -> bool {
        match &gap.of {
            Source::Recorder => self.is_witnessed(),
            Source::Witness { pod, .. } => self.is_witnessed() && *pod == of.name,
            Source::Watch(kind) if kind == "Event" => matches!(self, Self::Event(_)),
            Source::Watch(kind) => kind == "Pod" && !self.is_witnessed() && !matches!(self, Self::Event(_)),
        }
    }
}

fn attempts<'p, 'h>(pod: &'p PodLife<'h>) -> impl Iterator<Item = &'p Attempt<'h>> {
    pod.containers.iter().flat_map(|container| &container.attempts)
}

fn probes<'p, 'h>(pod: &'p PodLife<'h>, of: &'p Endpoint) -> impl Iterator<Item = &'p Probe<'h>> {
    let at_listener = move |attempt: &Attempt<'_>, probe: &Probe<'_>| match (probe.through, of) {
        (Through::Connection(at), Endpoint::Connections(listener)) => {
            attempt.connections.get(at).is_some_and(|connection| connection.accepted.listener == *listener)
        }
        _ => probe.endpoint == Some(of),
    };
    attempts(pod)
        .flat_map(move |attempt| attempt.probes.iter().filter(move |probe| at_listener(attempt, probe)))
}

fn settled(pod: &PodLife<'_>, at: &Endpoint, passed: bool) -> Found {
    let mut all = Found { certain: Vec::new(), unclear: Vec::new() };
    for probe in probes(pod, at) {
        match (probe.passed, &probe.settled) {
            (Some(did), Some(at)) if did == passed => all.certain.push((at.id, at.stamp.clone())),
            (Some(did), None) if did == passed => all.certain.push((probe.id, probe.at.clone())),
            (None, _) => all.unclear.push(probe.id),
            (Some(_), _) => {}
        }
    }
    all
}

/// One occurrence for each restart that a container's count tells of, though a revision may tell of several.
fn restarts(pod: &PodLife<'_>) -> Vec<(EventId, Stamp)> {
    let mut all = Vec::new();
    for container in &pod.containers {
        let mut known = 0;
        for (revision, seen) in pod.changes_of(&container.name) {
            for _ in known..seen.restarts {
                all.push((revision.id, revision.at.clone()));
            }
            known = known.max(seen.restarts);
        }
    }
    all.sort_by_key(|(id, _)| *id);
    all
}

/// The revisions at which the pod became ready; or, having been ready, was no longer.
fn conditions(pod: &PodLife<'_>, ready: bool) -> Vec<(EventId, Stamp)> {
    pod.changes_of_condition("Ready")
        .skip_while(|(_, now)| !now)
        .filter(|(_, now)| *now == ready)
        .map(|(revision, _)| (revision.id, revision.at.clone()))
        .collect()
}

fn phases(pod: &PodLife<'_>, wanted: impl Fn(&str) -> bool) -> Vec<(EventId, Stamp)> {
    let mut last = None;
    pod.revisions
        .iter()
        .filter_map(|revision| {
            let now = revision.phase();
            let changed = last.replace(now) != Some(now);
            (changed && wanted(now)).then(|| (revision.id, revision.at.clone()))
        })
        .collect()
}
