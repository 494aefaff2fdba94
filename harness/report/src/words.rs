//! Verdicts and events in words.
//!
//! A verdict that needs attention is shown in a few aligned lines: the promise, the observation, the evidence, and the
//! command that judges it again. The text is generated from the typed values, so it always matches them.

mod course;
mod event;

use probity_case::CaseName;
use probity_model::measure::seconds;

use crate::certificate::Certificate;
use crate::document::{ClauseReport, Report, Spread};
use crate::word::Word;
use probity_model::facets::{self, Sight};

pub use course::course_in_words;
pub use event::event_in_words;

/// The result of a facet, in words.
#[must_use]
pub fn sight_in_words(sight: Sight) -> &'static str {
    match sight {
        Sight::Kept => "seen",
        Sight::Diverged => "diverging",
        Sight::Broken => "violated",
        Sight::Unseen => "not seen",
    }
}

/// The facets of a clause in one line: `seen: probe liveness, readiness; not seen: life after-crash`.
fn facets(clause: &ClauseReport) -> Option<String> {
    let of = |sight: Sight| {
        let chosen: Vec<_> = clause.facets.iter().filter(|one| one.seen == sight).cloned().collect();
        facets::in_words(&chosen)
    };
    let named = [Sight::Kept, Sight::Diverged, Sight::Broken, Sight::Unseen];
    let parts: Vec<String> = named
        .into_iter()
        .filter_map(|sight| Some(format!("{}: {}", sight_in_words(sight), of(sight)?)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The result for a clause, as text for a terminal:
///
/// ```text
/// probe.startup.gates-liveness  must  VIOLATED  probe_types/startup-gates-others
///   promised   With a startupProbe configured, the kubelet sends no liveness probe …
///   seen       a liveness probe arrived 11.000 s before startup succeeded
///   evidence   #14 +1.020 s pod/target: probe of web:/live
///              #61 +12.040 s pod/target: web:/start answered 200
///   again      probity judge history/probe_types/startup-gates-others.jsonl.zst --clause probe.startup.gates-liveness
/// ```
#[must_use]
pub fn paragraph(clause: &ClauseReport) -> String {
    let level = format!("{:?}", clause.level).to_lowercase();
    let word = match clause.verdict {
        Word::Violated | Word::Error => clause.verdict.to_string().to_uppercase(),
        _ => clause.verdict.to_string(),
    };
    let case = clause.evidence.first().map(|found| &found.case).or_else(|| deciding_case(clause));
    let case = case.map(|case| format!("  {case}")).unwrap_or_default();
    let mut lines = vec![format!("{}  {level}  {word}{case}", clause.id)];
    let mut say = |name: &str, what: &str| lines.push(format!("  {name:<10} {what}"));
    say("promised", &clause.text);
    if let Some(actual) = &clause.actual {
        say("known", actual);
    }
    if !clause.finding.is_empty() {
        say("seen", &clause.finding);
    }
    if let Some(facets) = facets(clause) {
        say("facets", &facets);
    }
    for (at, words) in measured(clause).iter().enumerate() {
        say(if at == 0 { "measured" } else { "" }, words);
    }
    if let Some(spread) = clause.spread {
        let Spread { count, median, nine_in_ten, most } = spread;
        say(
            "spread",
            &format!(
                "{count} times: half of them are at most {median}% of their bounds, nine in ten at most {nine_in_ten}%, all at most {most}%"
            ),
        );
    }
    if let Some(found) = clause.evidence.first() {
        for (at, event) in found.events.iter().enumerate() {
            say(if at == 0 { "evidence" } else { "" }, &format!("{} {}", event.id, event.what));
        }
        if found.more > 0 {
            say("", &format!("and {} more", found.more));
        }
        say("again", &again(clause).unwrap_or_default());
    }
    for other in &clause.also_undecided_in {
        say("besides", &format!("undecided in {}: {}", other.case, other.why));
    }
    lines.join("\n") + "\n"
}

/// A number of things.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The measurements in the deciding case, except measurements that the finding already contains.
fn measured(clause: &ClauseReport) -> Vec<String> {
    let decided = clause.evidence.first().map(|found| &found.case);
    let here = clause.measurements.iter().filter(|measured| Some(&measured.case) == decided);
    let mut words: Vec<String> =
        here.map(|found| format!("{}: {}", found.measured.quantity, found.measured.in_words())).collect();
    words.dedup();
    words.retain(|words| !clause.finding.contains(words.as_str()));
    words
}

fn deciding_case(clause: &ClauseReport) -> Option<&CaseName> {
    clause.judged_in.iter().find(|judged| judged.verdict == clause.verdict).map(|judged| &judged.case)
}

/// The command that judges the clause again on the deciding history.
#[must_use]
pub fn again(clause: &ClauseReport) -> Option<String> {
    let found = clause.evidence.first()?;
    Some(format!("probity judge {} --clause {}", found.history, clause.id))
}

impl Report {
    /// The totals in one line: `2 violated, 66 holds of 68 clauses; 40 cases in 62.000 s`. Skipped cases, such as those that
    /// a filter left out, do not count.
    #[must_use]
    pub fn headline(&self) -> String {
        let counts = self.result.clauses;
        let took = self.usage.map(|usage| format!(" in {}", seconds(usage.wall_us)));
        format!(
            "{} of {} clauses; {} cases{}",
            counts.in_words(),
            counts.total,
            self.result.cases.total.saturating_sub(self.result.cases.skipped),
            took.unwrap_or_default()
        )
    }

    /// The clauses with this verdict, without the violations that likely follow from another violation.
    pub fn causes_of(&self, word: Word) -> impl Iterator<Item = &ClauseReport> {
        self.clauses.iter().filter(move |clause| clause.verdict == word && clause.follows_from.is_none())
    }

    /// The violations that likely follow from this violation, one line for each clause. Empty if there are none.
    #[must_use]
    pub fn effects(&self, cause: &ClauseReport) -> String {
        let follow = self.clauses.iter().filter(|clause| clause.follows_from.as_ref() == Some(&cause.id));
        let lines: Vec<String> =
            follow.map(|clause| format!("             {}: {}\n", clause.id, clause.finding)).collect();
        match lines.len() {
            0 => String::new(),
            count => format!(
                "  as a likely result, {} violated too:\n{}",
                counted(count, "clause is", "clauses are"),
                lines.concat()
            ),
        }
    }

    /// The report as text for a terminal: the totals, the profiles, and everything that needs attention.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = self.headline() + "\n";
        for profile in &self.result.profiles {
            let name = profile.profile;
            let result = format!("{:?}", profile.result).to_lowercase();
            words += &format!("profile {name}: {result} ({}: {})\n", profile.why, profile.counts.in_words());
        }
        words += &self.certificate.as_ref().map(Certificate::in_words).unwrap_or_default();
        words += &self.fleet_in_words();
        for word in [Word::Violated, Word::Error, Word::Inconclusive, Word::Diverges] {
            for clause in self.causes_of(word) {
                words += &format!("\n{}{}", paragraph(clause), self.effects(clause));
            }
        }
        for case in self.cases.iter().filter(|case| case.judges.is_empty() || case.verdict == Word::Error) {
            for expected in &case.expected {
                let sentence = expected.verdict.sentence();
                let colon = if sentence.is_empty() { "" } else { ": " };
                words += &format!(
                    "\n{} expects {}: {}{colon}{sentence}\n",
                    case.case,
                    expected.what,
                    expected.verdict.word()
                );
            }
            if case.verdict == Word::Error {
                words += &format!("\n{}  ERROR\n  why        {}\n", case.case, case.finding);
            }
        }
        for warning in &self.warnings {
            words += &format!("\nwarning: {warning}\n");
        }
        for leftover in &self.leftovers {
            words += &format!("\nleft behind: {} ({})\n", leftover.what, leftover.why);
        }
        words
    }
}
