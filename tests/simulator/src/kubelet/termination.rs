//! How a pod terminates: when each hook runs, when each container receives its stop signal, and how much of the grace
//! period is left then.
//!
//! Main containers stop at the same time, each after its own hook. The hooks of sidecars also run at once, but each
//! sidecar gets its stop signal only after the main containers and the sidecars after it have ended, or at the end
//! of the grace period.

use probity_script::Fact;
use probity_script::witness::{ChildSeen, SignalSeen};
use serde_json::Value;

use crate::Defect;
use crate::pod::{Kind, Turn};
use crate::pressure::Cause;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// The minimum time between a container's stop signal and its kill.
const LEAST: i64 = 2 * SECOND;
/// The delay of late actions of a defective kubelet.
const LATE: i64 = 4 * SECOND;
/// When a defective kubelet cuts off hooks.
const EARLY_CUT: i64 = 20 * SECOND;
/// A delay that is longer than any case.
const NEVER: i64 = 600 * SECOND;
/// How long a defective kubelet waits for the volumes of a deleted pod.
const VOLUMES_COME: i64 = 60 * SECOND;
/// The interval of the check whether the earlier pod with the same name has ended.
const LOOK: i64 = 200 * MS;

impl World<'_> {
    /// The shortest time between a stop signal and a kill.
    pub(super) fn least_grace(&self) -> i64 {
        if self.has(Defect::NoLeastGrace) { 0 } else { LEAST }
    }

    /// The grace period of a terminating pod: from the request, or its own. The kubelet uses at least one second.
    pub(super) fn grace_in_force(&self, pod: usize) -> i64 {
        let of = &self.pods[pod];
        let by_shutdown = of.evicted == Some(Cause::Shutdown);
        let own = if by_shutdown { self.grace_of_shutdown(pod) } else { of.grace() };
        let Some((_, asked)) = of.deleted else { return own };
        let grace = match asked * SECOND {
            _ if self.has(Defect::RequestedGraceIgnored) => own,
            0 if self.has(Defect::ForcedKeepsGrace) => own,
            _ if self.has(Defect::DeletionNeverKills) => NEVER,
            grace if self.has(Defect::DeletionHalvesGrace) => grace / 2,
            grace => grace,
        };
        (grace + self.grace_off(false)).max(SECOND)
    }

    /// When a container without a hook receives its stop signal.
    pub(super) fn begins_to_stop(&mut self, pod: usize) -> i64 {
        let late = self.pods[pod].deleted.is_some() && self.has(Defect::DeletionSignalsLate);
        let late = if late { LATE } else { self.rest_of_probes(pod) };
        self.now + self.between(10 * MS, 40 * MS) + late
    }

    /// Whether a container's preStop hook runs.
    pub(super) fn runs_stop_hook(&self, at: At, grace: i64) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        let by_probe = container.killing.is_some();
        let none = container.spec["lifecycle"]["preStop"].is_null();
        let spared = by_probe && self.has(Defect::HookOnlyOnDeletion);
        let forced = by_probe && self.has(Defect::HookRunsWithoutGrace);
        let done = !by_probe && container.kind == Kind::Sidecar && self.pods[at.pod].deleted.is_none();
        let expired = self.pods[at.pod].expired && self.has(Defect::DeadlineSkipsHooks);
        let forgotten = self.skips_hook_of_other_stops(at)
            || expired
            || self.skips_hook_of_expired_sidecar(at)
            || (done && self.has(Defect::HookOfSidecarForgottenWhenDone))
            || (container.failing && (self.has(Defect::FailedHookSkipsOther) || self.stops_hard(at)));
        !none
            && !spared
            && !forgotten
            && !self.forgets_hook(at)
            && (grace > 0 || forced)
            && !self.has(Defect::PreStopSkipped)
    }

    /// The time until which the kubelet waits for a hook that begins now.
    pub(super) fn hook_deadline(&self, at: At, grace: i64) -> i64 {
        let most = match () {
            () if self.has(Defect::HookHasGraceOfPod) => self.pods[at.pod].grace(),
            () if self.has(Defect::HookNeverCut) => NEVER,
            () if self.has(Defect::HookRequestNeverCut) && self.asks_before_stop(at) => NEVER,
            () if self.has(Defect::HookCutEarly) => grace.min(EARLY_CUT),
            () => grace.max(SECOND),
        };
        self.now + most.min(self.cut_of_hook(at))
    }

    /// The rest of a grace period after this time. The kubelet subtracts only the whole seconds of the time.
    pub(super) fn left_of(&self, grace: i64, taken: i64) -> i64 {
        let taken = if self.has(Defect::HookTimeAdded) { 0 } else { taken / SECOND * SECOND };
        (grace - taken).max(self.least_grace())
    }

    /// The main containers of a terminating pod receive a stop signal.
    pub(super) fn stop_mains(&mut self, pod: usize) {
        self.stop_ephemeral(pod);
        let grace = self.grace_in_force(pod);
        let forced = self.pods[pod].deleted.is_some_and(|(_, asked)| asked == 0);
        let at_once =
            self.has(Defect::DeletionKillsAtOnce) || (forced && self.has(Defect::ForcedKillsAtOnce));
        for container in 0..self.pods[pod].containers.len() {
            let (at, of) = (At { pod, container }, &self.pods[pod].containers[container]);
            if of.kind == Kind::Sidecar || !of.is_running() {
                continue;
            }
            let of_init = of.kind == Kind::Init;
            if of_init && self.has(Defect::DeletedInitsNotTold) {
                continue;
            }
            let message = format!("Stopping container {}", of.name);
            let own = of.spec["livenessProbe"]["terminationGracePeriodSeconds"].as_i64();
            let own = own.filter(|_| self.has(Defect::DeletionUsesProbeGrace));
            let life = LifeAt { at, attempt: of.attempt() };
            self.report_stop(at, &message);
            if at_once || (of_init && self.has(Defect::DeletionKillsInits)) {
                self.later(20 * MS, Act::Force(life));
            } else {
                self.stop_container(at, own.map_or(grace, |own| own * SECOND));
            }
        }
        if self.has(Defect::RemovedWhileStopping) {
            self.later(300 * MS, Act::Drop(pod));
        }
    }

    /// The sidecars of a terminating pod begin to wait for their turn, and their hooks run.
    pub(crate) fn begin_turns(&mut self, pod: usize) {
        if self.kills_helpers(pod) || self.leaves_helpers_to_sandbox(pod) {
            return;
        }
        let short = self.pods[pod].deleted.is_none() && self.has(Defect::SidecarsHaveTwoSecondsWhenDone);
        let grace = if short { self.least_grace() } else { self.grace_in_force(pod) };
        for container in 0..self.pods[pod].containers.len() {
            let (at, of) = (At { pod, container }, &mut self.pods[pod].containers[container]);
            if of.kind != Kind::Sidecar || !of.is_running() || of.restarting {
                continue;
            }
            of.restarting = true;
            let message = format!("Stopping container {}", of.name);
            self.report_stop(at, &message);
            let grace = self.grace_of_sidecar(at, grace);
            let hooked = !self.runs_hook_in_turn(at) || !self.runs_stop_hook(at, grace);
            let ready = if hooked { self.hook_of_sidecar(at, grace) } else { self.now };
            let unawaited = self.pods[pod].deleted.is_some() && self.has(Defect::HookOfSidecarUnawaited);
            let ready = if unawaited { self.now } else { ready };
            let spent = self.spent_by_hook_of_sidecar(ready, grace);
            let deadline = ready + (self.longest_wait_for_turn(pod, grace) - spent).max(0);
            self.pods[pod].containers[container].turn = Some(Turn { ready, deadline, hooked });
            self.at(ready, Act::Turn(pod));
            self.at(deadline, Act::Turn(pod));
        }
    }

    /// Runs the hook of a sidecar, if it has one. Returns the time at which the hook is done.
    fn hook_of_sidecar(&mut self, at: At, grace: i64) -> i64 {
        if !self.runs_stop_hook(at, grace) {
            return self.now;
        }
        let hook = self.pods[at.pod].containers[at.container].spec["lifecycle"]["preStop"].clone();
        let deleted = self.pods[at.pod].deleted.is_some();
        if deleted && hook.get("sleep").is_some() && self.has(Defect::SidecarSleepSkipped) {
            return self.now;
        }
        let (ended, failed) = self.run_hook(at, &hook, self.hook_deadline(at, grace));
        self.report_stop_hook(at, ended, failed);
        ended
    }

    /// How much of a grace period the hook of a sidecar has used at this time, in whole seconds.
    fn spent_by_hook_of_sidecar(&self, ready: i64, grace: i64) -> i64 {
        let spent = (ready - self.now) / SECOND * SECOND;
        if spent < grace && self.has(Defect::SidecarHookTimeAdded) { 0 } else { spent }
    }

    /// Sends the stop signal to the sidecars of a pod whose turn it is.
    pub(crate) fn give_turns(&mut self, pod: usize) {
        for container in (0..self.pods[pod].containers.len()).rev() {
            let at = At { pod, container };
            let of = &self.pods[pod].containers[container];
            let Some(turn) = of.turn.filter(|_| of.is_running()) else { continue };
            let expired = self.now >= turn.deadline;
            if self.now < turn.ready || (self.is_blocked(at) && !expired) {
                continue;
            }
            let grace = self.grace_in_force(pod);
            if self.forgets_after_hook(at, turn) {
                continue;
            }
            if !turn.hooked {
                let ready = self.hook_of_sidecar(at, grace);
                self.pods[pod].containers[container].turn = Some(Turn { ready, hooked: true, ..turn });
                self.at(ready, Act::Turn(pod));
                continue;
            }
            let life = LifeAt { at, attempt: self.pods[pod].containers[container].attempt() };
            let left = match self.wrong_rest(pod) {
                Some(left) => left,
                None if self.gives_grace_anew(pod) => grace,
                None => self.left_of(turn.deadline - turn.ready, self.now - turn.ready),
            };
            self.pods[pod].containers[container].turn = None;
            let begins = self.now + self.between(5 * MS, 20 * MS);
            self.at(begins, Act::Terminate(life, begins + left));
        }
    }

    /// Whether a sidecar waits for another container to end.
    fn is_blocked(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers;
        let runs = |kind: Kind, places: std::ops::Range<usize>| {
            of[places].iter().any(|other| other.kind == kind && other.is_running())
        };
        // Sidecars do not wait for an init container that still runs.
        let mains = runs(Kind::Main, 0..of.len());
        let is_done = self.pods[at.pod].deleted.is_none();
        match () {
            () if self.pods[at.pod].expired && self.has(Defect::ExpiredSidecarsCutShort) => true,
            () if self.has(Defect::SidecarsStopWithMains) => false,
            () if self.pods[at.pod].expired && self.has(Defect::ExpiredSidecarsDoNotWait) => false,
            () if self.pods[at.pod].expired && self.has(Defect::ExpiredSidecarsStopTogether) => mains,
            () if self.stops_out_of_order(at.pod) => false,
            () if self.waits_for_crashed(at) => true,
            () if self.waits_for_no_main(at.pod) => true,
            () if self.awaits_ephemeral(at.pod) => true,
            () if self.has(Defect::SidecarsWaitForExpiry) => true,
            () if self.has(Defect::SidecarsWaitWhenDone) && is_done => true,
            () if self.several_wait(at.pod) && is_done => true,
            () if self.has(Defect::SidecarsStopTogether) => mains,
            () if self.has(Defect::SidecarsStopTogetherWhenDone) && is_done => mains,
            () if self.has(Defect::SidecarsStopInOrder) => mains || runs(Kind::Sidecar, 0..at.container),
            () => mains || runs(Kind::Sidecar, at.container + 1..of.len()),
        }
    }

    /// The earliest time at which a pod that has ended is removed: a defective cluster waits for its deadline, or for its
    /// volumes.
    pub(super) fn removed_from(&self, pod: usize) -> i64 {
        let of = &self.pods[pod];
        let idle = of.terminal || of.containers.iter().all(|container| container.starts == 0);
        let failed = of.object["status"]["phase"] == "Failed" && self.has(Defect::FailedPodsKeepGrace);
        let waits =
            failed || self.has(Defect::RemovedAtTheDeadline) || (idle && self.has(Defect::IdlePodsWait));
        let unmounted = of.mount_wait > 0 && !of.sandbox;
        let staged = of.containers.iter().any(|container| container.kind != Kind::Main);
        if unmounted && staged && self.has(Defect::DeletionWaitsForVolumes) {
            return self.now + VOLUMES_COME;
        }
        of.deleted.filter(|_| waits).map_or(0, |(since, grace)| since + grace * SECOND)
    }

    /// Whether a container restarts although its pod terminates, because other containers still run.
    pub(super) fn comes_back_beside_others(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let kind = of.containers[at.container].kind;
        let comes_back = match kind {
            Kind::Main => self.has(Defect::RestartsWhileTerminating),
            Kind::Sidecar => self.has(Defect::SidecarReturnsBesideOthers),
            Kind::Init => false,
        };
        let mut others = of.containers.iter().filter(|container| container.kind == kind);
        comes_back
            && of.deleted.is_some()
            && of.containers[at.container].starts == 1
            && others.any(|container| container.is_running())
    }

    /// Whether a pod has to wait because the earlier pod with the same name still runs.
    pub(super) fn waits_for_namesake(&mut self, pod: usize) -> bool {
        let name = &self.pods[pod].name;
        let mut before = self.pods[..pod].iter().filter(|other| other.name == *name);
        let waits = self.has(Defect::NameIsHeldOnNode)
            && before.any(|other| other.containers.iter().any(crate::pod::Container::is_running));
        if waits {
            self.later(LOOK, Act::Create(pod));
        }
        waits
    }

    /// Runs the hook of a container that ended by itself, as a defective kubelet does.
    pub(super) fn hook_after_exit(&mut self, at: At) {
        let hook = self.pods[at.pod].containers[at.container].spec["lifecycle"]["preStop"].clone();
        if self.has(Defect::HookAfterSelfExit) && hook.get("httpGet").is_some() {
            let _ = self.run_hook(at, &hook, self.now + LEAST);
        }
    }

    /// The child processes of a process start with it.
    pub(crate) fn begin_children(&mut self, life: LifeAt) {
        for (name, pid) in self.children(life).into_iter().zip(10..) {
            self.note(life, Fact::Child(ChildSeen { name, pid, event: "started".to_owned(), status: None }));
        }
    }

    /// Sends the stop signal to the children of a process, too, as a defective kubelet does.
    pub(super) fn signal_children(&mut self, life: LifeAt) {
        if !self.has(Defect::SignalReachesChildren) {
            return;
        }
        for child in self.children(life) {
            let (signal, answer) = ("SIGTERM".to_owned(), "noted".to_owned());
            self.note(life, Fact::Signal(SignalSeen { signal, child: Some(child), answer }));
        }
    }

    /// The signal that stops a container.
    pub(super) fn stop_signal(&self, at: At) -> String {
        let signal = self.stop_signal_of(&self.pods[at.pod].containers[at.container].spec);
        let killed = self.pods[at.pod].containers[at.container].killing.is_some();
        let wrong =
            self.has(Defect::DefaultSignalIsInterrupt) || (killed && self.has(Defect::ProbeKillsInterrupt));
        if wrong && signal == "SIGTERM" { "SIGINT".to_owned() } else { signal }
    }

    /// The signal that stops a container with this spec: its own, or the signal of its image, which the tag of a
    /// variant shows.
    pub(crate) fn stop_signal_of(&self, spec: &Value) -> String {
        let own = spec["lifecycle"]["stopSignal"].as_str().map(str::to_owned);
        let image = spec["image"].as_str().unwrap_or_default();
        let of_image = image.rsplit_once("-sig").map(|(_, name)| format!("SIG{}", name.to_ascii_uppercase()));
        let own = own.filter(|_| !self.has(Defect::OwnStopSignalIgnored) && !self.loses_own_signal(spec));
        let of_image = of_image.filter(|_| !self.has(Defect::ImageStopSignalIgnored));
        own.or(of_image).unwrap_or_else(|| "SIGTERM".to_owned())
    }

    /// Whether the process of a container stops at a signal: at SIGTERM and SIGINT, unless its environment names others.
    pub(super) fn takes_for_stop(&self, at: At, signal: &str) -> bool {
        let env = self.pods[at.pod].containers[at.container].spec["env"].as_array();
        let mut named =
            env.into_iter().flatten().filter(|variable| variable["name"] == "AGNHOST_STOP_SIGNAL");
        let named = named.find_map(|variable| variable["value"].as_str());
        named.unwrap_or("SIGTERM,SIGINT").split(',').any(|one| one == signal)
    }

    fn children(&self, life: LifeAt) -> Vec<String> {
        let of = self.life(life);
        of.map(|of| of.plan.process.children.iter().map(|child| child.name.clone()).collect())
            .unwrap_or_default()
    }
}
