//! The page on upstream's own specs: what each arranges and asserts, which clauses check it here, and what they add.

use std::collections::BTreeSet;

use probity_suites::{CHAPTERS, Check};

use super::Shelf;
use super::markdown::{count, specs, top};
use crate::dossier::Dossier;

/// The page.
pub(super) fn page(shelf: &Shelf<'_>) -> String {
    let upstream = &shelf.archive.upstream;
    let mut text =
        top("suites/upstream.yaml", "What upstream's own specs check, and where it is checked here");
    text += &format!(
        "The end-to-end suite of Kubernetes ({}) has {} specs about probes. This page says for each what it asserts and which \
         clauses of the book cover that, so that who runs Probity instead of them knows what is lost and what is gained. \
         Upstream looks at a pod every two seconds and never at what the container saw; most of its bounds are four minutes \
         wide. Each clause below is judged by the witness of the target, with a bound that follows from the probe's own \
         fields.\n\n\
         Most lines of the first table are two specs: one for a regular container and one for a sidecar. Judges look at both \
         kinds alike.\n",
        upstream.release,
        upstream.specs()
    );
    let numbered: Vec<(usize, usize, &Check)> = upstream.numbered().collect();
    for group in numbered.chunk_by(|(_, _, one), (_, _, other)| one.file == other.file) {
        text += &of_file(shelf, group);
    }
    text += &beyond(&numbered, shelf);
    text + &ours(shelf)
}

fn of_file(shelf: &Shelf<'_>, group: &[(usize, usize, &Check)]) -> String {
    let Some((_, _, check)) = group.first() else { return String::new() };
    let specs: usize = group.iter().map(|(_, _, check)| check.lines.len()).sum();
    let name = check.file.rsplit('/').next().unwrap_or(&check.file);
    let mut text = format!(
        "\n## {name}: {}\n\n[{}]({})\n\n| # | upstream arranges | and asserts | clauses | what they add |\n\
         |---|---|---|---|---|\n",
        count(specs, "spec", "specs"),
        check.file,
        address(shelf, check)
    );
    for (first, _, check) in group {
        text += &format!(
            "| <a id=\"{first}\"></a>{} | {} | {} | {} | {} |\n",
            specs_of(shelf, *first, check),
            shelf.prose(&check.arranges),
            shelf.prose(&check.asserts),
            shelf.clauses(&check.clauses),
            shelf.prose(&check.adds)
        );
    }
    text
}

/// The numbers of the specs, each leading to where it begins.
fn specs_of(shelf: &Shelf<'_>, first: usize, check: &Check) -> String {
    let link = |(at, line): (usize, &u32)| format!("[{}]({}#L{line})", first + at, address(shelf, check));
    check.lines.iter().enumerate().map(link).collect::<Vec<_>>().join(", ")
}

fn address(shelf: &Shelf<'_>, check: &Check) -> String {
    format!("https://github.com/kubernetes/kubernetes/blob/{}/{}", shelf.archive.upstream.release, check.file)
}

fn beyond(numbered: &[(usize, usize, &Check)], shelf: &Shelf<'_>) -> String {
    let mut text = "\n## What of it no clause covers\n\n".to_owned();
    for (first, last, check) in numbered {
        if let Some(why) = &check.beyond {
            text += &format!("- {}: {}\n", specs(*first, *last), shelf.sentences(why));
        }
    }
    text
}

/// How many clauses of each chapter upstream checks at all.
fn ours(shelf: &Shelf<'_>) -> String {
    let covered: BTreeSet<&str> = shelf
        .archive
        .upstream
        .checks
        .iter()
        .flat_map(|check| &check.clauses)
        .map(probity_model::ClauseId::as_str)
        .collect();
    let judged: Vec<&Dossier<'_>> =
        shelf.dossiers.iter().filter(|dossier| dossier.clause.untestable.is_none()).collect();
    let mut text = format!(
        "\n## What only Probity checks\n\nOf {} clauses that are judged here, upstream's probe specs touch {}.\n\n\
         | chapter | clauses | touched by upstream | only here |\n|---|---|---|---|\n",
        judged.len(),
        covered.len()
    );
    for chapter in CHAPTERS {
        let of: Vec<&&Dossier<'_>> = judged
            .iter()
            .filter(|dossier| dossier.chapter.is_some_and(|its| its.name == chapter.name))
            .collect();
        let touched = of.iter().filter(|dossier| covered.contains(dossier.clause.id.as_str())).count();
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
