//! The clause book as Markdown: an index, a page for each chapter, one on upstream's own specs, and one on the tolerances
//! that clauses share.
//!
//! The pages depend on the catalogue, the cases and their neighbours alone, not on the day, the machine or a cluster, so that
//! they change only when the book does.

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

/// From a page to the root of the project.
const ROOT: &str = "../..";

/// All that the pages are made of.
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
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn pages() -> BTreeMap<String, String> {
        all(&Book::built_in().unwrap(), &ClauseIndex::open().unwrap()).unwrap()
    }

    /// Where the links of a page lead.
    fn links(text: &str) -> Vec<&str> {
        let ends = text.split("](").skip(1);
        ends.filter_map(|rest| rest.split(')').next()).collect()
    }

    #[test]
    fn there_is_a_page_for_each_chapter_and_it_has_all_of_its_clauses() {
        let pages = pages();
        assert_eq!(pages.len(), CHAPTERS.len() + 3);
        for chapter in CHAPTERS {
            for clause in chapter.catalogue().unwrap().iter() {
                let anchor = format!("<a id=\"{}\"></a>", clause.id);
                assert_eq!(pages[&format!("{}.md", chapter.name)].matches(&anchor).count(), 1, "{anchor}");
            }
        }
    }

    #[test]
    fn every_link_between_pages_leads_to_an_anchor_that_exists() {
        let pages = pages();
        let mut followed = 0;
        for (name, text) in &pages {
            for link in
                links(text).into_iter().filter(|link| !link.contains("://") && !link.starts_with(ROOT))
            {
                let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
                let page = if page.is_empty() {
                    text
                } else {
                    pages.get(page).unwrap_or_else(|| panic!("{name}: {link}"))
                };
                assert!(
                    anchor.is_empty() || page.contains(&format!("<a id=\"{anchor}\"></a>")),
                    "{name}: {link}"
                );
                followed += 1;
            }
        }
        assert!(followed > 500, "{followed}");
    }

    #[test]
    fn every_link_to_a_file_of_the_project_leads_to_one_that_exists() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(ROOT);
        for (name, text) in &pages() {
            for link in links(text).into_iter().filter_map(|link| link.strip_prefix("../../")) {
                assert!(root.join(link).exists(), "{name}: {link}");
            }
        }
    }
}
