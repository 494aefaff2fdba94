//! How the kubelet counted a sequence of probes with the same answer, as far as its actions show it.
//!
//! A result is visible only in its effects: a container becomes or stays ready, is killed or keeps running, or counts as
//! started. A state that did not change proves less than one that did, so [`PossibleResults`] has every result that the
//! run *can* have had. If the run is too short for its result to be seen, there is no answer.

mod warnings;

use std::ops::Range;

use probity_model::history::Source;
use probity_model::mechanisms::{NEAR, TO_STOP, YOUNG};
use probity_model::timeline::{ContainerSeen, ProbeKind, ProbeOutcome, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Interval, Seen, Stamp, Timeline};

use crate::reading::http::exchange::{Exchange, Hop};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::termination::time_of_ends;

/// What a probe, or a run of probes, should count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsAs {
    /// A success.
    Success,
    /// A failure.
    Failure,
    /// Nothing: an error, which is discarded.
    Nothing,
}

impl CountsAs {
    /// What the result of a probe counts as, if it is clear.
    pub(crate) fn by(outcome: ProbeOutcome) -> Option<Self> {
        match outcome {
            ProbeOutcome::Success => Some(Self::Success),
            ProbeOutcome::Failure => Some(Self::Failure),
            ProbeOutcome::Unclear => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Nothing => "nothing",
        }
    }
}

/// What a run of probes can have counted as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PossibleResults {
    pub(crate) success: bool,
    pub(crate) failure: bool,
    /// As nothing: the results were discarded.
    pub(crate) nothing: bool,
    /// The events that show this, besides the probes.
    pub(crate) events: Vec<EventId>,
}

impl PossibleResults {
    fn of(possible: &[CountsAs], events: impl IntoIterator<Item = EventId>) -> Self {
        let can_be = |result| possible.contains(&result);
        Self {
            success: can_be(CountsAs::Success),
            failure: can_be(CountsAs::Failure),
            nothing: can_be(CountsAs::Nothing),
            events: events.into_iter().collect(),
        }
    }

    /// The success or failure that the run must have counted as, if the other one is ruled out and nothing is unclear.
    pub(crate) fn only(&self) -> Option<CountsAs> {
        match (self.success, self.failure) {
            (true, false) => Some(CountsAs::Success),
            (false, true) => Some(CountsAs::Failure),
            _ => None,
        }
    }

    /// Whether the run can have counted as the clause requires.
    pub(crate) fn allows(&self, promise: CountsAs) -> bool {
        match promise {
            CountsAs::Success => self.success,
            CountsAs::Failure => self.failure,
            CountsAs::Nothing => self.nothing,
        }
    }

    /// Whether the run cannot have counted as the opposite.
    pub(crate) fn denies(&self, promise: CountsAs) -> bool {
        match promise {
            CountsAs::Success => !self.failure,
            CountsAs::Failure => !self.success,
            CountsAs::Nothing => !self.success && !self.failure,
        }
    }
}

/// The time from which a result must show if the node was stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Noise delays it: the kubelet gets this additional time before a missing result is reported.
    AfterNoise,
    /// Noise does not delay it: a result that shows in spite of noise is proven.
    AtOnce,
}

/// The evidence about the probes of one life.
pub(crate) struct Reaction<'a, 't, 'h> {
    pub(crate) run: &'t Timeline<'h>,
    pub(crate) course: &'a Exchanges<'t, 'h>,
    /// How late a result may show: the clause's tolerance `shown` or, without one, its slack.
    pub(crate) lag: i64,
}

impl<'a, 't, 'h> Reaction<'a, 't, 'h> {
    pub(crate) fn new(run: &'t Timeline<'h>, clause: &Clause, course: &'a Exchanges<'t, 'h>) -> Self {
        let own = clause.tolerances.contains_key("shown").then(|| clause.tolerance_us("shown"));
        Self { run, course, lag: own.unwrap_or_else(|| clause.slack_us()) }
    }

    /// Judges whether a run of probes counted as it should. A correct result that shows in spite of noise needs no
    /// excuse.
    pub(crate) fn decide(&self, range: &Range<usize>, promise: CountsAs, what: &str, seen: &mut Seen) {
        if self.doubt_if_hidden(range, seen) {
            return;
        }
        let cited = |range: &Range<usize>, taken: &PossibleResults| {
            let probes = self.course.events(range).into_iter();
            probes.chain(taken.events.iter().copied()).collect::<Vec<_>>()
        };
        let shown = self.by_kind(range, Due::AtOnce);
        if let Some(taken) = shown.filter(|taken| taken.allows(promise) && taken.denies(promise)) {
            return seen.fine(cited(range, &taken));
        }
        let Some(taken) = self.by_kind(range, Due::AfterNoise) else { return };
        if taken.allows(promise) {
            if taken.denies(promise) {
                seen.fine(cited(range, &taken));
            }
        } else if let Some((part, taken)) = self.without_excuse(range, promise) {
            let (many, kind, promise) = (part.len(), self.course.spec.kind.word(), promise.word());
            let of = &self.course.container.name;
            let finding = format!("{many} {kind} probes of {of} {what}, but did not count as {promise}");
            seen.violated(finding, cited(&part, &taken));
        } else {
            let why = format!("{} probes {what}, but the node was stalled at the time", range.len());
            seen.doubt(Doubt::Ambiguous, why, cited(range, &taken));
        }
    }

    /// What a run of probes can have counted as. None if too few records follow to know this, or if something may have
    /// been missed, which is recorded as a doubt.
    pub(crate) fn taken(&self, range: &Range<usize>, seen: &mut Seen) -> Option<PossibleResults> {
        if self.doubt_if_hidden(range, seen) { None } else { self.by_kind(range, Due::AfterNoise) }
    }

    pub(super) fn by_kind(&self, range: &Range<usize>, due: Due) -> Option<PossibleResults> {
        match self.course.spec.kind {
            ProbeKind::Readiness => self.by_readiness(range, due),
            ProbeKind::Liveness => self.by_life(range, due),
            ProbeKind::Startup => self.by_start(range, due),
        }
    }

    fn first(&self, range: &Range<usize>) -> Option<&'a Exchange<'t, 'h>> {
        self.course.exchanges[range.clone()].first()
    }

    /// The time in which a run of probes arrived and could take effect.
    fn span(&self, range: &Range<usize>) -> Option<(&'a Stamp, Stamp)> {
        Some((&self.first(range)?.at, self.until(range)?))
    }

    /// Whether something may have been missed between two instants.
    pub(crate) fn hidden(&self, from: &Stamp, until: &Stamp) -> bool {
        let clocks = &self.run.clocks;
        let Some((from, until)) = clocks.on_harness(from).zip(clocks.on_harness(until)) else { return true };
        // The lines of another container matter only if a redirect can have led to it.
        let led_away =
            self.course.exchanges.iter().any(|exchange| exchange.last().is_some_and(Hop::leads_on));
        let concerns = |of: &Source| match of {
            Source::Witness { pod, container } => {
                *pod == self.course.pod.name && (led_away || *container == self.course.container.name)
            }
            Source::Watch(_) | Source::Recorder => true,
        };
        let mut gaps = self.run.gaps.iter().map(|(_, gap)| gap);
        gaps.any(|gap| concerns(&gap.of) && gap.from_us <= until.hi && from.lo <= gap.to_us)
    }

    /// Records a doubt about a run of probes during which something may have been missed.
    pub(crate) fn doubt_if_hidden(&self, range: &Range<usize>, seen: &mut Seen) -> bool {
        let hidden = self.span(range).is_some_and(|(from, to)| self.hidden(from, &to));
        if hidden {
            let (many, kind) = (range.len(), self.course.spec.kind.word());
            let why = format!("the results of {many} {kind} probes may have been missed");
            seen.doubt(Doubt::Gap, why, self.course.events(range));
        }
        hidden
    }

    /// When the n-th probe of a run had ended.
    fn over(&self, range: &Range<usize>, nth: i64) -> Option<&'a Stamp> {
        let at = range.start.checked_add(usize::try_from(nth.max(1) - 1).ok()?)?;
        let exchange = self.course.exchanges.get(at).filter(|_| at < range.end)?;
        exchange.done.as_ref()
    }

    /// Whether a probe has certainly ended and no part of it was missed: another probe came, or nothing arrived for
    /// long enough.
    pub(crate) fn settled(&self, at: usize) -> bool {
        let Some(this) = self.course.exchanges.get(at) else { return false };
        if let Some(next) = self.course.exchanges.get(at + 1) {
            return !self.hidden(&this.at, &next.at);
        }
        let Some((done, end)) = this.done.as_ref().zip(self.end_of_life(None)) else { return false };
        let Some(after) = self.run.clocks.between(done, &end) else { return false };
        let long = self.lag + self.course.spec.timeout + self.course.spec.period;
        after.lo - self.course.noise(done, &end) >= long
            && !self.hidden(&this.at, &end)
            && !self.deaf_after(done)
    }

    /// Whether records of the target may be missing from the time after `done`, so that it is not known what the target
    /// saw.
    fn deaf_after(&self, done: &Stamp) -> bool {
        let (of_pod, of_container) = (&self.course.pod.name, &self.course.container.name);
        let about = |of: &Source| match of {
            Source::Recorder => true,
            Source::Witness { pod, container } => pod == of_pod && container == of_container,
            Source::Watch(_) => false,
        };
        let since = self.run.clocks.on_harness(done).map_or(i64::MIN, |at| at.lo);
        self.run.gaps.iter().any(|(_, gap)| about(&gap.of) && gap.to_us >= since)
    }

    /// Whether the effect of a probe must have shown by the end of the case.
    pub(crate) fn shows_by_the_end(&self, at: usize) -> bool {
        let done = self.course.exchanges.get(at).and_then(|exchange| exchange.done.as_ref());
        done.is_some_and(|done| self.window(done, &self.run.end(), Due::AfterNoise).is_some())
    }

    /// The end of the time after a run: the next probe with a different answer, or the end of the instance.
    fn until(&self, range: &Range<usize>) -> Option<Stamp> {
        self.end_of_life(self.course.exchanges.get(range.end).map(|exchange| exchange.at.clone()))
    }

    /// The earliest of the instant `next`, the container's end, and the end of the records. Once something has been
    /// done to a node, its kubelet may be down, and nothing follows from its silence.
    pub(crate) fn end_of_life(&self, next: Option<Stamp>) -> Option<Stamp> {
        let (run, course) = (self.run, self.course);
        let later = course.container.attempts.iter().find(|other| other.number > course.number);
        let verb = run.deeds.iter().find(|(_, deed)| deed.did.acts_on_node());
        let ends = [
            next,
            course.stop().map(|stop| stop.at.clone()),
            // A probe may fail because the process is about to end.
            course.exiting().map(|line| line.at.earlier(NEAR)),
            course.ended.as_ref().map(|ended| ended.stamp.earlier(NEAR)),
            later.map(|next| next.began.stamp.clone()),
            course.pod.deleted.map(|deed| run.heard(deed)),
            self.leaving().map(|revision| revision.at.clone()),
            verb.map(|(_, deed)| Stamp::harness(deed.began_us)),
            Some(run.end()),
        ];
        let on_harness =
            ends.into_iter().flatten().filter_map(|at| Some((run.clocks.on_harness(&at)?.lo, at)));
        on_harness.min_by_key(|(lo, _)| *lo).map(|(_, at)| at)
    }

    /// The first revision that shows the pod being deleted.
    fn leaving(&self) -> Option<&'t Revision<'h>> {
        self.course.pod.revisions.iter().find(|revision| revision.terminating())
    }

    /// The span of the harness's clock in which a result that was due at `from` must show, if the span is long enough.
    pub(crate) fn window(&self, from: &Stamp, until: &Stamp, due: Due) -> Option<Interval> {
        let clocks = &self.run.clocks;
        // A kubelet may not have synced a container that has only just begun.
        let known = clocks.on_harness(&self.course.began)?.hi.saturating_add(YOUNG);
        let from_then = clocks.on_harness(from)?.hi.max(known);
        // The result shows in a revision that the harness receives, so delays on that path also count.
        let noise = match due {
            Due::AfterNoise => self.course.noise(&Stamp::harness(from_then), until),
            Due::AtOnce => 0,
        };
        let begin = from_then.saturating_add(self.lag + noise);
        let end = clocks.on_harness(until)?.lo;
        (begin <= end).then_some(Interval { lo: begin, hi: end })
    }

    /// The revisions that show the container in this life, with a flag of its status.
    fn shown(&self, flag: impl Fn(&ContainerSeen<'h>) -> Option<bool>) -> Vec<(EventId, i64, bool)> {
        let shown = self.course.revisions();
        shown.filter_map(|(revision, seen)| Some((revision.id, revision.at.at.hi, flag(&seen)?))).collect()
    }

    /// The revisions that show whether the container is ready in this instance. A container that has not started or
    /// that has terminated is not ready, whatever the result of its readiness probe.
    pub(crate) fn shown_ready(&self) -> Vec<(EventId, i64, bool)> {
        let counts = |status: &ContainerSeen<'h>| status.is_running() && status.started != Some(false);
        self.shown(|status| counts(status).then_some(status.ready))
    }

    fn by_readiness(&self, range: &Range<usize>, due: Due) -> Option<PossibleResults> {
        let enough = self.course.spec.successes.max(self.course.spec.failures);
        let from = self.over(range, enough)?;
        let window = self.window(from, &self.until(range)?, due)?;
        let shown = self.shown_ready();
        let began = self.run.clocks.on_harness(&self.first(range)?.at)?.lo;
        let last = shown.iter().rfind(|(_, at, _)| *at <= began);
        let (before_id, before) = (last.map(|(id, ..)| *id), last.map(|(_, _, ready)| *ready));
        let settled = shown.iter().rfind(|(_, at, _)| *at <= window.lo)?;
        let later = shown.iter().filter(|(_, at, _)| window.lo < *at && *at <= window.hi);
        let states: Vec<_> = std::iter::once(settled).chain(later).collect();
        let always = |ready: bool| states.iter().all(|(_, _, state)| *state == ready);
        let kept = |state: bool| before.is_none_or(|before| before == state);
        Some(PossibleResults {
            success: always(true),
            failure: always(false),
            nothing: (always(true) && kept(true)) || (always(false) && kept(false)),
            // The state before shows the direction of the change.
            events: before_id.into_iter().chain(states.iter().map(|(id, ..)| *id)).collect(),
        })
    }

    fn by_life(&self, range: &Range<usize>, due: Due) -> Option<PossibleResults> {
        use CountsAs::{Failure, Nothing, Success};
        let course = self.course;
        let exhausted = i64::try_from(range.len()).ok()? >= course.spec.failures;
        if let Some(next) = course.exchanges.get(range.end) {
            let possible: &[_] = if exhausted { &[Success, Nothing] } else { &[Success, Failure, Nothing] };
            return Some(PossibleResults::of(possible, [next.id]));
        }
        if let Some(stop) = course.stop() {
            let at = self.run.clocks.on_harness(&stop.at)?.hi;
            let leaving = course.pod.deleted.is_some_and(|deed| self.run.heard(deed).at.lo <= at)
                || self.leaving().is_some_and(|revision| revision.at.at.lo <= at);
            let failed = format!("failed {} probe", course.spec.kind.word());
            let blamed = course.event("Killing", &failed).filter(|_| !leaving && exhausted)?;
            return Some(PossibleResults::of(&[Failure], [stop.id, blamed]));
        }
        let from = self.over(range, course.spec.failures)?;
        self.window(&from.later(TO_STOP + self.others_to_end(from)), &self.until(range)?, due)?;
        let last = course.pod.last().map(|revision| revision.id);
        Some(PossibleResults::of(&[Success, Nothing], last))
    }

    /// How long the pod's worker may be busy with the end of another container before it handles this container.
    pub(super) fn others_to_end(&self, from: &Stamp) -> i64 {
        let course = self.course;
        let since = from.at.lo - course.pod.grace();
        time_of_ends(self.run, course.pod, &course.container.name, since)
    }

    /// Whether something was done to a node between two instants.
    fn touched_between(&self, from: &Stamp, to: &Stamp) -> bool {
        let on_harness = |at: &Stamp| self.run.clocks.on_harness(at);
        let Some((from, to)) = on_harness(from).zip(on_harness(to)) else { return true };
        self.run
            .deeds
            .iter()
            .any(|(_, deed)| deed.did.acts_on_node() && (from.lo..=to.hi).contains(&deed.began_us))
    }

    fn by_start(&self, range: &Range<usize>, due: Due) -> Option<PossibleResults> {
        use CountsAs::{Failure, Nothing, Success};
        if let Some(again) = self.course.exchanges.get(range.start + 1) {
            // A restarted kubelet does not know of the success.
            if self.touched_between(&self.first(range)?.at, &again.at) {
                return None;
            }
            return Some(PossibleResults::of(&[Failure, Nothing], [again.id]));
        }
        let shown = self.shown(|status| status.started);
        let asked = self.run.clocks.on_harness(&self.first(range)?.at)?.lo;
        // A status from before the probe does not show its result. If the kubelet takes over the state of an earlier
        // instance, this state shows for some time after the probe too, and perhaps only then.
        let inherited =
            self.course.number > 0 || shown.iter().any(|(_, at, started)| *started && *at < asked);
        let from =
            if inherited { self.window(self.over(range, 1)?, &self.until(range)?, due)?.lo } else { asked };
        let standing = shown.iter().rfind(|(_, at, _)| *at <= from).filter(|_| inherited);
        let mut after = standing.into_iter().chain(shown.iter().filter(|(_, at, _)| *at > from));
        if let Some((id, ..)) = after.find(|(_, _, started)| *started) {
            return Some(PossibleResults::of(&[Success], [*id]));
        }
        self.window(self.over(range, 1)?, &self.until(range)?, due)?;
        Some(PossibleResults::of(&[Failure, Nothing], shown.last().map(|(id, ..)| *id)))
    }
}
