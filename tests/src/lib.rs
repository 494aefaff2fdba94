//! Helpers for tests that drive the programs of this workspace from outside: start a program, talk to it raw.

pub mod program;
pub mod raw_http;
