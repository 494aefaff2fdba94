//! The small errors of a defective kubelet in its probes: a period, a delay, a timeout or a count that is slightly
//! wrong, or wrong only for some probes and containers.

use probity_model::timeline::ProbeKind;

use super::http::LIMIT;
use crate::Defect;
use crate::pod::{Kind, State};
use crate::world::{Act, At, MS, SECOND, World};

/// A whole, in thousandths.
const WHOLE: i64 = 1000;
/// The longest period of a kubelet that limits periods.
const LONGEST_PERIOD: i64 = 5 * SECOND;

impl World<'_> {
    /// Whether a probe belongs to a sidecar.
    pub(crate) fn is_sidecar(&self, at: At) -> bool {
        self.pods[at.pod].containers[at.container].kind == Kind::Sidecar
    }

    /// Whether a container is a main container that comes after another main container.
    pub(super) fn is_second(&self, at: At) -> bool {
        let all = &self.pods[at.pod].containers;
        let mains = all[..at.container].iter().filter(|of| of.kind == Kind::Main).count();
        all[at.container].kind == Kind::Main && mains > 0
    }

    /// Whether a container was restarted.
    pub(super) fn is_again(&self, at: At) -> bool {
        self.pods[at.pod].containers[at.container].attempt() > 0
    }

    /// Whether a probe uses a mechanism.
    pub(super) fn is_by(&self, at: At, kind: ProbeKind, handler: &str) -> bool {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        probe.is_some_and(|probe| probe.get(handler).is_some())
    }

    fn last_result(&self, at: At, kind: ProbeKind) -> Option<bool> {
        let workers = &self.pods[at.pod].containers[at.container].workers;
        workers.iter().find(|worker| worker.kind == kind).and_then(|worker| worker.last)
    }

    /// The period of a probe.
    pub(super) fn period(&self, at: At, kind: ProbeKind) -> i64 {
        let period = self.setting_of(at, kind, "periodSeconds").max(1) * SECOND;
        let readiness = kind == ProbeKind::Readiness;
        let ready = readiness && self.pods[at.pod].containers[at.container].view.ready;
        let liveness = kind == ProbeKind::Liveness;
        let failing = self.last_result(at, kind) == Some(false);
        let share = match () {
            () if liveness && self.has(Defect::LivenessPeriodTenthLonger) => 1100,
            () if liveness && self.has(Defect::LivenessPeriodTwentyFifthLonger) => 1040,
            () if kind == ProbeKind::Startup && self.has(Defect::StartupPeriodQuarterLonger) => 1250,
            () if self.is_by(at, kind, "tcpSocket") && self.has(Defect::TcpPeriodTenthShorter) => 900,
            () if self.is_by(at, kind, "exec") && self.has(Defect::ExecPeriodQuarterLonger) => 1250,
            () if self.is_sidecar(at) && self.has(Defect::SidecarPeriodQuarterLonger) => 1250,
            () if self.is_again(at) && self.has(Defect::PeriodTwiceAfterRestart) => 2 * WHOLE,
            () if ready && self.has(Defect::ReadinessPeriodTwiceWhenReady) => 2 * WHOLE,
            () if ready && self.has(Defect::ReadinessPeriodTenthLonger) => 1100,
            () if ready && self.has(Defect::ReadinessPeriodTenthShorter) => 900,
            () if liveness && failing && self.has(Defect::FailingLivenessHurries) => 500,
            () => WHOLE,
        };
        let period = period * share / WHOLE;
        if self.has(Defect::PeriodAtMost5) { period.min(LONGEST_PERIOD) } else { period }
    }

    /// Whether a scheduled probe is left out. It may also send a probe twice.
    pub(super) fn leaves_out(&mut self, at: At, kind: ProbeKind) -> bool {
        let (fifth, twice) =
            (self.has(Defect::FifthLivenessProbeLost), self.has(Defect::FifthLivenessProbeTwice));
        let tenth = self.has(Defect::TenthReadinessProbeLost);
        let of = &self.pods[at.pod].containers[at.container];
        let (live, ready) = (&of.spec["livenessProbe"]["httpGet"], &of.spec["readinessProbe"]["httpGet"]);
        let same = !live.is_null() && live == ready;
        let answered = same && of.view.ready && self.has(Defect::SharedEndpointAskedOnce);
        let answered = answered || (kind == ProbeKind::Liveness && self.shares_call(at));
        let half = self.period(at, kind) / 2;
        let Some(worker) = self.worker(at, kind) else { return true };
        worker.turns += 1;
        let (turns, generation) = (worker.turns, worker.generation);
        match kind {
            ProbeKind::Liveness if twice && turns.is_multiple_of(5) => {
                self.later(half, Act::Extra(at, kind, generation));
                false
            }
            ProbeKind::Liveness => answered || (fifth && turns.is_multiple_of(5)),
            ProbeKind::Readiness => tenth && turns.is_multiple_of(10),
            ProbeKind::Startup => false,
        }
    }

    /// A probe is sent although it is not due.
    pub(crate) fn probe_again(&mut self, at: At, kind: ProbeKind, generation: u64) {
        if self.worker(at, kind).is_some_and(|worker| worker.generation == generation && !worker.busy) {
            self.do_probe(at, kind);
        }
    }

    /// The delay before a first probe, in seconds.
    pub(super) fn delay_of(&self, at: At, kind: ProbeKind, delay: i64) -> i64 {
        let of = &self.pods[at.pod];
        let since = match of.containers[at.container].view.state {
            State::Running(since) => since,
            _ => self.now,
        };
        match () {
            () if self.has(Defect::DelaySecondShorter) => (delay - 1).max(0),
            () if self.has(Defect::DelayTwice) => 2 * delay,
            () if self.is_sidecar(at) && self.has(Defect::DelayOfSidecarsLost) => 0,
            () if kind == ProbeKind::Startup && self.has(Defect::DelayOfStartupLost) => 0,
            () if self.is_by(at, kind, "grpc") && self.has(Defect::GrpcDelayLost) => 0,
            () if self.has(Defect::DelayFromPod) => (delay - (since - of.started) / SECOND).max(0),
            () => delay,
        }
    }

    /// How long an attempt may take.
    pub(super) fn timeout_of(&self, at: At, kind: ProbeKind, timeout: i64) -> i64 {
        let by = |handler| self.is_by(at, kind, handler);
        let of_readiness = self.setting_of(at, ProbeKind::Readiness, "timeoutSeconds") * SECOND;
        let of_liveness = self.setting_of(at, ProbeKind::Liveness, "timeoutSeconds") * SECOND;
        match () {
            () if by("httpGet") && self.has(Defect::HttpTimeoutHalfSecondMore) => timeout + 500 * MS,
            () if by("httpGet") && self.has(Defect::HttpTimeoutHalfSecondLess) => timeout - 500 * MS,
            () if by("grpc") && self.has(Defect::GrpcTimeoutHalfSecondMore) => timeout + 500 * MS,
            () if by("grpc")
                && timeout > self.period(at, kind)
                && self.has(Defect::GrpcTimeoutAtMostPeriod) =>
            {
                self.period(at, kind)
            }
            () if by("tcpSocket") && self.has(Defect::TcpTimeoutThreeSecondsMore) => timeout + 3 * SECOND,
            () if by("exec") && self.has(Defect::ExecTimeoutSecondMore) => timeout + SECOND,
            () if by("exec")
                && kind == ProbeKind::Liveness
                && self.has(Defect::LivenessCommandTimeoutSecondMore) =>
            {
                timeout + SECOND
            }
            () if by("exec") && self.has(Defect::ExecTimeoutHalfSecondLess) => timeout - 500 * MS,
            () if by("exec") && self.has(Defect::ExecTimeoutIsPeriod) => self.period(at, kind),
            () if self.has(Defect::TimeoutAtMostPeriod) => timeout.min(self.period(at, kind)),
            () if kind == ProbeKind::Liveness
                && of_readiness > 0
                && self.has(Defect::LivenessTimeoutOfReadiness) =>
            {
                of_readiness
            }
            () if kind == ProbeKind::Readiness
                && of_liveness > timeout
                && self.has(Defect::ReadinessTimeoutOfLiveness) =>
            {
                of_liveness
            }
            () if self.is_sidecar(at) && self.has(Defect::TimeoutOfSidecars1s) => SECOND,
            () if kind == ProbeKind::Startup && by("httpGet") && self.has(Defect::StartupTimeout1s) => SECOND,
            () if kind == ProbeKind::Startup && by("grpc") && self.has(Defect::GrpcStartupTimeout1s) => {
                SECOND
            }
            () => self.timeout_among_commands(at, kind, timeout),
        }
    }

    /// The threshold for results of this kind.
    pub(super) fn threshold_of(&self, at: At, kind: ProbeKind, passed: bool, number: u64) -> u64 {
        if passed {
            return match () {
                () if number > 2 && self.has(Defect::SuccessesAtMost2) => 2,
                () if kind == ProbeKind::Readiness
                    && number > 1
                    && self.has(Defect::OneMoreSuccessNeeded) =>
                {
                    number + 1
                }
                () => number,
            };
        }
        let survived = self.pods[at.pod].containers[at.container].outlived_kubelet();
        let once_more = (self.is_second(at) && self.has(Defect::SecondContainerOnceMore))
            || (self.is_sidecar(at) && self.has(Defect::SidecarOnceMore))
            || (self.is_again(at) && self.has(Defect::OnceMoreAfterRestart))
            || (kind == ProbeKind::Readiness && self.has(Defect::ReadinessOnceMore))
            || (kind == ProbeKind::Startup && self.has(Defect::StartupOnceMore));
        match number {
            number if survived && self.has(Defect::RestartDoublesThreshold) => 2 * number,
            _ if survived && kind == ProbeKind::Liveness && self.has(Defect::RestartLeavesOneFailure) => 1,
            4.. if self.has(Defect::ThresholdAtMost3) => 3,
            2.. if kind == ProbeKind::Readiness && self.has(Defect::ReadinessFallsOneFailureEarly) => {
                number - 1
            }
            number => number + u64::from(once_more),
        }
    }

    /// The result as a kubelet counts it that sometimes counts wrongly.
    pub(super) fn miscounted(&mut self, at: At, kind: ProbeKind, passed: bool) -> bool {
        let (fifth, twentieth) =
            (self.has(Defect::FifthFailurePasses), self.has(Defect::TwentiethSuccessFails));
        let tenth = self.has(Defect::TenthReadinessSuccessFails) && kind == ProbeKind::Readiness;
        let Some(worker) = self.worker(at, kind) else { return passed };
        worker.results.0 += u64::from(passed);
        worker.results.1 += u64::from(!passed);
        match (passed, worker.results) {
            (true, (passed, _)) if twentieth && passed.is_multiple_of(20) => false,
            (true, (passed, _)) if tenth && passed.is_multiple_of(10) => false,
            (false, (_, failed)) if fifth && failed.is_multiple_of(5) => true,
            _ => passed,
        }
    }

    /// The effect of one probe's result on the others, in a defective kubelet.
    pub(super) fn spread_result(&mut self, at: At, kind: ProbeKind, passed: bool) {
        if kind == ProbeKind::Readiness
            && passed
            && self.has(Defect::ReadinessSuccessForgivesLiveness)
            && let Some(worker) = self.worker(at, ProbeKind::Liveness)
        {
            worker.streak = 0;
        }
        let other = match kind {
            ProbeKind::Readiness => ProbeKind::Liveness,
            _ => ProbeKind::Readiness,
        };
        if !passed
            && self.has(Defect::FailuresOfAllKindsCount)
            && let Some(worker) = self.worker(at, other).filter(|worker| worker.last == Some(false))
        {
            worker.streak += 1;
        }
        if kind == ProbeKind::Startup && !passed && self.has(Defect::StartedAfterThirdFailure) {
            let failed = self.worker(at, kind).map_or(0, |worker| worker.results.1);
            if failed == 3 {
                self.set_started(at, true);
                self.touch(at.pod);
            }
        }
    }

    /// The container for which a result counts: a defective kubelet counts results of the second container for the first.
    pub(super) fn counted_for(&self, at: At, kind: ProbeKind) -> At {
        let all = &self.pods[at.pod].containers;
        let first = all.iter().position(|of| of.kind == Kind::Main);
        let wrong = self.is_second(at)
            && (self.has(Defect::ResultsOfFirstContainer)
                || (kind == ProbeKind::Startup && self.has(Defect::StartupOfNeighborOpens)));
        match first.filter(|_| wrong) {
            Some(container) if all[container].workers.iter().any(|worker| worker.kind == kind) => {
                At { pod: at.pod, container }
            }
            _ => at,
        }
    }

    /// How a status code counts, if a defect misreads it.
    pub(super) fn misread(&self, kind: ProbeKind, status: u16) -> Option<bool> {
        let wrong = match status {
            204 => self.has(Defect::Http204Fails),
            304 => self.has(Defect::Http304Fails),
            399 => self.has(Defect::Http399Fails),
            400 => self.has(Defect::Http400Passes),
            429 => self.has(Defect::Http429Passes),
            599 => self.has(Defect::Http599Passes),
            600.. => self.has(Defect::UnknownClassPasses),
            404 => kind == ProbeKind::Liveness && self.has(Defect::Http404PassesForLiveness),
            _ => false,
        };
        wrong.then_some(status >= 400)
    }

    /// How much of a body is read.
    pub(super) fn body_limit(&self, secure: bool) -> u64 {
        match () {
            () if self.has(Defect::ReadsWholeBody) => u64::MAX,
            () if secure && self.has(Defect::HttpsReadsWholeBody) => u64::MAX,
            () if self.has(Defect::BodyLimitKibibyte) => LIMIT / 10,
            () if self.has(Defect::BodyLimit64Kibibytes) => LIMIT * 64 / 10,
            () => LIMIT,
        }
    }

    /// Whether custom headers get lost.
    pub(super) fn forgets_custom(&self, at: At) -> bool {
        self.has(Defect::FirstCustomHeaderLost)
            || (self.is_again(at) && self.has(Defect::CustomHeadersLostAfterRestart))
    }

    /// The path as a defective kubelet writes it.
    pub(super) fn respelled(&self, path: String) -> String {
        match () {
            () if path.contains('%') && self.has(Defect::PathUnescaped) => unescaped(&path),
            () if path.len() > 1 && path.ends_with('/') && self.has(Defect::PathLosesLastSlash) => {
                path.trim_end_matches('/').to_owned()
            }
            () => path,
        }
    }
}

/// A text with decoded escapes.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                all.push(char::from(byte));
                all.push_str(&part[2..]);
            }
            None => all.push_str(part),
        }
    }
    all
}
