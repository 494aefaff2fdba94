//! How containers start and restart: the order of their creation, the restart policy and its back-off.

use probity_model::timeline::ProbeKind;

use crate::Defect;
use crate::pod::{BackOff, Container, Ended, Kind, State};
use crate::world::{Act, At, MS, SECOND, World};

/// The first wait of a container that keeps ending; it doubles each time.
pub(super) const FIRST_WAIT: i64 = 10 * SECOND;
/// The longest wait.
pub(super) const LONGEST_WAIT: i64 = 300 * SECOND;
/// A container that ran for this long restarts without a delay.
const GOOD_RUN: i64 = 600 * SECOND;
/// How long after the end of a wait a defective kubelet looks again.
const LATE: i64 = 12 * SECOND;

impl World<'_> {
    /// Kills containers because of their probes, restarts terminated containers, and creates the next ones.
    pub(super) fn act(&mut self, pod: usize) {
        for container in 0..self.pods[pod].containers.len() {
            let at = At { pod, container };
            if let Some(kind) = self.condemned(at) {
                let victim = self.killed_for(self.victim(at));
                self.kill_by_probe(victim, kind);
                if kind == ProbeKind::Liveness {
                    self.kill_neighbors(at);
                }
                let for_good = self.policy_of(at) == "Never" && self.has(Defect::KillForGoodTakesNeighbors);
                if for_good || self.has(Defect::RestartsWholePod) {
                    for other in (0..self.pods[pod].containers.len()).filter(|other| *other != container) {
                        self.kill_by_probe(At { pod, container: other }, kind);
                    }
                }
                return;
            }
        }
        if self.resets(pod) {
            return;
        }
        for container in 0..self.pods[pod].containers.len() {
            self.revive(At { pod, container });
        }
        self.create_containers(pod);
        self.stop_helpers(pod);
        self.end_with_init(pod);
        self.look_again(pod);
    }

    /// The probe whose result requires a kill.
    fn condemned(&self, at: At) -> Option<ProbeKind> {
        let container = &self.pods[at.pod].containers[at.container];
        let spared = self.has(Defect::KillsAskTheBudget) && self.forbidding(at.pod).is_some();
        if !container.is_running() || container.kind == Kind::Init || spared {
            return None;
        }
        let failed = |kind| container.results.get(kind, &container.view.id) == Some(Some(false));
        let was = container.was_ready && failed(ProbeKind::Readiness);
        let serves =
            container.probe(ProbeKind::Liveness).is_none() && self.has(Defect::ReadinessServesAsLiveness);
        if failed(ProbeKind::Liveness) && !self.has(Defect::LivenessFailureTolerated) {
            return Some(ProbeKind::Liveness);
        }
        if failed(ProbeKind::Startup) && !self.has(Defect::StartupFailureTolerated) {
            return Some(ProbeKind::Startup);
        }
        let settled = container
            .workers
            .iter()
            .any(|worker| worker.kind == ProbeKind::Readiness && worker.last == Some(false));
        if failed(ProbeKind::Readiness)
            && ((serves && settled) || (was && self.has(Defect::ReadinessFailureRestarts)))
        {
            return Some(ProbeKind::Readiness);
        }
        None
    }

    /// Creates the containers whose turn it is.
    pub(crate) fn create_containers(&mut self, pod: usize) {
        if self.pods[pod].deleted.is_some() || self.pods[pod].terminal || self.waits_for_namesake(pod) {
            return;
        }
        if self.lacks_user_namespaces(pod) || !self.make_sandbox(pod) {
            return;
        }
        let mut delay = 0;
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let fresh = (of.starts == 0 || of.reset) && !of.restarting && !self.is_put_off(pod, container);
            let done = self.is_passed(pod, container);
            let waits = fresh
                && (self.waits_for_image(pod, container)
                    || self.waits_for_settings(pod, container)
                    || self.lacks_user(pod, container));
            if fresh && !waits {
                delay += self.between(60 * MS, 220 * MS);
                self.pods[pod].containers[container].restarting = true;
                self.later(delay, Act::Start(At { pod, container }));
            }
            if !done {
                return;
            }
        }
    }

    /// A container starts.
    pub(crate) fn start(&mut self, at: At) {
        let leaving = self.starts_while_leaving(at);
        let stays = leaving || self.comes_back_in_termination(at) || self.comes_back_beside_others(at);
        let returns = self.has(Defect::SidecarStartsAfterWork)
            || self.returns_after_stop(at)
            || self.returns_with_kubelet(at);
        let over = self.pods[at.pod].terminal && !returns && !leaving;
        let goes = (self.pods[at.pod].deleted.is_some() && !stays) || over;
        if goes || self.pods[at.pod].gone || (self.pods[at.pod].expired && !leaving) {
            return;
        }
        let now = self.now;
        if self.pods[at.pod].containers[at.container].void_start.take_if(|void| *void == now).is_some() {
            return;
        }
        // The postStart hook of another container delays everything that the kubelet does for the pod.
        if self.pods[at.pod].hooked_until > now {
            self.at(self.pods[at.pod].hooked_until + MS, Act::Start(at));
            return;
        }
        if self.lacks_new_image(at) {
            return;
        }
        self.take_image(at);
        let loses_message = self.has(Defect::MessageLostOnRestart);
        let container = &mut self.pods[at.pod].containers[at.container];
        if let State::Ended(ended) = &container.state {
            container.last = Some(ended.clone());
        }
        if let Some(last) = container.last.as_mut().filter(|_| loses_message) {
            last.message.clear();
        }
        container.state = State::Running(now);
        container.starts += 1;
        container.failing = false;
        container.killing = None;
        container.restarting = false;
        container.reset = false;
        container.replaced = false;
        if container.starts > 1 && self.has(Defect::RestartMovesPod) {
            self.pods[at.pod].object["spec"]["nodeName"] = serde_json::json!("node2");
        }
        if self.failed_to_start(at) {
            return;
        }
        self.started_again(at);
        self.after_start_of_sidecar(at);
        self.report_start(at);
        self.begin(at);
        self.follow_start(at);
        self.hook_after_start(at);
        let delay = self.between(60 * MS, 1000 * MS);
        self.later(delay, Act::Sync(at.pod));
    }

    /// Restarts a container that exited by itself, if its policy and its back-off allow a restart.
    fn revive(&mut self, at: At) {
        let container = &self.pods[at.pod].containers[at.container];
        let State::Ended(ended) = container.state.clone() else { return };
        let final_kill = ended.code == 137 && self.has(Defect::MemoryKillIsFinal);
        let unmanaged = self.pods[at.pod].is_static && self.has(Defect::StaticPodsNotRestarted);
        if container.restarting
            || unmanaged
            || !self.comes_back(at, ended.code)
            || self.is_held_up(at)
            || self.stays_down(at)
            || self.is_blocked_by_ephemeral(at.pod)
            || self.has(Defect::CrashIsFinal)
            || final_kill
        {
            return;
        }
        if self.ends_probes(at) || self.leaves_unprobed(at, ended.code) {
            ProbeKind::ALL.into_iter().for_each(|kind| self.stop_worker(at, kind));
        }
        let container = &self.pods[at.pod].containers[at.container];
        let of_static = self.pods[at.pod].is_static && self.has(Defect::StaticPodsNeverWait);
        let at_once = of_static || (ended.code == 137 && self.has(Defect::NoBackOffForMemory));
        let wait = if at_once { 0 } else { self.wait_of(at, &ended, self.wait_after(container, &ended)) };
        let due = ended.finished + if self.has(Defect::BackOffHalved) { wait / 2 } else { wait };
        let container = &mut self.pods[at.pod].containers[at.container];
        container.back_off.wait = wait;
        container.restarting = true;
        if wait == 0 || self.now >= due {
            self.back_off_more(at);
            let delay = self.between(80 * MS, 300 * MS);
            self.later(delay, Act::Start(at));
            return;
        }
        if self.is_second(at) && self.has(Defect::BackOffEndsLaterProbes) {
            ProbeKind::ALL.into_iter().for_each(|kind| self.stop_worker(at, kind));
        }
        self.wait_to_start(at, ended, due);
    }

    /// How long a container that exited by itself must wait. The back-off of a container that ran for long
    /// enough is reset.
    fn wait_after(&self, container: &Container, ended: &Ended) -> i64 {
        let BackOff { wait, since } = container.back_off;
        let enough = if self.has(Defect::BackOffResetTooSoon) { 15 * SECOND } else { GOOD_RUN };
        let good = wait > 0 && ended.finished - since > enough && !self.has(Defect::BackOffNeverReset);
        let wait = if good { 0 } else { wait };
        if self.has(Defect::FirstRestartWaits) { wait.max(FIRST_WAIT) } else { wait }
    }

    pub(crate) fn back_off_more(&mut self, at: At) {
        let (now, missing) = (self.now, self.has(Defect::BackOffMissing));
        let wait = self.pods[at.pod].containers[at.container].back_off.wait;
        let stays = self.has(Defect::BackOffStays);
        let longest = match self.node.longest_wait {
            _ if self.has(Defect::BackOffUncapped) => i64::MAX,
            Some(longest) if longest < FIRST_WAIT && self.has(Defect::BackOffNotBelowFirst) => FIRST_WAIT,
            Some(longest) => longest,
            None => LONGEST_WAIT,
        };
        let first = match self.node.longest_wait {
            Some(longest) if self.has(Defect::BackOffBeginsAtMaximum) => longest,
            _ => FIRST_WAIT.min(longest),
        };
        let next = self.next_wait(wait, wait.saturating_mul(2).clamp(first, longest));
        let back_off = &mut self.pods[at.pod].containers[at.container].back_off;
        back_off.since = now;
        back_off.wait = match () {
            () if missing => 0,
            () if stays => FIRST_WAIT,
            () => next,
        };
    }

    /// Lets a container wait before its restart.
    fn wait_to_start(&mut self, at: At, ended: Ended, due: i64) {
        let unshown = self.has(Defect::WaitShownAsEnd);
        let stays_ready = self.has(Defect::EndedStaysReady);
        let container = &mut self.pods[at.pod].containers[at.container];
        container.restarting = true;
        container.waits_until = due;
        container.killing = None;
        if unshown {
            container.view.state = State::Ended(ended);
        } else {
            container.state = State::Waiting("CrashLoopBackOff");
            container.view.state = State::Waiting("CrashLoopBackOff");
            container.last = Some(ended.clone());
            container.view.last = Some(ended);
        }
        container.view.ready = stays_ready && container.probe(ProbeKind::Readiness).is_none();
        container.view.started = false;
        let (name, pod) = (container.name.clone(), self.pods[at.pod].name.clone());
        let uid = self.pods[at.pod].uid.clone();
        let message = format!(
            "Back-off restarting failed container {name} in pod {pod}_{}({uid})",
            self.setting.namespace
        );
        if !self.has(Defect::BackOffUnreported) {
            self.record(at.pod, at.container, "Warning", "BackOff", &message);
        }
        self.back_off_more(at);
        self.touch(at.pod);
        let late = if self.has(Defect::BackOffEndsLate) { LATE } else { 0 };
        self.at(due + late, Act::Start(at));
    }

    /// Whether the policy restarts a container that ended with this status.
    fn comes_back(&self, at: At, code: i64) -> bool {
        let of = &self.pods[at.pod];
        let kind = of.containers[at.container].kind;
        if of.deleted.is_some() || of.terminal {
            return false;
        }
        let mut mains = of.containers.iter().filter(|of| of.kind == Kind::Main);
        let one_is_done = mains.any(|of| matches!(of.view.state, State::Ended(_)));
        if let Some(wrong) = self.wrongly_back(at, code) {
            return wrong;
        }
        if self.ended_for_image(at) {
            return !self.has(Defect::NewImageEndsNever) || self.policy_of(at) != "Never";
        }
        if kind != Kind::Sidecar && self.restarts_by_rule(at, code) {
            return true;
        }
        match (self.policy_of(at), kind) {
            (_, Kind::Sidecar) if one_is_done && self.has(Defect::SidecarEndsWithFirstMain) => false,
            ("Never", Kind::Sidecar) => !self.has(Defect::SidecarFollowsPolicy),
            (_, Kind::Sidecar) => true,
            ("Always", Kind::Main) => true,
            ("OnFailure", _) if self.has(Defect::RestartsAfterSuccess) => kind == Kind::Main || code != 0,
            ("Never", _) => self.has(Defect::RestartsDespiteNever) && kind == Kind::Main,
            _ => code != 0,
        }
    }

    /// A container that was killed because of a probe has ended.
    pub(super) fn after_kill(&mut self, at: At, kind: ProbeKind, ended: Ended) {
        let policy = self.policy_after_kill(at).to_owned();
        let own = self.pods[at.pod].containers[at.container].spec["restartPolicy"].is_string();
        let comes_back = match policy.as_str() {
            _ if self.restarts_by_rule(at, ended.code) => true,
            "Never" => self.has(Defect::RestartsDespiteNever),
            "OnFailure" if own && ended.code == 0 && self.has(Defect::OwnOnFailureNotRestarted) => false,
            "OnFailure"
                if own && kind == ProbeKind::Startup && self.has(Defect::OwnOnFailureStartupIsFinal) =>
            {
                ended.code != 0
            }
            "OnFailure" => !self.has(Defect::NotRestartedOnFailurePolicy),
            _ => true,
        };
        let final_kill = self.has(Defect::ProbeKillIsFinal)
            || (kind == ProbeKind::Startup && self.has(Defect::StartupFailureIsFinal));
        let sidecar = self.pods[at.pod].containers[at.container].kind == Kind::Sidecar;
        if self.pods[at.pod].deleted.is_some() || final_kill || !(comes_back || sidecar) {
            let container = &mut self.pods[at.pod].containers[at.container];
            container.killing = None;
            container.restarting |= final_kill;
            let delay = self.between(100 * MS, 1000 * MS);
            self.later(delay, Act::Sync(at.pod));
            return;
        }
        let container = &mut self.pods[at.pod].containers[at.container];
        container.restarting = true;
        let before = container.last.as_ref().map(|last| last.finished);
        let (mut before, mut wait) = (before, container.back_off.wait);
        if self.has(Defect::KillsWaitAtOnce) {
            (before, wait) = (Some(ended.finished), wait.max(FIRST_WAIT));
        } else if self.has(Defect::KillsWaitSix) {
            (before, wait) = (Some(ended.finished), wait.max(6 * crate::world::SECOND));
        } else if self.has(Defect::KillsNeverWait)
            || (policy == "OnFailure" && self.has(Defect::OnFailureKillsNeverWait))
            || (sidecar && self.has(Defect::SidecarKillsNeverWait))
        {
            wait = 0;
        } else if self.has(Defect::KillsWaitNoLonger) {
            wait = wait.min(FIRST_WAIT);
        }
        // If the delay since the previous end is not over, the kubelet looks again, and knows the end of the killed instance.
        let earlier = before.filter(|_| self.has(Defect::KillsWaitFromEndBefore));
        let due = earlier.unwrap_or(ended.finished) + wait;
        match before {
            // After a wait, the decision is made again, and then depends on the exit status.
            Some(finished)
                if wait > 0 && self.now < finished + wait && policy == "OnFailure" && ended.code == 0 =>
            {
                let container = &mut self.pods[at.pod].containers[at.container];
                (container.killing, container.restarting) = (None, sidecar);
                let delay = self.between(100 * MS, 1000 * MS);
                self.later(delay, Act::Sync(at.pod));
                if sidecar {
                    self.wait_to_start(at, ended, due);
                }
            }
            Some(finished) if wait > 0 && self.now < finished + wait => {
                self.wait_to_start(at, ended, due);
            }
            _ => {
                if before.is_some() {
                    self.back_off_more(at);
                }
                let delay = self.between(100 * MS, 400 * MS);
                self.later(delay, Act::Start(at));
            }
        }
    }
}
