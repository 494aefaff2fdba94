//! Which facets an event shows: see [`crate::facets`].

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Asked, ContainerKind, Executed, Happened, Life, PodLife, Probe, ProbeKind, ProbeOutcome, Through,
    Timeline,
};
use crate::EventId;
use crate::facets::Facet;

/// Each event's facets.
pub struct FacetIndex(BTreeMap<EventId, BTreeSet<Facet>>);

impl FacetIndex {
    /// The facets of all events of a history.
    #[must_use]
    pub fn of(run: &Timeline<'_>) -> Self {
        let mut index = Self(BTreeMap::new());
        for life in &*run.lives() {
            index.add_life(life);
        }
        for pod in &run.pods {
            index.add_directions(pod);
        }
        index
    }

    /// The facets that these events show.
    #[must_use]
    pub fn shown_by(&self, events: &[EventId]) -> Vec<Facet> {
        let shown = events.iter().filter_map(|id| self.0.get(id)).flatten();
        shown.collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    fn add_life(&mut self, life: &Life<'_, '_>) {
        let mut of_life = vec![Facet::new("container", life.container.kind.word())];
        of_life.extend(how_it_began(life).map(|began| Facet::new("life", began)));
        for line in &life.lines {
            self.add(line.id, &of_life);
        }
        for probe in &life.probes {
            let mut facets = of_life.clone();
            facets.extend(probe.kinds.iter().map(|kind| Facet::new("probe", kind.word())));
            facets.push(Facet::new("mechanism", mechanism(life, probe)));
            if let [kind] = probe.kinds.as_slice() {
                facets.extend(first_result(life, *kind).map(|start| Facet::new("start", start)));
            }
            facets.extend(life.request(probe).and_then(answer));
            facets.extend(life.command(probe).and_then(exit_code));
            for id in probe.events() {
                self.add(id, &facets);
            }
        }
    }

    /// Whether readiness rose or fell with a revision.
    fn add_directions(&mut self, pod: &PodLife<'_>) {
        let turned = |(revision, ready): (&super::Revision<'_>, bool)| {
            (revision.id(), vec![Facet::new("direction", if ready { "rise" } else { "fall" })])
        };
        for (id, facet) in pod.changes_of_condition("Ready").skip(1).map(turned) {
            self.add(id, &facet);
        }
        for container in &pod.containers {
            let mut ready = None;
            for (revision, seen) in pod.changes_of(&container.name) {
                if ready.is_some_and(|before| before != seen.ready) {
                    let (id, facet) = turned((revision, seen.ready));
                    self.add(id, &facet);
                }
                ready = Some(seen.ready);
            }
        }
    }

    fn add(&mut self, id: EventId, facets: &[Facet]) {
        self.0.entry(id).or_default().extend(facets.iter().cloned());
    }
}

impl ContainerKind {
    /// The word: `main`, `sidecar`, `init` or `ephemeral`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Sidecar => "sidecar",
            Self::Init => "init",
            Self::Ephemeral => "ephemeral",
        }
    }
}

/// What ended the previous life. The cause is unknown if lines are missing, or if something else stopped the container.
fn how_it_began(life: &Life<'_, '_>) -> Option<&'static str> {
    if life.number == 0 {
        return Some("first");
    }
    let before = life.before()?;
    if before.exited_by_itself().is_some() {
        return Some("after-crash");
    }
    before.stopped_undeleted()?;
    let startup = before.probed(ProbeKind::Startup);
    let never_started = startup.is_some_and(|startup| startup.first_success().is_none());
    Some(if never_started { "after-startup-kill" } else { "after-liveness-kill" })
}

fn first_result(life: &Life<'_, '_>, kind: ProbeKind) -> Option<&'static str> {
    let probed = life.probed(kind)?;
    match probed.outcome(probed.probes.first()?) {
        ProbeOutcome::Success => Some("well"),
        ProbeOutcome::Failure => Some("failing"),
        ProbeOutcome::Unclear => None,
    }
}

fn mechanism(life: &Life<'_, '_>, probe: &Probe<'_>) -> &'static str {
    match probe.through {
        Through::Connection(_) => "tcp",
        Through::Command(_) => "exec",
        Through::Request(_) if life.request(probe).is_some_and(|asked| asked.request.service.is_some()) => {
            "grpc"
        }
        Through::Request(_) => "http",
    }
}

/// The exit status of a command.
fn exit_code(command: &Executed<'_>) -> Option<Facet> {
    let code = command.ended.as_ref()?.exit?;
    Some(Facet::new("exit-code", code.to_string()))
}

/// The status of an answer. The target writes the number of a gRPC status; the health protocol has four names.
fn answer(asked: &Asked<'_>) -> Option<Facet> {
    let answered = asked.answer.as_ref()?;
    if asked.request.service.is_none() {
        return Some(Facet::new("status", asked.status()?.to_string()));
    }
    let status = match answered.answer.strip_prefix("status ")? {
        "0" => "UNKNOWN",
        "1" => "SERVING",
        "2" => "NOT_SERVING",
        "3" => "SERVICE_UNKNOWN",
        number => number,
    };
    Some(Facet::new("grpc", status))
}
