//! The first page: what the book is, its chapters, and where upstream is known to do otherwise.

use probity_model::clause::Level;
use probity_suites::CHAPTERS;

use super::markdown::{base, top, written};
use super::{ROOT, Shelf};
use crate::dossier::Dossier;

/// The page.
pub(super) fn page(shelf: &Shelf<'_>) -> String {
    let judged = shelf.dossiers.iter().filter(|dossier| dossier.judge() == "judged").count();
    let advice = shelf.dossiers.len() - judged;
    let mut text = top("suites/", "The clause book");
    text += &format!(
        "What Probity holds a cluster to: {judged} clauses, each one sentence that somebody promised, with its source, and \
         with the function that judges it; and {advice} sentences of advice, which cannot be judged.\n\n\
         A clause is judged on everything that a run has seen, whichever case showed it. `must` is documented, deterministic \
         and the same on all conforming clusters; `should` is soft in time, depends on runtime or node, or is known from the \
         reference implementation only; `advice` is not judged. A *slack* is the lateness that an upper bound allows, with \
         its reason; a lower bound gives way to noise alone, or says what it allows. Where a *known divergence* is told, a \
         cluster that does exactly that comes out as `diverges` and not as `violated`. A *planted defect* is a way in which the simulated kubelet can be \
         wrong ([all of them]({ROOT}/tests/simulator/src/defects.rs)): that the clause notices it proves that its judge can \
         say no.\n\n\
         The same is told by `probity explain CLAUSE` and `probity list --coverage` ([the program]({ROOT}/docs/probity.md)).\n\n"
    );
    text += &chapters(shelf);
    text += "\n[What upstream's own specs check](upstream.md), and which clauses check it here.\n";
    text += &divergences(shelf);
    text
}

fn chapters(shelf: &Shelf<'_>) -> String {
    let mut text = "## Chapters\n\n| chapter | about | must | should | advice | cases | |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for chapter in CHAPTERS {
        let dossiers = shelf.of(chapter.name);
        let level = |level| dossiers.iter().filter(|dossier| dossier.clause.level == level).count();
        text += &format!(
            "| [{}]({}.md) | {} | {} | {} | {} | {} | [source]({}) |\n",
            chapter.name,
            chapter.name,
            chapter.title,
            level(Level::Must),
            level(Level::Should),
            level(Level::Advice),
            cases(shelf, chapter.name),
            written(chapter),
        );
    }
    text
}

/// How many cases a chapter has, each counted once whatever its matrix makes of it.
fn cases(shelf: &Shelf<'_>, chapter: &str) -> usize {
    let of = |name: &str| name.split('/').next() == Some(chapter);
    let names: std::collections::BTreeSet<&str> =
        shelf.book.cases().map(base).filter(|name| of(name)).collect();
    names.len()
}

fn divergences(shelf: &Shelf<'_>) -> String {
    let known: Vec<&Dossier<'_>> =
        shelf.dossiers.iter().filter(|dossier| dossier.clause.actual.is_some()).collect();
    let mut text = format!(
        "\n## Where upstream is known to do otherwise\n\nOf {} clauses it is known that Kubernetes itself does not keep them, \
         always or in some versions.\n\n| clause | what happens instead |\n|---|---|\n",
        known.len()
    );
    for dossier in known {
        let known = dossier.clause.known().unwrap_or_default();
        let link = shelf.clause(&dossier.clause.id).unwrap_or_default();
        text += &format!("| {link} | {} |\n", shelf.sentences(&known));
    }
    text
}
