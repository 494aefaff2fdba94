//! The ground against a fake API server: faults that a real one won't produce when asked.
#![expect(clippy::unwrap_used, reason = "tests")]

mod connecting;
mod fake;
mod removing;
mod requests;
mod rights;
mod watches;
