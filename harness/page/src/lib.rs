//! `report.html`: the report of a run as one page.
//!
//! ```text
//! Report, histories  ->  Page  ->  one text: markup, style, script and data
//! ```
//!
//! The page asks for nothing: its policy forbids every request, and no script but its own runs. All that a reader needs to
//! judge a verdict stands in the markup: verdicts, findings, evidence in words, facets, measurements, commands. The script adds
//! filters, and draws the timeline of a case when somebody looks at it. A timeline is stored once for each case, with the
//! manifests as they were sent, packed; the clauses name the events to mark in it.
//!
//! Everything from a cluster is hostile: see `html.rs`, the only place where text becomes part of the page.

mod bars;
mod case_data;
mod cases;
mod clause_detail;
mod clauses;
mod html;
mod index;
mod lanes;
mod measured;
mod run_facts;
mod top;
mod words;

use data_encoding::BASE64;
use probity_model::ClauseId;
use probity_report::{Report, Standard, StoredHistory};
use sha2::{Digest, Sha256};

use case_data::CaseData;
use html::Html;
use index::Index;

/// How large a page may become, in bytes: what a mail takes, and a phone opens in a moment.
const LARGEST: usize = 3_000_000 - 1000;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("timeline.css"));
const SCRIPT: &str =
    concat!(include_str!("page.js"), include_str!("case_data.js"), include_str!("timeline.js"));

/// All that a page is made of.
#[derive(Clone, Copy)]
pub struct Page<'p> {
    /// The report.
    pub report: &'p Report,
    /// The histories of the run, as they were read.
    pub histories: &'p [StoredHistory],
    /// The chapters of the book, in its order. Clauses of none are shown last.
    pub chapters: &'p [PageChapter],
    /// What counts as a failure.
    pub standard: Standard,
}

/// A chapter of the book: what the page needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageChapter {
    /// What it is about.
    pub title: String,
    /// Its clauses.
    pub clauses: Vec<ClauseId>,
}

impl Page<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let index = Index::of(self);
        let mut page = Html::default();
        head(&mut page, self.report);
        page.add(&top::html(&index));
        page.raw("<main id=\"main\">\n");
        page.add(&clauses::html(&index)).add(&cases::html(&index)).add(&run_facts::html(&index));
        page.raw("</main>\n");
        let room = LARGEST.saturating_sub(page.len());
        CaseData::of(&index).put(&mut page, room);
        page.raw("</body>\n</html>\n");
        page.into_text()
    }
}

/// The head: the policy, the style and the script. The script comes first, so that the page never shows what it hides at once.
fn head(page: &mut Html, report: &Report) {
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text.as_bytes()));
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n").put(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; \
         style-src 'sha256-{}'; script-src 'sha256-{}'\">\n",
        &[&digest(STYLE), &digest(SCRIPT)],
    );
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.put("<title>Probity: {}, {}</title>\n", &[&report.headline(), &report.run_id]);
    page.raw("<style>").raw(STYLE).raw("</style>\n<script>").raw(SCRIPT).raw("</script>\n</head>\n<body>\n");
    page.raw(include_str!("icons.svg"));
}

#[cfg(test)]
mod tests;
