//! `pause`: waits for SIGINT or SIGTERM, prints a message and exits; until then it reaps inherited child
//! processes.
//!
//! It is also the sandbox process of a node, so it has no runtime and no threads, and waits for nothing at its start.
//! As in agnhost, it writes its last message to standard output and to the termination message file.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::go::{klog, signals};

const DEFAULT_MESSAGE_PATH: &str = "/dev/termination-log";

/// Waits for the signal. The status is 1 after SIGINT, and 2 after SIGTERM.
pub(super) fn run() -> ExitCode {
    say("Paused\n");
    let awaited: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGCHLD].into_iter().collect();
    if let Err(error) = awaited.thread_block() {
        klog::fatal(format!("cannot take over signal handling: {error}"));
    }
    say("Signals registered\n");
    // Children may have ended before the signal was blocked.
    reap();
    loop {
        match awaited.wait() {
            Ok(Signal::SIGINT) => return last_words(Signal::SIGINT, 1),
            Ok(Signal::SIGTERM) => return last_words(Signal::SIGTERM, 2),
            Ok(_) => reap(),
            Err(_) => {}
        }
    }
}

fn reap() {
    let any_left = || match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::StillAlive) | Err(_) => false,
        Ok(_) => true,
    };
    while any_left() {}
}

fn last_words(signal: Signal, status: u8) -> ExitCode {
    let words = format!("exiting because of signal \"{}\"\n", signals::name(signal));
    let path = std::env::var("TERMINATION_MESSAGE_PATH").ok().filter(|path| !path.is_empty());
    // Outside a pod, there is no such file, and standard output also has the message.
    let _ = fs::write(path.as_deref().unwrap_or(DEFAULT_MESSAGE_PATH), &words);
    say(&words);
    ExitCode::from(status)
}

fn say(text: &str) {
    // The output of a sandbox is often closed, and this must not end the process.
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
