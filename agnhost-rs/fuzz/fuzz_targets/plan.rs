//! Any text as a plan, and any moment in its scripts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::plan(bytes));
