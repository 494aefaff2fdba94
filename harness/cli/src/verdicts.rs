//! From a history to its verdicts. A run and `probity judge` both do it here, which is why they agree to the byte.

use probity_model::judge::Judgement;
use probity_model::verdict::merge;
use probity_model::{Clause, History, Level, Registry, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Narrator;
use crate::say;

/// The name of the format.
pub(crate) const SCHEMA: &str = "probity.dev/verdicts";

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// What was concluded from one history. It follows from the history and the judges alone.
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
    /// The heaviest verdict of all, in one word.
    pub(crate) verdict: String,
    /// Each clause that speaks of the history, in the order of the book.
    pub(crate) judgements: Vec<Judgement>,
}

impl CaseVerdicts {
    /// Judges a history.
    pub(crate) fn of(registry: &Registry, history: &History) -> Self {
        let judgements = registry.judge(history);
        let verdict =
            merge(judgements.iter().map(|judgement| &judgement.verdict)).map_or("none", Verdict::word);
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            run: history.header.run.clone(),
            case: history.header.case.clone(),
            server: history.header.server.clone(),
            verdict: verdict.to_owned(),
            judgements,
        }
    }

    /// Only what is said of these clauses; of all if none is named.
    pub(crate) fn only(mut self, clauses: &[String]) -> Self {
        if !clauses.is_empty() {
            self.judgements.retain(|judgement| clauses.iter().any(|id| id == judgement.clause.as_str()));
            let heaviest = merge(self.judgements.iter().map(|judgement| &judgement.verdict));
            self.verdict = heaviest.map_or("none", Verdict::word).to_owned();
        }
        self
    }

    /// The conclusions.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.judgements.iter().map(|judgement| &judgement.verdict)
    }

    /// The file of a run: the same history and the same judges give the same bytes.
    pub(crate) fn file(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// The word for a level.
pub(crate) fn level_word(level: Level) -> &'static str {
    match level {
        Level::Must => "must",
        Level::Should => "should",
        Level::Advice => "advice",
    }
}

/// Whether a verdict is worth more than a word: whatever neither holds nor was skipped.
pub(crate) fn is_finding(verdict: &Verdict) -> bool {
    !matches!(verdict, Verdict::Holds { .. } | Verdict::Skipped { .. })
}

/// A finding: what it is about, and four lines: what was promised, what was seen, the evidence, and how to see it again.
pub(crate) fn finding(
    clause: Option<&Clause>,
    judgement: &Judgement,
    narrator: &Narrator<'_>,
    again: &str,
) -> String {
    let level = clause.map_or("", |clause| level_word(clause.level));
    let word = judgement.verdict.word().to_uppercase();
    let mut text = format!("{}  {level}  {word}\n", judgement.clause);
    let mut line = |name: &str, said: &str| {
        let said = say::wrapped(said, "             ", 107);
        text += &format!("  {name:<9}  {}", said.trim_start());
    };
    if let Some(clause) = clause {
        line("promised", &clause.says);
        if let (Verdict::Diverges { .. }, Some(actual)) = (&judgement.verdict, &clause.actual) {
            line("known", actual);
        }
    }
    line("seen", judgement.verdict.sentence());
    match judgement.verdict.events() {
        [] => line("evidence", "none"),
        events => line("evidence", &narrator.tell(events)),
    }
    text += &format!("  {:<9}  {again}\n", "again");
    text
}
