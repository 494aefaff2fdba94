//! Everything except probes that may have affected a pod: deletions, actions of the harness, and the end of the record.

use probity_script::witness::Fact;
use serde_json::Value;

use super::{
    At, Attempt, ContainerKind, ContainerLife, Handler, Life, Lives, PodLife, ProbeSpec, ProbedLife,
    Revision, State, Through, Timeline,
};
use crate::EventId;
use crate::clocks::{Order, Stamp};
use crate::history::{Did, REMOVE_SANDBOX, Source, brings_back};
use crate::mechanisms::LATE_SIGHT;

impl<'h> Timeline<'h> {
    /// Whether the harness acted on a node. For example, a restarted kubelet syncs every pod again.
    #[must_use]
    pub fn node_was_touched(&self) -> bool {
        self.deeds.iter().any(|(_, deed)| deed.did.acts_on_node())
    }

    /// Whether the harness took a node away for a while.
    #[must_use]
    pub fn lost_a_node(&self) -> bool {
        let takes = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if brings_back(verb).is_some());
        self.deeds.iter().any(|(_, deed)| takes(&deed.did))
    }

    /// Whether the harness removed a sandbox. The pod then starts again in a new sandbox, with a new address.
    #[must_use]
    pub fn lost_a_sandbox(&self) -> bool {
        let removes = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if verb == REMOVE_SANDBOX);
        self.deeds.iter().any(|(_, deed)| removes(&deed.did))
    }

    /// Whether the harness acted on a node, or did anything to a pod except creating or deleting it. A container may
    /// have been stopped because of this.
    #[must_use]
    pub fn was_touched(&self) -> bool {
        let touched = |did: &Did| {
            matches!(did, Did::Patched { .. } | Did::Evicted { refused: None, .. } | Did::Executed { .. })
                || did.acts_on_node()
        };
        self.deeds.iter().any(|(_, deed)| touched(&deed.did))
    }

    /// Whether a pod was deleted, evicted, patched or otherwise acted on. Its containers may have been stopped because
    /// of this.
    #[must_use]
    pub fn pod_was_touched(&self, pod: &PodLife<'_>) -> bool {
        let goes =
            |revision: &Revision<'_>| revision.terminating() || revision.gone || revision.phase() == "Failed";
        let touched = self.deeds.iter().any(|(_, deed)| match &deed.did {
            Did::Patched { name, .. } => *name == pod.name,
            Did::Executed { pod: of, .. } => *of == pod.name,
            did => did.acts_on_node(),
        });
        touched || pod.deleted.is_some() || pod.revisions.iter().any(goes)
    }

    /// The earliest time at which the pod's deletion can have started, if it was recorded.
    #[must_use]
    pub fn deletion(&self, pod: &PodLife<'_>) -> Option<Stamp> {
        let asked = pod.deleted.and_then(|id| self.deeds.iter().find(|(deed, _)| *deed == id));
        let asked = asked.map(|(_, deed)| deed.began_us);
        let seen = pod.revisions.iter().find(|revision| revision.terminating() || revision.gone);
        let seen = seen.map(|revision| {
            let from = revision.at.earlier(LATE_SIGHT);
            let noise = self.noise_between(&pod.node, &from, &revision.at).max(self.stalled_at(&revision.at));
            from.at.lo - noise
        });
        asked.into_iter().chain(seen).min().map(Stamp::harness)
    }

    /// Whether the pod was certainly not being deleted yet at this instant.
    #[must_use]
    pub fn before_deletion(&self, pod: &PodLife<'_>, at: &Stamp) -> bool {
        self.deletion(pod).is_none_or(|deletion| self.clocks.order(at, &deletion) == Order::Before)
    }

    /// Whether the case and the record of the pod's targets continued for this long after an instant, plus the time of
    /// the noise and the effects of outages, and the pod was not deleted before the end of that time.
    #[must_use]
    pub fn watched_for(&self, pod: &PodLife<'_>, from: &Stamp, span: i64) -> bool {
        let end = self.watched_until(pod, from);
        let noise = self.noise_between(&pod.node, from, &end);
        self.clocks.between(from, &end).is_some_and(|watched| {
            watched.lo > span + noise + self.effects_of_outages(end.at.hi - watched.lo, end.at.hi)
        })
    }

    /// Until when the pod's targets were recorded without an interruption after an instant, and the pod was not deleted.
    #[must_use]
    pub fn watched_until(&self, pod: &PodLife<'_>, from: &Stamp) -> Stamp {
        let deaf = self.clocks.on_harness(from).and_then(|from| self.deaf_from(pod, from.lo));
        let ends = [Some(self.ended_us), self.deletion(pod).map(|deletion| deletion.at.lo), deaf];
        Stamp::harness(ends.into_iter().flatten().min().unwrap_or(self.ended_us))
    }

    /// Whether more than a span certainly passed between two instants, not counting the time for which the pod's node
    /// or the harness was stalled.
    #[must_use]
    pub fn longer_than(&self, pod: &PodLife<'_>, (from, to): (&Stamp, &Stamp), span: i64) -> bool {
        let noise = self.noise_between(&pod.node, from, to);
        self.clocks.between(from, to).is_some_and(|passed| passed.lo > span + noise)
    }

    /// When the record of the pod's targets was interrupted, at or after this instant.
    fn deaf_from(&self, pod: &PodLife<'_>, since: i64) -> Option<i64> {
        let about = |of: &Source| match of {
            Source::Recorder => true,
            Source::Witness { pod: of, .. } => *of == pod.name,
            Source::Watch(_) => false,
        };
        let gaps = self.gaps.iter().map(|(_, gap)| gap);
        gaps.filter(|gap| about(&gap.of) && gap.to_us >= since).map(|gap| gap.from_us.max(since)).min()
    }

    /// The last event before the end of the case. It shows that something that never arrived had not arrived by then.
    #[must_use]
    pub fn last_event(&self) -> Option<EventId> {
        self.history.events().filter(|(_, event)| event.us <= self.ended_us).map(|(id, _)| id).next_back()
    }

    /// These events and the last event of the case: evidence for something that had not happened by then.
    pub fn to_the_end(&self, events: impl IntoIterator<Item = EventId>) -> impl Iterator<Item = EventId> {
        events.into_iter().chain(self.last_event())
    }

    /// The end of the case.
    #[must_use]
    pub fn end(&self) -> Stamp {
        Stamp::harness(self.ended_us)
    }

    /// The end of the case, with its last event as the evidence.
    #[must_use]
    pub fn end_event(&self) -> Option<At> {
        Some(At::new(self.last_event()?, self.end()))
    }

    /// Whether one instant was certainly before another.
    #[must_use]
    pub fn before(&self, first: &Stamp, second: &Stamp) -> bool {
        self.clocks.order(first, second) == Order::Before
    }

    /// The shortest possible time between two instants; the maximum value if the clocks cannot be compared.
    #[must_use]
    pub fn at_least(&self, from: &Stamp, to: &Stamp) -> i64 {
        self.clocks.between(from, to).map_or(i64::MAX, |span| span.lo)
    }
}

impl<'h> PodLife<'h> {
    /// Whether the policy of a container restarts it after this exit status. An init container that has succeeded is
    /// never restarted.
    #[must_use]
    pub fn restarts_after(&self, container: &ContainerLife<'_>, code: i64) -> bool {
        match self.policy_of(container) {
            "Never" => false,
            "OnFailure" => code != 0,
            _ => code != 0 || container.stays(),
        }
    }

    /// The restart policy that applies to a container: its own, if it has one.
    #[must_use]
    pub fn policy_of<'p>(&'p self, container: &'p ContainerLife<'_>) -> &'p str {
        match container.spec.get("restartPolicy").and_then(Value::as_str) {
            Some(own) => own,
            None if container.kind == ContainerKind::Sidecar => "Always",
            None => self.restart_policy(),
        }
    }

    /// Whether a restart rule of one of the pod's containers restarts all of them, so that more containers restart than
    /// the restart policy requires.
    #[must_use]
    pub fn restarts_as_one(&self) -> bool {
        self.containers.iter().any(|container| {
            let rules = container.spec.get("restartPolicyRules").and_then(Value::as_array);
            rules.is_some_and(|rules| rules.iter().any(|rule| rule["action"] == "RestartAllContainers"))
        })
    }

    /// The revision that shows the pod in a terminal phase.
    #[must_use]
    pub fn over(&self) -> Option<&Revision<'h>> {
        self.revisions.iter().find(|revision| matches!(revision.phase(), "Failed" | "Succeeded"))
    }

    /// Whether something other than the pod's containers ended the pod, such as an eviction or a deadline. The pod's
    /// status then has a reason. A reason alone is only a claim of the kubelet, and does not count if the targets
    /// recorded that all main containers exited by themselves.
    #[must_use]
    pub fn was_ended_from_outside(&self) -> bool {
        self.reason().is_some() && !self.ended_by_itself()
    }

    /// The reason in the status with which the pod reached a terminal phase.
    #[must_use]
    pub fn reason(&self) -> Option<&'h str> {
        self.over()?.object.get("status")?.get("reason")?.as_str().filter(|reason| !reason.is_empty())
    }

    /// Whether every main container exited by itself and is not restarted according to its policy, and the spec
    /// contains nothing for which a kubelet ends a pod: no deadline and no storage limit.
    #[must_use]
    pub fn ended_by_itself(&self) -> bool {
        let mut mains = self.containers.iter().filter(|container| container.kind == ContainerKind::Main);
        !self.had_deadline()
            && !self.has_limited_storage()
            && mains.all(|container| self.exited_for_good(container))
    }

    fn exited_for_good(&self, container: &ContainerLife<'_>) -> bool {
        let Some(last) = container.attempts.last() else { return false };
        let Some((_, code)) = last.exited_by_itself() else { return false };
        let by_rule = container.spec.get("restartPolicyRules").is_some();
        let known = last.is_complete() && last.signals().next().is_none();
        known && !self.restarts_after(container, code.into()) && !by_rule
    }

    /// Whether the pod ever had a deadline: in its first spec, or by a later change.
    #[must_use]
    pub fn had_deadline(&self) -> bool {
        let limited = |shown: &Revision<'_>| shown.object["spec"]["activeDeadlineSeconds"].is_number();
        self.spec.get("activeDeadlineSeconds").is_some() || self.revisions.iter().any(limited)
    }

    /// Whether a kubelet evicts the pod if it writes more than its spec allows.
    #[must_use]
    pub fn has_limited_storage(&self) -> bool {
        let volumes = self.spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
        let mut limits = volumes.filter_map(|volume| volume.pointer("/emptyDir/sizeLimit"));
        let limited = |container: &ContainerLife<'_>| {
            container.spec.pointer("/resources/limits/ephemeral-storage").is_some()
        };
        limits.next().is_some() || self.containers.iter().any(limited)
    }

    /// Whether a sidecar may have received a stop signal because all main containers had terminated.
    #[must_use]
    pub fn work_is_done(&self, container: &ContainerLife<'_>) -> bool {
        container.kind == ContainerKind::Sidecar && self.shown_done().is_some()
    }

    /// The first revision that shows all main containers as terminated.
    #[must_use]
    pub fn shown_done(&self) -> Option<&Revision<'h>> {
        let ended = |shown: &&Revision<'_>| {
            let mut main = self.containers.iter().filter(|container| container.kind == ContainerKind::Main);
            main.all(|main| {
                let seen = shown.container(&main.name);
                seen.is_some_and(|seen| matches!(seen.state, State::Terminated { .. }))
            })
        };
        self.revisions.iter().find(ended)
    }

    /// The first event for a container with this reason whose message contains this text.
    #[must_use]
    pub fn event_of(&self, container: &str, reason: &str, says: &str) -> Option<EventId> {
        let mut events = self.events.iter().filter(|event| event.container == Some(container));
        events.find(|event| event.reason == reason && event.message.contains(says)).map(|event| event.id)
    }

    /// Whether the container's own target records every probe of this spec that reaches anything. The probe must be
    /// sent to the pod itself, to a port that no other container of the pod uses, or run a command that the target
    /// records.
    #[must_use]
    pub fn sees(&self, container: &str, spec: &ProbeSpec) -> bool {
        match &spec.handler {
            Handler::Exec { command } => command.get(1).is_some_and(|word| word == "exec"),
            handler if handler.host().is_some() => false,
            handler => handler.port().is_some_and(|port| {
                let others = self.containers.iter().filter(|other| other.name != container);
                !others.flat_map(|other| &other.attempts).any(|attempt| attempt.holds_port(port))
            }),
        }
    }
}

impl Handler {
    /// The host to which the probe is sent instead of the pod.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Http { host, .. } | Self::Tcp { host, .. } => host.as_deref(),
            Self::Grpc { .. } | Self::Exec { .. } => None,
        }
    }
}

impl Attempt<'_> {
    /// Whether a port received requests that match no probe of the container and are not from the project's own
    /// clients. A kubelet may have sent a path in a form that differs from the spec.
    #[must_use]
    pub fn has_strangers(&self, port: Option<u16>) -> bool {
        self.requests.iter().enumerate().any(|(at, asked)| {
            let there =
                port.is_none() || self.connection(asked).and_then(|connection| connection.port()) == port;
            let known = self.probes.iter().any(|probe| probe.through == Through::Request(at));
            there && !known && asked.request.hop.is_none() && !asked.from_our_client()
        })
    }

    /// Whether the plan was changed during this life.
    #[must_use]
    pub fn was_changed(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.line.fact, Fact::Change(_) | Fact::Reset(_)))
    }
}

impl ProbedLife<'_, '_> {
    /// Whether this container's target sees every one of these probes, and nothing else that looks like such a probe:
    /// no other container uses the same port in a probe, no other pod probes this pod, and the harness does not run the
    /// same command.
    #[must_use]
    pub fn is_asked_alone(&self) -> bool {
        self.run.asks_alone(self.pod, self.container, self.spec)
    }

    /// Whether every probe that reaches anything is recorded, and nothing else arrived at the probe's port.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        let port = self.spec.handler.port();
        self.pod.sees(&self.container.name, self.spec) && (port.is_none() || !self.has_strangers(port))
    }
}

impl<'t, 'h> Lives<ProbedLife<'t, 'h>> {
    /// The lives whose target sees every one of these probes, and nothing else that looks like such a probe.
    #[must_use]
    pub fn asked_alone(self) -> Self {
        self.only(|life| life.is_asked_alone())
    }

    /// The lives in which every probe of the kind was recorded and cannot be mistaken for another probe. In these
    /// lives, probes can be counted and timed.
    #[must_use]
    pub fn countable(self) -> Self {
        let countable = |life: &ProbedLife<'_, '_>| life.is_unmistaken() && life.is_seen();
        self.undisturbed().staying().whole().asked_alone().only(countable)
    }
}

impl Timeline<'_> {
    /// Whether a container's target sees every one of these probes, and nothing else that looks like such a probe.
    #[must_use]
    pub fn asks_alone(&self, pod: &PodLife<'_>, container: &ContainerLife<'_>, spec: &ProbeSpec) -> bool {
        let by_sibling = pod
            .containers
            .iter()
            .filter(|other| other.name != container.name)
            .flat_map(|other| &other.probes)
            .any(|probe| probe.handler.port().is_some() && probe.handler.port() == spec.handler.port());
        let by_stranger = self.probes().any(|(other, _, probe)| {
            other.name != pod.name && probe.handler.host().is_some_and(|host| pod.ip() == Some(host))
        });
        let by_hand = matches!(&spec.handler, Handler::Exec { command } if self.deeds.iter().any(
            |(_, deed)| matches!(&deed.did, Did::Executed { command: run, .. } if run == command)));
        spec.handler.host().is_none() && !(by_sibling || by_stranger || by_hand)
    }
}

impl Life<'_, '_> {
    /// Whether nothing but the container's probes could stop it: no action of the harness, no deadline, and no other
    /// cause from outside.
    #[must_use]
    pub fn only_probes_stop_it(&self) -> bool {
        !self.run.was_touched() && !self.pod.had_deadline() && !self.pod.was_ended_from_outside()
    }
}
