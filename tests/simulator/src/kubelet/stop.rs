//! The ends of containers: the preStop hook, the stop signal, the grace period, the kill, and a pod's deletion.

use probity_model::timeline::ProbeKind;
use probity_script::answer::{Serving, TerminationSettings};
use probity_script::witness::{Exiting, NOTED, SignalSeen, VolumeSeen};
use probity_script::{Endpoint, Fact};
use serde_json::Value;

use super::Back;
use crate::Defect;
use crate::pod::{Ended, Kind, State, micros};
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// The exit status of a process that SIGTERM ended.
const BY_SIGTERM: i64 = 143;

impl World<'_> {
    /// Kills a container because of a probe.
    pub(super) fn kill_by_probe(&mut self, at: At, kind: ProbeKind) {
        let policy = self.policy_of(at).to_owned();
        let (pod_grace, name) = (self.pods[at.pod].grace(), self.name_in_kill(at));
        let container = &mut self.pods[at.pod].containers[at.container];
        if !container.is_running() || container.killing.is_some() {
            return;
        }
        container.killing = Some(kind);
        let suffix =
            if policy == "Never" && container.kind != Kind::Sidecar { "" } else { ", will be restarted" };
        let named = if container.kind == Kind::Sidecar { "Init container" } else { "Container" };
        let suffix = if container.kind == Kind::Sidecar { "" } else { suffix };
        let message = format!("{named} {name} failed {} probe{suffix}", kind.word());
        self.report_kill(at, &message);
        let own = self.grace_of_probe(at, kind);
        let grace = self.grace_of_kill(kind, own.map(|own| own * SECOND), pod_grace) + self.grace_off(true);
        if self.has(Defect::KillWithoutGrace) {
            let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
            self.later(20 * MS, Act::Force(life));
        } else {
            self.stop_container(at, grace);
        }
    }

    /// The grace period that a container's probe of this kind sets.
    fn grace_of_probe(&self, at: At, kind: ProbeKind) -> Option<i64> {
        let container = &self.pods[at.pod].containers[at.container];
        let set = |kind| container.probe(kind)?["terminationGracePeriodSeconds"].as_i64();
        if self.has(Defect::ProbeGraceIgnoredWithHook) && !container.spec["lifecycle"]["preStop"].is_null() {
            return None;
        }
        if self.pods[at.pod].is_static && self.has(Defect::StaticProbeGraceIgnored) {
            return None;
        }
        if self.has(Defect::ProbeGraceOfAnotherProbe) {
            return ProbeKind::ALL.into_iter().find_map(set);
        }
        if self.has(Defect::ProbeGraceForFirstKill) && container.attempt() > 0 {
            return None;
        }
        let of_startup = set(ProbeKind::Startup).filter(|_| self.has(Defect::StartupGraceForAll));
        set(kind).filter(|_| !self.ignores_grace(at, kind)).or(of_startup)
    }

    /// How long a container that is killed because of a probe has to stop.
    fn grace_of_kill(&self, kind: ProbeKind, own: Option<i64>, of_pod: i64) -> i64 {
        let ignored = self.has(Defect::ProbeGraceIgnored)
            || (kind == ProbeKind::Startup && self.has(Defect::StartupGraceIgnored));
        match own.filter(|_| !ignored) {
            _ if self.has(Defect::KillWaitsForEver) => 600 * SECOND,
            _ if self.has(Defect::ProbeGraceAlways2) => 2 * SECOND,
            Some(own) if self.has(Defect::ProbeGraceOnlyShorter) => own.min(of_pod),
            Some(own)
                if kind == ProbeKind::Startup && own > of_pod && self.has(Defect::StartupGraceAtMostPods) =>
            {
                of_pod
            }
            Some(own) => own,
            None if self.has(Defect::ProbeGraceDefaultsTo30) => 30 * SECOND,
            None => of_pod,
        }
    }

    /// Runs the hook, and then sends the stop signal. At the end of the grace period, the container is killed.
    pub(crate) fn stop_container(&mut self, at: At, grace: i64) {
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        let begins = self.begins_to_stop(at.pod) + self.told_later(at);
        if !self.runs_stop_hook(at, grace) {
            self.at(begins, Act::Terminate(life, begins + grace.max(self.least_grace_of(at))));
            return;
        }
        let mut hook = self.pods[at.pod].containers[at.container].spec["lifecycle"]["preStop"].clone();
        if let Some(seconds) =
            hook["sleep"]["seconds"].as_i64().filter(|_| self.has(Defect::SleepTakesHalfMore))
        {
            hook["sleep"]["seconds"] = Value::from(seconds * 3 / 2);
        }
        let signaled_first = self.has(Defect::PreStopAfterSignal);
        if signaled_first {
            self.terminate(life, self.now + grace);
        }
        let deadline = self.hook_deadline(at, grace);
        let (ended, failed) = self.run_hook(at, &hook, deadline);
        self.report_stop_hook(at, ended, failed);
        if failed && self.has(Defect::FailedHookKills) {
            self.at(ended, Act::Force(life));
            return;
        }
        if !signaled_first && !self.forgets_signal(&hook, (ended, failed)) {
            let late = if self.has(Defect::SignalLateAfterHook) { 3 * SECOND } else { 0 };
            let lost = failed && self.has(Defect::FailedHookEndsGrace);
            let more = hook.get("sleep").is_some() && self.has(Defect::SleepCountsMore);
            let free = failed && ended < deadline && self.has(Defect::FailedHookIsFree);
            let taken = if free { 0 } else { ended - self.now + if more { SECOND } else { 0 } };
            let left = if lost { self.least_grace() } else { self.left_of(grace, taken) };
            let stop = ended.max(begins) + late;
            self.at(stop, Act::Terminate(life, stop + left));
        }
    }

    /// Runs a hook. Returns the time at which it finishes, and whether it failed.
    pub(super) fn run_hook(&mut self, at: At, hook: &Value, deadline: i64) -> (i64, bool) {
        let now = self.now;
        if let Some(seconds) = hook["sleep"]["seconds"].as_i64() {
            let deadline = if self.has(Defect::SleepOutlastsGrace) { i64::MAX } else { deadline };
            return ((now + seconds * SECOND).min(deadline), false);
        }
        if let Some(http) = hook.get("httpGet") {
            return self.ask_by_hook(at, http, deadline);
        }
        let words = hook["exec"]["command"].as_array().into_iter().flatten();
        let command: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
        let (when, back) = self.execute(at, &command, deadline);
        (when, !matches!(back, Back::Command(Some(0), _)))
    }

    /// The stop signal reaches a container.
    pub(crate) fn terminate(&mut self, life: LifeAt, until: i64) {
        if self.has(Defect::LivenessGoesOnDuringHooks) && self.pods[life.at.pod].deleted.is_some() {
            self.stop_worker(life.at, ProbeKind::Liveness);
            self.stop_worker(life.at, ProbeKind::Startup);
        }
        let Some(of) = self.life_mut(life) else { return };
        if !of.is_target {
            self.exit(life, 0, "stop");
            return;
        }
        let name = self.stop_signal(life.at);
        if !self.takes_for_stop(life.at, &name) {
            self.note(life, Fact::Signal(SignalSeen { signal: name, child: None, answer: NOTED.to_owned() }));
            return self.at(until, Act::Force(life));
        }
        let Some(of) = self.life_mut(life) else { return };
        of.stopping = true;
        let probe = of.count(&Endpoint::Stop);
        let script = of.plan.process.on_stop.clone();
        let answer = self.choose(self.now, life, (&Endpoint::Stop, &script), probe, None).answer;
        let name = if self.has(Defect::SignalIsInterrupt) { "SIGINT".to_owned() } else { name };
        let signal = SignalSeen { signal: name.clone(), child: None, answer: answer.to_string() };
        self.note(life, Fact::Signal(signal));
        self.mark(life, "sigterm", &name);
        self.signal_children(life);
        self.at(until, Act::Force(life));
        let Some(TerminationSettings { exit, after, serving }) = answer.settings() else { return };
        if serving != Serving::Keep
            && let Some(of) = self.life_mut(life)
        {
            of.shut = true;
        }
        self.doors(life);
        self.later(after.map_or(0, micros).max(2 * MS), Act::Exit(life, exit, "stop"));
    }

    /// A container is killed.
    pub(crate) fn force(&mut self, life: LifeAt) {
        if self.life(life).is_some_and(|of| of.spared_until <= self.now) {
            self.ended(life, 137);
        }
    }

    /// A process exits by itself.
    pub(crate) fn exit(&mut self, life: LifeAt, code: u8, why: &str) {
        if self.life(life).is_some() {
            let lost =
                self.pods[life.at.pod].deleted.is_some() && self.has(Defect::VolumesGoBeforeContainers);
            self.note(life, Fact::Volume(VolumeSeen { kept: !lost }));
            self.note(life, Fact::Exiting(Exiting { code, why: why.to_owned() }));
            self.forget_resize(life.at, why);
            self.ended(life, i64::from(code));
        }
    }

    /// The process of a container is gone.
    fn ended(&mut self, life: LifeAt, code: i64) {
        let message = self.last_words(life, code);
        self.leave(life);
        let (at, now) = (life.at, self.now);
        let uid = self.pods[at.pod].uid.clone();
        let container = &mut self.pods[at.pod].containers[at.container];
        let started = if let State::Running(since) = container.state { since } else { now };
        let code = self.code_told(self.pods[at.pod].containers[at.container].killing, code);
        let code = if code == BY_SIGTERM && self.has(Defect::EndBySigtermIsSuccess) { 0 } else { code };
        let container = &mut self.pods[at.pod].containers[at.container];
        let how = Ended { code, started, finished: now, id: container.id(&uid), message };
        container.state = State::Ended(how.clone());
        let killed = container.killing;
        let hook_failed = std::mem::take(&mut container.failing);
        self.forget_back_off(at, hook_failed);
        self.passes_on(at, code);
        if let Some(whole) = self.pods[at.pod].within.filter(|whole| self.pods[*whole].deleted.is_some()) {
            self.after_ephemeral(whole);
            self.go_if_all_ended(whole);
        }
        if self.pods[at.pod].deleted.is_some() {
            self.pods[at.pod].containers[at.container].killing = None;
            if killed.is_some() && self.comes_back_in_termination(at) {
                self.later(super::wrong::SOON, Act::Start(at));
                return;
            }
            if self.comes_back_beside_others(at) {
                self.later(super::wrong::SOON, Act::Start(at));
            }
            self.stop_helpers(at.pod);
            self.go_if_all_ended(at.pod);
        } else if let Some(kind) = killed {
            self.after_kill(at, kind, how);
        } else {
            if self.returns_after_stop(at) {
                self.later(super::wrong::SOON, Act::Start(at));
            }
            self.report_exit(at);
            self.hook_after_exit(at);
            let delay = self.between(80 * MS, 1000 * MS);
            self.later(delay, Act::Sync(at.pod));
        }
    }

    /// The kubelet is notified of a pod's deletion.
    pub(crate) fn stop_pod(&mut self, pod: usize) {
        for container in 0..self.pods[pod].containers.len() {
            let at = At { pod, container };
            let sidecar = self.pods[pod].containers[container].kind == Kind::Sidecar;
            let hooked = !self.pods[pod].containers[container].spec["lifecycle"]["preStop"].is_null();
            let goes_on = hooked && self.has(Defect::LivenessGoesOnDuringHooks);
            if !goes_on && !self.has(Defect::LivenessGoesOnInTermination) && !sidecar {
                if !self.command_goes_on(at) && !self.connecting_goes_on(at) {
                    self.stop_worker(at, ProbeKind::Liveness);
                }
                if !self.has(Defect::StartupGoesOnInTermination) {
                    self.stop_worker(at, ProbeKind::Startup);
                }
            }
            let helper = sidecar && self.has(Defect::ReadinessOfSidecarsStopsOnDelete);
            if helper || self.has(Defect::ReadinessStopsOnDelete) || self.stops_readiness(at) {
                self.stop_worker(at, ProbeKind::Readiness);
            }
        }
        if self.has(Defect::UnprobedUnreadyOnDelete) {
            for of in &mut self.pods[pod].containers {
                of.view.ready &= of.probe(ProbeKind::Readiness).is_some();
            }
        }
        // The next status is about the new generation.
        self.touch(pod);
        if self.has(Defect::ReadyAgainOnDelete) {
            for after in [2_100, 2_900] {
                self.later(after * MS, Act::Publish(pod));
            }
        }
        self.stop_mains(pod);
        self.begin_turns(pod);
        self.give_turns(pod);
        self.go_if_all_ended(pod);
    }

    /// Sidecars stop when no main container is running and none will restart.
    pub(super) fn stop_helpers(&mut self, pod: usize) {
        let of = &self.pods[pod];
        let leaving = of.deleted.is_some() || of.terminal;
        let failed = self.has(Defect::SidecarsKeepFailedPod) && self.phase(pod) == "Failed";
        let tried = self.has(Defect::SidecarsKeepPodOnFailure) && of.restart_policy() == "OnFailure";
        let own = self.has(Defect::OwnPolicyKeepsSidecars) && of.restart_policy() == "Always";
        let kept = of.deleted.is_none() && (self.has(Defect::SidecarsKeepPod) || failed || tried || own);
        if !leaving || kept {
            return;
        }
        if !of.containers.iter().any(|container| container.kind != Kind::Sidecar && container.is_running()) {
            self.stop_kept_ephemeral(pod);
            self.begin_turns(pod);
        }
        self.give_turns(pod);
    }

    /// A terminating pod is removed when none of its containers is running.
    fn go_if_all_ended(&mut self, pod: usize) {
        let running = |at: usize| self.pods[pod].containers[at].is_running();
        if (0..self.pods[pod].containers.len()).any(running) || self.has_running_ephemeral(pod) {
            return;
        }
        for container in 0..self.pods[pod].containers.len() {
            for kind in ProbeKind::ALL {
                self.stop_worker(At { pod, container }, kind);
            }
        }
        let from = self.removed_from(pod);
        self.sync_now(pod);
        let delay = self.between(600 * MS, 900 * MS);
        self.at((self.now + delay).max(from), Act::Drop(pod));
    }
}
