//! The process, from outside: the tests start the program, send signals and commands, and read its witness.
#![expect(clippy::unwrap_used, reason = "tests")]

mod commands;
mod first_process;
mod lives;
mod serving;
mod signals;
mod surroundings;
