//! The page about the upstream specs: what each spec arranges and asserts, which clauses check the same here, and what
//! the clauses add.

use std::collections::BTreeSet;

use probity_suites::{Area, CHAPTERS, Check};

use super::PageContext;
use super::sentences::{specs, top};
use crate::clause_facts::ClauseFacts;
use crate::output::counted;

/// A check with the first and the last number of its specs.
type Numbered<'u> = (usize, usize, &'u Check);

/// The page.
pub(super) fn page(context: &PageContext<'_>) -> String {
    let upstream = &context.index.upstream;
    let mut numbered = upstream.numbered();
    let mut areas: Vec<(&Area, Vec<Numbered<'_>>)> = Vec::new();
    for area in &upstream.areas {
        areas.push((area, numbered.by_ref().take(area.checks.len()).collect()));
    }
    let mut text =
        top("suites/upstream/*.yaml", "What upstream's own specs check, and where it is checked here");
    text += &format!(
        "This page lists {} of the end-to-end suite of Kubernetes ({}): those on probes and on the lifecycle of \
         pods, but not those on static pods and ephemeral containers. It shows what each spec asserts and which \
         clauses of the book cover it, so that users who replace the suite with Probity know what they lose and gain. \
         Most specs poll a pod every two seconds, and allow minutes for something that takes seconds. The specs on \
         probes never check what the container received. Probity judges the clauses from the target's own record, \
         with a bound that follows from the fields of the pod.\n\nThe specs in `test/e2e_node` ({}) start their own \
         kubelet and cannot test an existing cluster. Most lines of the table of `container_probe.go` are two specs: \
         one for a regular container and one for a sidecar. The judges treat both kinds alike.\n\n",
        counted(upstream.specs(), "spec"),
        upstream.release,
        of_own_kubelet(&areas)
    );
    text += &summary(&areas);
    for (area, checks) in &areas {
        text += &format!("\n## {}: {}\n", area.title, counted(area.specs(), "spec"));
        for group in checks.chunk_by(|(_, _, one), (_, _, other)| one.file == other.file) {
            text += &of_file(context, group);
        }
    }
    text += &beyond(&areas, context);
    text + &ours(context)
}

/// How many specs run only against a kubelet that they start.
fn of_own_kubelet(areas: &[(&Area, Vec<Numbered<'_>>)]) -> usize {
    let checks = areas.iter().flat_map(|(area, _)| &area.checks);
    checks.filter(|check| check.file.starts_with("test/e2e_node/")).map(|check| check.lines.len()).sum()
}

/// The areas, with their numbers of specs.
fn summary(areas: &[(&Area, Vec<Numbered<'_>>)]) -> String {
    let mut text = "| about | numbers | specs | without a clause |\n|---|---|---|---|\n".to_owned();
    for (area, checks) in areas {
        if let (Some((first, ..)), Some((_, last, _))) = (checks.first(), checks.last()) {
            text += &format!(
                "| {} | {} | {} | {} |\n",
                area.title,
                specs(*first, *last),
                area.specs(),
                area.uncovered()
            );
        }
    }
    text
}

fn of_file(context: &PageContext<'_>, group: &[Numbered<'_>]) -> String {
    let Some((_, _, check)) = group.first() else { return String::new() };
    let specs: usize = group.iter().map(|(_, _, check)| check.lines.len()).sum();
    let name = check.file.rsplit('/').next().unwrap_or(&check.file);
    let mut text = format!(
        "\n### {name}: {}\n\n[{}]({})\n\n| # | upstream arranges | and asserts | clauses | what they add |\n\
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
            clauses_of(context, check),
            context.prose(check.adds.as_deref().unwrap_or_default())
        );
    }
    text
}

/// The clauses that cover a check, or why there are none.
fn clauses_of(context: &PageContext<'_>, check: &Check) -> String {
    match &check.beyond {
        Some(why) if check.clauses.is_empty() => format!("None. {}", context.sentences(why)),
        _ => context.links(&check.clauses),
    }
}

/// The numbers of the specs, each with a link to the line where the spec begins.
fn specs_of(context: &PageContext<'_>, first: usize, check: &Check) -> String {
    let link = |(at, line): (usize, &u32)| format!("[{}]({}#L{line})", first + at, address(context, check));
    check.lines.iter().enumerate().map(link).collect::<Vec<_>>().join(", ")
}

fn address(context: &PageContext<'_>, check: &Check) -> String {
    format!("https://github.com/kubernetes/kubernetes/blob/{}/{}", context.index.upstream.release, check.file)
}

fn beyond(areas: &[(&Area, Vec<Numbered<'_>>)], context: &PageContext<'_>) -> String {
    let uncovered: usize = areas.iter().map(|(area, _)| area.uncovered()).sum();
    let mut text = format!(
        "\n## What upstream checks and no clause covers\n\nNo clause covers {}: the tables above say why. Clauses \
         cover only a part of these:\n\n",
        counted(uncovered, "spec")
    );
    for (first, last, check) in areas.iter().flat_map(|(_, checks)| checks) {
        if let Some(why) = check.beyond.as_ref().filter(|_| !check.clauses.is_empty()) {
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
        .numbered()
        .flat_map(|(_, _, check)| &check.clauses)
        .map(probity_model::ClauseId::as_str)
        .collect();
    let judged: Vec<&ClauseFacts<'_>> =
        context.clauses.iter().filter(|facts| facts.clause.untestable.is_none()).collect();
    let mut text = format!(
        "\n## What only Probity checks\n\nThese specs touch {1} of the {0} clauses that are judged here.\n\n\
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
