//! The crate against a fake API server: faults that a real one does not produce on demand.
#![expect(clippy::unwrap_used, reason = "tests")]

mod connecting;
mod nodes;
mod permissions;
mod removing;
mod requests;
mod server;
mod signs;
mod storing;
mod watches;
mod wide;
