//! The first page: the book, its chapters, and the known divergences of upstream.

use probity_model::clause::Level;
use probity_suites::CHAPTERS;

use super::sentences::{base, top, written};
use super::{PageContext, ROOT};
use crate::clause_facts::ClauseFacts;

/// The page.
pub(super) fn page(context: &PageContext<'_>) -> String {
    let judged = context.clauses.iter().filter(|facts| facts.judge() == "judged").count();
    let advice = context.clauses.len() - judged;
    let mut text = top("suites/", "The clause book");
    text += &format!(
        "This book defines what Probity expects of a cluster. It has {judged} clauses, each a requirement in one \
         sentence with its source and the function that judges it, and {advice} sentences of advice, which are not \
         judged.\n\nEvery clause is judged on all histories of a run, regardless of which case recorded them. A \
         `must` clause is documented, deterministic and the same on all conforming clusters. A `should` clause has \
         no exact time, depends on the runtime or the node, or is derived only from the reference implementation. \
         `advice` is not judged. The *slack* of a clause is the delay that an upper bound allows, with its reason; a \
         lower bound is relaxed only by the time for which a process that recorded an event was stalled or the node \
         was busy, or by what the clause itself states. The *tolerances* of a clause are its other allowances, and the \
         number of observations that its judge needs; [tolerances that clauses share](tolerances.md) are on a separate \
         page. A cluster that does exactly what a *known divergence* describes gets `diverges` instead of `violated`. \
         A *planted defect* is a fault of the simulated kubelet ([all of \
         them]({ROOT}/tests/simulator/src/defects.rs)): a clause that detects one proves that its judge can report a \
         violation.\n\n`probity explain CLAUSE` and `probity list --coverage` print the same details ([the \
         program]({ROOT}/docs/probity.md)).\n\n"
    );
    text += &chapters(context);
    text += "\n[What upstream's own specs check](upstream.md), and which clauses check it here.\n";
    text += &divergences(context);
    text
}

fn chapters(context: &PageContext<'_>) -> String {
    let mut text = "## Chapters\n\n| chapter | about | must | should | advice | cases | |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for chapter in CHAPTERS {
        let clauses = context.of(chapter.name);
        let level = |level| clauses.iter().filter(|facts| facts.clause.level == level).count();
        text += &format!(
            "| [{}]({}.md) | {} | {} | {} | {} | {} | [source]({}) |\n",
            chapter.name,
            chapter.name,
            chapter.title,
            level(Level::Must),
            level(Level::Should),
            level(Level::Advice),
            cases(context, chapter.name),
            written(chapter),
        );
    }
    text
}

/// How many cases a chapter has. The variants of a matrix count as one.
fn cases(context: &PageContext<'_>, chapter: &str) -> usize {
    let of = |name: &str| name.split('/').next() == Some(chapter);
    let names: std::collections::BTreeSet<&str> =
        context.book.cases().map(base).filter(|name| of(name)).collect();
    names.len()
}

fn divergences(context: &PageContext<'_>) -> String {
    let known: Vec<&ClauseFacts<'_>> =
        context.clauses.iter().filter(|facts| facts.clause.actual.is_some()).collect();
    let mut text = format!(
        "\n## Known divergences of upstream\n\nKubernetes itself is known to diverge from {} clauses, always or in some \
         versions.\n\n| clause | what happens instead |\n|---|---|\n",
        known.len()
    );
    for facts in known {
        let known = facts.clause.known().unwrap_or_default();
        let link = context.link(&facts.clause.id).unwrap_or_default();
        text += &format!("| {link} | {} |\n", context.sentences(&known));
    }
    text
}
