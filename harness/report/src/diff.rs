//! What changed between two reports: clauses that came, went, changed their verdict, or did not.

use probity_model::ClauseId;

use crate::document::{ClauseReport, Report};
use crate::word::Word;

/// What changed from one report to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Clauses that only the newer one has.
    pub added: Vec<(ClauseId, Word)>,
    /// Clauses that only the older one has.
    pub dropped: Vec<(ClauseId, Word)>,
    /// Clauses whose verdict is another.
    pub changed: Vec<Moved>,
    /// How many are as they were.
    pub unchanged: usize,
}

/// A clause whose verdict changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The clause.
    pub id: ClauseId,
    /// What it was.
    pub from: Word,
    /// What it is.
    pub to: Word,
    /// What was seen that time; empty where it holds.
    pub finding: String,
}

impl Diff {
    /// Compares two reports by their clauses.
    #[must_use]
    pub fn between(older: &Report, newer: &Report) -> Self {
        let name = |clause: &ClauseReport| (clause.id.clone(), clause.verdict);
        let missing = |of: &Report, from: &Report| -> Vec<(ClauseId, Word)> {
            from.clauses.iter().filter(|clause| of.clause(&clause.id).is_none()).map(name).collect()
        };
        let mut diff =
            Self { added: missing(older, newer), dropped: missing(newer, older), ..Self::default() };
        for now in &newer.clauses {
            let Some(then) = older.clause(&now.id) else { continue };
            if then.verdict == now.verdict {
                diff.unchanged += 1;
            } else {
                let (id, finding) = (now.id.clone(), now.finding.clone());
                diff.changed.push(Moved { id, from: then.verdict, to: now.verdict, finding });
            }
        }
        diff
    }

    /// Whether a clause is violated now that was not before.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.changed.iter().any(|moved| moved.to == Word::Violated)
            || self.added.iter().any(|(_, word)| *word == Word::Violated)
    }

    /// The difference in words, a line each, the sum last.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        for (id, word) in &self.added {
            words += &format!("added      {id}: {word}\n");
        }
        for (id, word) in &self.dropped {
            words += &format!("dropped    {id}: was {word}\n");
        }
        for Moved { id, from, to, finding } in &self.changed {
            let because = if finding.is_empty() { String::new() } else { format!(" ({finding})") };
            words += &format!("changed    {id}: {from} -> {to}{because}\n");
        }
        let (added, dropped, changed) = (self.added.len(), self.dropped.len(), self.changed.len());
        words
            + &format!("{added} added, {dropped} dropped, {changed} changed, {} unchanged\n", self.unchanged)
    }
}
