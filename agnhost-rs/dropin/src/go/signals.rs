//! How a drop-in handles signals: one thread waits for the signals that end a process.
//!
//! The kernel drops unhandled signals to process 1 of a container; Go programs exit with status 2 there, so a drop-in
//! does too. Elsewhere an unhandled signal keeps its usual effect. Call these functions before any other thread is
//! started, because threads inherit the signal mask.

use std::process::exit;

use nix::sys::signal::{SigSet, Signal, raise};

use super::klog;

const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

/// Ends the process on every signal that ends processes, as in a Go program without a handler.
pub(crate) fn end_by_default() {
    watch(&[], |_| {});
}

/// Runs `act` in the waiting thread for each signal in `handled`; the other signals that end processes end this one.
pub(crate) fn watch(handled: &'static [Signal], act: impl Fn(Signal) + Send + 'static) {
    let set: SigSet = ENDING.into_iter().collect();
    if let Err(error) = set.thread_block() {
        klog::fatal(format!("cannot take over signal handling: {error}"));
    }
    let waiting = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        loop {
            match set.wait() {
                Ok(signal) if handled.contains(&signal) => act(signal),
                Ok(signal) => end(signal),
                Err(_) => {}
            }
        }
    });
    if let Err(error) = waiting {
        klog::fatal(format!("cannot start the thread that waits for signals: {error}"));
    }
}

fn end(signal: Signal) {
    if std::process::id() != 1 && SigSet::from(signal).thread_unblock().is_ok() {
        let _ = raise(signal);
    }
    exit(2)
}

/// The name that Go gives to a signal in its texts.
pub(crate) fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::SIGTERM => "terminated",
        Signal::SIGINT => "interrupt",
        Signal::SIGHUP => "hangup",
        Signal::SIGQUIT => "quit",
        other => other.as_str(),
    }
}
