//! What the kubelet made of a run of probes that were all answered alike, as far as its deeds show it.
//!
//! A result shows only by what follows: a container that becomes or stays ready, one that is killed or lives on, one
//! that is started. A state that was there before proves less than one that changed, so a [`PossibleResults`] tells everything
//! that the kubelet *can* have made of the run. Where the run is too short for its result to be seen, nothing is said.

use std::collections::BTreeMap;
use std::ops::Range;

use probity_model::history::{Did, Source};
use probity_model::timeline::{ContainerSeen, KubeEvent, ProbeKind, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Interval, Seen, Stamp, Timeline};

use crate::reading::http::exchanges::Exchanges;

/// How many warnings about a pod the kubelet may have recorded before the rest is dropped; upstream drops after 25.
const CROWD: u64 = 20;

/// What a run of probes can have been taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PossibleResults {
    pub(crate) success: bool,
    pub(crate) failure: bool,
    /// For nothing: the results were thrown away.
    pub(crate) nothing: bool,
    /// What shows it, beside the probes.
    pub(crate) events: Vec<EventId>,
}

/// What a probe, or a run of probes, should count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsAs {
    /// A success.
    Success,
    /// A failure.
    Failure,
    /// Nothing: an error, which is thrown away.
    Nothing,
}

impl CountsAs {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Nothing => "nothing",
        }
    }
}

impl PossibleResults {
    /// Whether it can have been what is promised.
    pub(crate) fn allows(&self, promise: CountsAs) -> bool {
        match promise {
            CountsAs::Success => self.success,
            CountsAs::Failure => self.failure,
            CountsAs::Nothing => self.nothing,
        }
    }

    /// Whether it can have been the opposite.
    pub(crate) fn denies(&self, promise: CountsAs) -> bool {
        match promise {
            CountsAs::Success => !self.failure,
            CountsAs::Failure => !self.success,
            CountsAs::Nothing => !self.success && !self.failure,
        }
    }
}

/// The evidence of one run.
pub(crate) struct Reaction<'a, 't, 'h> {
    pub(crate) run: &'t Timeline<'h>,
    pub(crate) course: &'a Exchanges<'t, 'h>,
    /// How late a result may show.
    pub(crate) lag: i64,
}

impl<'a, 't, 'h> Reaction<'a, 't, 'h> {
    pub(crate) fn new(run: &'t Timeline<'h>, clause: &Clause, course: &'a Exchanges<'t, 'h>) -> Self {
        Self { run, course, lag: clause.slack_us() }
    }

    /// Tells whether a run of probes was taken for what is promised.
    pub(crate) fn decide(&self, range: &Range<usize>, promise: CountsAs, what: &str, seen: &mut Seen) {
        let Some(taken) = self.taken(range, seen) else { return };
        let events = self.course.events(range).into_iter().chain(taken.events.iter().copied());
        if !taken.allows(promise) && self.held_up(range) {
            let why = format!("{} probes {what}, but the node was held up meanwhile", range.len());
            seen.doubt(Doubt::Ambiguous, why, events);
        } else if !taken.allows(promise) {
            let finding = format!(
                "{} {} probes of {} {what}, and were not taken for {}",
                range.len(),
                self.course.spec.kind.word(),
                self.course.container.name,
                promise.word()
            );
            seen.violated(finding, events);
        } else if taken.denies(promise) {
            seen.fine(events);
        }
    }

    /// Tells whether the kubelet recorded a `ProbeWarning` for a run of probes.
    pub(crate) fn expect_warning(&self, range: &Range<usize>, seen: &mut Seen) {
        let Some(first) = self.course.exchanges[range.clone()].first() else { return };
        let Some(from) = self.run.clocks.on_harness(&first.at) else { return };
        if let Some(id) = self.warning(range) {
            return seen.fine([first.id, id]);
        }
        let waited = self.run.ended_us - from.hi - self.noise(&first.at, &Stamp::harness(self.run.ended_us));
        let events = self.course.events(range);
        let of = format!("{} of {}", self.course.spec.kind.word(), self.course.container.name);
        if self.hidden(&first.at, &Stamp::harness(self.run.ended_us)) {
            seen.doubt(Doubt::Gap, format!("a warning about the {of} may have been missed"), events);
        } else if waited < self.lag {
            seen.doubt(Doubt::TooShort, format!("the case ended before a warning about the {of}"), events);
        } else if self.crowded() {
            let why = format!("so many events were recorded that one about the {of} may have been dropped");
            seen.doubt(Doubt::Ambiguous, why, events);
        } else {
            seen.violated(format!("no ProbeWarning was recorded about the {of}"), events);
        }
    }

    /// The first warning about the probe that a run of probes can have caused.
    pub(crate) fn warning(&self, range: &Range<usize>) -> Option<EventId> {
        let first = self.course.exchanges[range.clone()].first()?;
        let from = self.run.clocks.on_harness(&first.at)?.lo;
        let to = self.run.clocks.on_harness(&self.until(range)?)?.hi.saturating_add(self.lag);
        let text = format!("{} probe warning: ", self.course.word());
        let fits = |event: &&KubeEvent<'_>| {
            event.reason == "ProbeWarning"
                && event.kind == "Warning"
                && event.container == Some(self.course.container.name.as_str())
                && event.message.contains(&text)
                && (from..=to).contains(&event.at.at.hi)
        };
        self.course.pod.events.iter().find(fits).map(|event| event.id)
    }

    /// Whether the node was held up in a run of probes for so long that one may have timed out for that alone.
    pub(crate) fn held_up(&self, range: &Range<usize>) -> bool {
        let first = self.course.exchanges[range.clone()].first();
        let Some((first, until)) = first.zip(self.until(range)) else { return false };
        self.noise(&first.at, &until).saturating_mul(4) >= self.course.spec.timeout
    }

    /// Whether so many warnings were recorded that others may have been dropped.
    pub(crate) fn crowded(&self) -> bool {
        let warnings = self.course.pod.events.iter().filter(|event| event.kind == "Warning");
        let mut most: BTreeMap<_, u64> = BTreeMap::new();
        for event in warnings {
            let count = most.entry((event.reason, event.message, event.container)).or_default();
            *count = event.count.max(*count);
        }
        most.values().sum::<u64>() >= CROWD
    }

    fn noise(&self, from: &Stamp, to: &Stamp) -> i64 {
        self.run.noise_between(&self.course.attempt.node, from, to)
    }

    /// Whether something may have been missed between two instants.
    pub(crate) fn hidden(&self, from: &Stamp, until: &Stamp) -> bool {
        let clocks = &self.run.clocks;
        let Some((from, until)) = clocks.on_harness(from).zip(clocks.on_harness(until)) else { return true };
        let concerns = |of: &Source| match of {
            Source::Witness { pod, .. } => *pod == self.course.pod.name,
            Source::Watch(_) | Source::Recorder => true,
        };
        self.run
            .gaps
            .iter()
            .any(|(_, gap)| concerns(&gap.of) && gap.from_us <= until.hi && from.lo <= gap.to_us)
    }

    /// Tells the doubt about a run of probes during which something may have been missed.
    pub(crate) fn doubt_if_hidden(&self, range: &Range<usize>, seen: &mut Seen) -> bool {
        let first = self.course.exchanges[range.clone()].first();
        let Some((first, until)) = first.zip(self.until(range)) else { return false };
        let hidden = self.hidden(&first.at, &until);
        if hidden {
            let why = format!(
                "what became of {} {} probes may have been missed",
                range.len(),
                self.course.spec.kind.word()
            );
            seen.doubt(Doubt::Gap, why, self.course.events(range));
        }
        hidden
    }

    /// What a run of probes can have been taken for; none if too little followed to tell, or was seen of it: that is told
    /// as a doubt.
    pub(crate) fn taken(&self, range: &Range<usize>, seen: &mut Seen) -> Option<PossibleResults> {
        if self.doubt_if_hidden(range, seen) {
            return None;
        }
        match self.course.spec.kind {
            ProbeKind::Readiness => self.by_readiness(range),
            ProbeKind::Liveness => self.by_life(range),
            ProbeKind::Startup => self.by_start(range),
        }
    }

    /// When the n-th probe of a run was over.
    fn over(&self, range: &Range<usize>, nth: i64) -> Option<&Stamp> {
        let at = range.start.checked_add(usize::try_from(nth.max(1) - 1).ok()?)?;
        let exchange = self.course.exchanges.get(at).filter(|_| at < range.end)?;
        exchange.done.as_ref()
    }

    /// Whether a probe is over for sure, with nothing missed of it: another one came, or long enough nothing.
    pub(crate) fn settled(&self, at: usize) -> bool {
        let Some(this) = self.course.exchanges.get(at) else { return false };
        if let Some(next) = self.course.exchanges.get(at + 1) {
            return !self.hidden(&this.at, &next.at);
        }
        let Some((done, end)) = this.done.as_ref().zip(self.end_of_life(None)) else { return false };
        let Some(after) = self.run.clocks.between(done, &end) else { return false };
        let long = self.lag + self.course.spec.timeout + self.course.spec.period;
        after.lo - self.noise(done, &end) >= long && !self.hidden(&this.at, &end) && !self.deaf_after(done)
    }

    /// Whether the target was not heard at some time after this: what it saw then is not known.
    fn deaf_after(&self, done: &Stamp) -> bool {
        let course = self.course;
        let about = |of: &Source| match of {
            Source::Recorder => true,
            Source::Witness { pod, container } => {
                *pod == course.pod.name && *container == course.container.name
            }
            Source::Watch(_) => false,
        };
        let since = self.run.clocks.on_harness(done).map_or(i64::MIN, |at| at.lo);
        self.run.gaps.iter().any(|(_, gap)| about(&gap.of) && gap.to_us >= since)
    }

    /// Whether what follows from a probe must have shown by the end of the case.
    pub(crate) fn shows_by_the_end(&self, at: usize) -> bool {
        let done = self.course.exchanges.get(at).and_then(|exchange| exchange.done.as_ref());
        done.is_some_and(|done| self.window(done, &Stamp::harness(self.run.ended_us)).is_some())
    }

    /// What ends the time after a run: the next probe that was answered otherwise, or the end of life.
    fn until(&self, range: &Range<usize>) -> Option<Stamp> {
        self.end_of_life(self.course.exchanges.get(range.end).map(|exchange| exchange.at.clone()))
    }

    /// The earliest of this instant, the container's end, and the end of what was seen.
    pub(crate) fn end_of_life(&self, next: Option<Stamp>) -> Option<Stamp> {
        let course = self.course;
        let stopped = course.attempt.stop_signal().map(|(_, at)| at.clone());
        let ended = course.attempt.ended.as_ref().map(|ended| ended.stamp.clone());
        let following = |other: &&probity_model::timeline::Attempt<'_>| other.number > course.attempt.number;
        let reborn = course.container.attempts.iter().find(following).map(|next| next.began.stamp.clone());
        let deleted = course.pod.deleted.map(|id| self.run.heard(id));
        let leaving = course.pod.revisions.iter().find(|revision| revision.terminating());
        let leaving = leaving.map(|revision| revision.at.clone());
        let last = Some(Stamp::harness(self.run.ended_us));
        [next, stopped, ended, reborn, deleted, leaving, self.node_verb(), last]
            .into_iter()
            .flatten()
            .filter_map(|stamp| Some((self.run.clocks.on_harness(&stamp)?.lo, stamp)))
            .min_by_key(|(lo, _)| *lo)
            .map(|(_, stamp)| stamp)
    }

    /// When something was done to a node: from then on a kubelet may be down, and nothing is read from its silence.
    fn node_verb(&self) -> Option<Stamp> {
        let mut verbs = self.run.deeds.iter().filter(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }));
        verbs.next().map(|(_, deed)| Stamp::harness(deed.began_us))
    }

    /// The span of the harness's clock in which a result must show that was due at `from`, if it is long enough.
    pub(crate) fn window(&self, from: &Stamp, until: &Stamp) -> Option<Interval> {
        let clocks = &self.run.clocks;
        let due = clocks.on_harness(from)?.hi.saturating_add(self.lag + self.noise(from, until));
        let end = clocks.on_harness(until)?.lo;
        (due <= end).then_some(Interval { lo: due, hi: end })
    }

    /// The revisions that show the container in this life, with a flag of its status.
    fn shown(&self, flag: impl Fn(&Revision<'h>) -> Option<bool>) -> Vec<(EventId, i64, bool)> {
        let life = |revision: &&Revision<'h>| {
            revision
                .container(&self.course.container.name)
                .is_some_and(|status| status.restarts == self.course.attempt.number)
        };
        let revisions = self.course.pod.revisions.iter().filter(life);
        revisions.filter_map(|revision| Some((revision.id, revision.at.at.hi, flag(revision)?))).collect()
    }

    /// The revisions that show whether the container is ready in this life. Before it has started it is not, whatever
    /// its readiness probe says.
    pub(crate) fn shown_ready(&self) -> Vec<(EventId, i64, bool)> {
        let name = &self.course.container.name;
        let started = |status: &ContainerSeen<'_>| status.started != Some(false);
        self.shown(|revision| revision.container(name).filter(started).map(|status| status.ready))
    }

    fn by_readiness(&self, range: &Range<usize>) -> Option<PossibleResults> {
        let enough = self.course.spec.successes.max(self.course.spec.failures);
        let from = self.over(range, enough)?;
        let window = self.window(from, &self.until(range)?)?;
        let shown = self.shown_ready();
        let began = self.run.clocks.on_harness(&self.course.exchanges[range.start].at)?.lo;
        let before = shown.iter().rfind(|(_, at, _)| *at <= began).map(|(_, _, ready)| *ready);
        let settled = shown.iter().rfind(|(_, at, _)| *at <= window.lo)?;
        let later = shown.iter().filter(|(_, at, _)| window.lo < *at && *at <= window.hi);
        let states: Vec<_> = std::iter::once(settled).chain(later).collect();
        let always = |ready: bool| states.iter().all(|(_, _, state)| *state == ready);
        let (ready, unready) = (always(true), always(false));
        let kept = |state: bool| before.is_none_or(|before| before == state);
        Some(PossibleResults {
            success: ready,
            failure: unready,
            nothing: (ready && kept(true)) || (unready && kept(false)),
            events: states.iter().map(|(id, ..)| *id).collect(),
        })
    }

    fn by_life(&self, range: &Range<usize>) -> Option<PossibleResults> {
        let course = self.course;
        let failures = course.spec.failures;
        let many = i64::try_from(range.len()).ok()?;
        if let Some(next) = course.exchanges.get(range.end) {
            let (failure, events) = (many < failures, vec![next.id]);
            return Some(PossibleResults { success: true, failure, nothing: true, events });
        }
        if let Some((id, at)) = course.attempt.stop_signal() {
            let at = self.run.clocks.on_harness(at)?;
            let leaving = course.pod.deleted.is_some_and(|deed| self.run.heard(deed).at.lo <= at.hi)
                || course
                    .pod
                    .revisions
                    .iter()
                    .any(|revision| revision.terminating() && revision.at.at.lo <= at.hi);
            let blamed = self.blamed().filter(|_| !leaving && many >= failures)?;
            return Some(PossibleResults {
                success: false,
                failure: true,
                nothing: false,
                events: vec![id, blamed],
            });
        }
        let from = self.over(range, failures)?;
        let until = self.until(range)?;
        self.window(from, &until)?;
        let last = course.pod.last().map(|revision| revision.id);
        Some(PossibleResults {
            success: true,
            failure: false,
            nothing: true,
            events: last.into_iter().collect(),
        })
    }

    /// The event that says that this probe is why the container was killed.
    fn blamed(&self) -> Option<EventId> {
        let failed = format!("failed {} probe", self.course.spec.kind.word());
        let fits = |event: &&KubeEvent<'_>| {
            let mine = event.container == Some(self.course.container.name.as_str());
            event.reason == "Killing" && mine && event.message.contains(&failed)
        };
        self.course.pod.events.iter().find(fits).map(|event| event.id)
    }

    fn by_start(&self, range: &Range<usize>) -> Option<PossibleResults> {
        let course = self.course;
        let again = course.exchanges.get(range.start + 1).map(|exchange| exchange.id);
        if let Some(id) = again {
            return Some(PossibleResults { success: false, failure: true, nothing: true, events: vec![id] });
        }
        let name = &course.container.name;
        let shown = self.shown(|revision| revision.container(name).and_then(|status| status.started));
        if let Some((id, ..)) = shown.iter().find(|(_, _, started)| *started) {
            return Some(PossibleResults {
                success: true,
                failure: false,
                nothing: false,
                events: vec![*id],
            });
        }
        let until = self.until(range)?;
        self.window(self.over(range, 1)?, &until)?;
        let id = shown.last().map(|(id, ..)| *id);
        Some(PossibleResults {
            success: false,
            failure: true,
            nothing: true,
            events: id.into_iter().collect(),
        })
    }
}
