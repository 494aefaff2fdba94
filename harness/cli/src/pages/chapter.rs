//! The page of a chapter: a table of its clauses, each clause with all that is known of it, and the chapter's cases.

use std::collections::BTreeMap;

use probity_case::Case;
use probity_suites::Chapter;

use super::markdown::{anchor, base, case, count, specs, top, written};
use super::{ROOT, Shelf};
use crate::dossier::Dossier;
use crate::say;
use crate::select::{need_word, profile_word};
use crate::verdicts::level_word;

/// The page.
pub(super) fn page(shelf: &Shelf<'_>, chapter: &Chapter) -> String {
    let dossiers = shelf.of(chapter.name);
    let mut text = top(&format!("suites/{}", chapter.name), chapter.title);
    text += &format!(
        "[The clause book](README.md), chapter `{}`: {}, written in [clauses.yaml]({}).\n\n\
         | clause | | promise |\n|---|---|---|\n",
        chapter.name,
        count(dossiers.len(), "clause", "clauses"),
        written(chapter)
    );
    for dossier in &dossiers {
        let clause = dossier.clause;
        text += &format!(
            "| [`{}`](#{}) | {} | {} |\n",
            clause.id,
            clause.id,
            level_word(clause.level),
            shelf.sentences(&say::first_sentence(&clause.says))
        );
    }
    for dossier in &dossiers {
        text += &entry(shelf, dossier);
    }
    text + &cases(shelf, chapter)
}

fn entry(shelf: &Shelf<'_>, dossier: &Dossier<'_>) -> String {
    let clause = dossier.clause;
    let mut marks = vec![format!("**{}**", level_word(clause.level))];
    marks.extend(clause.versions().map(|versions| format!("{versions} of Kubernetes")));
    marks.extend(clause.needs.iter().map(|need| format!("needs `{}`", need_word(*need))));
    let mut text = format!(
        "\n<a id=\"{}\"></a>\n\n## `{}`\n\n{}\n\n> {}\n",
        clause.id,
        clause.id,
        marks.join(" · "),
        shelf.sentences(&clause.says)
    );
    let mut part = |name: &str, said: &str| {
        let gap = if said.starts_with('\n') { "" } else { " " };
        text += &format!("\n**{name}**{gap}{said}\n");
    };
    part("Source:", &source(shelf, dossier));
    if let Some(known) = clause.known() {
        part("Known divergence:", &shelf.sentences(&known));
    }
    if let Some(why) = &clause.untestable {
        part("Not judged:", &shelf.sentences(why));
        return text;
    }
    part("Tested:", &shelf.sentences(&clause.tested));
    if let Some(slack) = &clause.slack {
        part("Slack:", &format!("{}. {}", slack.by, shelf.sentences(&slack.because)));
    }
    part("Cases:", &cases_of(shelf, dossier));
    part("Planted defects that it notices:", &defects_of(shelf, dossier));
    part("Upstream's own specs:", &upstream_of(shelf, dossier));
    text
}

fn source(shelf: &Shelf<'_>, dossier: &Dossier<'_>) -> String {
    let source = &dossier.clause.source;
    let document = shelf
        .sources
        .document(source)
        .map_or_else(|| source.document.clone(), |address| format!("[{}]({address})", source.document));
    let anchor = match (&source.anchor, shelf.sources.file(source)) {
        (Some(anchor), Some(address)) => format!(", [{anchor}]({address})"),
        (Some(anchor), None) => format!(", {anchor}"),
        (None, _) => String::new(),
    };
    format!("{document}, edition {}{anchor}", source.edition)
}

/// The cases of a clause with what each is about, whatever variants its matrix makes of it.
fn cases_of(shelf: &Shelf<'_>, dossier: &Dossier<'_>) -> String {
    let reason = dossier.clause.without_case.as_ref();
    if dossier.cases.is_empty() {
        return reason.map_or_else(|| "None.".to_owned(), |why| format!("None. {}", shelf.sentences(why)));
    }
    let mut stories: Vec<(&str, &str)> =
        dossier.cases.iter().map(|case| (base(case), case.story.as_str())).collect();
    stories.dedup_by_key(|(name, _)| *name);
    let line = |(name, story): &(&str, &str)| {
        format!("\n- {}: {}", case(name), shelf.prose(&say::first_sentence(story)))
    };
    format!("\n{}", stories.iter().map(line).collect::<String>())
}

fn defects_of(shelf: &Shelf<'_>, dossier: &Dossier<'_>) -> String {
    if dossier.defects.is_empty() {
        let reason = dossier.clause.without_defect.as_ref();
        return reason.map_or_else(|| "None.".to_owned(), |why| format!("None. {}", shelf.sentences(why)));
    }
    let names: Vec<String> = dossier.defects.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn upstream_of(shelf: &Shelf<'_>, dossier: &Dossier<'_>) -> String {
    if dossier.upstream.is_empty() {
        return "None checks this.".to_owned();
    }
    let line = |(first, last, check): &(usize, usize, &probity_suites::Check)| {
        format!(
            "\n- {}: {}; it asserts: {}.",
            specs(*first, *last),
            shelf.prose(&check.arranges),
            shelf.prose(&check.asserts)
        )
    };
    format!("\n{}", dossier.upstream.iter().map(line).collect::<String>())
}

/// The cases of the chapter, each once, with its story and where it is written.
fn cases(shelf: &Shelf<'_>, chapter: &Chapter) -> String {
    let mut by_name: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in shelf.book.cases().filter(|case| case.name.0.split('/').next() == Some(chapter.name)) {
        by_name.entry(base(case)).or_default().push(case);
    }
    let mut text = "\n## The cases of this chapter\n".to_owned();
    for (name, variants) in &by_name {
        let Some(first) = variants.first() else { continue };
        let mut marks = vec![profile_word(first.profile).to_owned(), format!("about {}", first.forecast())];
        marks.extend(first.needs.iter().map(|need| format!("needs `{}`", need_word(*need))));
        if variants.len() > 1 {
            marks.push(format!("{} variants", variants.len()));
        }
        let file = shelf.book.file_of(first).map_or("", |file| file.source.as_str());
        text += &format!(
            "\n<a id=\"{}\"></a>\n\n### `{name}`\n\n{} · [{file}]({ROOT}/{file})\n\n{}\n",
            anchor(name),
            marks.join(" · "),
            shelf.prose(&first.story)
        );
        if !first.judges.is_empty() {
            text += &format!("\nMust give evidence for {}.\n", shelf.clauses(&first.judges));
        }
    }
    text
}
