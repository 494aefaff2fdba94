//! Reads any bytes as a whole HTTP/1 connection, with heads, bodies, chunks and trailers, and answers the requests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agnhost_rs::fuzzing::request_stream(bytes));
