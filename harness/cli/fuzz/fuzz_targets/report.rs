//! Reads any text as a report, and writes the report in words and as a page.
#![no_main]

use probity_page::Page;
use probity_report::{Report, Standard, StoredHistory, Workers};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(report) = serde_json::from_str::<Report>(text) {
        let _ = report.in_words();
        let _ = Page { report: &report, histories: &Vec::<StoredHistory>::new(), chapters: &[], standard: Standard::default(), workers: Workers::of(1), trials: None }.html();
    }
});
