//! Any bytes as a whole connection that speaks HTTP/1: heads, bodies, chunks, trailers, and answers to them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::request_stream(bytes));
