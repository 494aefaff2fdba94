//! Pages that need no network: the `report.html` of a run, many reports side by side, and the changes between two
//! reports.
//!
//! ```text
//! Report, histories  ->  Page  ->  one text: markup, style, script and data
//! ```
//!
//! [`MatrixPage`] and [`DiffPage`] are generated only from reports. All three kinds of page share the style sheet, the
//! script, the top and the table.
//!
//! A page sends no requests: its policy forbids them, and only its own script runs. Everything that a reader needs to
//! judge a verdict is in the markup: verdicts, findings, evidence in words, facets, measurements, commands. The script
//! adds filters, and draws the timeline of a case when the user opens it. Each case has one compressed timeline, with the
//! manifests as they were sent. The clauses name the events to mark in it. The page of a run of `probity try` also has the
//! promises of the probe settings, as a table for each fault and as bands in the timeline of its case.
//!
//! All text from a cluster is untrusted: see `html.rs`, the only place where text becomes part of the page.

mod bars;
mod case_data;
mod cases;
mod certificate;
mod clause_detail;
mod clauses;
mod difference;
mod html;
mod index;
mod lanes;
mod measured;
mod run_facts;
mod shell;
mod side_by_side;
mod sides;
mod top;
mod trials;
mod words;

pub use difference::DiffPage;
pub use side_by_side::MatrixPage;
pub use sides::Link;
pub use trials::{Course, Drawing, Standing, Trial, TrialRow, Trials};

use probity_report::{BookChapter, Histories, Report, Standard, Workers};

use case_data::CaseData;
use html::Html;
use index::Index;

/// The maximum size of a page, in bytes. A page of this size fits into an email, and a phone opens it quickly.
const LARGEST: usize = 3_000_000 - 1000;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("timeline.css"));
const SCRIPT: &str =
    concat!(include_str!("page.js"), include_str!("case_data.js"), include_str!("timeline.js"));

/// Pages that compare reports have the table, the filters and the keyboard shortcuts of a report, but no timelines.
const COMPARING_STYLE: &str = concat!(include_str!("page.css"), include_str!("comparing.css"));
const COMPARING_SCRIPT: &str = include_str!("page.js");

/// The input of a page.
#[derive(Clone, Copy)]
pub struct Page<'p> {
    /// The report.
    pub report: &'p Report,
    /// The histories of the run.
    pub histories: &'p dyn Histories,
    /// The chapters of the book, in its order. Clauses without a chapter are shown last.
    pub chapters: &'p [BookChapter],
    /// What counts as a failure.
    pub standard: Standard,
    /// The threads that read the histories.
    pub workers: Workers,
    /// The trials of a run of `probity try`. `None` for every other run.
    pub trials: Option<&'p Trials>,
}

impl Page<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let index = Index::of(self);
        let mut page = Html::default();
        let title = format!("{}, {}", self.report.headline(), self.report.run_id);
        shell::head(&mut page, &title, STYLE, SCRIPT);
        page.add(&top::html(&index));
        page.raw("<main id=\"main\">\n").add(&trials::html(&index, self.histories));
        page.add(&clauses::html(&index)).add(&cases::html(&index)).add(&run_facts::html(&index));
        page.raw("</main>\n");
        let room = LARGEST.saturating_sub(page.len());
        CaseData::of(&index, self.histories, self.workers, room).put(&mut page, room);
        page.raw("</body>\n</html>\n");
        page.into_text()
    }
}

#[cfg(test)]
mod tests;
