//! Judges: one pure function for each clause, and the code that runs all of them.
//!
//! Every judge runs over every history. It matters only for a clause that was not exercised whether the case targets
//! it: such a clause is inconclusive if the case targets it, and is left out otherwise.

mod kubelets;
mod unseen;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use self::unseen::unseen;
use crate::clause::{Catalogue, Clause, ClauseId};
use crate::facets::{self, FacetSeen, Sight};
use crate::history::{Did, Event, EventId, Gap, Happening, History, Source};
use crate::measure::{Measurement, seconds};
use crate::mechanisms::LISTED_AGAIN;
use crate::timeline::{FacetIndex, Timeline};
use crate::verdict::{Doubt, Seen, Skip, Verdict};

/// How one clause is judged.
#[derive(Clone, Copy)]
pub struct Judge {
    /// The clause.
    pub clause: &'static str,
    /// The function: it reads the timeline and reports what it observed. The clause gives it the slack and the
    /// tolerances.
    pub judge: fn(&Timeline<'_>, &Clause, &mut Seen),
}

/// The catalogue and the judges of its clauses.
#[derive(Default)]
pub struct Registry {
    /// The clauses, in the order of the book.
    pub catalogue: Catalogue,
    judges: BTreeMap<&'static str, Judge>,
}

/// The conclusion about one clause in one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The clause.
    pub clause: ClauseId,
    /// Whether the case was written for the clause.
    pub intended: bool,
    /// The conclusion.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
    /// What was observed for each facet that the clause needs. Facets that were not observed are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<FacetSeen>,
}

/// The prefixes of the ids of clauses about probes.
const ABOUT_PROBES: [&str; 3] = ["probe.", "prober.", "scenario."];

/// A judge's conclusion, with its consequences.
type Concluded = Option<(Verdict, Vec<Measurement>, Vec<FacetSeen>)>;

impl Registry {
    /// Joins clauses and judges.
    ///
    /// # Errors
    ///
    /// If a clause has two judges, if a judge names a clause that does not exist, or if a testable clause has no judge.
    pub fn new(catalogue: Catalogue, judges: impl IntoIterator<Item = Judge>) -> Result<Self, String> {
        let registry = Self::unfinished(catalogue, judges)?;
        let orphan = |clause: &&Clause| {
            clause.untestable.is_none() && !registry.judges.contains_key(clause.id.as_str())
        };
        if let Some(clause) = registry.catalogue.iter().find(orphan) {
            return Err(format!("`{}` has no judge", clause.id));
        }
        Ok(registry)
    }

    /// Joins clauses and judges of a book that is still being written: a clause may lack its judge.
    ///
    /// # Errors
    ///
    /// If a clause has two judges, or if a judge names a clause that does not exist.
    pub fn unfinished(catalogue: Catalogue, judges: impl IntoIterator<Item = Judge>) -> Result<Self, String> {
        let mut registry = Self { catalogue, judges: BTreeMap::new() };
        for judge in judges {
            let id: ClauseId = judge.clause.parse()?;
            if registry.catalogue.get(&id).is_none() {
                return Err(format!("a judge names the clause `{id}`, which does not exist"));
            }
            if registry.judges.insert(judge.clause, judge).is_some() {
                return Err(format!("`{id}` has two judges"));
            }
        }
        Ok(registry)
    }

    /// Judges a history for every clause that applies to it, in the order of the book.
    #[must_use]
    pub fn judge(&self, history: &History) -> Vec<Judgement> {
        let clauses = || self.catalogue.iter();
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let timeline = Timeline::of(history);
            let facets = FacetIndex::of(&timeline);
            clauses().filter_map(|clause| self.judge_clause(clause, &timeline, &facets)).collect()
        }));
        // A history contains data from the kubelet under test. If panics were not caught, one strange number in it
        // could end the run.
        judged.unwrap_or_else(|_| {
            let targeted = clauses().filter(|clause| history.header.judges.contains(&clause.id));
            let undecided = targeted.map(|clause| Judgement {
                clause: clause.id.clone(),
                intended: true,
                verdict: judge_failed(),
                measurements: Vec::new(),
                facets: Vec::new(),
            });
            undecided.collect()
        })
    }

    fn judge_clause(
        &self,
        clause: &Clause,
        timeline: &Timeline<'_>,
        facets: &FacetIndex,
    ) -> Option<Judgement> {
        let judge = self.judges.get(clause.id.as_str())?;
        let header = &timeline.history.header;
        let intended = header.judges.contains(&clause.id);
        let judgement = |verdict, (measurements, facets)| {
            Some(Judgement { clause: clause.id.clone(), intended, verdict, measurements, facets })
        };
        let nothing = || (Vec::new(), Vec::new());
        if let Some(why) = clause.not_promised(&header.server, &header.nodes) {
            let skipped = Verdict::Skipped { reason: Skip::NotApplicable, why };
            return intended.then(|| judgement(skipped, nothing())).flatten();
        }
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let mut seen = Seen::new();
            (judge.judge)(timeline, clause, &mut seen);
            conclude(seen, clause, timeline, facets)
        }));
        let Ok(concluded) = attempt else { return judgement(judge_failed(), nothing()) };
        match concluded {
            None if intended => judgement(unseen(timeline), nothing()),
            None => None,
            Some((Verdict::Inconclusive { doubt: Doubt::Unseen | Doubt::TooShort, .. }, ..)) if !intended => {
                None
            }
            Some((Verdict::Inconclusive { doubt: Doubt::Unseen, .. }, measured, facets)) => {
                judgement(unseen(timeline), (measured, facets))
            }
            Some((verdict, measured, facets)) => judgement(verdict, (measured, facets)),
        }
    }

    /// Whether a clause has a judge.
    #[must_use]
    pub fn has_judge(&self, id: &ClauseId) -> bool {
        self.judges.contains_key(id.as_str())
    }
}

/// The verdict if a judge panics: it is unknown what the history shows.
fn judge_failed() -> Verdict {
    let why =
        "the judge itself failed on this history: please report this bug and attach the history".to_owned();
    Verdict::Inconclusive { doubt: Doubt::JudgeFailed, why, events: Vec::new() }
}

/// The verdict that follows from a judge's observations, after gaps and excuses are applied.
fn conclude(mut seen: Seen, clause: &Clause, timeline: &Timeline<'_>, index: &FacetIndex) -> Concluded {
    seen.without_hidden(|events, accuses| hidden(events, accuses, timeline));
    let sights = seen.facets(|events| index.shown_by(events));
    let sights: Vec<FacetSeen> =
        sights.into_iter().map(|(facet, seen)| FacetSeen::new(facet, seen)).collect();
    let mut facets = facets::joined(&clause.facets, &sights);
    facets.retain(|one| one.seen != Sight::Unseen);
    let (verdict, measured) = seen.verdict()?;
    let verdict = unless_lines_are_missing(verdict, clause, timeline);
    Some((kubelets::for_these_kubelets(verdict, clause, timeline), measured, facets))
}

/// A clause that held wherever it was observed may have been violated where lines are missing, so such a history does
/// not show that it holds. Clauses about probes ignore missing lines of containers without probes, which are only
/// helpers.
fn unless_lines_are_missing(verdict: Verdict, clause: &Clause, timeline: &Timeline<'_>) -> Verdict {
    let Verdict::Holds { evidence } = &verdict else { return verdict };
    let about_probes = ABOUT_PROBES.iter().any(|area| clause.id.as_str().starts_with(area));
    let may_hide = |gap: &Gap| match &gap.of {
        Source::Witness { pod, container } => timeline.containers().any(|(of, one)| {
            of.name == *pod && one.name == *container && !(about_probes && one.probes.is_empty())
        }),
        _ => false,
    };
    let Some((id, gap)) = timeline.gaps.iter().find(|(_, gap)| may_hide(gap)) else { return verdict };
    let why = format!("it held wherever it was observed, but {} ({})", what_was_missed(gap), gap.why);
    let events = evidence.events().iter().copied().chain([*id]).collect();
    Verdict::Inconclusive { doubt: Doubt::Gap, why, events }
}

/// Why a conclusion across a gap in the record is not valid, if a missed event could have refuted it. A single event
/// proves itself. Only the time between several events can hide something. If the targets were unreachable when the
/// case ended, silence is not a violation. A violation whose evidence comes from the API server is inconclusive if the
/// API server could not be reached at the time; records of targets still count.
fn hidden(cited: &[EventId], accuses: bool, timeline: &Timeline<'_>) -> Option<(EventId, String)> {
    let events: Vec<&Event> = cited.iter().filter_map(|id| timeline.history.get(*id)).collect();
    // The output of the user's command reaches the harness without the API server and the recorder.
    let told = |event: &&Event| matches!(&event.what, Happening::Deed(deed) if matches!(deed.did, Did::NodeVerb { .. }));
    if events.iter().all(told) {
        return None;
    }
    let (from, to) = (events.iter().map(|event| event.us).min()?, events.iter().map(|event| event.us).max()?);
    let hides = |gap: &Gap| {
        // After a gap, the harness lists the objects and sees that one is gone, but not how it ended.
        let listed = accuses && matches!(gap.of, Source::Watch(_));
        let until = gap.to_us.saturating_add(if listed { LISTED_AGAIN } else { 0 });
        let between = gap.from_us < to && from < until && concerns(gap, &events);
        let deaf = gap.of == Source::Recorder && gap.to_us >= timeline.ended_us;
        between || (accuses && deaf)
    };
    if let Some((id, gap)) = timeline.gaps.iter().find(|(_, gap)| hides(gap)) {
        return Some((*id, format!("{} at the time ({})", what_was_missed(gap), gap.why)));
    }
    hidden_by_outage(cited, accuses, timeline)
}

/// The part of [`hidden`] that is about outages of the API server.
pub(crate) fn hidden_by_outage(
    cited: &[EventId],
    accuses: bool,
    timeline: &Timeline<'_>,
) -> Option<(EventId, String)> {
    let events = || cited.iter().filter_map(|id| timeline.history.get(*id));
    let by_api = events().any(|event| !matches!(event.what, Happening::Witness(_)));
    let (from, to) = (events().map(|event| event.us).min()?, events().map(|event| event.us).max()?);
    let (id, lasted) = timeline.outage_between(from, to).filter(|_| accuses && by_api)?;
    let why =
        format!("nothing passed between the API server and the harness for {} at the time", seconds(lasted));
    Some((id, why))
}

/// Whether a gap is in a source on which the conclusion is based. Every conclusion is based on pods and events. It is
/// based on another kind if it cites an object of that kind. It is based on a target's lines if it cites a line of that
/// target, or if it cites the pod but no line of any of the pod's containers.
fn concerns(gap: &Gap, cited: &[&Event]) -> bool {
    let sighted = |kind: &str| {
        cited.iter().any(|event| matches!(&event.what, Happening::Sighting(seen) if seen.kind == kind))
    };
    match &gap.of {
        Source::Watch(kind) if kind != "Pod" && kind != "Event" => sighted(kind),
        Source::Watch(_) | Source::Recorder => true,
        Source::Witness { pod, container } => {
            let heard: Vec<&str> = cited.iter().filter_map(|event| heard_of(event, pod)).collect();
            if heard.is_empty() {
                cited.iter().any(|event| shows(event, pod))
            } else {
                heard.contains(&container.as_str())
            }
        }
    }
}

/// The container from which a line of a pod came.
fn heard_of<'h>(event: &'h Event, pod: &str) -> Option<&'h str> {
    match &event.what {
        Happening::Witness(heard) if heard.pod == pod => Some(&heard.container),
        _ => None,
    }
}

/// Whether an event is about a pod, or may be: deeds and events name several things.
fn shows(event: &Event, pod: &str) -> bool {
    match &event.what {
        Happening::Sighting(seen) if seen.kind == "Pod" => seen.name == pod,
        Happening::Witness(_) => false,
        _ => true,
    }
}

fn what_was_missed(gap: &Gap) -> String {
    match &gap.of {
        Source::Watch(kind) => format!("revisions of {kind} objects may have been missed"),
        Source::Recorder => "the recorder sent nothing".to_owned(),
        Source::Witness { pod, container } => format!("the record of {pod}/{container} is incomplete"),
    }
}
