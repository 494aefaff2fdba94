//! Reads any bytes as those that a target sends to the recorder.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::recorder_stream(bytes));
