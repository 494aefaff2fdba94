//! Any text as a history, judged by every clause. A judge that panics stops the fuzzer, although a run would continue.
#![no_main]

use std::sync::LazyLock;

use probity_model::{History, Registry};

static BOOK: LazyLock<Registry> = LazyLock::new(|| probity_suites::registry().expect("the book is whole"));

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(history) = History::read(text) {
        let _ = BOOK.judge(&history);
        assert_eq!(History::read(&history.write().expect("JSON")).ok(), Some(history), "what is written is read again");
    }
});
