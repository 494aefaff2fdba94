//! `report.html`: the report for a browser, with the timelines of its histories, and the promises of `probity try`.

use probity_page::Page;
use probity_report::{BookChapter, Report, Standard, Workers};
use probity_suites::CHAPTERS;

use super::RunSources;
use crate::trials::shown_promises;

/// The page.
pub(super) fn html(report: &Report, sources: &dyn RunSources, standard: Standard) -> String {
    let (chapters, workers) = (chapters(), Workers::all());
    let trials = shown_promises::of(report, sources);
    Page { report, histories: sources, chapters: &chapters, standard, workers, trials: trials.as_ref() }
        .html()
}

/// The chapters of the built-in book. A chapter that cannot be read is left out, and its clauses appear under the others.
/// The tests of the book rule this out.
pub(crate) fn chapters() -> Vec<BookChapter> {
    let read = CHAPTERS.iter().filter_map(|chapter| {
        let clauses = chapter.catalogue().ok()?.iter().map(|clause| clause.id.clone()).collect();
        Some(BookChapter { title: chapter.title.to_owned(), clauses })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report_files::sample;

    #[test]
    fn every_clause_has_its_place_and_hostile_text_stays_text() {
        let run = sample::run();
        let page = html(&run.report(), &run.stored(), Standard::default());
        for clause in &sample::report().clauses {
            assert!(page.contains(&format!("id=\"{}\"", clause.id)), "{}", clause.id);
        }
        assert!(!page.contains("<script>alert"), "markup of an event");
    }

    #[test]
    fn every_chapter_is_known() {
        assert_eq!(chapters().len(), CHAPTERS.len());
        assert!(chapters().iter().all(|chapter| !chapter.clauses.is_empty()));
    }
}
