//! Verdicts, and how a judge reaches one.
//!
//! A judge reads a timeline and reports its observations to a [`Seen`]. All rules are here: nothing holds without
//! evidence; one violation outweighs everything else; a doubt outweighs positive observations; and if nothing was
//! observed, the verdict says so.

use serde::{Deserialize, Serialize};

use crate::facets::{Facet, Sight};
use crate::measure::{Bound, Fit, Measurement};
use crate::stamp::EventId;
use crate::timeline::{Happened, Timeline};

/// The events that a conclusion rests on. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<EventId>", into = "Vec<EventId>")]
pub struct Evidence(Vec<EventId>);

impl Evidence {
    /// Evidence from events; none from none.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = EventId>) -> Option<Self> {
        let mut events: Vec<_> = events.into_iter().collect();
        events.sort_unstable();
        events.dedup();
        (!events.is_empty()).then_some(Self(events))
    }

    /// The events.
    #[must_use]
    pub fn events(&self) -> &[EventId] {
        &self.0
    }
}

impl TryFrom<Vec<EventId>> for Evidence {
    type Error = &'static str;

    fn try_from(events: Vec<EventId>) -> Result<Self, Self::Error> {
        Self::from_events(events).ok_or("evidence names at least one event")
    }
}

impl From<Evidence> for Vec<EventId> {
    fn from(evidence: Evidence) -> Self {
        evidence.0
    }
}

/// Why nothing can be said. Each is a fault of ours or of the circumstances, never of the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The situation that the clause is about never occurred.
    Unseen,
    /// The case ended before enough was seen.
    TooShort,
    /// The clocks do not show which came first.
    TooClose,
    /// A measurement straddles its bound.
    Straddles,
    /// A watch or the recorder may have missed something at the moment that matters.
    Gap,
    /// Lines of the target are missing.
    WitnessMissing,
    /// The evidence allows more than one reading.
    Ambiguous,
    /// Some facets of the clause were observed, and some were not; see [`crate::facets`].
    HalfSeen,
    /// A step of the case could not be done.
    StepFailed,
    /// The judge itself failed.
    JudgeFailed,
}

/// Why something was not run. A closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// The clause does not apply to this version or system.
    NotApplicable,
    /// The cluster lacks what the case needs.
    Precondition,
    /// The user left it out.
    Filtered,
    /// Another shard of the run is to run it.
    OtherShard,
    /// There was no time or room.
    Budget,
    /// The run was interrupted.
    Interrupted,
}

/// What a judge concludes about one clause in one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The promise was kept, as these events show.
    Holds {
        /// The events.
        evidence: Evidence,
    },
    /// The promise was broken.
    Violated {
        /// A sentence with numbers.
        finding: String,
        /// The events.
        evidence: Evidence,
    },
    /// The behavior contradicts the documentation but matches the known deviation of upstream.
    Diverges {
        /// A sentence with numbers.
        finding: String,
        /// The events.
        evidence: Evidence,
    },
    /// It ran, and nothing can be said.
    Inconclusive {
        /// Why.
        doubt: Doubt,
        /// A sentence.
        why: String,
        /// The events, if any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<EventId>,
    },
    /// It did not run.
    Skipped {
        /// Why.
        reason: Skip,
        /// A sentence.
        why: String,
    },
    /// The harness or its surroundings failed.
    Error {
        /// A sentence.
        why: String,
    },
}

impl Verdict {
    /// The word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds { .. } => "holds",
            Self::Violated { .. } => "violated",
            Self::Diverges { .. } => "diverges",
            Self::Inconclusive { .. } => "inconclusive",
            Self::Skipped { .. } => "skipped",
            Self::Error { .. } => "error",
        }
    }

    /// What is said besides the word.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            Self::Holds { .. } => "",
            Self::Violated { finding, .. } | Self::Diverges { finding, .. } => finding,
            Self::Inconclusive { why, .. } | Self::Skipped { why, .. } | Self::Error { why } => why,
        }
    }

    /// The events that are cited.
    #[must_use]
    pub fn events(&self) -> &[EventId] {
        match self {
            Self::Holds { evidence } | Self::Violated { evidence, .. } | Self::Diverges { evidence, .. } => {
                evidence.events()
            }
            Self::Inconclusive { events, .. } => events,
            Self::Skipped { .. } | Self::Error { .. } => &[],
        }
    }

    /// How much it weighs when several are merged into one; see [`merge`].
    #[must_use]
    pub fn weight(&self) -> u8 {
        match self {
            Self::Violated { .. } => 5,
            Self::Error { .. } => 4,
            Self::Inconclusive { .. } => 3,
            Self::Diverges { .. } => 2,
            Self::Holds { .. } => 1,
            Self::Skipped { .. } => 0,
        }
    }
}

/// The heaviest of several verdicts, the first among equals. Skipped counts for nothing beside another, and of none
/// nothing is said: whoever merges must say that nothing ran.
#[must_use]
pub fn merge<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>) -> Option<&'v Verdict> {
    verdicts.into_iter().fold(None, |heaviest: Option<&Verdict>, next| match heaviest {
        Some(old) if old.weight() >= next.weight() => Some(old),
        _ => Some(next),
    })
}

/// A positive observation.
#[derive(Debug)]
struct Fine {
    events: Vec<EventId>,
    /// The facet in which it was made, if these events do not show it.
    facet: Option<Facet>,
}

/// A judge's observations so far.
#[derive(Debug, Default)]
pub struct Seen {
    applies: bool,
    /// The positive observations.
    fine: Vec<Fine>,
    violated: Vec<(String, Evidence)>,
    diverges: Vec<(String, Evidence)>,
    doubts: Vec<(Doubt, String, Vec<EventId>)>,
    measurements: Vec<Measurement>,
    facets: Vec<(Facet, Sight)>,
    hidden: Option<(String, Vec<EventId>)>,
    /// The first measurement whose ends were too blurred to say anything.
    blurred: Option<(String, Vec<EventId>)>,
}

impl Seen {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The clause applies to this history: a pod has the fields that it is about. A judge that never says so, and saw
    /// nothing, is left out of the report.
    pub fn applies(&mut self) {
        self.applies = true;
    }

    /// The promise was kept here.
    pub fn fine(&mut self, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        let events: Vec<EventId> = events.into_iter().collect();
        if !events.is_empty() {
            self.fine.push(Fine { events, facet: None });
        }
    }

    /// The promise was kept in a facet that no cited event shows.
    pub fn facet(&mut self, of: impl Into<String>, value: impl Into<String>) {
        self.facets.push((Facet::new(of, value), Sight::Kept));
    }

    /// Runs a part of a judge: if the promise was kept in it, it was kept in this facet.
    pub fn in_facet(&mut self, of: &str, value: &str, judge: impl FnOnce(&mut Self)) {
        let before = self.fine.len();
        judge(self);
        for fine in self.fine.iter_mut().skip(before) {
            fine.facet = Some(Facet::new(of, value));
        }
    }

    /// The promise was broken here. Without any event to cite it is a doubt: an accusation needs evidence.
    pub fn violated(&mut self, finding: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        let finding = finding.into();
        match Evidence::from_events(events) {
            Some(evidence) => self.violated.push((finding, evidence)),
            None => {
                self.doubts.push((Doubt::Ambiguous, format!("{finding}, but no event shows it"), Vec::new()))
            }
        }
    }

    /// The promise was kept here or, as the finding says, broken.
    pub fn check(
        &mut self,
        kept: bool,
        finding: impl FnOnce() -> String,
        events: impl IntoIterator<Item = EventId>,
    ) {
        if kept { self.fine(events) } else { self.violated(finding(), events) }
    }

    /// The catalogued behavior of upstream was seen, which is not what the document says.
    pub fn diverges(&mut self, finding: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        let finding = finding.into();
        match Evidence::from_events(events) {
            Some(evidence) => self.diverges.push((finding, evidence)),
            None => {
                self.doubts.push((Doubt::Ambiguous, format!("{finding}, but no event shows it"), Vec::new()))
            }
        }
    }

    /// Nothing can be said here.
    pub fn doubt(&mut self, doubt: Doubt, why: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        self.doubts.push((doubt, why.into(), events.into_iter().collect()));
    }

    /// Takes a measurement, and what follows from it: inside its bound it is fine, apart from it a violation, straddling it
    /// a doubt. One that straddles its bound only because its ends are blurred counts for nothing; if there is nothing
    /// else, that is the doubt.
    pub fn measure(&mut self, measurement: Measurement) {
        let words = format!("{}: {}", measurement.quantity, measurement.in_words());
        let events = measurement.events.clone();
        match measurement.fit() {
            Fit::Met => self.fine(events),
            Fit::Missed => self.violated(words, events),
            Fit::Undecided if measurement.is_blurred() => {
                self.applies = true;
                self.blurred.get_or_insert((words, events));
            }
            Fit::Undecided => self.doubt(Doubt::Straddles, words, events),
        }
        self.measurements.push(measurement);
    }

    /// Measures the time from one thing to another on a node, and takes it as [`Seen::measure`] does. `None` if the
    /// clocks cannot be compared at all.
    pub fn within(
        &mut self,
        run: &Timeline<'_>,
        node: &str,
        quantity: impl Into<String>,
        (from, to): (impl Happened, impl Happened),
        bound: Bound,
    ) -> Option<Fit> {
        let measured = run.measure(quantity, node, from, to, bound)?;
        let fit = measured.fit();
        self.measure(measured);
        Some(fit)
    }

    /// Notes a measurement for the report without concluding anything from it.
    pub fn note(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// How many things were fine so far.
    #[must_use]
    pub fn count_fine(&self) -> usize {
        self.fine.len()
    }

    /// Takes back what may have looked otherwise to someone who missed nothing: `hides` tells of the events of one
    /// conclusion, and of whether it accuses, why it spans what was missed. What was fine no longer counts; an accusation becomes a doubt.
    pub fn without_hidden(&mut self, hides: impl Fn(&[EventId], bool) -> Option<(EventId, String)>) {
        let mut hidden = None;
        self.fine.retain(|fine| match hides(&fine.events, false) {
            Some((gap, why)) => {
                hidden.get_or_insert_with(|| (why, [fine.events.as_slice(), &[gap]].concat()));
                false
            }
            None => true,
        });
        self.hidden = hidden;
        for (accuses, findings) in [(true, &mut self.violated), (false, &mut self.diverges)] {
            for (finding, evidence) in std::mem::take(findings) {
                match hides(evidence.events(), accuses) {
                    Some((gap, why)) => {
                        let events = [evidence.events(), &[gap]].concat();
                        self.doubts.push((Doubt::Gap, format!("{why}: {finding}"), events));
                    }
                    None => findings.push((finding, evidence)),
                }
            }
        }
    }

    /// The facets that were seen, as far as `shown_by` tells which one an event shows.
    #[must_use]
    pub fn facets(&self, shown_by: impl Fn(&[EventId]) -> Vec<Facet>) -> Vec<(Facet, Sight)> {
        let of = |events: &[EventId], sight| shown_by(events).into_iter().map(move |facet| (facet, sight));
        let named = self.fine.iter().filter_map(|fine| Some((fine.facet.clone()?, Sight::Kept)));
        let fine = self.fine.iter().flat_map(|fine| of(&fine.events, Sight::Kept)).chain(named);
        let diverged = self.diverges.iter().flat_map(|(_, found)| of(found.events(), Sight::Diverged));
        let broken = self.violated.iter().flat_map(|(_, found)| of(found.events(), Sight::Broken));
        self.facets.iter().cloned().chain(fine).chain(diverged).chain(broken).collect()
    }

    /// The verdict and the measurements; none if the clause does not speak of this history. Of several findings, the
    /// first is reported.
    #[must_use]
    pub fn verdict(self) -> Option<(Verdict, Vec<Measurement>)> {
        let more = |count: usize, what: &str| match count {
            0 | 1 => String::new(),
            _ => format!(" (and {} more {what})", count - 1),
        };
        let violations = more(self.violated.len(), "like it");
        let doubts = more(self.doubts.len(), "doubts");
        let verdict = if let Some((finding, evidence)) = self.violated.into_iter().next() {
            Verdict::Violated { finding: finding + &violations, evidence }
        } else if let Some((doubt, why, events)) = self.doubts.into_iter().next() {
            Verdict::Inconclusive { doubt, why: why + &doubts, events }
        } else if let Some((finding, evidence)) = self.diverges.into_iter().next() {
            Verdict::Diverges { finding, evidence }
        } else if let Some(evidence) =
            Evidence::from_events(self.fine.into_iter().flat_map(|fine| fine.events))
        {
            Verdict::Holds { evidence }
        } else if let Some((why, events)) = self.hidden {
            Verdict::Inconclusive { doubt: Doubt::Gap, why, events }
        } else if let Some((why, events)) = self.blurred {
            Verdict::Inconclusive { doubt: Doubt::Straddles, why, events }
        } else if self.applies || !self.measurements.is_empty() {
            let why = "the situation that the clause is about did not occur".to_owned();
            Verdict::Inconclusive { doubt: Doubt::Unseen, why, events: Vec::new() }
        } else {
            return None;
        };
        Some((verdict, self.measurements))
    }
}
