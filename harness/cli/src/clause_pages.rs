//! The clause book as Markdown: an index, a page for each chapter, a page on the upstream specs, and a page on the
//! tolerances that clauses share.
//!
//! The pages depend only on the files of the book, and not on the date, the machine or a cluster. They change only when
//! the book changes.

mod chapter;
mod index;
mod sentences;
mod tolerances;
mod upstream;

use std::collections::BTreeMap;

use probity_suites::{CHAPTERS, Sources};

use crate::cases::book::Book;
use crate::clause_facts::{ClauseFacts, ClauseIndex};
use crate::exit_status::Failure;

/// How each page begins.
pub(crate) const MADE: &str = "<!-- Made by ci/book";

/// The relative path from a page to the root of the project.
const ROOT: &str = "../..";

/// The input of the pages.
struct PageContext<'b> {
    book: &'b Book,
    index: &'b ClauseIndex,
    sources: Sources,
    /// All clauses, in the order of the book.
    clauses: Vec<ClauseFacts<'b>>,
}

impl PageContext<'_> {
    /// The clauses of a chapter.
    fn of(&self, chapter: &str) -> Vec<&ClauseFacts<'_>> {
        let here = |facts: &&ClauseFacts<'_>| facts.chapter.is_some_and(|its| its.name == chapter);
        self.clauses.iter().filter(here).collect()
    }
}

/// All pages by the names of their files.
/// Fails if the built-in book contradicts itself, which its own tests rule out.
pub(crate) fn all(book: &Book, index: &ClauseIndex) -> Result<BTreeMap<String, String>, Failure> {
    let clauses = book.registry.catalogue.iter().map(|clause| index.facts(book, clause)).collect();
    let context = PageContext { book, index, sources: probity_suites::sources()?, clauses };
    let mut pages = BTreeMap::new();
    pages.insert("README.md".to_owned(), index::page(&context));
    pages.insert("upstream.md".to_owned(), upstream::page(&context));
    pages.insert("tolerances.md".to_owned(), tolerances::page());
    for chapter in CHAPTERS {
        pages.insert(format!("{}.md", chapter.name), chapter::page(&context, chapter));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests;
