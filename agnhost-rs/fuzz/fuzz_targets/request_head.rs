//! Reads any bytes as the head of a request.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::request_head(bytes));
