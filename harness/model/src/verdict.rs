//! Verdicts, and how a judge reaches one.
//!
//! A judge reads a timeline and reports its observations to a [`Seen`]. All rules for verdicts are in this module:
//! nothing holds without evidence; one violation outweighs everything else; a doubt outweighs positive observations;
//! and if nothing was observed, the verdict says so.

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
    /// Evidence from events; `None` if there are none.
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
        Self::from_events(events).ok_or("evidence must name at least one event")
    }
}

impl From<Evidence> for Vec<EventId> {
    fn from(evidence: Evidence) -> Self {
        evidence.0
    }
}

/// Why nothing can be concluded. The cause is always the harness or the environment, never the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The situation that the clause is about never occurred.
    Unseen,
    /// The case ended before enough was observed.
    TooShort,
    /// The clocks do not show which event came first.
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
    /// The kubelet has a setting on which the promise depends.
    Configured,
    /// The requirement does not apply to the version of the kubelet.
    OlderKubelet,
    /// A step of the case failed.
    StepFailed,
    /// The judge itself failed.
    JudgeFailed,
}

/// Why something was not run: one of a closed set of reasons.
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
    /// Another shard of the run runs it.
    OtherShard,
    /// There was not enough time or capacity.
    Budget,
    /// The run was interrupted.
    Interrupted,
}

/// What a judge concludes about one clause in one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The requirement was met, as these events show.
    Holds {
        /// The events.
        evidence: Evidence,
    },
    /// The requirement was violated.
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
    /// The case ran, but nothing can be concluded.
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

    /// The explanation besides the word.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            Self::Holds { .. } => "",
            Self::Violated { finding, .. } | Self::Diverges { finding, .. } => finding,
            Self::Inconclusive { why, .. } | Self::Skipped { why, .. } | Self::Error { why } => why,
        }
    }

    /// The cited events.
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

    /// The weight of the verdict when several verdicts are merged into one; see [`merge`].
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

/// The heaviest of several verdicts or, among equally heavy verdicts, the first. A skipped verdict counts only if there
/// is no other verdict. Without any verdict, the result is `None`, and the caller must report that nothing ran.
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
    /// The facet of the observation, if these events do not show it.
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
    /// The first measurement whose ends were too blurred for a conclusion.
    blurred: Option<(String, Vec<EventId>)>,
}

impl Seen {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The clause applies to this history: a pod has the fields that the clause is about. If a judge never calls this
    /// and observes nothing, its clause is left out of the report.
    pub fn applies(&mut self) {
        self.applies = true;
    }

    /// The requirement was met here.
    pub fn fine(&mut self, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        let events: Vec<EventId> = events.into_iter().collect();
        if !events.is_empty() {
            self.fine.push(Fine { events, facet: None });
        }
    }

    /// The requirement was met for a facet that no cited event shows.
    pub fn facet(&mut self, of: impl Into<String>, value: impl Into<String>) {
        self.facets.push((Facet::new(of, value), Sight::Kept));
    }

    /// Runs a part of a judge: if the requirement was met in it, it was met for this facet.
    pub fn in_facet(&mut self, of: &str, value: &str, judge: impl FnOnce(&mut Self)) {
        let before = self.fine.len();
        judge(self);
        for fine in self.fine.iter_mut().skip(before) {
            fine.facet = Some(Facet::new(of, value));
        }
    }

    /// The requirement was violated here. If no event is cited, the violation becomes a doubt, because an accusation
    /// needs evidence.
    pub fn violated(&mut self, finding: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        let cited = self.cite(finding.into(), events);
        self.violated.extend(cited);
    }

    /// A finding with its evidence. If there is no evidence, the finding becomes a doubt.
    fn cite(
        &mut self,
        finding: String,
        events: impl IntoIterator<Item = EventId>,
    ) -> Option<(String, Evidence)> {
        self.applies = true;
        let Some(evidence) = Evidence::from_events(events) else {
            let why = format!("{finding}, but no event shows it");
            self.doubts.push((Doubt::Ambiguous, why, Vec::new()));
            return None;
        };
        Some((finding, evidence))
    }

    /// The requirement was met here or, as the finding says, violated.
    pub fn check(
        &mut self,
        kept: bool,
        finding: impl FnOnce() -> String,
        events: impl IntoIterator<Item = EventId>,
    ) {
        if kept { self.fine(events) } else { self.violated(finding(), events) }
    }

    /// Upstream's known deviation from the documentation was observed here.
    pub fn diverges(&mut self, finding: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        let cited = self.cite(finding.into(), events);
        self.diverges.extend(cited);
    }

    /// Nothing can be concluded here.
    pub fn doubt(&mut self, doubt: Doubt, why: impl Into<String>, events: impl IntoIterator<Item = EventId>) {
        self.applies = true;
        self.doubts.push((doubt, why.into(), events.into_iter().collect()));
    }

    /// Adds a measurement, and the observation that follows from it. Inside its bound, it is a positive observation;
    /// outside, it is a violation; if it straddles an end, it is a doubt. A measurement that straddles its bound only
    /// because its start or end is blurred counts only if there is no other observation; then it is a doubt.
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

    /// Measures the time between two events on a node, and adds it as [`Seen::measure`] does. `None` if the clocks
    /// cannot be compared at all.
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

    /// Adds a measurement to the report without concluding anything from it.
    pub fn note(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// The number of positive observations so far.
    #[must_use]
    pub fn count_fine(&self) -> usize {
        self.fine.len()
    }

    /// Takes back conclusions that a missed event could have changed. `hides` gets the events of a conclusion, and
    /// whether it is an accusation; it returns the reason if a gap hides something. A positive observation then no
    /// longer counts, and an accusation becomes a doubt.
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

    /// The facets that were observed; `shown_by` returns the facets that events show.
    #[must_use]
    pub fn facets(&self, shown_by: impl Fn(&[EventId]) -> Vec<Facet>) -> Vec<(Facet, Sight)> {
        let of = |events: &[EventId], sight| shown_by(events).into_iter().map(move |facet| (facet, sight));
        let named = self.fine.iter().filter_map(|fine| Some((fine.facet.clone()?, Sight::Kept)));
        let fine = self.fine.iter().flat_map(|fine| of(&fine.events, Sight::Kept)).chain(named);
        let diverged = self.diverges.iter().flat_map(|(_, found)| of(found.events(), Sight::Diverged));
        let broken = self.violated.iter().flat_map(|(_, found)| of(found.events(), Sight::Broken));
        self.facets.iter().cloned().chain(fine).chain(diverged).chain(broken).collect()
    }

    /// The verdict and the measurements; `None` if the clause does not apply to this history. Of several findings, the
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
