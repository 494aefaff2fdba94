//! Reads any text as a plan, and looks at any moment in its scripts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::plan(bytes));
