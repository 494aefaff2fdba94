//! Probes that cannot succeed because nothing listens at their destination, or because what listens there cannot
//! answer.
//!
//! No target sees such a probe, or the target sees only a connection. Whether it cannot succeed follows from the plans in
//! the pod's spec, and only if every container of the pod has a plan that was never changed.

use probity_model::measure::{Bound, Fit};
use probity_model::mechanisms::{FIRST_TURNS, START_OF_A_COMMAND, UNKNOWN_LIFE};
use probity_model::timeline::{At, ContainerLife, Handler, KubeEvent, Life, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::answer::ListenState;
use probity_script::{Listener, Plan};

use super::absence::last_start;
use super::arrivals::on_node_network;
use super::causes::stopped_too_early;
use super::http::reaction::CountsAs;
use super::kinds::{sleeps, started_before};
use super::termination::time_of_ends;

/// The names of the target's program in its image.
const PROGRAMS: [&str; 3] = ["agnhost-rs", "agnhost", "agnhost-2"];

/// A probe that cannot succeed.
#[derive(Clone, Copy)]
pub(crate) struct UnreachableProbe<'t, 'h> {
    pub(crate) pod: &'t PodLife<'h>,
    pub(crate) container: &'t ContainerLife<'h>,
    pub(crate) spec: &'t ProbeSpec,
}

/// What listens at the destination of a probe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum There {
    /// Nothing, or nothing that can be reached from outside the pod.
    Nobody,
    /// This listener.
    Listener(Box<Listener>),
    /// The plans do not show it.
    Unknown,
}

/// What listens on a port of a pod, according to the plans of its containers.
fn there(pod: &PodLife<'_>, port: u16) -> There {
    let stays = pod.containers.iter().filter(|container| container.stays());
    let plan = |of: &ContainerLife<'_>| of.plan().or_else(|| sleeps(of).then(Plan::default));
    let plans: Option<Vec<Plan>> = stays.map(plan).collect();
    let attempts = || pod.containers.iter().flat_map(|container| &container.attempts);
    let changed = attempts().any(|attempt| attempt.was_changed());
    let Some(plans) = plans.filter(|_| !on_node_network(pod) && !changed) else { return There::Unknown };
    let shut = |listener: &Listener| {
        listener.bind.is_some_and(|ip| ip.is_loopback())
            || listener.listen.steps().iter().all(|step| step.answer == ListenState::Closed)
    };
    let listeners = plans.into_iter().flat_map(|plan| plan.listeners.into_values());
    let mut open = listeners.filter(|listener| listener.port == port && !shut(listener));
    match (open.next(), open.next()) {
        // Connections that were seen on the port may belong to one of the target's own listeners.
        (None, _) if attempts().any(|attempt| attempt.holds_port(port)) => There::Unknown,
        (None, _) => There::Nobody,
        (Some(one), None) => There::Listener(Box::new(one)),
        _ => There::Unknown,
    }
}

/// Judges each probe of a history that cannot succeed: why, and what it should count as.
pub(crate) fn judge_unreachable(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    (why, comes): (&str, CountsAs),
    cannot_succeed: impl Fn(&UnreachableProbe<'_, '_>) -> bool,
) {
    for (pod, container, spec) in run.probes() {
        let probe = UnreachableProbe { pod, container, spec };
        if cannot_succeed(&probe) {
            probe.judge(run, clause, seen, why, comes);
        }
    }
}

/// Whether no image of a target has the command of a probe.
pub(crate) fn has_no_command(probe: &UnreachableProbe<'_, '_>) -> bool {
    let Handler::Exec { command } = &probe.spec.handler else { return false };
    let program = command.first().and_then(|program| program.strip_prefix('/'));
    let unknown = |program: &str| !PROGRAMS.contains(&program) && !program.starts_with("proc/");
    probe.container.plan().is_some() && program.is_some_and(unknown)
}

impl<'t, 'h> UnreachableProbe<'t, 'h> {
    /// What listens at its destination.
    pub(crate) fn there(&self) -> There {
        let port = self.spec.handler.port().filter(|_| self.spec.handler.host().is_none());
        port.map_or(There::Unknown, |port| there(self.pod, port))
    }

    /// Whether its port is a name that its container does not declare.
    pub(crate) fn has_no_port(&self) -> bool {
        let (Handler::Http { port, .. } | Handler::Tcp { port, .. }) = &self.spec.handler else {
            return false;
        };
        port.number.is_none() && !port.written.is_empty() && port.written.parse::<i64>().is_err()
    }

    /// Whether the probe can never succeed, and no target records it: nothing listens at its destination, its port is
    /// unknown, or the image does not contain its command.
    pub(crate) fn is_hopeless(&self) -> bool {
        has_no_command(self) || self.has_no_port() || self.there() == There::Nobody
    }

    /// When the probe must have run at least once in the first instance of its container. None if that is not known, or
    /// if the instance may have ended before that.
    pub(crate) fn must_have_run(&self, run: &Timeline<'_>) -> Option<At> {
        let gated =
            self.spec.kind != ProbeKind::Startup && self.container.probe(ProbeKind::Startup).is_some();
        let attempt = self.container.attempts.first().filter(|_| self.container.stays() && !gated)?;
        let spec = self.spec;
        // The kubelet immediately retries a probe that it cannot perform, and the runtime also needs a moment to find
        // that a command does not exist.
        let takes = spec.timeout.max(START_OF_A_COMMAND);
        let turns = spec.initial_delay + FIRST_TURNS.of(spec.period) + takes + UNKNOWN_LIFE;
        let others = time_of_ends(run, self.pod, &self.container.name, i64::MIN);
        let from = self.last_to_begin(run)?;
        let noise = run.noise_between(&self.pod.node, &from, &from.later(turns.saturating_add(others)));
        let by = At::new(from.id, from.later(turns.saturating_add(others) + noise));
        let stop = attempt.stop().map(At::of);
        let end = [stop, attempt.exiting().map(At::of), attempt.ended.clone()].into_iter().flatten();
        let lasted = || end.into_iter().all(|end| run.before(&by, &end));
        let calm = !run.node_was_touched() && !self.pod.had_deadline() && run.before_deletion(self.pod, &by);
        (calm && attempt.holes.is_empty() && lasted()).then_some(by)
    }

    /// Judges the effects of the probe.
    fn judge(&self, run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, why: &str, comes: CountsAs) {
        let word = self.spec.kind.word();
        let of = format!("the {word} probe of {}/{}, {why},", self.pod.key, self.container.name);
        if let Some(id) = self.succeeded(run) {
            seen.violated(format!("{of} counted as a success"), [id]);
        }
        let failed = self.event("Unhealthy", &format!("{word} probe failed"));
        let errored = self.event("Unhealthy", &format!("{word} probe errored"));
        let killed = self.event("Killing", &format!("failed {word} probe"));
        let (right, wrong) = match comes {
            CountsAs::Success => return,
            CountsAs::Failure => ([failed, killed], [errored, None]),
            CountsAs::Nothing => ([errored, None], [failed, killed]),
        };
        for id in wrong.into_iter().flatten() {
            let took = if comes == CountsAs::Failure { "an error" } else { "a failure" };
            seen.violated(format!("{of} counted as {took}"), [id]);
        }
        if comes == CountsAs::Failure && self.spec.kind != ProbeKind::Readiness {
            return self.judge_kill(run, clause, seen, &of);
        }
        for id in right.into_iter().flatten() {
            seen.fine([id]);
        }
    }

    /// A revision that shows what only a success can cause. A restarted kubelet shows containers from before its
    /// restart as started.
    pub(crate) fn succeeded(&self, run: &Timeline<'_>) -> Option<EventId> {
        if self.spec.kind == ProbeKind::Startup && run.node_was_touched() {
            return None;
        }
        let shown = self.pod.revisions.iter().find(|shown| {
            shown.container(&self.container.name).is_some_and(|status| match self.spec.kind {
                ProbeKind::Readiness => status.ready,
                ProbeKind::Startup => status.started == Some(true),
                ProbeKind::Liveness => false,
            })
        });
        shown.map(|shown| shown.id)
    }

    fn event(&self, reason: &str, says: &str) -> Option<EventId> {
        let fits = |event: &&KubeEvent<'_>| {
            event.is_of(&self.container.name, reason) && event.message.to_lowercase().contains(says)
        };
        self.pod.events.iter().find(fits).map(|event| event.id)
    }

    /// A liveness or startup probe that only fails stops the container in time, unless something prevents that. The
    /// kubelet's own reports about the probe prove nothing.
    fn judge_kill(&self, run: &Timeline<'_>, clause: &Clause, seen: &mut Seen, of: &str) {
        let gated =
            self.spec.kind == ProbeKind::Liveness && self.container.probe(ProbeKind::Startup).is_some();
        if gated || run.node_was_touched() || !run.gaps.is_empty() {
            return;
        }
        let (Some(attempt), Some(from)) = (self.container.attempts.first(), self.last_of_pod(run)) else {
            return;
        };
        let stop = attempt.stop().map(At::of).filter(|stop| run.before_deletion(self.pod, stop));
        let life = Life { run, pod: self.pod, container: self.container, attempt }.probed(self.spec.kind);
        if life.is_some_and(|life| stopped_too_early(&life, seen)) {
            return;
        }
        let end = stop.clone().or_else(|| watched_until(run, self.pod).filter(|_| attempt.lives_on()));
        let Some(end) = end else { return };
        let what = if stop.is_some() { "stopped the container" } else { "did not stop the container" };
        let bound = Bound::at_most(
            self.longest_until_stop(run, clause),
            "initialDelaySeconds + (failureThreshold + 1) × the period or the timeout + timeoutSeconds + the ends of \
             other containers + slack",
        );
        let events = [from.id, end.id];
        let measured = run.measure(format!("{of} {what}"), &attempt.node, from, end, bound);
        let Some(measured) = measured else { return };
        match (stop, measured.fit()) {
            (Some(_), Fit::Met) => {
                seen.measure(measured);
                seen.fine(events);
            }
            (None, Fit::Met) => {}
            _ => seen.measure(measured),
        }
    }

    /// How long after the start of the last container the stop signal may come.
    fn longest_until_stop(&self, run: &Timeline<'_>, clause: &Clause) -> i64 {
        let spec = self.spec;
        let probes = (spec.failures + 1) * spec.period.max(spec.timeout) + spec.timeout;
        let others = time_of_ends(run, self.pod, &self.container.name, i64::MIN);
        spec.initial_delay + probes + others + clause.slack_us()
    }

    /// When the last container of the pod began. A kubelet acts on the results of probes only between its starts of
    /// containers. None if that is not known, or a hook may have delayed a start.
    fn last_of_pod(&self, run: &Timeline<'_>) -> Option<At> {
        self.last_unhooked(run, self.pod.containers.iter().filter(|container| container.stays()))
    }

    /// When the last container began that a kubelet may start before it handles the probe. None if that is not known, or a
    /// hook may have delayed a start.
    fn last_to_begin(&self, run: &Timeline<'_>) -> Option<At> {
        self.last_unhooked(run, started_before(self.pod, self.container))
    }

    /// When the last of these containers began. None if that is not known, or one of them has a hook.
    fn last_unhooked(
        &self,
        run: &Timeline<'_>,
        of: impl Iterator<Item = &'t ContainerLife<'h>>,
    ) -> Option<At> {
        let of: Vec<&ContainerLife<'_>> = of.collect();
        let hooked = of.iter().any(|container| container.spec.get("lifecycle").is_some());
        last_start(run, self.pod, of.into_iter()).filter(|_| !hooked)
    }
}

/// The time until which a pod was watched: its deletion, or the end of the case.
pub(crate) fn watched_until(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<At> {
    let deleted = pod.deleted.map(|id| At::new(id, run.heard(id)));
    let leaving = || pod.revisions.iter().find(|shown| shown.terminating()).map(At::of);
    let last = || Some(At::new(pod.last()?.id, run.end()));
    deleted.or_else(leaving).or_else(last)
}
