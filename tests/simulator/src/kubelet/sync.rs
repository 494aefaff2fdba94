//! The result of the kubelet's sync of a pod: its containers' states, whether they have started and are ready, and
//! the pod's phase.

use probity_model::timeline::ProbeKind;

use super::cannot_start;
use crate::Defect;
use crate::pod::{Container, Kind, State, View};
use crate::world::{Act, At, MS, SECOND, World};

impl World<'_> {
    /// The kubelet syncs a pod, one sync at a time. Requests that arrive during a sync wait, and cause one further
    /// sync.
    pub(crate) fn sync(&mut self, pod: usize) {
        let next = self.pods[pod].next_sync;
        if self.now < next {
            if !std::mem::replace(&mut self.pods[pod].syncing, true) {
                self.at(next, Act::Sync(pod));
            }
            return;
        }
        self.pods[pod].syncing = false;
        self.pods[pod].next_sync = self.now + self.between(20 * MS, 80 * MS);
        self.sync_now(pod);
    }

    /// The kubelet syncs a pod and takes the necessary actions.
    pub(super) fn sync_now(&mut self, pod: usize) {
        let of = &self.pods[pod];
        let stopping = of.containers.iter().any(|container| container.killing.is_some() || container.failing);
        // The kubelet does not sync a pod that it has rejected.
        let rejected =
            of.terminal && !of.expired && of.containers.iter().all(|container| container.starts == 0);
        if of.gone
            || stopping
            || rejected
            || (of.deleted.is_some() && of.containers.iter().any(Container::is_running))
        {
            return;
        }
        for container in 0..self.pods[pod].containers.len() {
            self.look_at(At { pod, container });
        }
        if !self.pods[pod].terminal && matches!(self.phase(pod), "Succeeded" | "Failed") {
            self.pods[pod].terminal = true;
            self.stop_ephemeral_of_completed(pod);
        }
        self.touch(pod);
        if self.pods[pod].deleted.is_none() {
            self.act(pod);
        }
    }

    /// Updates the kubelet's view of a container from its real state.
    fn look_at(&mut self, at: At) {
        let uid = self.pods[at.pod].uid.clone();
        let container = &self.pods[at.pod].containers[at.container];
        let (id, before) = (container.id(&uid), container.view.clone());
        let state = container.state.clone();
        let started = self.is_started(at, &id);
        let started_since = match before.started_since {
            Some(since) if before.id == id => Some(since),
            _ => started.then_some(self.now),
        };
        let container = &self.pods[at.pod].containers[at.container];
        let view = View {
            id,
            last: container.last.clone(),
            restarts: container.attempt(),
            state,
            started,
            started_since,
            ready: before.ready && before.id == container.view.id,
        };
        let fresh = view.id != before.id;
        let container = &mut self.pods[at.pod].containers[at.container];
        container.view = view;
        if fresh {
            container.was_ready = false;
            container.view.ready = false;
        }
        let ready = self.is_ready(at);
        self.set_ready(at, ready);
        if self.has(Defect::StartedFieldLate) && started && before.started_since.is_none() {
            self.later(5 * SECOND + 10 * MS, Act::Sync(at.pod));
        }
    }

    /// Whether a container counts as started.
    fn is_started(&self, at: At, id: &str) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        if !container.is_running() {
            return false;
        }
        let rearmed = !self.has(Defect::StartupNotRearmedOnRestart) && !self.starts_without_probe(at);
        if container.attempt() > 0 && !rearmed {
            return true;
        }
        match container.results.get(ProbeKind::Startup, id) {
            Some(result) => result == Some(true),
            None if container.view.started && container.view.id == id => true,
            None => {
                !container.workers.iter().any(|worker| worker.kind == ProbeKind::Startup && !worker.stopped)
            }
        }
    }

    /// Whether a container is ready. If its readiness depends on its readiness probe, the probe must run now.
    fn is_ready(&mut self, at: At) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        if container.kind == Kind::Init {
            return !self.has(Defect::CompletedInitsUnready)
                && matches!(&container.state, State::Ended(ended) if ended.code == 0);
        }
        let running = matches!(container.view.state, State::Running(_));
        if !running && self.has(Defect::NotRunningStaysReady) {
            return container.results.last(ProbeKind::Readiness) == Some(true);
        }
        let unprobed = container.probe(ProbeKind::Readiness).is_none() && container.starts > 0;
        if !running && unprobed && self.stays_ready_at_its_end(at) {
            return true;
        }
        if !running || !container.view.started {
            return false;
        }
        let carried = container.results.last(ProbeKind::Readiness) == Some(true);
        if (carried && self.has(Defect::ReadinessOutlivesLife)) || self.keeps_readiness(at) {
            return true;
        }
        let result = container.results.get(ProbeKind::Readiness, &container.view.id);
        let again =
            container.attempt() > 0 && result.is_none() && container.probe(ProbeKind::Readiness).is_some();
        if result == Some(Some(true)) || (again && self.has(Defect::ReadyAtOnceAfterRestart)) {
            return true;
        }
        if container.workers.iter().any(|worker| worker.kind == ProbeKind::Readiness && !worker.stopped) {
            if !self.misses_trigger(at) {
                self.later(MS, Act::Poke(at, ProbeKind::Readiness));
            }
            let container = &self.pods[at.pod].containers[at.container];
            // A container that was ready before the kubelet restart stays ready until its probe gives another result.
            let unknown = container.results.get(ProbeKind::Readiness, &container.view.id).is_none();
            return unknown && container.view.ready && container.outlived_kubelet();
        }
        container.probe(ProbeKind::Readiness).is_none() && !self.has(Defect::AbsentReadinessIsUnready)
    }

    /// Sets whether a container is ready.
    pub(super) fn set_ready(&mut self, at: At, ready: bool) {
        let keeps = self.has(Defect::ReadyFlagNotCleared);
        let (never_again, by_restart) =
            (self.has(Defect::NeverReadyAgain), self.has(Defect::RecoversByRestart));
        let unsynced = self.has(Defect::RestartedStartupUnsynced);
        let leaves = self.pods[at.pod].deleted.is_some() && self.has(Defect::LeavingNeverReadyAgain);
        let container = &mut self.pods[at.pod].containers[at.container];
        let of_startup =
            container.probe(ProbeKind::Startup).is_some() && container.probe(ProbeKind::Readiness).is_none();
        let ready = ready && !(unsynced && container.starts > 1 && of_startup);
        let ready = ready && (container.view.ready || !leaves);
        let running = matches!(container.view.state, State::Running(_));
        let was = container.view.ready;
        container.spoiled |= container.was_ready && !ready && running;
        container.was_ready |= ready;
        let mut ready = ready;
        if keeps && was && running {
            ready = true;
        }
        if container.spoiled && ready && !was {
            if never_again {
                ready = false;
            } else if by_restart {
                container.spoiled = false;
                self.kill_by_probe(at, ProbeKind::Liveness);
                return;
            }
        }
        self.pods[at.pod].containers[at.container].view.ready = ready;
    }

    /// Sets whether a container has started.
    pub(super) fn set_started(&mut self, at: At, started: bool) {
        let now = self.now;
        let view = &mut self.pods[at.pod].containers[at.container].view;
        view.started = started;
        view.started_since = started.then(|| view.started_since.unwrap_or(now));
    }

    /// The pod's phase according to its containers' states.
    pub(crate) fn phase(&self, pod: usize) -> &'static str {
        let of = &self.pods[pod];
        let mains = || of.containers.iter().filter(|container| container.kind == Kind::Main);
        // A container that waits for its back-off counts as ended once its pod is deleted, with its last result.
        let ended = |container: &Container| match (&container.view.state, &container.view.last) {
            (State::Ended(ended), _) => Some(ended.code),
            (State::Waiting(_), Some(last)) if of.deleted.is_some() => Some(last.code),
            _ => None,
        };
        let stays = |at: usize| {
            let (at, of) = (At { pod, container: at }, &of.containers[at]);
            let code = ended(of).filter(|code| *code != 0 && of.kind == Kind::Init);
            let again = |code: i64| self.restarts_by_rule(at, code) || self.restarts_all_by_rule(at, code);
            self.policy_of(at) == "Never" && code.is_some_and(|code| !again(code))
        };
        let broken_init = (0..of.containers.len()).any(stays);
        if of.evicted.is_some() && self.is_over_by_deadline(pod) {
            return self.end_of_evicted(pod).0;
        }
        if self.is_over_by_deadline(pod) || (broken_init && !self.tolerates_failed_init()) {
            let well = of.expired && mains().all(|container| ended(container) == Some(0));
            return if well && self.has(Defect::DeadlineSucceeds) { "Succeeded" } else { "Failed" };
        }
        if self.loses_own_policies(pod) {
            return "Failed";
        }
        if mains().any(|container| {
            matches!(container.view.state, State::Waiting(_)) && container.view.last.is_none()
        }) {
            return "Pending";
        }
        if !mains().all(|container| ended(container).is_some()) {
            return "Running";
        }
        let well = mains().all(|container| ended(container) == Some(0));
        let back = |at: usize| {
            let (at, of) = (At { pod, container: at }, &of.containers[at]);
            let Some(code) = ended(of).filter(|_| of.kind == Kind::Main) else { return false };
            match self.policy_of(at) {
                _ if self.restarts_by_rule(at, code) || self.restarts_all_by_rule(at, code) => true,
                "Always" => true,
                "OnFailure" => code != 0 && !self.has(Defect::CrashIsFinal),
                _ if self.has(Defect::StartErrorOfMainRetried) && cannot_start(of) => true,
                _ => self.has(Defect::RestartsDespiteNever),
            }
        };
        let all = self.has(Defect::BackOffEndsPod) && of.restart_policy() == "OnFailure";
        let backs = (0..of.containers.len()).filter(|at| back(*at)).count();
        if of.deleted.is_none() && backs > if all { mains().count() - 1 } else { 0 } {
            return "Running";
        }
        if well { "Succeeded" } else { "Failed" }
    }
}
