//! The worker of one probe: its ticker, its preconditions, and the thresholds.

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use super::{Leg, Run};
use crate::Defect;
use crate::pod::{Kind, State, Worker};
use crate::world::{Act, At, MS, SECOND, World};

/// A time that no case reaches.
const FOR_EVER: i64 = 3600 * SECOND;

impl World<'_> {
    /// Adds a worker for each probe of a pod that the kubelet has just received. The tickers of the workers start now.
    pub(crate) fn add_workers(&mut self, pod: usize) {
        if self.pods[pod].is_static && self.has(Defect::StaticPodsUnprobed) {
            return;
        }
        self.continue_failures(pod);
        for container in 0..self.pods[pod].containers.len() {
            let kinds: Vec<_> =
                self.pods[pod].containers[container].workers.iter().map(|worker| worker.kind).collect();
            let unasked = self.has(Defect::SidecarProbesUnsent)
                && self.pods[pod].containers[container].kind == Kind::Sidecar;
            for kind in kinds.into_iter().filter(|kind| !unasked || *kind == ProbeKind::Startup) {
                self.later(MS, Act::Tick(At { pod, container }, kind, 0));
            }
        }
    }

    pub(super) fn worker(&mut self, at: At, kind: ProbeKind) -> Option<&mut Worker> {
        self.pods[at.pod].containers[at.container].worker(kind).filter(|worker| !worker.stopped)
    }

    /// A number of seconds of a probe's spec, or a count.
    pub(super) fn setting_of(&self, at: At, kind: ProbeKind, field: &str) -> i64 {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        probe.and_then(|probe| probe.get(field)).and_then(Value::as_i64).unwrap_or(0)
    }

    /// The ticker.
    pub(crate) fn tick(&mut self, at: At, kind: ProbeKind, generation: u64) {
        let period = self.period(at, kind);
        let (overlaps, drifts) = (self.has(Defect::ProbesOverlap), self.has(Defect::PeriodAfterAnswer));
        let backs_off = self.has(Defect::ReadinessBacksOff) && kind == ProbeKind::Readiness;
        let Some(worker) = self.worker(at, kind).filter(|worker| worker.generation == generation) else {
            return;
        };
        let busy = worker.busy && !overlaps;
        worker.asleep = false;
        worker.backlog |= busy;
        let period = if backs_off && worker.last == Some(false) { 2 * period } else { period };
        if !drifts {
            self.later(period, Act::Tick(at, kind, generation));
        }
        if !busy {
            self.do_probe(at, kind);
        }
        // An extra run that was requested while the worker slept.
        if let Some(worker) = self.worker(at, kind).filter(|worker| !worker.busy && worker.trigger) {
            worker.trigger = false;
            self.later(0, Act::Poke(at, kind));
        }
        // If the period counts from the answer, the worker continues when the answer arrives.
        if drifts && self.worker(at, kind).is_some_and(|worker| !worker.busy) {
            self.later(period, Act::Tick(at, kind, generation));
        }
    }

    /// Requests an extra run, and resets the ticker.
    pub(crate) fn poke(&mut self, at: At, kind: ProbeKind) {
        let period = self.period(at, kind);
        let keeps_beat = self.has(Defect::TriggerKeepsTheBeat);
        let Some(worker) = self.worker(at, kind) else { return };
        if worker.busy || worker.asleep {
            worker.trigger = true;
            return;
        }
        if !keeps_beat {
            worker.generation += 1;
            let generation = worker.generation;
            self.later(period, Act::Tick(at, kind, generation));
        }
        self.do_probe(at, kind);
    }

    /// Probes, if all preconditions are met.
    pub(super) fn do_probe(&mut self, at: At, kind: ProbeKind) {
        let view = self.pods[at.pod].containers[at.container].view.clone();
        let goes_on = kind == ProbeKind::Liveness && self.has(Defect::LivenessGoesOnAtDeadline);
        if self.pods[at.pod].terminal && !(goes_on && self.pods[at.pod].expired) {
            self.stop_worker(at, kind);
            return;
        }
        if view.id.is_empty() {
            return;
        }
        self.meet(at, kind, &view.id);
        let Some(worker) = self.worker(at, kind) else { return };
        if worker.hold {
            return;
        }
        let State::Running(since) = view.state else {
            self.set_result(at, kind, &view.id, Some(false));
            return;
        };
        let age = self.now.div_euclid(SECOND) - since.div_euclid(SECOND);
        let waited = (self.now - since.div_euclid(SECOND) * SECOND) / SECOND;
        if age.min(waited) < self.delay(at, kind) || self.is_held_back(at, kind) {
            return;
        }
        let kept = self.waits_for_another(at, kind) || self.leaves_out(at, kind) || self.is_paused(at, kind);
        if kept || self.is_forgotten(at, kind) {
            return;
        }
        let (late, now) = (self.first_turns_lost(at, kind), self.now);
        if let Some(worker) = self.worker(at, kind) {
            if worker.waited < late {
                worker.waited += 1;
                return;
            }
            worker.busy = true;
            worker.sent = now;
        }
        let deadline = self.now + self.patience(at, kind);
        let run = Run { at, kind, id: view.id, tries: 0, deadline, leg: Leg::default() };
        self.send_probe(run);
    }

    /// A worker sees an instance of its container for the first time.
    fn meet(&mut self, at: At, kind: ProbeKind, id: &str) {
        let container = &self.pods[at.pod].containers[at.container];
        let survived = container.outlived_kubelet();
        let started = container.kind == Kind::Sidecar && container.view.started;
        let again = container.attempt() > 0;
        let recounts = again && self.has(Defect::CountersBeginAgain);
        let starts_ready =
            self.has(Defect::StartsReady) || (again && self.has(Defect::ReadyAtOnceAfterRestart));
        let Some(worker) = self.worker(at, kind).filter(|worker| worker.id != id) else { return };
        id.clone_into(&mut worker.id);
        worker.hold = false;
        worker.kept = None;
        (worker.in_all, worker.waited) = ((0, 0), 0);
        if recounts {
            (worker.passed, worker.failed) = (0, 0);
        }
        let initial = match kind {
            ProbeKind::Startup => None,
            ProbeKind::Liveness => Some(true),
            ProbeKind::Readiness => Some(starts_ready),
        };
        if kind == ProbeKind::Startup && started {
            self.set_result(at, kind, id, Some(true));
        }
        let outlives = self.has(Defect::ReadinessOutlivesLife) || self.keeps_readiness(at);
        let carried = kind == ProbeKind::Readiness && outlives;
        if !survived && !carried {
            self.set_result(at, kind, id, initial);
        }
    }

    /// Whether the state of the container's start, or a defect, keeps this probe from being sent.
    fn is_held_back(&self, at: At, kind: ProbeKind) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        let view = &container.view;
        let ungated = container.workers.iter().any(|worker| worker.kind == kind && worker.ungated);
        match kind {
            ProbeKind::Startup => {
                let again = [Defect::StartupGoesOnAfterSuccess, Defect::RestartRepeatsStartupProbes];
                view.started && !again.iter().any(|defect| self.has(*defect))
            }
            ProbeKind::Liveness => {
                let waits = container.probe(ProbeKind::Readiness).is_some() && !view.ready;
                (!view.started && !ungated && !self.liveness_ignores_startup(at))
                    || (waits && self.has(Defect::LivenessWaitsForReadiness))
                    || self.waits_for_inits(at)
            }
            ProbeKind::Readiness => {
                (!view.started && !ungated && !self.has(Defect::ReadinessIgnoresStartup))
                    || (view.ready && self.has(Defect::ReadinessStopsWhenReady))
            }
        }
    }

    /// How many of the first scheduled probes of an instance a defective kubelet skips.
    fn first_turns_lost(&self, at: At, kind: ProbeKind) -> u64 {
        let gated = self.pods[at.pod].containers[at.container].probe(ProbeKind::Startup).is_some();
        match kind {
            ProbeKind::Liveness if gated && self.has(Defect::LivenessLateAfterStartup) => 5,
            ProbeKind::Liveness if gated && self.has(Defect::LivenessTurnLostAfterStartup) => 1,
            ProbeKind::Liveness | ProbeKind::Startup if self.has(Defect::FirstProbeAPeriodLate) => 1,
            _ => 0,
        }
    }

    /// How long after its start a container is not probed.
    fn delay(&self, at: At, kind: ProbeKind) -> i64 {
        let container = &self.pods[at.pod].containers[at.container];
        let delay = self.setting_of(at, kind, "initialDelaySeconds");
        let started = kind != ProbeKind::Startup && container.probe(ProbeKind::Startup).is_some();
        let lost = (self.has(Defect::DelayLostWithLongPeriod)
            && delay < self.setting_of(at, kind, "periodSeconds"))
            || (self.has(Defect::DelayInFirstLifeOnly) && container.attempt() > 0)
            || (self.has(Defect::DelayLostAfterStartup) && started)
            || self.forgets_delay(at, kind);
        match lost {
            true => 0,
            false if self.has(Defect::DelayHalved) => delay / 2,
            false => self.delay_of(at, kind, delay),
        }
    }

    /// How long an attempt may take.
    pub(super) fn timeout(&self, at: At, kind: ProbeKind) -> i64 {
        let timeout = self.setting_of(at, kind, "timeoutSeconds").max(1) * SECOND;
        match () {
            () if self.has(Defect::TimeoutAlways1s) => SECOND,
            () if self.has(Defect::TimeoutTwice) => 2 * timeout,
            () if self.has(Defect::TimeoutShort) => timeout / 5 * 4,
            () if self.has(Defect::TimeoutAtMost5s) => timeout.min(5 * SECOND),
            () => self.timeout_of(at, kind, timeout),
        }
    }

    /// How long the kubelet waits for an attempt.
    pub(super) fn patience(&self, at: At, kind: ProbeKind) -> i64 {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        let endless = match probe.is_some_and(|probe| probe.get("exec").is_some()) {
            true => self.has(Defect::ExecTimeoutIgnored),
            false => self.has(Defect::TimeoutIgnored),
        };
        if endless { FOR_EVER } else { self.timeout(at, kind) }
    }

    /// Handles the result of one probe (`None` if it is discarded), and schedules the worker's next probe.
    pub(super) fn conclude(&mut self, at: At, kind: ProbeKind, id: &str, passed: Option<bool>) {
        if let Some(passed) = passed {
            self.count_result(at, kind, passed);
            let passed = self.taken_for(at, kind, passed);
            let passed = self.miscounted(at, kind, passed);
            self.count(at, kind, id, passed);
            if self.counts_for_liveness(at, kind, id) {
                self.count(at, ProbeKind::Liveness, id, passed);
            }
            self.spread_result(at, kind, passed);
        }
        if self.has(Defect::EachProbeWritesStatus) {
            self.show_again(at.pod);
        }
        let drifts = self.has(Defect::PeriodAfterAnswer);
        let period = self.period(at, kind);
        let goes_on = self.goes_on_after_failure(at, kind);
        let now = self.now;
        let Some(worker) = self.worker(at, kind) else { return };
        worker.busy = false;
        worker.took = now - worker.sent;
        worker.hold &= !goes_on;
        if drifts {
            worker.generation += 1;
            let generation = worker.generation;
            self.later(period, Act::Tick(at, kind, generation));
            return;
        }
        if std::mem::take(&mut worker.trigger) {
            self.later(0, Act::Poke(at, kind));
        } else if std::mem::take(&mut worker.backlog) {
            self.do_probe(at, kind);
        }
    }

    /// Counts a result against the thresholds.
    fn count(&mut self, at: At, kind: ProbeKind, id: &str, passed: bool) {
        let once = self.settles_at_once(at, kind, passed);
        let threshold = if once { 1 } else { self.threshold(at, kind, passed) };
        let goes_on = self.has(Defect::StartupGoesOnAfterSuccess) && passed;
        let goes_on_hold = (kind == ProbeKind::Liveness && !passed)
            || (kind == ProbeKind::Startup && !goes_on)
            || (kind == ProbeKind::Readiness && !passed && self.has(Defect::ReadinessStopsAfterFailure));
        let forgives = self.has(Defect::FirstFailureForgiven) && !passed;
        let in_all = match passed {
            true => {
                self.has(Defect::SuccessesCountedInAll) || self.has(Defect::RunOfSuccessesOutlivesFailure)
            }
            false => self.has(Defect::FailuresCountedInAll) || self.has(Defect::RunOfFailuresOutlivesSuccess),
        };
        let (outlived, outlives) = (
            passed && self.has(Defect::RunOfFailuresOutlivesSuccess),
            !passed && (self.has(Defect::RunOfSuccessesOutlivesFailure) || self.keeps_successes(at, kind)),
        );
        let survives = match kind {
            ProbeKind::Startup => {
                let grpc = self.is_by(at, kind, "grpc") && self.has(Defect::GrpcStartupStreakSurvivesKill);
                grpc || self.has(Defect::StartupStreakSurvivesKill)
            }
            ProbeKind::Liveness => self.has(Defect::LivenessStreakSurvivesKill),
            ProbeKind::Readiness => false,
        };
        let forgives_one = self.has(Defect::CommandForgivesOneFailure) && self.is_by(at, kind, "exec");
        let in_all = in_all || (forgives_one && !passed) || self.counts_in_all(at, passed);
        let in_all = in_all || self.adds_failures(at, kind, passed) || self.adds_successes(at, kind, passed);
        let Some(worker) = self.worker(at, kind) else { return };
        if forgives_one && passed {
            worker.in_all.1 = worker.in_all.1.saturating_sub(1);
        }
        worker.in_all.0 += u64::from(passed);
        worker.in_all.1 += u64::from(!passed);
        worker.streak = match worker.last {
            _ if in_all && passed => worker.in_all.0,
            _ if in_all => worker.in_all.1,
            Some(last) if last == passed => worker.streak + 1,
            Some(_) if forgives => 0,
            _ => 1,
        };
        worker.last = Some(passed);
        if worker.streak < threshold {
            return;
        }
        // A series of equal results that reaches its threshold ends the opposite series.
        if outlived {
            worker.in_all.1 = 0;
        }
        if outlives {
            worker.in_all.0 = 0;
        }
        if goes_on_hold {
            worker.hold = true;
            if !survives {
                worker.streak = 0;
            }
        }
        let other = self.counted_for(at, kind);
        let id = if other == at {
            id.to_owned()
        } else {
            self.pods[other.pod].containers[other.container].view.id.clone()
        };
        self.set_result(other, kind, &id, Some(passed));
    }

    /// The failures so far no longer count.
    pub(super) fn forget_row(&mut self, at: At, kind: ProbeKind) {
        if let Some(worker) = self.worker(at, kind) {
            worker.last = None;
        }
    }

    fn threshold(&self, at: At, kind: ProbeKind, passed: bool) -> u64 {
        let number = |kind, field| u64::try_from(self.setting_of(at, kind, field)).unwrap_or(1).max(1);
        if passed {
            let one = self.has(Defect::SuccessThresholdIgnored)
                || (self.is_by(at, kind, "tcpSocket") && self.has(Defect::TcpSuccessThresholdIgnored));
            let number = if one { 1 } else { number(kind, "successThreshold") };
            return self.threshold_of(at, kind, passed, number);
        }
        let own = number(kind, "failureThreshold") + self.more_failures(at, kind);
        let container = &self.pods[at.pod].containers[at.container];
        let has = |kind| container.probe(kind).is_some();
        let recovered = kind == ProbeKind::Readiness && container.spoiled && container.view.ready;
        if let Some(other) = self.threshold_after_restart(at, kind) {
            return other;
        }
        if self.has(Defect::FirstFailureSettles)
            || self.kills_at_once(at, kind)
            || (recovered && self.has(Defect::SecondFallAtOnce))
        {
            return 1;
        }
        let handler = |kind: ProbeKind| container.probe(kind).map(|probe| &probe["httpGet"]);
        if kind == ProbeKind::Liveness
            && handler(kind) == handler(ProbeKind::Readiness)
            && self.has(Defect::SharedEndpointCountsHalf)
        {
            return 2 * own;
        }
        if self.has(Defect::ThresholdsShared) && kind == ProbeKind::Liveness && has(ProbeKind::Readiness) {
            return own.min(number(ProbeKind::Readiness, "failureThreshold"));
        }
        if self.has(Defect::StartupFailsByLivenessThreshold)
            && kind == ProbeKind::Startup
            && has(ProbeKind::Liveness)
        {
            return own.min(number(ProbeKind::Liveness, "failureThreshold"));
        }
        if kind == ProbeKind::Startup && self.is_again(at) && self.has(Defect::StartupThresholdShrinks) {
            return own.min(3);
        }
        let less = u64::from(self.has(Defect::OneFailureLessSettles) && own > 1);
        let own = own + u64::from(self.has(Defect::OneMoreFailureTolerated)) - less;
        self.threshold_of(at, kind, passed, own)
    }

    /// Stores a result, and makes the kubelet act on it if it is new.
    fn set_result(&mut self, at: At, kind: ProbeKind, id: &str, to: Option<bool>) {
        let container = &mut self.pods[at.pod].containers[at.container];
        let first = container.results.get(kind, id).is_none();
        if !container.results.set(kind, id, to) {
            return;
        }
        if container.view.id == id && matches!(container.view.state, State::Running(_)) {
            match (kind, to) {
                (ProbeKind::Readiness, Some(ready)) => self.set_ready(at, ready),
                (ProbeKind::Startup, Some(started)) => self.set_started(at, started),
                _ => {}
            }
        }
        if to == Some(false) {
            self.failed_in_termination(at, kind);
        }
        if first && self.overlooks_first_result(at) {
            return;
        }
        self.touch(at.pod);
        let delay = self.between(2 * MS, 12 * MS);
        self.later(delay, Act::Sync(at.pod));
    }

    pub(super) fn stop_worker(&mut self, at: At, kind: ProbeKind) {
        if let Some(worker) = self.worker(at, kind) {
            worker.stopped = true;
        }
    }
}
