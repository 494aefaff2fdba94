//! Init containers and sidecars: the containers that wait for them, the causes of their restarts, and the deadline that
//! includes them.

use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Ended, Kind, State};
use crate::pressure::Cause;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// How much later a defective kubelet detects a success.
const LATE: i64 = 8 * SECOND;
/// The exit status of a container whose command does not exist, as runtimes report it.
const NOT_STARTED: i64 = 128;

impl World<'_> {
    /// Whether the later containers no longer have to wait for a container.
    pub(super) fn is_passed(&self, pod: usize, container: usize) -> bool {
        let all = &self.pods[pod].containers;
        let of = &all[container];
        let before_mains = all.get(container + 1).is_none_or(|next| next.kind == Kind::Main);
        let ended = |wanted: fn(i64) -> bool| match &of.view.state {
            State::Ended(ended) => {
                wanted(ended.code)
                    && (!self.has(Defect::InitSuccessNoticedLate) || self.now - ended.finished > LATE)
            }
            _ => false,
        };
        match of.kind {
            Kind::Init if self.has(Defect::InitsRunTogether) && !before_mains => true,
            Kind::Init if self.has(Defect::MainsBesideInits) && before_mains => true,
            Kind::Init if self.has(Defect::InitFailureSkipped) => ended(|_| true),
            Kind::Init if self.takes_lack_of_memory_for_success(of) => ended(|_| true),
            Kind::Init if self.skips_running_init(of) => true,
            Kind::Init => ended(|code| code == 0),
            Kind::Sidecar if self.is_put_off(pod, container) => true,
            Kind::Sidecar if self.has(Defect::SidecarEndAwaited) => ended(|code| code == 0),
            Kind::Sidecar if self.has(Defect::SidecarStartUnawaited) => of.starts > 0,
            Kind::Sidecar if self.has(Defect::SidecarRestartUnawaited) && of.starts > 1 => true,
            Kind::Sidecar if self.skips_gate(pod, container) => of.starts > 0,
            Kind::Sidecar => of.view.started,
            Kind::Main => !self.has(Defect::MainsWaitForEachOther) || of.view.started || of.starts > 1,
        }
    }

    /// Whether the start of a sidecar is postponed.
    pub(super) fn is_put_off(&self, pod: usize, container: usize) -> bool {
        let all = &self.pods[pod].containers;
        let mains = all.iter().any(|of| of.kind == Kind::Main && of.starts == 0);
        self.has(Defect::SidecarsStartLast) && all[container].kind == Kind::Sidecar && mains
    }

    /// Whether a defect decides that a container restarts, or does not.
    pub(super) fn wrongly_back(&self, at: At, code: i64) -> Option<bool> {
        let of = &self.pods[at.pod];
        let container = &of.containers[at.container];
        let init = container.kind == Kind::Init;
        match self.policy_of(at) {
            _ if self.has(Defect::StartErrorIsFinal) && cannot_start(container) => Some(false),
            _ if self.has(Defect::StartErrorOfMainIsFinal) && !init && cannot_start(container) => Some(false),
            _ if self.has(Defect::StartErrorOfMainRetried) && !init && cannot_start(container) => Some(true),
            "OnFailure" if code > NOT_STARTED && self.has(Defect::SignalIsNoFailure) => Some(false),
            "Never" => (init && code != 0 && self.has(Defect::InitRetriedUnderNever)).then_some(true),
            _ if init && self.has(Defect::InitNotRetried) => Some(false),
            "Always" => (init && code == 0 && self.has(Defect::InitSuccessRestarts)).then_some(true),
            _ => None,
        }
    }

    /// Whether a pod does not fail although one of its init containers did.
    pub(super) fn tolerates_failed_init(&self) -> bool {
        self.has(Defect::InitRetriedUnderNever) || self.has(Defect::InitFailureKeepsPending)
    }

    /// Ends a container that cannot start. Returns whether the container cannot start.
    pub(super) fn failed_to_start(&mut self, at: At) -> bool {
        let (now, uid) = (self.now, self.pods[at.pod].uid.clone());
        if self.fails_start(at) {
            let events = [
                ("Normal", "Pulled", "Container image already present on machine"),
                ("Normal", "Created", "Container created"),
                ("Warning", "Failed", "Error: unable to freeze"),
            ];
            for (kind, reason, message) in events {
                self.record(at.pod, at.container, kind, reason, message);
            }
        } else if !cannot_start(&self.pods[at.pod].containers[at.container]) {
            return false;
        }
        let container = &mut self.pods[at.pod].containers[at.container];
        let id = container.id(&uid);
        container.state = State::Ended(Ended {
            code: NOT_STARTED,
            started: now,
            finished: now,
            id,
            message: String::new(),
        });
        if self.has(Defect::FailedStartReportedAsStart) {
            self.record(at.pod, at.container, "Normal", "Started", "Container started");
        }
        let delay = self.between(60 * MS, 1000 * MS);
        self.later(delay, Act::Sync(at.pod));
        true
    }

    /// The actions of a defective kubelet after a restart of a main container.
    pub(super) fn started_again(&mut self, at: At) {
        let all = &self.pods[at.pod].containers;
        let container = &all[at.container];
        let alone = all.iter().filter(|of| of.kind == Kind::Main && of.is_running()).count() == 1;
        let again = self.has(Defect::RestartRunsInitsAgain)
            || (alone && self.has(Defect::AllEndedRunsInitsAgain))
            || (alone && container.starts > 2 && self.has(Defect::AllEndedTwiceRunsInitsAgain));
        if container.kind == Kind::Main && container.starts > 1 && again {
            self.run_inits_again(at.pod);
        }
    }

    /// The init containers of a pod start again.
    pub(crate) fn run_inits_again(&mut self, pod: usize) {
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            if of.kind == Kind::Init && !of.is_running() {
                self.later(200 * MS, Act::Start(At { pod, container }));
            }
        }
    }

    /// Sidecars receive a stop signal as soon as all main containers are running.
    pub(super) fn end_with_init(&mut self, pod: usize) {
        let of = &self.pods[pod];
        let mut mains = of.containers.iter().filter(|container| container.kind == Kind::Main);
        if !self.has(Defect::SidecarsEndWithInit) || !mains.all(Container::is_running) {
            return;
        }
        let grace = of.grace();
        for container in 0..self.pods[pod].containers.len() {
            let of = &mut self.pods[pod].containers[container];
            if of.kind == Kind::Sidecar && of.is_running() && !of.restarting {
                of.restarting = true;
                self.stop_container(At { pod, container }, grace);
            }
        }
    }

    /// Checks again later for a success that a defective kubelet notices late.
    pub(super) fn look_again(&mut self, pod: usize) {
        if self.has(Defect::InitSuccessNoticedLate) {
            self.later(LATE + 100 * MS, Act::Sync(pod));
        }
    }

    /// The deadline of a pod, from its start on. The pod was created at this time.
    pub(crate) fn set_deadline(&mut self, pod: usize, created: i64) {
        let start = if self.has(Defect::DeadlineFromCreation) { created } else { self.pods[pod].started };
        self.set_deadline_from(pod, start);
    }

    /// The deadline of a pod was changed.
    pub(crate) fn change_deadline(&mut self, pod: usize) {
        let heeded = if self.pods[pod].is_static {
            self.has(Defect::MirrorDeadlineHeeded)
        } else {
            !self.has(Defect::DeadlineUpdateIgnored)
        };
        if heeded {
            let anew = self.has(Defect::DeadlineFromUpdate);
            self.set_deadline_from(pod, if anew { self.now } else { self.pods[pod].started });
        }
    }

    fn set_deadline_from(&mut self, pod: usize, start: i64) {
        let Some(seconds) = self.pods[pod].object["spec"]["activeDeadlineSeconds"].as_i64() else {
            return self.set_no_deadline(pod);
        };
        let span = if self.has(Defect::DeadlineHalved) { seconds * SECOND / 2 } else { seconds * SECOND };
        let late = self.between(100 * MS, 1000 * MS);
        self.at((start + span).max(self.now) + late, Act::Expire(pod));
    }

    /// A pod exceeded its deadline: all containers are stopped, and nothing else is started.
    pub(crate) fn expire(&mut self, pod: usize) {
        let of = &self.pods[pod];
        let mains = || of.containers.iter().filter(|container| container.kind == Kind::Main);
        let began = mains().any(|container| container.starts > 0);
        let spared = self.has(Defect::DeadlineIgnored)
            || (self.has(Defect::DeadlineForInitsOnly) && began)
            || (self.has(Defect::DeadlineFromMains) && !began)
            || self.forgets_deadline(pod)
            || (self.has(Defect::DeadlineEndsWithRestart) && mains().any(|container| container.starts > 1));
        if of.gone || of.deleted.is_some() || of.terminal || spared || self.goes_otherwise(pod) {
            return;
        }
        let of = &self.pods[pod];
        let grace = if self.has(Defect::DeadlineGraceIsTwo) { self.least_grace() } else { of.grace() };
        self.pods[pod].expired = true;
        self.pods[pod].terminal = true;
        for container in 0..self.pods[pod].containers.len() {
            let at = At { pod, container };
            let of = &self.pods[pod].containers[container];
            if of.is_running() && of.kind != Kind::Sidecar {
                let init = of.kind == Kind::Init && self.has(Defect::DeadlineKillsInits);
                if self.has(Defect::DeadlineKillsAtOnce) || init {
                    let attempt = of.attempt();
                    self.later(20 * MS, Act::Force(LifeAt { at, attempt }));
                } else {
                    let grace = self.grace_beside_probe(at, grace, Defect::DeadlineUsesProbeGrace);
                    self.stop_container(at, grace);
                }
            }
        }
        if self.has(Defect::DeadlineKillsSidecars) {
            self.kill_sidecars(pod);
        } else {
            self.begin_turns(pod);
            self.give_turns(pod);
        }
        self.sync_now(pod);
    }

    /// Whether a pod that exceeded its deadline has ended: none of its containers runs.
    pub(super) fn is_over_by_deadline(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let runs = |of: &Container| of.is_running() || matches!(of.view.state, State::Running(_));
        of.expired && !of.containers.iter().any(runs)
    }

    /// Whether a pod still initializes.
    pub(super) fn initializes(&self, pod: usize) -> bool {
        let done = |of: &Container| matches!(&of.view.state, State::Ended(ended) if ended.code == 0);
        self.pods[pod].containers.iter().any(|of| of.kind == Kind::Init && !done(of))
    }

    /// The phase that a defective kubelet shows because of the pod's init containers or sidecars.
    pub(super) fn phase_by_helpers(&self, pod: usize, phase: &'static str) -> &'static str {
        let sidecars = || self.pods[pod].containers.iter().filter(|of| of.kind == Kind::Sidecar);
        let failed = |of: &Container| matches!(&of.view.state, State::Ended(ended) if ended.code != 0);
        let begun = self.pods[pod].containers.iter().any(|of| of.starts > 0);
        let one_runs = self.pods[pod].containers.iter().any(|of| of.kind == Kind::Main && of.is_running());
        match phase {
            "Pending" if one_runs && self.has(Defect::RunningWithFirst) => "Running",
            "Pending" if self.has(Defect::RunningWhileInitializing) && begun && self.initializes(pod) => {
                "Running"
            }
            "Succeeded" if self.has(Defect::SidecarStatusCounts) && sidecars().any(Container::is_running) => {
                "Running"
            }
            "Succeeded" if self.has(Defect::SidecarStatusCounts) && sidecars().any(failed) => "Failed",
            "Succeeded" if self.has(Defect::FailedEphemeralFailsPod) && self.has_failed_ephemeral(pod) => {
                "Failed"
            }
            _ => phase,
        }
    }

    /// Whether the pod is shown as initialized.
    pub(crate) fn shown_initialized(&self, initialized: bool) -> bool {
        (initialized || self.has(Defect::InitializedEarly)) && !self.has(Defect::InitializedNever)
    }

    /// Whether the pod is shown as ready although it is initializing.
    pub(crate) fn is_ready_early(&self, pod: usize) -> bool {
        self.has(Defect::ReadyWhileInitializing) && self.initializes(pod)
    }

    /// Whether the readiness of a container counts for its pod.
    pub(crate) fn counts_for_readiness(&self, container: &Container) -> bool {
        match container.kind {
            Kind::Init => false,
            Kind::Sidecar => !self.has(Defect::SidecarReadinessIgnored),
            Kind::Main => true,
        }
    }

    /// Applies defects to the lists of statuses, and adds the reason why a pod has ended.
    pub(crate) fn misplace_inits(&self, pod: usize, status: &mut Value) {
        let expired = self.is_over_by_deadline(pod);
        if let Some(cause) = self.pods[pod].evicted.filter(|_| expired) {
            if self.end_of_evicted(pod).1 {
                let renamed = cause == Cause::Shutdown && self.has(Defect::ShutdownNamedEviction);
                status["reason"] = json!(if renamed { Cause::Memory.reason() } else { cause.reason() });
                status["message"] = json!(match () {
                    () if self.has(Defect::EvictionWithoutMessage) => "",
                    () if self.has(Defect::EvictionNamesAnotherVolume) => {
                        "Usage of EmptyDir volume \"plain\" exceeds the limit"
                    }
                    () => cause.says(),
                });
            }
        } else if let Some((reason, message)) = self.reason_of_end(pod).filter(|_| expired) {
            status["reason"] = json!(reason);
            status["message"] = json!(if self.has(Defect::EndWithoutMessage) { "" } else { message });
        }
        let Some(mut inits) = status["initContainerStatuses"].as_array().cloned() else { return };
        if self.has(Defect::InitStatusesReversed) {
            inits.reverse();
            status["initContainerStatuses"] = json!(inits);
        } else if self.has(Defect::InitStatusesAmongMains)
            && let Some(fields) = status.as_object_mut()
        {
            fields.remove("initContainerStatuses");
            if let Some(mains) = fields.get_mut("containerStatuses").and_then(Value::as_array_mut) {
                mains.extend(inits);
            }
        }
    }
}

/// Whether an end with this status is that of a start that failed in the runtime.
pub(crate) fn was_not_started(container: &Container, code: i64) -> bool {
    cannot_start(container) || (code == NOT_STARTED && container.failed_starts > 0)
}

/// Whether the runtime cannot start a container: its command is not in the image.
pub(crate) fn cannot_start(container: &Container) -> bool {
    let command = container.spec["command"][0].as_str();
    container.plan.is_none() && command.is_some_and(|program| program != "/agnhost-rs")
}
