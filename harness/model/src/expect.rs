//! Whether a case's own expectations were met.
//!
//! The vocabulary, [`Expectation`], is closed. Each expectation is judged on every pod separately, or on the pod that
//! it names: events in one pod are never compared with events in another pod. The absence of an event is certain only
//! in a period without gaps, so after a lost watch it is only a doubt. Nothing in this module depends on clauses.

mod narrow;
mod occurrences;

use serde::{Deserialize, Serialize};

use crate::clause::micros;
use crate::clocks::{Order, Stamp};
use crate::expectation::{Expectation, Occurrence, Only, Since};
use crate::history::{Did, EventId, Happening, History};
use crate::judge::hidden_by_outage;
use crate::measure::{Bound, Fit, seconds};
use crate::timeline::{PodLife, Timeline};
use crate::verdict::{Doubt, Seen, Verdict};

use occurrences::{Found, found};

/// An expectation of a case, and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Expected {
    /// The expectation in words.
    pub what: String,
    /// Its result.
    pub verdict: Verdict,
}

/// Judges all expectations of a history's case, in order.
#[must_use]
pub fn judge(history: &History) -> Vec<Expected> {
    if history.header.expect.is_empty() {
        return Vec::new();
    }
    let timeline = Timeline::of(history);
    let expect = &history.header.expect;
    expect.iter().map(|expectation| judge_one(expectation, &timeline)).collect()
}

fn judge_one(expectation: &Expectation, run: &Timeline<'_>) -> Expected {
    let mut seen = Seen::new();
    for pod in run.pods.iter().filter(|pod| expectation.is_about(&pod.key)) {
        let view = View { run, pod };
        match expectation {
            Expectation::Never(of) => view.times(of, 0, Some(0), &mut seen),
            Expectation::Times { of, least, most } => view.times(of, *least, *most, &mut seen),
            Expectation::Before { earlier, later } => view.before(earlier, later, &mut seen),
            Expectation::Within { of, after, span } => view.within(of, after, micros(*span), &mut seen),
            Expectation::Always(of) => view.always(of, &mut seen),
        }
    }
    // Gaps have been considered for each expectation.
    seen.without_hidden(|events, accuses| hidden_by_outage(events, accuses, run));
    let verdict = seen.verdict().map(|(verdict, _)| verdict).unwrap_or_else(|| Verdict::Inconclusive {
        doubt: Doubt::Unseen,
        why: "the expectation could not be checked: nothing about it was recorded".to_owned(),
        events: Vec::new(),
    });
    Expected { what: expectation.in_words(), verdict }
}

/// One pod of a timeline, as expectations see it.
struct View<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
}

impl View<'_, '_> {
    /// Counts occurrences. Each occurrence is its own evidence. Only a period without gaps shows that there were no
    /// other occurrences.
    fn times(&self, of: &Occurrence, least: u64, most: Option<u64>, seen: &mut Seen) {
        let found = found(self.run, self.pod, of);
        let count = u64::try_from(found.certain.len()).unwrap_or(u64::MAX);
        let what = format!("{}: {}", self.pod.key, of.in_words());
        let mut events: Vec<EventId> = found.certain.iter().map(|(id, _)| *id).collect();
        if let Some(most) = most
            && count > most
        {
            let finding = match most {
                0 => format!("{what} {}, first {}", times(count), self.when(&found)),
                _ => format!("{what} {}; at most {most} were expected", times(count)),
            };
            return seen.violated(finding, events);
        }
        events.extend(self.ends());
        if count >= least && most.is_none() {
            return seen.fine(events);
        }
        match self.silence_doubted(of, &found) {
            Some((doubt, why, cited)) => {
                seen.doubt(doubt, format!("{what} {}, but {why}", times(count)), cited)
            }
            None if count < least => {
                seen.violated(format!("{what} {}; at least {least} were expected", times(count)), events)
            }
            None => seen.fine(events),
        }
    }

    /// Checks that each `later` has an `earlier` before it.
    fn before(&self, earlier: &Occurrence, later: &Occurrence, seen: &mut Seen) {
        let (first, then) = (found(self.run, self.pod, earlier), found(self.run, self.pod, later));
        for (id, at) in &then.certain {
            let order = |(_, stamp): &&(EventId, Stamp)| self.run.clocks.order(stamp, at);
            if let Some((cause, _)) = first.certain.iter().find(|one| order(one) == Order::Before) {
                seen.fine([*cause, *id]);
            } else if let Some((cause, _)) = first.certain.iter().find(|one| order(one) == Order::TooClose) {
                let why = format!("{} and {} are too close to call", earlier.in_words(), later.in_words());
                seen.doubt(Doubt::TooClose, why, [*cause, *id]);
            } else if let Some((doubt, why, cited)) = self.silence_doubted(earlier, &first) {
                seen.doubt(doubt, format!("no {} was recorded first, but {why}", earlier.in_words()), cited);
            } else {
                let events = [Some(*id), first.certain.first().map(|(id, _)| *id)].into_iter().flatten();
                let finding =
                    format!("{}: {} without {} before", self.pod.key, later.in_words(), earlier.in_words());
                seen.violated(finding, events);
            }
        }
    }

    /// Checks that each `after` is followed by an `of` within the span.
    fn within(&self, of: &Occurrence, after: &Occurrence, span: i64, seen: &mut Seen) {
        let (follows, starts) = (found(self.run, self.pod, of), found(self.run, self.pod, after));
        for (id, at) in &starts.certain {
            let next = follows
                .certain
                .iter()
                .find(|(next, stamp)| next != id && self.run.clocks.order(stamp, at) != Order::Before);
            let quantity = format!("{}: from {} to {}", self.pod.key, after.in_words(), of.in_words());
            let Some((next, stamp)) = next else {
                let lasted = self.run.ended_us - self.run.heard(*id).at.hi;
                if let Some((doubt, why, cited)) = self.silence_doubted(of, &follows) {
                    seen.doubt(doubt, format!("no {} was recorded then, but {why}", of.in_words()), cited);
                } else if lasted <= span {
                    let why = format!("the case ended {} after {}", seconds(lasted), after.in_words());
                    seen.doubt(Doubt::TooShort, why, [*id]);
                } else {
                    let last = self.ends().into_iter().last();
                    let finding = format!("{quantity}: it did not occur within {}", seconds(lasted));
                    seen.violated(finding, [Some(*id), last].into_iter().flatten());
                }
                continue;
            };
            let bound = Bound::at_most(span, "expected by the case");
            match self.run.measure(quantity, &self.pod.node, (*id, at), (*next, stamp), bound) {
                Some(measured) if measured.fit() == Fit::Missed => match self.silence_doubted(of, &follows) {
                    Some((doubt, why, cited)) => seen.doubt(doubt, why, cited),
                    None => seen.measure(measured),
                },
                Some(measured) => seen.measure(measured),
                None => seen.doubt(Doubt::TooClose, "the clocks cannot be compared", [*id, *next]),
            }
        }
    }

    /// Checks that after the first occurrence, nothing ends the state that the occurrence starts.
    fn always(&self, of: &Occurrence, seen: &mut Seen) {
        let begun = found(self.run, self.pod, of);
        let Some((first, at)) = begun.certain.first() else { return };
        let Some(ends) = occurrences::ends(self.run, self.pod, of) else {
            return seen.doubt(
                Doubt::Ambiguous,
                format!("{} is an event without a duration", of.in_words()),
                [*first],
            );
        };
        for (id, stamp) in &ends.certain {
            match self.run.clocks.order(at, stamp) {
                Order::Before => {
                    let finding = format!("{}: {} did not last", self.pod.key, of.in_words());
                    seen.violated(finding, [*first, *id]);
                }
                Order::TooClose => {
                    let why = format!("the first {} and its end are too close to call", of.in_words());
                    seen.doubt(Doubt::TooClose, why, [*first, *id]);
                }
                Order::After => {}
            }
        }
        match self.silence_doubted(of, &ends) {
            Some((doubt, why, cited)) => seen.doubt(doubt, format!("no end was recorded, but {why}"), cited),
            None => seen.fine([Some(*first), self.ends().into_iter().last()].into_iter().flatten()),
        }
    }

    /// Why it is not certain that there were no other occurrences; `None` if it is certain.
    fn silence_doubted(&self, of: &Occurrence, found: &Found) -> Option<(Doubt, String, Vec<EventId>)> {
        if !occurrences::listened(self.pod, of) {
            let source = if of.is_witnessed() { "the target" } else { "the API server" };
            return Some((
                Doubt::WitnessMissing,
                format!("{source} reported nothing about this pod"),
                Vec::new(),
            ));
        }
        if let Some((id, gap)) = self.run.gaps.iter().find(|(_, gap)| of.may_hide_in(gap, self.pod)) {
            return Some((Doubt::Gap, format!("something may have been missed: {}", gap.why), vec![*id]));
        }
        if let Some(why) = of.not_begun(self.run) {
            return Some((Doubt::StepFailed, why, Vec::new()));
        }
        if let Some((id, why)) = self.cut_short() {
            return Some((Doubt::StepFailed, why, vec![id]));
        }
        let unclear = found.unclear.first()?;
        Some((Doubt::Ambiguous, "an answer is ambiguous".to_owned(), vec![*unclear]))
    }

    /// The deed that shows that a step failed or that the case ended early, if there is one.
    fn cut_short(&self) -> Option<(EventId, String)> {
        self.run.history.events().find_map(|(id, event)| match &event.what {
            Happening::Deed(deed) => match &deed.did {
                Did::Failed { what, .. } => Some((id, format!("a step failed: {what}"))),
                Did::Over { why } if why != "done" => Some((id, format!("the case ended early: {why}"))),
                _ => None,
            },
            _ => None,
        })
    }

    /// The first and the last event of the pod: the limits of a silence.
    fn ends(&self) -> Vec<EventId> {
        let lines = self.pod.containers.iter().flat_map(|container| &container.attempts);
        let lines = lines.flat_map(|attempt| attempt.lines.iter().map(|line| line.id));
        let all = self.pod.revisions.iter().map(|revision| revision.id).chain(lines);
        let all = all.chain(self.pod.created.iter().map(|(id, _)| *id));
        all.clone().min().into_iter().chain(all.max()).collect()
    }

    fn when(&self, found: &Found) -> String {
        let at = found.certain.first().map_or(0, |(id, _)| self.run.heard(*id).at.lo);
        format!("at +{}", seconds(at))
    }
}

fn times(count: u64) -> String {
    match count {
        0 => "did not occur".to_owned(),
        1 => "occurred once".to_owned(),
        _ => format!("occurred {count} times"),
    }
}

impl Expectation {
    /// The expectation as a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Never(of) => format!("never {}", of.in_words()),
            Self::Times { of, least, most: Some(most) } if least == most => {
                format!("{}, exactly {}", of.in_words(), so_often(*least))
            }
            Self::Times { of, least: 0, most: Some(most) } => {
                format!("{}, at most {}", of.in_words(), so_often(*most))
            }
            Self::Times { of, least, most: Some(most) } => {
                format!("{}, {least} to {most} times", of.in_words())
            }
            Self::Times { of, least, most: None } => {
                format!("{}, at least {}", of.in_words(), so_often(*least))
            }
            Self::Before { earlier, later } => {
                format!("{} before each occurrence of {}", earlier.in_words(), later.in_words())
            }
            Self::Within { of, after, span } => {
                format!("{} within {span} after {}", of.in_words(), after.in_words())
            }
            Self::Always(of) => format!("always {} from its first occurrence on", of.in_words()),
        }
    }
}

fn so_often(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

impl Occurrence {
    /// The occurrence as a noun.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::ProbeOf(at) => format!("a probe of {at}"),
            Self::SuccessOf(at) => format!("a success of {at}"),
            Self::FailureOf(at) => format!("a failure of {at}"),
            Self::Restart => "a restart".to_owned(),
            Self::Started => "a container being started".to_owned(),
            Self::Ended => "a container having terminated".to_owned(),
            Self::Ready => "the pod becoming ready".to_owned(),
            Self::Unready => "the pod becoming unready".to_owned(),
            Self::Signal(signal) => format!("the signal {signal}"),
            Self::Event(reason) => format!("an event {reason}"),
            Self::EventSaying { reason, says } => format!("an event {reason} saying \"{says}\""),
            Self::Phase(phase) => format!("the phase {phase}"),
            Self::Only(only) => only.in_words(),
        }
    }
}

impl Only {
    fn in_words(&self) -> String {
        let what = match (&self.what, &self.container) {
            (Occurrence::Ready, Some(_)) => "becoming ready".to_owned(),
            (Occurrence::Unready, Some(_)) => "becoming unready".to_owned(),
            (what, _) => what.in_words(),
        };
        let container = self.container.as_ref().map(|name| format!("of the container {name}"));
        let attempt = self.attempt.map(|attempt| format!("in attempt {attempt}"));
        let pod = self.pod.as_ref().map(|key| format!("in the pod {key}"));
        let since = self.since.as_ref().map(Since::in_words);
        let parts = [Some(what), container, attempt, pod, since];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
