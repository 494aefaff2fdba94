//! The page on upstream's own specs: what each arranges and asserts, which clauses check it here, and what they add.

use std::collections::BTreeSet;

use probity_suites::{CHAPTERS, Check};

use super::PageContext;
use super::sentences::{specs, top};
use crate::clause_facts::ClauseFacts;
use crate::output::counted;

/// The page.
pub(super) fn page(context: &PageContext<'_>) -> String {
    let upstream = &context.index.upstream;
    let mut text =
        top("suites/upstream.yaml", "What upstream's own specs check, and where it is checked here");
    text += &format!(
        "The end-to-end suite of Kubernetes ({}) has {} specs about probes. This page shows what each spec asserts and which \
         clauses of the book cover it, so that users who replace the suite with Probity know what they lose and gain. \
         Upstream looks at a pod every two seconds and never at what the container saw; most of its bounds are four minutes \
         wide. The clauses below are judged by the target's own record, with a bound that follows from the probe's own \
         fields.\n\n\
         Most lines of the first table are two specs: one for a regular container and one for a sidecar. The judges treat \
         both kinds alike.\n",
        upstream.release,
        upstream.specs()
    );
    let numbered: Vec<(usize, usize, &Check)> = upstream.numbered().collect();
    for group in numbered.chunk_by(|(_, _, one), (_, _, other)| one.file == other.file) {
        text += &of_file(context, group);
    }
    text += &beyond(&numbered, context);
    text + &ours(context)
}

fn of_file(context: &PageContext<'_>, group: &[(usize, usize, &Check)]) -> String {
    let Some((_, _, check)) = group.first() else { return String::new() };
    let specs: usize = group.iter().map(|(_, _, check)| check.lines.len()).sum();
    let name = check.file.rsplit('/').next().unwrap_or(&check.file);
    let mut text = format!(
        "\n## {name}: {}\n\n[{}]({})\n\n| # | upstream arranges | and asserts | clauses | what they add |\n\
         |---|---|---|---|---|\n",
        counted(specs, "spec"),
        check.file,
        address(context, check)
    );
    for (first, _, check) in group {
        text += &format!(
            "| <a id=\"{first}\"></a>{} | {} | {} | {} | {} |\n",
            specs_of(context, *first, check),
            context.prose(&check.arranges),
            context.prose(&check.asserts),
            context.links(&check.clauses),
            context.prose(&check.adds)
        );
    }
    text
}

/// The numbers of the specs, each leading to where it begins.
fn specs_of(context: &PageContext<'_>, first: usize, check: &Check) -> String {
    let link = |(at, line): (usize, &u32)| format!("[{}]({}#L{line})", first + at, address(context, check));
    check.lines.iter().enumerate().map(link).collect::<Vec<_>>().join(", ")
}

fn address(context: &PageContext<'_>, check: &Check) -> String {
    format!("https://github.com/kubernetes/kubernetes/blob/{}/{}", context.index.upstream.release, check.file)
}

fn beyond(numbered: &[(usize, usize, &Check)], context: &PageContext<'_>) -> String {
    let mut text = "\n## What upstream checks and no clause covers\n\n".to_owned();
    for (first, last, check) in numbered {
        if let Some(why) = &check.beyond {
            text += &format!("- {}: {}\n", specs(*first, *last), context.sentences(why));
        }
    }
    text
}

/// How many clauses of each chapter upstream checks at all.
fn ours(context: &PageContext<'_>) -> String {
    let covered: BTreeSet<&str> = context
        .index
        .upstream
        .checks
        .iter()
        .flat_map(|check| &check.clauses)
        .map(probity_model::ClauseId::as_str)
        .collect();
    let judged: Vec<&ClauseFacts<'_>> =
        context.clauses.iter().filter(|facts| facts.clause.untestable.is_none()).collect();
    let mut text = format!(
        "\n## What only Probity checks\n\nUpstream's probe specs touch {1} of the {0} clauses that are judged here.\n\n\
         | chapter | clauses | touched by upstream | only here |\n|---|---|---|---|\n",
        judged.len(),
        covered.len()
    );
    for chapter in CHAPTERS {
        let of: Vec<&&ClauseFacts<'_>> =
            judged.iter().filter(|facts| facts.chapter.is_some_and(|its| its.name == chapter.name)).collect();
        let touched = of.iter().filter(|facts| covered.contains(facts.clause.id.as_str())).count();
        text += &format!(
            "| [{}]({}.md) | {} | {touched} | {} |\n",
            chapter.name,
            chapter.name,
            of.len(),
            of.len() - touched
        );
    }
    text
}
