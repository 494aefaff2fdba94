//! Any text as a case file.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(problem) = probity_case::Case::read("fuzz", text) {
        assert!(!problem.to_string().is_empty(), "a problem says what is wrong");
    }
});
