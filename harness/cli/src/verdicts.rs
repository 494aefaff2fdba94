//! From a history to its verdicts. A run and `probity judge` both do it here, which is why they agree to the byte.

use probity_model::expect::{self, Expected};
use probity_model::judge::Judgement;
use probity_model::verdict::Doubt;
use probity_model::{Clause, History, Level, Registry, Verdict};
use probity_report::{Poll, Vote, Word, event_in_words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::say;

/// The name of the format.
pub(crate) const SCHEMA: &str = "probity.dev/verdicts";

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// So many events of a finding are told; the rest is counted.
const TOLD: usize = 4;

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
    /// The verdict on the case as a whole.
    pub(crate) verdict: Word,
    /// Each clause that speaks of the history, in the order of the book.
    pub(crate) judgements: Vec<Judgement>,
    /// The case's own expectations, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) expected: Vec<Expected>,
}

impl CaseVerdicts {
    /// Judges a history.
    pub(crate) fn of(registry: &Registry, history: &History) -> Self {
        let mut found = Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            run: history.header.run.clone(),
            case: history.header.case.clone(),
            server: history.header.server.clone(),
            verdict: Word::Inconclusive,
            judgements: registry.judge(history),
            expected: expect::judge(history),
        };
        found.verdict = Word::of(&found.conclusion());
        found
    }

    /// Only what is said of these clauses; of all if none is named.
    pub(crate) fn only(mut self, clauses: &[String]) -> Self {
        if !clauses.is_empty() {
            self.judgements.retain(|judgement| clauses.iter().any(|id| id == judgement.clause.as_str()));
            self.expected.clear();
            self.verdict = Word::of(&self.conclusion());
        }
        self
    }

    /// The verdict on the case as a whole, by the rules of a report: what the case was written for decides, and a
    /// violation of anything else.
    pub(crate) fn conclusion(&self) -> Verdict {
        let judged = self.judgements.iter().map(|judgement| (judgement.intended, &judgement.verdict));
        let expected = self.expected.iter().map(|expected| (true, &expected.verdict));
        let votes = judged.chain(expected).enumerate();
        let poll: Poll<'_> =
            votes.map(|(place, (intended, verdict))| Vote { place, intended, verdict }).collect();
        poll.outcome().map_or_else(
            || Verdict::Inconclusive {
                doubt: Doubt::Unseen,
                why: "nothing in this history could be judged".to_owned(),
                events: Vec::new(),
            },
            |vote| vote.verdict.clone(),
        )
    }

    /// Whether there is more to say of a judgement than its word: it was broken, it diverges, or nothing can be said
    /// though something should.
    fn tells(judgement: &Judgement) -> bool {
        match &judgement.verdict {
            Verdict::Violated { .. } | Verdict::Diverges { .. } | Verdict::Error { .. } => true,
            Verdict::Inconclusive { .. } => judgement.intended,
            Verdict::Holds { .. } | Verdict::Skipped { .. } => false,
        }
    }

    /// The findings whose verdict is among these words (all if there are none), each in a few lines. `path` is where the
    /// history lies.
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
        let mut findings: Vec<String> = judged
            .map(|judgement| {
                let clause = registry.catalogue.get(&judgement.clause);
                let again = format!("probity judge {path} --clause {}", judgement.clause);
                finding(clause, judgement, history, &again)
            })
            .collect();
        let broken = |expected: &&Expected| !matches!(expected.verdict, Verdict::Holds { .. });
        for expected in self.expected.iter().filter(broken).filter(|expected| wanted(&expected.verdict)) {
            let heading = format!("expected  {}", expected.verdict.word().to_uppercase());
            let lines =
                [("expected", expected.what.clone()), ("seen", expected.verdict.sentence().to_owned())];
            findings.push(paragraph(
                &heading,
                &lines,
                &expected.verdict,
                history,
                &format!("probity judge {path}"),
            ));
        }
        findings
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

/// A finding on a clause.
fn finding(clause: Option<&Clause>, judgement: &Judgement, history: &History, again: &str) -> String {
    let level = clause.map_or("", |clause| level_word(clause.level));
    let word = judgement.verdict.word().to_uppercase();
    let heading = format!("{}  {level}  {word}  {}", judgement.clause, history.header.case);
    let mut lines = Vec::new();
    if let Some(clause) = clause {
        lines.push(("promised", clause.says.clone()));
        if let (Verdict::Diverges { .. }, Some(known)) = (&judgement.verdict, clause.known()) {
            lines.push(("known", known));
        }
    }
    lines.push(("seen", judgement.verdict.sentence().to_owned()));
    paragraph(&heading, &lines, &judgement.verdict, history, again)
}

/// What was promised and seen, the evidence, and how to see it again.
fn paragraph(
    heading: &str,
    lines: &[(&str, String)],
    verdict: &Verdict,
    history: &History,
    again: &str,
) -> String {
    let mut text = format!("{heading}\n");
    let mut line = |name: &str, said: &str| {
        let said = say::wrapped(said, "             ", 107);
        text += &format!("  {name:<9}  {}", said.trim_start());
    };
    for (name, said) in lines {
        line(name, said);
    }
    let events = verdict.events();
    for (at, id) in events.iter().take(TOLD).enumerate() {
        let more = match events.len().saturating_sub(TOLD) {
            more @ 1.. if at + 1 == TOLD => format!(", and {more} more"),
            _ => String::new(),
        };
        line(if at == 0 { "evidence" } else { "" }, &format!("{id} {}{more}", event_in_words(history, *id)));
    }
    if events.is_empty() {
        line("evidence", "none");
    }
    text + &format!("  {:<9}  {again}\n", "again")
}
