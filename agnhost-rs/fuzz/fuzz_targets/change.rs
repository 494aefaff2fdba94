//! Reads any text as a change of a plan.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::change(bytes));
