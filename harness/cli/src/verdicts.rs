//! From a history to its verdicts. A run and `probity judge` both use this module, so their results are identical, byte
//! for byte.

use probity_model::expect::{self, Expected};
use probity_model::history::Header;
use probity_model::judge::Judgement;
use probity_model::verdict::Doubt;
use probity_model::{Clause, History, Registry, Verdict};
use probity_report::{JudgedHistory, Poll, Word, event_in_words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit_status::ExitFacts;
use crate::output::{named, word};

/// The name of the format.
pub(crate) const SCHEMA: &str = "probity.dev/verdicts";

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The maximum number of events that are shown for a finding. The others are counted.
const SHOWN: usize = 4;

/// The conclusions from one history. They depend only on the history and the judges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaseVerdicts {
    /// `probity.dev/verdicts`
    pub(crate) schema: String,
    /// The version of the format.
    pub(crate) version: u32,
    /// The run.
    pub(crate) run: String,
    /// The case.
    pub(crate) case: String,
    /// The version of the API server.
    pub(crate) server: String,
    /// The verdict on the case as a whole.
    pub(crate) verdict: Word,
    /// Each clause that applies to the history, in the order of the book.
    pub(crate) judgements: Vec<Judgement>,
    /// The case's own expectations, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) expected: Vec<Expected>,
}

impl CaseVerdicts {
    /// Judges a history.
    pub(crate) fn of(registry: &Registry, history: &History) -> Self {
        Self::new(&history.header, registry.judge(history), expect::judge(history))
    }

    /// The conclusions from a history that is judged already.
    pub(crate) fn of_judged(header: &Header, judged: &JudgedHistory) -> Self {
        Self::new(header, judged.judgements.clone(), judged.expected.clone())
    }

    fn new(header: &Header, judgements: Vec<Judgement>, expected: Vec<Expected>) -> Self {
        let mut found = Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            run: header.run.clone(),
            case: header.case.clone(),
            server: header.server.clone(),
            verdict: Word::Inconclusive,
            judgements,
            expected,
        };
        found.verdict = Word::of(&found.conclusion());
        found
    }

    /// Keeps only the judgements on these clauses. If no clause is named, keeps all.
    pub(crate) fn only(mut self, clauses: &[String]) -> Self {
        if !clauses.is_empty() {
            self.judgements.retain(|judgement| clauses.iter().any(|id| id == judgement.clause.as_str()));
            self.expected.clear();
            self.verdict = Word::of(&self.conclusion());
        }
        self
    }

    /// The verdict on the case as a whole, by the rules of a report. It depends on the clauses that the case targets, and
    /// on violations of any other clause.
    pub(crate) fn conclusion(&self) -> Verdict {
        let poll = Poll::of_case(&self.judgements, &self.expected);
        poll.outcome().map_or_else(
            || Verdict::Inconclusive {
                doubt: Doubt::Unseen,
                why: "nothing in this history could be judged".to_owned(),
                events: Vec::new(),
            },
            |vote| vote.verdict.clone(),
        )
    }

    /// Adds the facts that determine the exit status.
    pub(crate) fn add_to(&self, facts: &mut ExitFacts) {
        facts.add(self.verdict, true);
        for judgement in &self.judgements {
            facts.add(Word::of(&judgement.verdict), false);
        }
    }

    /// Whether a judgement needs more explanation than its word: the clause is violated or diverges, or it is undecided
    /// although the case was written for it.
    fn tells(judgement: &Judgement) -> bool {
        match &judgement.verdict {
            Verdict::Violated { .. } | Verdict::Diverges { .. } | Verdict::Error { .. } => true,
            Verdict::Inconclusive { .. } => judgement.intended,
            Verdict::Holds { .. } | Verdict::Skipped { .. } => false,
        }
    }

    /// The findings whose verdict is one of these words, each in a few lines. Without words, all findings. `path` is the
    /// path of the history.
    pub(crate) fn findings(
        &self,
        registry: &Registry,
        history: &History,
        path: &str,
        words: &[Word],
    ) -> Vec<String> {
        let wanted = |verdict: &Verdict| words.is_empty() || words.contains(&Word::of(verdict));
        let judged =
            self.judgements.iter().filter(|judgement| Self::tells(judgement) && wanted(&judgement.verdict));
        let of_judgement = |judgement: &Judgement| {
            let clause = registry.catalogue.get(&judgement.clause);
            let level = clause.map(|clause| word(&clause.level)).unwrap_or_default();
            let heading =
                format!("{}  {level}  {}  {}", judgement.clause, loud(&judgement.verdict), self.case);
            let again = format!("probity judge {path} --clause {}", judgement.clause);
            let mut promise: Vec<(&str, String)> =
                clause.map(|clause| ("promised", clause.says.clone())).into_iter().collect();
            if matches!(judgement.verdict, Verdict::Diverges { .. }) {
                promise.extend(clause.and_then(Clause::known).map(|known| ("known", known)));
            }
            paragraph(&heading, &promise, &judgement.verdict, history, &again)
        };
        let broken = |expected: &&Expected| !matches!(expected.verdict, Verdict::Holds { .. });
        let expected = self.expected.iter().filter(broken).filter(|expected| wanted(&expected.verdict));
        let of_expected = |expected: &Expected| {
            let heading = format!("expected  {}", loud(&expected.verdict));
            let promise = [("expected", expected.what.clone())];
            paragraph(&heading, &promise, &expected.verdict, history, &format!("probity judge {path}"))
        };
        judged.map(of_judgement).chain(expected.map(of_expected)).collect()
    }

    /// The verdicts as they are stored in a run's folder. The same history and judges give the same bytes.
    pub(crate) fn file(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

fn loud(verdict: &Verdict) -> String {
    verdict.word().to_uppercase()
}

/// A promise, what was seen, the evidence, and the command that judges it again.
fn paragraph(
    heading: &str,
    promise: &[(&str, String)],
    verdict: &Verdict,
    history: &History,
    again: &str,
) -> String {
    let mut text = format!("{heading}\n");
    for (name, said) in promise {
        text += &named(name, 9, said);
    }
    text += &named("seen", 9, verdict.sentence());
    let events = verdict.events();
    for (at, id) in events.iter().take(SHOWN).enumerate() {
        let more = match events.len().saturating_sub(SHOWN) {
            more @ 1.. if at + 1 == SHOWN => format!(", and {more} more"),
            _ => String::new(),
        };
        let name = if at == 0 { "evidence" } else { "" };
        text += &named(name, 9, &format!("{id} {}{more}", event_in_words(history, *id)));
    }
    if events.is_empty() {
        text += &named("evidence", 9, "none");
    }
    text + &format!("  {:<9}  {again}\n", "again")
}

/// The name of the file with the verdicts on a history, relative to the folder of the run.
pub(crate) fn file_of(history: &str) -> String {
    let name = history.trim_start_matches("history/").trim_end_matches(".zst").trim_end_matches(".jsonl");
    format!("verdicts/{name}.json")
}
