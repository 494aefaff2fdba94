//! Tests of the crate against a fake API server, with faults that a real API server does not produce on demand.
#![expect(clippy::unwrap_used, reason = "tests")]

mod connecting;
mod nodes;
mod permissions;
mod rehearsing;
mod removing;
mod requests;
mod server;
mod signs;
mod storing;
mod watches;
mod wide;
