//! Which cases of a run are worth another try, in the same run.
//!
//! A case that was left undecided because a machine was busy is worth another try. The second try hides no violation,
//! because both tries are judged, and a clause that is violated in one of them stays violated.

use std::collections::BTreeSet;

use probity_case::CaseName;
use probity_model::expect::Expected;
use probity_model::facets;
use probity_model::judge::Judgement;
use probity_model::{Clause, ClauseId, Registry};

use crate::clauses::needed;
use crate::essentials::bare;
use crate::merge::{Poll, Vote};
use crate::run_log::{ClusterFacts, Planned};
use crate::word::Word;

/// The conclusions from a case that has run.
#[derive(Clone, Debug)]
pub struct JudgedCase {
    /// The case.
    pub case: CaseName,
    /// The verdict on the case as a whole.
    pub verdict: Word,
    /// The judgement on each clause that applies to it.
    pub judgements: Vec<Judgement>,
    /// Its own expectations.
    pub expected: Vec<Expected>,
}

impl JudgedCase {
    /// Only the conclusions that [`undecided`] needs. A run holds them until its end.
    #[must_use]
    pub fn reduced(mut self) -> Self {
        for judgement in &mut self.judgements {
            judgement.verdict = bare(&judgement.verdict);
            judgement.measurements.retain(|measured| measured.noise > 0);
            judgement.measurements.truncate(1);
            judgement.measurements.shrink_to_fit();
        }
        self.judgements.shrink_to_fit();
        self.expected.iter_mut().for_each(|expected| expected.verdict = bare(&expected.verdict));
        self
    }
}

/// The cases that left a clause or an expectation undecided on this cluster, if it is known. Violated and broken cases are not tried again, and cases
/// that are still running may yet decide the clauses that they were written for.
#[must_use]
pub fn undecided(
    registry: &Registry,
    (planned, running): (&[Planned], &BTreeSet<&CaseName>),
    judged: &[JudgedCase],
    ground: Option<&ClusterFacts>,
) -> BTreeSet<CaseName> {
    let open = |expected: &Expected| Word::of(&expected.verdict) == Word::Inconclusive;
    let expecting = judged.iter().filter(|one| one.expected.iter().any(open)).map(|one| &one.case);
    let running = planned.iter().filter(|planned| running.contains(&planned.case));
    let awaited: BTreeSet<&ClauseId> = running.flat_map(|planned| &planned.judges).collect();
    let clauses = registry.catalogue.iter();
    let clauses = clauses.filter(|clause| clause.untestable.is_none() && !awaited.contains(&clause.id));
    let chosen: BTreeSet<&CaseName> =
        clauses.flat_map(|clause| of_clause((clause, ground), planned, judged)).chain(expecting).collect();
    let again = judged.iter().filter(|one| !matches!(one.verdict, Word::Violated | Word::Error));
    again.map(|one| &one.case).filter(|case| chosen.contains(case)).cloned().collect()
}

/// The cases that may decide a clause that the run left undecided: the undecided cases that were written for the clause
/// or, if there are none, all cases that were written for it. If the run left out a case that was written for the
/// clause, the clause may be undecided only because that case is missing. Then only cases that a busy machine may have
/// disturbed run again.
fn of_clause<'j>(
    (clause, ground): (&Clause, Option<&ClusterFacts>),
    planned: &[Planned],
    judged: &'j [JudgedCase],
) -> Vec<&'j CaseName> {
    let on = |one: &'j JudgedCase| one.judgements.iter().find(|judgement| judgement.clause == clause.id);
    let asked: Vec<_> = judged.iter().filter_map(|one| Some((&one.case, on(one)?))).collect();
    if !asked.iter().any(|(_, judgement)| judgement.intended) {
        return Vec::new();
    }
    let votes = asked.iter().enumerate().map(|(place, (_, judgement))| Vote {
        place,
        intended: judgement.intended,
        verdict: &judgement.verdict,
    });
    let word = votes.collect::<Poll<'_>>().outcome().map(|vote| Word::of(vote.verdict));
    let needed = needed(clause, ground);
    let facets = facets::joined(&needed, asked.iter().flat_map(|(_, judgement)| &judgement.facets));
    let half_seen = word == Some(Word::Holds) && facets::missing(&facets).is_some();
    if word != Some(Word::Inconclusive) && !half_seen {
        return Vec::new();
    }
    let open =
        |judgement: &Judgement| judgement.intended && Word::of(&judgement.verdict) == Word::Inconclusive;
    let undecided: Vec<_> =
        asked.iter().filter(|(_, judgement)| open(judgement)).map(|(case, _)| *case).collect();
    if !undecided.is_empty() {
        return undecided;
    }
    let mut written = planned.iter().filter(|planned| planned.judges.contains(&clause.id));
    let all_ran = written.all(|planned| judged.iter().any(|one| one.case == planned.case));
    let disturbed = |judgement: &Judgement| judgement.measurements.iter().any(|measured| measured.noise > 0);
    let again = asked.into_iter().filter(|(_, of)| of.intended && (all_ran || disturbed(of)));
    again.map(|(case, _)| case).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_case::Profile;
    use probity_model::facets::{FacetSeen, Sight};
    use probity_model::measure::Measurement;
    use probity_model::verdict::Evidence;
    use probity_model::{Bound, Catalogue, EventId, Judge, Verdict};

    use super::*;

    const CLAUSE: &str = r"
- id: demo.halves
  level: must
  says: Both halves MUST be kept.
  facets: { trouble: [status, hang] }
  source: { document: Demo, edition: '1' }
  tested: by looking
";

    fn planned(case: &str) -> Planned {
        let judges = vec![ClauseId::try_from("demo.halves".to_owned()).unwrap()];
        let (source, story) = (String::new(), String::new());
        Planned { case: CaseName(case.to_owned()), source, profile: Profile::Core, judges, story }
    }

    /// A case that observed one half of the facets, with this much noise at the time.
    fn half_seen(case: &str, noise: i64) -> JudgedCase {
        let mut measured = Measurement::count("of things", 1, Bound::at_most(1, "one"), Vec::new());
        measured.noise = noise;
        let facet = FacetSeen { of: "trouble".to_owned(), value: "status".to_owned(), seen: Sight::Kept };
        let judgement = Judgement {
            clause: ClauseId::try_from("demo.halves".to_owned()).unwrap(),
            intended: true,
            verdict: Verdict::Holds { evidence: Evidence::from_events([EventId(1)]).unwrap() },
            measurements: vec![measured],
            facets: vec![facet],
        };
        let (judgements, expected) = (vec![judgement], Vec::new());
        JudgedCase { case: CaseName(case.to_owned()), verdict: Word::Holds, judgements, expected }
    }

    #[test]
    fn a_half_that_noise_may_have_hidden_is_worth_another_try_also_where_a_case_was_left_out() {
        let mut catalogue = Catalogue::default();
        catalogue.add_chapter("demo", CLAUSE).unwrap();
        let judge = Judge { clause: "demo.halves", judge: |_, _, _| {} };
        let registry = Registry::new(catalogue, [judge]).unwrap();
        let chosen = |planned: &[Planned], noise: i64| {
            let judged = [half_seen("demo/quick", noise).reduced()];
            let chosen = undecided(&registry, (planned, &BTreeSet::new()), &judged, None);
            chosen.into_iter().map(|case| case.0).collect::<Vec<_>>()
        };
        let alone = [planned("demo/quick")];
        let both = [planned("demo/quick"), planned("demo/slow")];
        assert_eq!(chosen(&alone, 0), ["demo/quick"], "nobody else can show it");
        assert!(chosen(&both, 0).is_empty(), "the case that was left out shows the other half");
        assert_eq!(chosen(&both, 5), ["demo/quick"], "it was disturbed");
    }

    #[test]
    fn what_a_running_case_was_written_for_waits_for_it() {
        let mut catalogue = Catalogue::default();
        catalogue.add_chapter("demo", CLAUSE).unwrap();
        let judge = Judge { clause: "demo.halves", judge: |_, _, _| {} };
        let registry = Registry::new(catalogue, [judge]).unwrap();
        let (judged, both) = ([half_seen("demo/quick", 5)], [planned("demo/quick"), planned("demo/slow")]);
        let slow = CaseName("demo/slow".to_owned());
        assert!(undecided(&registry, (&both, &BTreeSet::from([&slow])), &judged, None).is_empty());
        assert_eq!(undecided(&registry, (&both, &BTreeSet::new()), &judged, None).len(), 1);
    }

    #[test]
    fn a_facet_that_the_cluster_cannot_show_is_not_worth_another_try() {
        let mut catalogue = Catalogue::default();
        let since = "  facets-since: { trouble: { hang: '1.34' } }\n";
        catalogue.add_chapter("demo", &format!("{CLAUSE}{since}")).unwrap();
        let judge = Judge { clause: "demo.halves", judge: |_, _, _| {} };
        let registry = Registry::new(catalogue, [judge]).unwrap();
        let (judged, planned) = ([half_seen("demo/quick", 0)], [planned("demo/quick")]);
        let chosen = |server: &str| {
            let ground = ClusterFacts { server: server.to_owned(), ..ClusterFacts::default() };
            undecided(&registry, (&planned, &BTreeSet::new()), &judged, Some(&ground)).len()
        };
        assert_eq!([chosen("v1.33.9"), chosen("v1.34.0")], [0, 1]);
    }
}
