//! The course of one probe through one life of a container, where its target has seen all of it.
//!
//! Probes leave no trace while a port is closed, and can be mistaken for others where endpoints are shared. Such lives,
//! and such stretches of a life, are left out: they are evidence neither for nor against anyone.

use probity_model::clocks::{Clock, Order, Stamp};
use probity_model::measure::{Bound, Interval, Measurement, Unit, seconds};
use probity_model::timeline::{
    Attempt, ContainerKind, ContainerLife, Handler, Line, PodLife, Probe, ProbeKind, ProbeSpec, Revision,
    State, Through,
};
use probity_model::{EventId, Timeline};
use probity_script::witness::Fact;

use crate::reading::evidence::asked_alone;
use crate::reading::kill::{before_deletion, node_was_touched};
use crate::reading::tolerance::{Outcome, leaves_a_trace, outcome, strangers};

pub(super) const SECOND: i64 = 1_000_000;

/// A life of a container, and one of its probes in it.
pub(super) struct Course<'t, 'h> {
    pub(super) pod: &'t PodLife<'h>,
    pub(super) container: &'t ContainerLife<'h>,
    pub(super) attempt: &'t Attempt<'h>,
    pub(super) spec: &'t ProbeSpec,
    /// The probes, in the order of their arrival.
    pub(super) probes: Vec<&'t Probe<'h>>,
}

/// Every life of every container with a probe of this kind, as far as all of that probe was seen and nothing else was
/// taken for it.
pub(super) fn courses<'t, 'h>(run: &'t Timeline<'h>, kind: ProbeKind) -> Vec<Course<'t, 'h>> {
    if node_was_touched(run) {
        return Vec::new();
    }
    let mut courses = Vec::new();
    for (pod, container, spec) in run.probed(kind) {
        let known = asked_alone(run, pod, container, spec) && leaves_a_trace(pod, &container.name, spec);
        if container.kind == ContainerKind::Init || !known {
            continue;
        }
        for attempt in container.attempts.iter().filter(|attempt| attempt.holes.is_empty()) {
            let probes: Vec<_> = attempt.probes.iter().filter(|probe| probe.can_be(kind)).collect();
            let port = spec.handler.port();
            let clear = probes.iter().all(|probe| probe.is(kind) && !is_hook(attempt, probe));
            if clear && (port.is_none() || !strangers(attempt, port)) {
                courses.push(Course { pod, container, attempt, spec, probes });
            }
        }
    }
    courses
}

fn is_hook(attempt: &Attempt<'_>, probe: &Probe<'_>) -> bool {
    let asked = attempt.request(probe);
    asked.is_some_and(|asked| asked.header("user-agent").any(|agent| agent.starts_with("kube-lifecycle")))
}

impl<'t, 'h> Course<'t, 'h> {
    /// The probe in words: `the liveness probe of pod/target`.
    pub(super) fn words(&self) -> String {
        format!("the {} probe of {}/{}", self.spec.kind.word(), self.pod.key, self.container.name)
    }

    /// What a kubelet made of a probe.
    pub(super) fn outcome(&self, probe: &Probe<'_>) -> Outcome {
        outcome(self.attempt, self.spec, probe)
    }

    /// The probes in stretches of one outcome.
    pub(super) fn stretches(&self) -> Vec<(Outcome, Vec<&'t Probe<'h>>)> {
        let mut stretches: Vec<(Outcome, Vec<&'t Probe<'h>>)> = Vec::new();
        for probe in &self.probes {
            let now = self.outcome(probe);
            match stretches.last_mut().filter(|(outcome, _)| *outcome == now) {
                Some((_, stretch)) => stretch.push(probe),
                None => stretches.push((now, vec![probe])),
            }
        }
        stretches
    }

    /// From when on every probe of this life was bound to leave a trace: its port was opened as soon as the process
    /// began, or it runs a command.
    pub(super) fn open(&self) -> Option<(EventId, Stamp)> {
        if matches!(self.spec.handler, Handler::Exec { .. }) {
            return Some(self.attempt.began.clone());
        }
        let first = self.listening().next()?;
        let (state, line) = first;
        let prompt = line.at.at.lo - self.attempt.began.1.at.hi <= SECOND;
        (state == "open" && prompt).then(|| (line.id, line.at.clone()))
    }

    /// The states of its port, in their order.
    pub(super) fn listening(&self) -> impl Iterator<Item = (&'h str, &'t Line<'h>)> {
        let port = self.spec.handler.port();
        let attempt: &'t Attempt<'h> = self.attempt;
        attempt.lines.iter().filter_map(move |line| match &line.line.fact {
            Fact::Listening(state) => {
                let of = state.address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                (of.is_some() && of == port).then_some((state.state.as_str(), line))
            }
            _ => None,
        })
    }

    /// Whether a probe between these two instants would have been seen: the port did not change, no connection came
    /// without a request, and the pod was not being deleted.
    pub(super) fn watched(&self, run: &Timeline<'_>, from: &Stamp, to: &Stamp) -> bool {
        let between = |at: &Stamp| at.at.lo > from.at.lo && at.at.lo < to.at.lo;
        let bare = matches!(self.spec.handler, Handler::Http { .. } | Handler::Grpc { .. })
            && self.attempt.connections.iter().any(|connection| {
                connection.port() == self.spec.handler.port()
                    && connection.requests == 0
                    && between(&connection.at)
            });
        let turned = self.listening().any(|(_, line)| between(&line.at));
        !bare && !turned && before_deletion(run, self.pod, to)
    }

    /// Neighbours whose distance the schedule alone makes: seen without a gap, and no probe up to them took long enough
    /// to hold up the next one.
    pub(super) fn neighbours(&self, run: &Timeline<'_>) -> Vec<(&'t Probe<'h>, &'t Probe<'h>)> {
        let quick = |probe: &&&Probe<'_>| {
            let settled = probe.settled.as_ref();
            let took = settled.map(|(_, settled)| settled.at.hi - probe.at.at.lo);
            // What breaks off may be asked for once more by the client itself, out of any schedule.
            let clear = self.outcome(probe) != Outcome::Unclear;
            clear && took.is_some_and(|took| took < self.spec.period / 2)
        };
        let quick = self.probes.iter().take_while(quick).count();
        let known = self.probes.windows(2).take(quick);
        let pairs = known.filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        pairs.filter(|(a, b)| self.watched(run, &a.at, &b.at) && self.started(a)).collect()
    }

    /// Whether no startup probe came after this one: one that follows shuts the gate again, and the schedule has a gap.
    fn started(&self, probe: &Probe<'_>) -> bool {
        let startup =
            |other: &&Probe<'_>| self.spec.kind != ProbeKind::Startup && other.can_be(ProbeKind::Startup);
        self.attempt.probes.iter().filter(startup).all(|other| other.at.at.lo <= probe.at.at.lo)
    }

    /// Whether a command is run: that takes its time before the target sees it.
    pub(super) fn is_command(&self) -> bool {
        matches!(self.spec.handler, Handler::Exec { .. })
            || self.probes.iter().any(|probe| matches!(probe.through, Through::Command(_)))
    }

    /// The revisions that show this life running, at each turn of `ready`.
    pub(super) fn shown_ready(&self) -> Vec<(&'t Revision<'h>, bool)> {
        let mut turns: Vec<(&'t Revision<'h>, bool)> = Vec::new();
        for revision in self.pod.revisions.iter().filter(|revision| !revision.gone) {
            let Some(status) = revision.container(&self.container.name) else { continue };
            let runs = matches!(status.state, State::Running { .. });
            let turned = turns.last().is_none_or(|(_, ready)| *ready != status.ready);
            if runs && status.restarts == self.attempt.number && turned {
                turns.push((revision, status.ready));
            }
        }
        turns
    }

    /// Whether a probe came before the API showed this life of a container that was restarted: it may have been sent by
    /// what the kubelet knew of the life before.
    pub(super) fn is_straggler(&self, run: &Timeline<'_>, probe: &Probe<'_>) -> bool {
        let shown = self.pod.revisions.iter().find(|revision| {
            revision.container(&self.container.name).is_some_and(|status| {
                status.restarts == self.attempt.number && matches!(status.state, State::Running { .. })
            })
        });
        self.attempt.number > 0
            && shown.is_none_or(|shown| run.clocks.order(&probe.at, &shown.at) != Order::After)
    }

    /// The revision that shows since which second this life runs, and that second.
    pub(super) fn started_at(&self) -> Option<(EventId, Stamp)> {
        self.pod.revisions.iter().find_map(|revision| {
            let status = revision.container(&self.container.name)?;
            let State::Running { started: Some(second) } = status.state else { return None };
            let at = Interval::point(second.saturating_mul(SECOND));
            let clock = Clock::Wall(self.pod.node.clone());
            (status.restarts == self.attempt.number).then_some((revision.id, Stamp { clock, at }))
        })
    }
}

/// The distances of a schedule as a note for the report: least and most, and the median in words.
pub(super) fn distribution(what: &str, mut spans: Vec<i64>, events: Vec<EventId>) -> Option<Measurement> {
    spans.sort_unstable();
    let (least, most) = (*spans.first()?, *spans.last()?);
    let median = *spans.get(spans.len() / 2)?;
    Some(Measurement {
        quantity: format!("{what}, {} of them, median {}", spans.len(), seconds(median)),
        unit: Unit::Us,
        observed: Interval::new(least, most),
        bound: Bound::default(),
        noise: 0,
        events,
    })
}
