//! How a kubelet counts one probe: the only place that determines this.
//!
//! The witness sees a probe arrive and be answered; the kubelet's own time for the probe begins a little earlier and
//! ends a little later. So an answer near the timeout can be a success or a failure. Judges use one of two queries,
//! depending on the cost of a wrong result:
//!
//! - [`ProbeResult::outcome`] counts as the kubelet counts, with [`NEAR`] around the timeout. It is for runs of probes,
//!   in which one success or failure more or less is a finding.
//! - [`ProbeResult::surely`] returns only what is certain, however long the transit between kubelet and target took: a
//!   success came within half of the timeout, and a failure was complete before either side gave up. Use it for what
//!   the API must show.

mod answer;

use super::{At, Attempt, Probe, ProbeSpec, Through};
use crate::clocks::Stamp;
use crate::measure::Interval;
use crate::mechanisms::{NEAR, PROMPT, START_OF_A_COMMAND, TIMED_OUT};

pub use answer::ProbeAnswer;

/// How a kubelet counts a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// A success.
    Success,
    /// A failure: the answer was a failure, or there was no answer in time.
    Failure,
    /// The result can be a success or a failure.
    Unclear,
}

impl ProbeOutcome {
    /// What a status by itself means: 200 to 299 is a success. A redirect can be a success or a failure, because it may
    /// be followed.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Success,
            300..=399 => Self::Unclear,
            _ => Self::Failure,
        }
    }

    fn if_known(self, known: bool) -> Self {
        if known { self } else { Self::Unclear }
    }
}

/// A probe of one kind, with everything that determines its result.
#[derive(Clone, Copy)]
pub struct ProbeResult<'t, 'h> {
    attempt: &'t Attempt<'h>,
    spec: &'t ProbeSpec,
    probe: &'t Probe<'h>,
    answered: Option<&'t At>,
}

impl<'h> Attempt<'h> {
    /// The result of a probe according to this spec.
    #[must_use]
    pub fn result<'t>(&'t self, probe: &'t Probe<'h>, spec: &'t ProbeSpec) -> ProbeResult<'t, 'h> {
        ProbeResult { attempt: self, spec, probe, answered: probe.settled.as_ref() }
    }
}

impl<'t> ProbeResult<'t, '_> {
    /// The result if this is its last answer: the answer to the last request, if redirects were followed.
    #[must_use]
    pub fn answered_at(self, answered: Option<&'t At>) -> Self {
        Self { answered, ..self }
    }

    /// The time from the probe's arrival to its answer; `None` if no answer was recorded.
    #[must_use]
    pub fn took(&self) -> Option<Interval> {
        self.answered.map(|answered| answered.at.minus(self.probe.at.at))
    }

    /// How the kubelet counted the probe. An answer is recorded after it was sent and, on a busy node, long after.
    #[must_use]
    pub fn outcome(&self) -> ProbeOutcome {
        let timeout = self.spec.timeout;
        match (self.probe.passed, self.took()) {
            (Some(false), _) => ProbeOutcome::Failure,
            _ if self.is_late() => ProbeOutcome::Failure,
            (Some(true), Some(took)) if took.hi < timeout - NEAR => ProbeOutcome::Success,
            _ => ProbeOutcome::Unclear,
        }
    }

    /// The certain result, however long the transit between kubelet and target took.
    #[must_use]
    pub fn surely(&self) -> ProbeOutcome {
        let Some(took) = self.took() else { return ProbeOutcome::Unclear };
        let (prompt, timed_out) = (self.is_prompt(), took.lo >= TIMED_OUT.of(self.spec.timeout));
        match self.probe.through {
            Through::Connection(_) => ProbeOutcome::Success,
            Through::Command(at) => {
                let ended = self.attempt.commands.get(at).and_then(|command| command.ended.as_ref());
                let patient = self.spec.timeout >= START_OF_A_COMMAND;
                match ended.and_then(|ended| ended.exit) {
                    Some(0) => ProbeOutcome::Success.if_known(prompt && patient),
                    Some(_) => ProbeOutcome::Failure,
                    None => ProbeOutcome::Failure.if_known(timed_out),
                }
            }
            Through::Request(at) => {
                let answer = self.attempt.requests.get(at).and_then(|asked| asked.answer.as_ref());
                let Some(answer) = answer else { return ProbeOutcome::Unclear };
                let silent = answer.written == 0 && timed_out;
                // A stalled target sees late that the kubelet gave up, so the whole timeout may have passed.
                let given_up = self.given_up() && took.hi >= TIMED_OUT.of(self.spec.timeout);
                match (self.probe.passed, answer.answer.as_str()) {
                    (Some(true), _) => ProbeOutcome::Success.if_known(prompt),
                    (_, "raw") => ProbeOutcome::Unclear,
                    (_, "hang") => ProbeOutcome::Failure.if_known(silent || given_up),
                    (Some(false), _) => ProbeOutcome::Failure,
                    (None, _) => ProbeOutcome::Failure.if_known(silent && answer.error.is_some()),
                }
            }
        }
    }

    /// Whether the answer came within half of the timeout, so that the time of transit to the kubelet does not matter.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        self.took().is_some_and(|took| took.hi <= PROMPT.of(self.spec.timeout))
    }

    /// Whether the probe took so much of the timeout that the kubelet may have closed the connection before the answer.
    #[must_use]
    pub fn may_be_late(&self) -> bool {
        self.took().is_some() && !self.is_prompt()
    }

    /// Whether the probe ended with the timeout, because no answer came, or none came in time.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        match self.took() {
            Some(took) => took.hi >= self.spec.timeout - NEAR || self.given_up(),
            None => self.unanswered(),
        }
    }

    /// When the kubelet had the result: at the answer or, if the timeout came first, at the timeout.
    #[must_use]
    pub fn at(&self) -> Stamp {
        let late = self.probe.at.at.plus(Interval::point(self.spec.timeout));
        let at = self.answered.map_or(late, |answered| Interval {
            lo: answered.at.lo.min(late.lo),
            hi: answered.at.hi.min(late.hi),
        });
        Stamp { clock: self.probe.at.clock.clone(), at }
    }

    /// Whether the other side gave up before there was an answer. On a busy node, a probe arrives late, so less of its
    /// timeout is left.
    fn given_up(&self) -> bool {
        let answer = self.attempt.request(self.probe).and_then(|asked| asked.answer.as_ref());
        answer.is_some_and(|answer| {
            answer.written == 0 && answer.error.as_deref().is_some_and(|why| why.contains("gave up"))
        })
    }

    /// Whether the answer came too late, or never, by more than the kubelet's clock and the target's can differ.
    fn is_late(&self) -> bool {
        self.took().map_or_else(|| self.unanswered(), |took| took.lo > self.spec.timeout + NEAR)
    }

    /// Whether the target kept running for longer than the timeout and gave no answer. If lines are missing, one of
    /// them could have recorded an answer.
    fn unanswered(&self) -> bool {
        let past = self.probe.at.at.hi + self.spec.timeout + NEAR;
        self.attempt.holes.is_empty() && self.attempt.last_line().is_some_and(|line| line.at.at.lo > past)
    }
}
