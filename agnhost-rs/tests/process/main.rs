//! The process, from outside: the program is started, told things by signals and commands, and its witness is read.
#![expect(clippy::unwrap_used, reason = "tests")]

mod commands;
mod first_process;
mod lives;
mod serving;
mod signals;
mod surroundings;
