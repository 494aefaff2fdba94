//! The instances of containers, each with its pod: the unit that judges iterate over, and its queries.
//!
//! ```text
//! run.lives().of(ProbeKind::Liveness).whole().undisturbed()
//! ```

use std::ops::Deref;

use probity_script::witness::Fact;
use serde_json::Value;

use super::{
    Attempt, ContainerKind, ContainerLife, ContainerSeen, Happened, Line, PodLife, Probe, ProbeKind,
    ProbeOutcome, ProbeResult, ProbeSpec, Revision, State, Timeline,
};
use crate::EventId;
use crate::clocks::{Order, Stamp};
use crate::measure::{Bound, Fit};
use crate::mechanisms::UNKNOWN_LIFE;
use crate::verdict::Seen;

/// One life of a container, with its container, its pod and its timeline. It can be used wherever its [`Attempt`] is
/// expected.
#[derive(Clone, Copy)]
pub struct Life<'t, 'h> {
    /// The timeline that contains it.
    pub run: &'t Timeline<'h>,
    /// The pod.
    pub pod: &'t PodLife<'h>,
    /// The container.
    pub container: &'t ContainerLife<'h>,
    /// What the target recorded in this instance.
    pub attempt: &'t Attempt<'h>,
}

impl<'h> Deref for Life<'_, 'h> {
    type Target = Attempt<'h>;

    fn deref(&self) -> &Attempt<'h> {
        self.attempt
    }
}

/// An instance of a container, with one of its probes. It can be used wherever its [`Life`] is expected.
#[derive(Clone)]
pub struct ProbedLife<'t, 'h> {
    /// The life.
    pub life: Life<'t, 'h>,
    /// The probe.
    pub spec: &'t ProbeSpec,
    /// The recorded probes that can have been this probe, in the order of arrival. Lifecycle hooks are left out.
    pub probes: Vec<&'t Probe<'h>>,
}

impl<'t, 'h> Deref for ProbedLife<'t, 'h> {
    type Target = Life<'t, 'h>;

    fn deref(&self) -> &Life<'t, 'h> {
        &self.life
    }
}

/// Lives of containers, in the order of their pods.
pub struct Lives<L>(Vec<L>);

impl<L> IntoIterator for Lives<L> {
    type Item = L;
    type IntoIter = std::vec::IntoIter<L>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<L> Deref for Lives<L> {
    type Target = [L];

    fn deref(&self) -> &[L] {
        &self.0
    }
}

impl<'h> Timeline<'h> {
    /// All lives of all containers.
    #[must_use]
    pub fn lives(&self) -> Lives<Life<'_, 'h>> {
        let lives = self.containers().flat_map(|(pod, container)| {
            container.attempts.iter().map(move |attempt| Life { run: self, pod, container, attempt })
        });
        Lives(lives.collect())
    }
}

impl<'t, 'h> Lives<Life<'t, 'h>> {
    /// The lives with a probe of this kind, each with that probe.
    #[must_use]
    pub fn of(self, kind: ProbeKind) -> Lives<ProbedLife<'t, 'h>> {
        Lives(self.0.into_iter().filter_map(|life| life.probed(kind)).collect())
    }

    /// The lives with their probes of these kinds, one entry for each probe: all of the first kind, then all of the
    /// next.
    #[must_use]
    pub fn of_each(self, kinds: &[ProbeKind]) -> Lives<ProbedLife<'t, 'h>> {
        let of = |kind: &ProbeKind| self.0.iter().filter_map(|life| life.probed(*kind)).collect::<Vec<_>>();
        Lives(kinds.iter().flat_map(of).collect())
    }
}

impl<L> Lives<L> {
    /// The lives that meet a condition.
    #[must_use]
    pub fn only(mut self, meets: impl Fn(&L) -> bool) -> Self {
        self.0.retain(|life| meets(life));
        self
    }
}

macro_rules! filters {
    ($($of:ident),+) => {
        $(impl<'t, 'h> Lives<$of<'t, 'h>> {
            /// Only the lives with a complete record of the target.
            #[must_use]
            pub fn whole(self) -> Self {
                self.only(|life| life.holes.is_empty())
            }

            /// Only the lives in histories without actions on nodes, because a restarted kubelet syncs every pod again,
            /// and in pods whose containers restart one by one.
            #[must_use]
            pub fn undisturbed(self) -> Self {
                self.only(|life| !life.run.node_was_touched() && !life.pod.restarts_as_one())
            }

            /// The lives of containers that keep running: all containers, including sidecars, except init containers.
            #[must_use]
            pub fn staying(self) -> Self {
                self.only(|life| life.container.stays())
            }

            /// The lives that are not the first process of their container.
            #[must_use]
            pub fn restarted(self) -> Self {
                self.only(|life| life.earlier_processes() > 0)
            }
        })+
    };
}

filters!(Life, ProbedLife);

impl<'t, 'h> Life<'t, 'h> {
    /// This life with its probe of a kind.
    #[must_use]
    pub fn probed(&self, kind: ProbeKind) -> Option<ProbedLife<'t, 'h>> {
        let (life, spec) = (*self, self.container.probe(kind)?);
        let arrived = life.attempt.probes.iter().filter(|probe| probe.can_be(kind));
        let probes = arrived.filter(|probe| !life.attempt.is_hook(probe)).collect();
        Some(ProbedLife { life, spec, probes })
    }

    /// The pod and the container in words: `pod/container`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.pod.key, self.container.name)
    }

    /// Whether the other life is the same life.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.attempt, other.attempt)
    }

    /// The previous life of this container.
    #[must_use]
    pub fn before(&self) -> Option<Life<'t, 'h>> {
        let attempt = self.container.attempts.iter().rfind(|before| before.number + 1 == self.number)?;
        Some(Self { attempt, ..*self })
    }

    /// The next life of this container.
    #[must_use]
    pub fn next(&self) -> Option<Life<'t, 'h>> {
        let attempt = self.container.attempts.iter().find(|next| next.number == self.number + 1)?;
        Some(Self { attempt, ..*self })
    }

    /// The time on its node's clock from which the kubelet certainly knew about this life. An earlier probe can count
    /// for the previous life.
    #[must_use]
    pub fn known_from(&self) -> i64 {
        self.began.at.hi + if self.number == 0 { 0 } else { UNKNOWN_LIFE }
    }

    /// The event that shows a later start of the container, after this life.
    #[must_use]
    pub fn lives_again(&self) -> Option<EventId> {
        let heard = self.container.attempts.iter().find(|next| next.number > self.number);
        let counted = || {
            self.pod.changes_of(&self.container.name).find_map(|(revision, seen)| {
                (seen.restarts > self.number && seen.is_running()).then_some(revision.id)
            })
        };
        heard.map(|next| next.began.id).or_else(counted)
    }

    /// The restart policy that applies to the container: its own, if it has one.
    #[must_use]
    pub fn policy(&self) -> &'t str {
        self.pod.policy_of(self.container)
    }

    /// The revision that shows the end of this life, with its exit status.
    #[must_use]
    pub fn termination(&self) -> Option<(&'t Revision<'h>, i64)> {
        let number = self.number;
        self.pod.revisions.iter().find_map(|revision| {
            let seen = revision.container(&self.container.name)?;
            let code = match (&seen.state, &seen.last) {
                (State::Terminated { code, .. }, _) if seen.restarts == number => code,
                (State::Waiting { .. }, State::Terminated { code, .. }) if seen.restarts == number => code,
                (State::Waiting { .. }, _) => return None, // The count is that of the instance in `last`.
                (_, State::Terminated { code, .. }) if seen.restarts == number + 1 => code,
                _ => return None,
            };
            Some((revision, *code))
        })
    }

    /// The revisions that show this life of the container.
    pub fn revisions(&self) -> impl Iterator<Item = (&'t Revision<'h>, ContainerSeen<'h>)> + use<'t, 'h> {
        let (pod, container, number) = (self.pod, self.container, self.attempt.number);
        let shown = pod.revisions.iter().filter(|revision| !revision.gone);
        shown
            .filter_map(move |revision| Some((revision, revision.container(&container.name)?)))
            .filter(move |(_, seen)| seen.restarts == number)
    }

    /// Whether the last revision that certainly arrived before an instant showed this life as running, with this value
    /// of `ready`.
    #[must_use]
    pub fn showed_ready(&self, at: &Stamp, ready: bool) -> bool {
        let before = |revision: &Revision<'_>| self.run.clocks.order(&revision.at, at) == Order::Before;
        let last = self.pod.revisions.iter().take_while(|revision| before(revision)).last();
        last.and_then(|revision| revision.container(&self.container.name))
            .is_some_and(|seen| seen.restarts == self.number && seen.ready == ready && seen.is_running())
    }

    /// The first revision of this life that did not certainly arrive before an instant, and that meets a condition.
    #[must_use]
    pub fn first_shown(
        &self,
        from: &Stamp,
        shows: impl Fn(&Revision<'h>, &ContainerSeen<'h>) -> bool,
    ) -> Option<&'t Revision<'h>> {
        let mut later = self
            .revisions()
            .filter(|(revision, _)| self.run.clocks.order(&revision.at, from) != Order::Before);
        later.find(|(revision, seen)| shows(revision, seen)).map(|(revision, _)| revision)
    }

    /// The first event for the container with this reason whose message contains this text.
    #[must_use]
    pub fn event(&self, reason: &str, says: &str) -> Option<EventId> {
        self.pod.event_of(&self.container.name, reason, says)
    }

    /// Whether a probe arrived before the API showed this life of a restarted container. The kubelet may have sent it
    /// for the previous life.
    #[must_use]
    pub fn is_straggler(&self, probe: &Probe<'_>) -> bool {
        let shown = || {
            let shows = |seen: ContainerSeen<'_>| seen.restarts == self.number && seen.is_running();
            self.pod.revisions.iter().find(|shown| shown.container(&self.container.name).is_some_and(shows))
        };
        self.number > 0
            && shown().is_none_or(|shown| self.run.clocks.order(&probe.at, &shown.at) != Order::After)
    }

    /// Whether the pod was certainly not being deleted yet at this instant.
    #[must_use]
    pub fn before_deletion(&self, at: &Stamp) -> bool {
        self.run.before_deletion(self.pod, at)
    }

    /// The stop signal, if it arrived before any deletion of the pod.
    #[must_use]
    pub fn stopped_undeleted(&self) -> Option<&'t Line<'h>> {
        self.attempt.stop().filter(|stop| self.before_deletion(&stop.at))
    }

    /// Whether the case and the record of the pod's targets continued for this long after an instant; see
    /// [`Timeline::watched_for`].
    #[must_use]
    pub fn watched_for(&self, from: &Stamp, span: i64) -> bool {
        self.run.watched_for(self.pod, from, span)
    }

    /// How much of the time between two stamps the node or the harness was stalled.
    #[must_use]
    pub fn noise(&self, from: &Stamp, to: &Stamp) -> i64 {
        self.run.noise_between(&self.node, from, to)
    }

    /// Measures the time between two events and compares it with a bound; see [`Seen::within`].
    pub fn within(
        &self,
        seen: &mut Seen,
        quantity: impl Into<String>,
        (from, to): (impl Happened, impl Happened),
        bound: Bound,
    ) -> Option<Fit> {
        seen.within(self.run, &self.node, quantity, (from, to), bound)
    }
}

impl<'t, 'h> ProbedLife<'t, 'h> {
    /// The probe in words: `the liveness probe of pod/target`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("the {} probe of {}", self.spec.kind.word(), self.name())
    }

    /// The grace period after this probe has failed too many times: its own, or else the pod's.
    #[must_use]
    pub fn grace(&self) -> i64 {
        self.spec.grace.unwrap_or_else(|| self.pod.grace())
    }

    /// The result of a probe.
    #[must_use]
    pub fn result(&self, probe: &'t Probe<'h>) -> ProbeResult<'t, 'h> {
        self.attempt.result(probe, self.spec)
    }

    /// How the kubelet counted a probe; see [`ProbeResult::outcome`].
    #[must_use]
    pub fn outcome(&self, probe: &'t Probe<'h>) -> ProbeOutcome {
        self.result(probe).outcome()
    }

    /// The certain result of a probe; see [`ProbeResult::surely`].
    #[must_use]
    pub fn surely(&self, probe: &'t Probe<'h>) -> ProbeOutcome {
        self.result(probe).surely()
    }

    /// The first probe that succeeded.
    #[must_use]
    pub fn first_success(&self) -> Option<&'t Probe<'h>> {
        self.probes.iter().copied().find(|probe| self.outcome(probe) == ProbeOutcome::Success)
    }

    /// The probes, grouped into stretches with the same outcome.
    #[must_use]
    pub fn stretches(&self) -> Vec<(ProbeOutcome, &[&'t Probe<'h>])> {
        let stretches = self.probes.chunk_by(|a, b| self.outcome(a) == self.outcome(b));
        stretches.filter_map(|of| Some((self.outcome(of.first()?), of))).collect()
    }

    /// Whether all these probes can only have been of this kind.
    #[must_use]
    pub fn is_unmistaken(&self) -> bool {
        self.probes.iter().all(|probe| probe.is(self.spec.kind))
    }

    /// The longest time between two probes according to the spec: a probe that waits for its timeout delays the next
    /// one.
    #[must_use]
    pub fn pace(&self) -> i64 {
        self.spec.period.max(self.spec.timeout)
    }
}

impl ContainerLife<'_> {
    /// Whether the container should run as long as its pod: it is a main container or a sidecar.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.kind != ContainerKind::Init
    }

    /// Whether the kernel kills the container if it needs more memory than its spec allows.
    #[must_use]
    pub fn has_memory_limit(&self) -> bool {
        self.spec.pointer("/resources/limits/memory").is_some()
    }

    /// A lifecycle hook, `postStart` or `preStop`, or another field of `lifecycle`.
    #[must_use]
    pub fn lifecycle(&self, field: &str) -> Option<&Value> {
        self.spec.get("lifecycle")?.get(field)
    }
}

impl<'h> Attempt<'h> {
    /// The line in which the process records that it exits by itself, with its exit status, unless it received a stop
    /// signal before.
    #[must_use]
    pub fn exited_by_itself(&self) -> Option<(&Line<'h>, u8)> {
        self.lines.iter().find_map(|line| match &line.line.fact {
            Fact::Exiting(exiting) if !exiting.why.starts_with("stop") => Some((line, exiting.code)),
            _ => None,
        })
    }

    /// The line in which the process records that it exits, by itself or after a stop signal.
    #[must_use]
    pub fn exiting(&self) -> Option<&Line<'h>> {
        self.lines.iter().find(|line| matches!(line.line.fact, Fact::Exiting(_)))
    }

    /// The end of the process: the line in which it records that it exits, or its last line before its connection to
    /// the recorder ended.
    #[must_use]
    pub fn end(&self) -> Option<&Line<'h>> {
        self.exiting().or_else(|| self.ended.as_ref().and(self.last_line()))
    }

    /// Whether the process received no stop signal and did not exit.
    #[must_use]
    pub fn lives_on(&self) -> bool {
        self.ended.is_none() && self.stop().is_none()
    }

    /// Whether the target knew the number of this life.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        matches!(self.lines.first().map(|line| &line.line.fact), Some(Fact::Started(started)) if started.attempt_known)
    }

    /// Whether the process accepted connections on a port.
    #[must_use]
    pub fn holds_port(&self, port: u16) -> bool {
        self.connections.iter().any(|connection| connection.port() == Some(port))
    }

    /// The address from which a probe was sent, if it was recorded.
    #[must_use]
    pub fn peer(&self, probe: &Probe<'_>) -> Option<&str> {
        self.connection_of(probe).map(|connection| connection.peer_address())
    }

    /// Whether a request came from a lifecycle hook and not from a probe.
    fn is_hook(&self, probe: &Probe<'_>) -> bool {
        self.request(probe).is_some_and(|asked| {
            asked.header("referer").next().is_some()
                || asked.header("user-agent").any(|agent| agent.starts_with("kube-lifecycle"))
        })
    }
}
