//! Any text as the log of a run, and the report that follows from it.
#![no_main]

use std::sync::LazyLock;

use probity_model::Registry;
use probity_report::{Report, StoredHistory, Workers, run_log};

static BOOK: LazyLock<Registry> = LazyLock::new(|| probity_suites::registry().expect("the book is whole"));

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(log) = run_log::read(text)
        && let Ok(report) = Report::build(&BOOK, &log, &Vec::<StoredHistory>::new(), Workers::of(1))
    {
        let _ = report.in_words();
    }
});
