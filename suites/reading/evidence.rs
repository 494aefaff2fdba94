//! What a target's witness tells of the readiness probes of its container, and from when on the API had to follow.
//!
//! A probe counts only where its answer leaves no choice to the kubelet, and a container only where its probes cannot
//! be mistaken for those of others. All else is left out: it is no evidence, neither for nor against anyone.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::timeline::{
    Attempt, ContainerKind, ContainerLife, ContainerSeen, Handler, PodLife, Probe, ProbeKind, ProbeSpec,
    Revision, State, Through,
};
use probity_model::{EventId, Timeline};
use probity_script::witness::Fact;

/// How long a runtime may take to start a command on a busy node: a probe with less patience may have failed unseen.
const START_OF_A_COMMAND: i64 = 3_000_000;

/// What a kubelet must have made of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A success.
    Pass,
    /// A failure.
    Fail,
    /// The answer alone does not tell.
    Unknown,
}

/// A readiness probe and what came of it.
pub(crate) struct Said<'t, 'h> {
    /// The probe; where endpoints are shared it may have been one of another kind.
    pub(crate) probe: &'t Probe<'h>,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// One life of a container that has a readiness probe.
pub(crate) struct Life<'t, 'h> {
    /// The pod.
    pub(crate) pod: &'t PodLife<'h>,
    /// The container.
    pub(crate) container: &'t ContainerLife<'h>,
    /// Its readiness probe.
    pub(crate) spec: &'t ProbeSpec,
    /// The life.
    pub(crate) attempt: &'t Attempt<'h>,
    /// Its readiness probes, in the order of their arrival.
    pub(crate) said: Vec<Said<'t, 'h>>,
}

/// Probes in a row that said the same, often enough to count.
pub(crate) struct Turn<'t, 'h> {
    /// The first of them.
    pub(crate) first: &'t Probe<'h>,
    /// When the threshold was reached, at the latest.
    pub(crate) due: (EventId, Stamp),
    /// The last of them.
    pub(crate) last: &'t Probe<'h>,
}

/// All lives of containers with a readiness probe whose witness can be relied on. None in a history in which a node
/// was tampered with: what a kubelet owes after its own restart is another chapter's subject.
pub(crate) fn lives<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Life<'t, 'h>> {
    let tampered = run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }));
    let mut lives = Vec::new();
    for (pod, container, spec) in run.probed(ProbeKind::Readiness).filter(|_| !tampered) {
        if container.kind == ContainerKind::Init || !asked_alone(run, pod, container, spec) {
            continue;
        }
        for attempt in container.attempts.iter().filter(|attempt| attempt.holes.is_empty()) {
            if numbered(attempt) || container.attempts.len() == 1 {
                let said = said(container, attempt, ProbeKind::Readiness);
                lives.push(Life { pod, container, spec, attempt, said });
            }
        }
    }
    lives
}

/// Whether the target knew which of its lives this is.
fn numbered(attempt: &Attempt<'_>) -> bool {
    matches!(attempt.lines.first().map(|line| &line.line.fact), Some(Fact::Started(started)) if started.attempt_known)
}

/// Whether this container's witness sees all of this probe and nothing that only looks like it.
pub(crate) fn asked_alone(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    spec: &ProbeSpec,
) -> bool {
    let elsewhere = host(&spec.handler).is_some();
    let by_sibling = pod
        .containers
        .iter()
        .filter(|other| other.name != container.name)
        .flat_map(|other| &other.probes)
        .any(|probe| probe.handler.port().is_some() && probe.handler.port() == spec.handler.port());
    let by_stranger = run.probes().any(|(other, _, probe)| {
        other.name != pod.name && host(&probe.handler).is_some_and(|host| pod.ip() == Some(host))
    });
    let by_hand = matches!(&spec.handler, Handler::Exec { command } if run.deeds.iter().any(
        |(_, deed)| matches!(&deed.did, Did::Executed { command: run, .. } if run == command)));
    !(elsewhere || by_sibling || by_stranger || by_hand)
}

fn host(handler: &Handler) -> Option<&str> {
    match handler {
        Handler::Http { host, .. } | Handler::Tcp { host, .. } => host.as_deref(),
        Handler::Grpc { .. } | Handler::Exec { .. } => None,
    }
}

/// The probes of a life that can have been of a kind. Hooks and the later hops of redirects are none.
pub(crate) fn said<'t, 'h>(
    container: &'t ContainerLife<'h>,
    attempt: &'t Attempt<'h>,
    kind: ProbeKind,
) -> Vec<Said<'t, 'h>> {
    let Some(spec) = container.probe(kind) else { return Vec::new() };
    let hook = |probe: &Probe<'_>| {
        attempt.request(probe).is_some_and(|asked| {
            asked.header("referer").next().is_some()
                || asked.header("user-agent").any(|agent| agent.starts_with("kube-lifecycle"))
        })
    };
    attempt
        .probes
        .iter()
        .filter(|probe| probe.can_be(kind) && !hook(probe))
        .map(|probe| Said { probe, outcome: outcome(attempt, probe, spec) })
        .collect()
}

/// What a kubelet must have made of a probe. A pass must have come in half of the timeout, so that the way between
/// target and kubelet does not matter; a failure must have been complete before anyone gave up, or nothing at all.
fn outcome(attempt: &Attempt<'_>, probe: &Probe<'_>, spec: &ProbeSpec) -> Outcome {
    let Some((_, settled)) = &probe.settled else { return Outcome::Unknown };
    let least = settled.at.lo.saturating_sub(probe.at.at.hi);
    let most = settled.at.hi.saturating_sub(probe.at.at.lo);
    let (in_time, timed_out) = (most <= spec.timeout / 2, least >= spec.timeout / 10 * 9);
    let patient = spec.timeout >= START_OF_A_COMMAND;
    let known = |known: bool, outcome| if known { outcome } else { Outcome::Unknown };
    match probe.through {
        Through::Connection(_) => Outcome::Pass,
        Through::Command(at) => {
            let exit = attempt.commands.get(at).and_then(|command| command.ended.as_ref()?.2.exit);
            match exit {
                Some(0) => known(in_time && patient, Outcome::Pass),
                Some(_) => Outcome::Fail,
                None => known(timed_out, Outcome::Fail),
            }
        }
        Through::Request(at) => {
            let Some((_, _, answer)) = attempt.requests.get(at).and_then(|asked| asked.answer.as_ref())
            else {
                return Outcome::Unknown;
            };
            let silent = answer.written == 0 && timed_out;
            match (probe.passed, answer.answer.as_str()) {
                (Some(true), _) => known(in_time, Outcome::Pass),
                (_, "raw") => Outcome::Unknown,
                (_, "hang") => known(silent, Outcome::Fail),
                (Some(false), _) => Outcome::Fail,
                (None, _) => known(silent && answer.error.is_some(), Outcome::Fail),
            }
        }
    }
}

/// The end of a process: its own last word, or its last line before the recorder lost it.
pub(crate) fn end<'t>(attempt: &'t Attempt<'_>) -> Option<(EventId, &'t Stamp)> {
    let exiting = attempt.lines.iter().find(|line| matches!(line.line.fact, Fact::Exiting(_)));
    let last = attempt.ended.as_ref().and_then(|_| attempt.last_line());
    exiting.or(last).map(|line| (line.id, &line.at))
}

/// The longest pause that the spec itself makes between two probes: a probe that hangs holds up the next one.
pub(crate) fn pace(spec: &ProbeSpec, said: &[Said<'_, '_>]) -> i64 {
    let quick = said.iter().all(|said| {
        let settled = said.probe.settled.as_ref();
        settled.is_some_and(|(_, settled)| settled.at.lo - said.probe.at.at.lo < spec.period / 2)
    });
    if quick { spec.period } else { spec.period.max(spec.timeout) }
}

impl<'t, 'h> Life<'t, 'h> {
    /// The stretches of probes of one outcome that are long enough for their threshold. Where an endpoint is shared
    /// with another probe, nobody can count: there the threshold is reached once enough periods have gone by.
    pub(crate) fn turns(&self, wanted: Outcome) -> Vec<Turn<'t, 'h>> {
        let longest = 2 * self.spec.period.max(self.spec.timeout);
        let together = |a: &Said<'_, '_>, b: &Said<'_, '_>| {
            a.outcome == b.outcome && b.probe.at.at.lo - a.probe.at.at.lo <= longest
        };
        let stretches = self.said.chunk_by(together);
        let wanted = stretches.filter(|stretch| stretch.first().is_some_and(|said| said.outcome == wanted));
        wanted.filter_map(|stretch| self.turn(stretch)).collect()
    }

    fn turn(&self, stretch: &[Said<'t, 'h>]) -> Option<Turn<'t, 'h>> {
        let (first, last) = (stretch.first()?, stretch.last()?);
        let need = match first.outcome {
            Outcome::Pass => self.spec.successes,
            _ => self.spec.failures,
        };
        let (first, last, outcome) = (first.probe, last.probe, first.outcome);
        if stretch.iter().all(|said| said.probe.is(ProbeKind::Readiness)) {
            let reached = stretch.get(usize::try_from(need - 1).ok()?)?;
            let due = reached.probe.settled.clone()?;
            return Some(Turn { first, due, last });
        }
        let periods = need.saturating_mul(self.spec.period);
        if last.at.at.lo - first.at.at.lo < periods {
            return None;
        }
        let waited = if outcome == Outcome::Fail { self.spec.timeout } else { self.spec.timeout / 2 };
        Some(Turn { first, due: (first.id, later(&first.at, periods + waited)), last })
    }

    /// The revisions that show this life of the container.
    pub(crate) fn revisions(&self) -> impl Iterator<Item = (&'t Revision<'h>, ContainerSeen<'h>)> {
        let (pod, container, number) = (self.pod, &self.container.name, self.attempt.number);
        let shown = pod.revisions.iter().filter(|revision| !revision.gone);
        shown
            .filter_map(move |revision| Some((revision, revision.container(container)?)))
            .filter(move |(_, seen)| seen.restarts == number)
    }

    /// Whether the last revision that was heard for sure before an instant showed this life running and so ready.
    pub(crate) fn showed(&self, run: &Timeline<'_>, at: &Stamp, ready: bool) -> bool {
        let before = |revision: &Revision<'_>| run.clocks.order(&revision.at, at) == Order::Before;
        let last = self.pod.revisions.iter().take_while(|revision| before(revision)).last();
        last.and_then(|revision| revision.container(&self.container.name))
            .is_some_and(|seen| seen.restarts == self.attempt.number && seen.ready == ready && running(&seen))
    }

    /// The first revision that was not heard before an instant and shows something of this life.
    pub(crate) fn first_shown(
        &self,
        run: &Timeline<'_>,
        from: &Stamp,
        what: impl Fn(&Revision<'h>, &ContainerSeen<'h>) -> bool,
    ) -> Option<&'t Revision<'h>> {
        let not_before = |revision: &Revision<'_>| run.clocks.order(&revision.at, from) != Order::Before;
        self.revisions()
            .find(|(revision, seen)| not_before(revision) && what(revision, seen))
            .map(|(revision, _)| revision)
    }

    /// How long the probes went on to say the same after the threshold, delays of the machine taken off.
    pub(crate) fn lasted(&self, run: &Timeline<'_>, turn: &Turn<'_, '_>) -> i64 {
        let lasted = turn.last.at.at.lo - turn.due.1.at.hi;
        lasted - run.noise_between(&self.attempt.node, &turn.due.1, &turn.last.at)
    }
}

/// The last event before the end of the case: what never came did not come until then.
pub(crate) fn last_event(run: &Timeline<'_>) -> Option<EventId> {
    run.history.events().filter(|(_, event)| event.us <= run.ended_us).map(|(id, _)| id).next_back()
}

/// Whether a container runs.
pub(crate) fn running(seen: &ContainerSeen<'_>) -> bool {
    matches!(seen.state, State::Running { .. })
}

/// An instant so much later.
pub(crate) fn later(stamp: &Stamp, by: i64) -> Stamp {
    let at = stamp.at.plus(probity_model::measure::Interval::point(by));
    Stamp { clock: stamp.clock.clone(), at }
}

/// The least time between two instants; the whole time there is if the clocks cannot be compared.
pub(crate) fn at_least(run: &Timeline<'_>, from: &Stamp, to: &Stamp) -> i64 {
    run.clocks.between(from, to).map_or(i64::MAX, |span| span.lo)
}
