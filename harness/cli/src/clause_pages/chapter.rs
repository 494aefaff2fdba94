//! The page of a chapter: a table of its clauses, each clause with all its facts, and the chapter's cases.

use std::collections::BTreeMap;

use probity_case::Case;
use probity_suites::Chapter;

use super::sentences::{anchor, base, case, specs, top, written};
use super::{PageContext, ROOT};
use crate::clause_facts::ClauseFacts;
use crate::output::{counted, first_sentence, word};

/// The page.
pub(super) fn page(context: &PageContext<'_>, chapter: &Chapter) -> String {
    let clauses = context.of(chapter.name);
    let mut text = top(&format!("suites/{}", chapter.name), chapter.title);
    text += &format!(
        "[The clause book](README.md), chapter `{}`: {}, written in [clauses.yaml]({}).\n\n\
         | clause | | promise |\n|---|---|---|\n",
        chapter.name,
        counted(clauses.len(), "clause"),
        written(chapter)
    );
    for facts in &clauses {
        let clause = facts.clause;
        text += &format!(
            "| [`{}`](#{}) | {} | {} |\n",
            clause.id,
            clause.id,
            word(&clause.level),
            context.sentences(&first_sentence(&clause.says))
        );
    }
    for facts in &clauses {
        text += &entry(context, facts);
    }
    text + &cases(context, chapter)
}

fn entry(context: &PageContext<'_>, facts: &ClauseFacts<'_>) -> String {
    let clause = facts.clause;
    let mut marks = vec![format!("**{}**", word(&clause.level))];
    marks.extend(clause.versions().map(|versions| format!("Kubernetes {versions}")));
    marks.extend(clause.needs.iter().map(|need| format!("needs `{}`", word(need))));
    let mut text = format!(
        "\n<a id=\"{}\"></a>\n\n## `{}`\n\n{}\n\n> {}\n",
        clause.id,
        clause.id,
        marks.join(" · "),
        context.sentences(&clause.says)
    );
    let mut part = |name: &str, said: &str| {
        let gap = if said.starts_with('\n') { "" } else { " " };
        text += &format!("\n**{name}**{gap}{said}\n");
    };
    part("Source:", &source(context, facts));
    if let Some(known) = clause.known() {
        let issue = clause.actual_issue.as_ref().map(|issue| format!(" See <{issue}>.")).unwrap_or_default();
        part("Known divergence:", &(context.sentences(&known) + &issue));
    }
    if let Some(why) = &clause.untestable {
        part("Not judged:", &context.sentences(why));
        return text;
    }
    part("Tested:", &context.sentences(&clause.tested));
    if !clause.unless_configured.is_empty() {
        let settings: Vec<String> = clause.unless_configured.iter().map(|name| format!("`{name}`")).collect();
        part("Inconclusive if the kubelet is configured with:", &settings.join(", "));
    }
    if let Some(slack) = &clause.slack {
        part("Slack:", &format!("{}. {}", slack.by, context.sentences(&slack.because)));
    }
    let tolerances = clause.tolerances.iter().map(|(name, tolerance)| {
        format!("\n- `{name}`, {}: {}", tolerance.amount(), context.prose(&tolerance.because))
    });
    let tolerances: String = tolerances.collect();
    if !tolerances.is_empty() {
        part("Tolerances:", &format!("\n{tolerances}"));
    }
    if !clause.facets.is_empty() {
        let facets: String =
            clause.facets_in_words().map(|(of, values)| format!("\n- {of}: {values}")).collect();
        part("Holds only if observed for each of:", &format!("\n{facets}"));
    }
    part("Cases:", &cases_of(context, facts));
    part("Planted defects that it detects:", &defects_of(context, facts));
    if !facts.real_defects.is_empty() {
        let names: Vec<String> = facts.real_defects.iter().map(|name| format!("`{name}`")).collect();
        part("Defects of a real kubelet that it detects:", &names.join(", "));
    } else if let Some(why) = &facts.clause.without_real_defect {
        part("Defects of a real kubelet that it detects:", &format!("None. {}", context.sentences(why)));
    }
    part("Upstream's own specs:", &upstream_of(context, facts));
    text
}

fn source(context: &PageContext<'_>, facts: &ClauseFacts<'_>) -> String {
    let (source, sources) = (&facts.clause.source, &context.index.sources);
    let document = sources
        .document(source)
        .map_or_else(|| source.document.clone(), |address| format!("[{}]({address})", source.document));
    let anchor = match (&source.anchor, sources.file(source)) {
        (Some(anchor), Some(address)) => format!(", [{anchor}]({address})"),
        (Some(anchor), None) => format!(", {anchor}"),
        (None, _) => String::new(),
    };
    format!("{document}, edition {}{anchor}", source.edition)
}

/// The cases of a clause, each with the first sentence of its story. The variants of a matrix count as one.
fn cases_of(context: &PageContext<'_>, facts: &ClauseFacts<'_>) -> String {
    let reason = facts.clause.without_case.as_ref();
    if facts.cases.is_empty() {
        return reason.map_or_else(|| "None.".to_owned(), |why| format!("None. {}", context.sentences(why)));
    }
    let mut stories: Vec<(&str, &str)> =
        facts.cases.iter().map(|case| (base(case), case.story.as_str())).collect();
    stories.dedup_by_key(|(name, _)| *name);
    let line = |(name, story): &(&str, &str)| {
        format!("\n- {}: {}", case(name), context.prose(&first_sentence(story)))
    };
    format!("\n{}", stories.iter().map(line).collect::<String>())
}

fn defects_of(context: &PageContext<'_>, facts: &ClauseFacts<'_>) -> String {
    if facts.defects.is_empty() {
        let reason = facts.clause.without_defect.as_ref();
        return reason.map_or_else(|| "None.".to_owned(), |why| format!("None. {}", context.sentences(why)));
    }
    let names: Vec<String> = facts.defects.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn upstream_of(context: &PageContext<'_>, facts: &ClauseFacts<'_>) -> String {
    if facts.upstream.is_empty() {
        return "None of them checks this.".to_owned();
    }
    let line = |(first, last, check): &(usize, usize, &probity_suites::Check)| {
        let said = if first == last { "The spec asserts" } else { "The specs assert" };
        format!(
            "\n- {}: {}. {said}: {}.",
            specs(*first, *last),
            context.prose(&check.arranges),
            context.prose(&check.asserts)
        )
    };
    format!("\n{}", facts.upstream.iter().map(line).collect::<String>())
}

/// The cases of the chapter, each once, with its story and its file.
fn cases(context: &PageContext<'_>, chapter: &Chapter) -> String {
    let mut by_name: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in context.book.cases().filter(|case| case.name.0.split('/').next() == Some(chapter.name)) {
        by_name.entry(base(case)).or_default().push(case);
    }
    let mut text = "\n## The cases of this chapter\n".to_owned();
    for (name, variants) in &by_name {
        let Some(first) = variants.first() else { continue };
        let mut marks = vec![word(&first.profile), format!("about {}", first.forecast())];
        marks.extend(first.needs.iter().map(|need| format!("needs `{}`", word(need))));
        if variants.len() > 1 {
            marks.push(format!("{} variants", variants.len()));
        }
        let file = context.book.file_of(&first.name).map_or("", |file| file.source.as_str());
        text += &format!(
            "\n<a id=\"{}\"></a>\n\n### `{name}`\n\n{} · [{file}]({ROOT}/{file})\n\n{}\n",
            anchor(name),
            marks.join(" · "),
            context.prose(&first.story)
        );
        if !first.judges.is_empty() {
            text += &format!("\nTargets {}.\n", context.links(&first.judges));
        }
    }
    text
}
