//! Signals as a queue that the process reads.
//!
//! The first process of a container has no default dispositions. The kernel drops a signal that nothing handles, so a
//! signal that arrives before a handler is installed would be lost. The kernel never drops a *blocked* signal. So a
//! program opens its queue before anything else. From then on, every signal waits until some thread reads it, and no
//! handler interrupts.
//!
//! Signals that report a fault of the process itself are not blocked. Threads and children inherit the blocked signals,
//! so the queue must be opened before any thread exists. Children open their own queue.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

/// Signals that are never blocked: faults, which must kill, and SIGPIPE, which the runtime ignores.
const LEFT_ALONE: [Signal; 8] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGABRT,
    Signal::SIGTRAP,
    Signal::SIGSYS,
    Signal::SIGPIPE,
];

/// The kernel's first real-time signal. The C libraries reserve the first few.
const FIRST_REAL_TIME: u32 = 34;
const LAST_REAL_TIME: u32 = 64;

/// Signals that wait until they are read.
#[derive(Debug)]
pub struct SignalQueue {
    signals: SignalFd,
    blocked: SigSet,
}

impl SignalQueue {
    /// Blocks signals from now on, in this thread and in all threads that it starts. `main` does this first.
    ///
    /// # Errors
    ///
    /// If the system has no more descriptors.
    pub fn open() -> io::Result<Self> {
        let mut blocked = SigSet::all();
        LEFT_ALONE.iter().for_each(|signal| blocked.remove(*signal));
        blocked.thread_block()?;
        let signals = SignalFd::with_flags(&blocked, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { signals, blocked })
    }

    /// The next signal, or `None` if there was none until the deadline. Without a deadline, it waits forever.
    ///
    /// # Errors
    ///
    /// If the system refuses to wait.
    pub fn next(&self, deadline: Option<Instant>) -> io::Result<Option<CaughtSignal>> {
        loop {
            if let Some(signal) = self.signals.read_signal()? {
                return Ok(Some(CaughtSignal(signal.ssi_signo)));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let mut waited = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut waited, left.map(TimeSpec::from_duration), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Unblocks signals, including those that wait, for programs that need no queue.
    pub fn release(self) {
        let _ = self.blocked.thread_unblock();
    }

    /// Ends the process as the signal would have ended it.
    pub fn yield_to(&self, caught: CaughtSignal) -> ! {
        let _ = self.blocked.thread_unblock();
        if let Some(signal) = caught.signal() {
            let _ = raise(signal);
        }
        // Only the first process of a container reaches this line, because it cannot kill itself.
        std::process::exit(128 + i32::try_from(caught.0).unwrap_or(0))
    }
}

/// A signal that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaughtSignal(u32);

impl CaughtSignal {
    /// The signal, unless it is a real-time signal, which has only a number.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        Signal::try_from(i32::try_from(self.0).ok()?).ok()
    }

    /// Whether the signal reports that a child has changed.
    #[must_use]
    pub fn is_of_a_child(self) -> bool {
        self.signal() == Some(Signal::SIGCHLD)
    }

    /// Whether the signal requests that a process ends.
    #[must_use]
    pub fn asks_to_end(self) -> bool {
        use Signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        matches!(self.signal(), Some(SIGTERM | SIGINT | SIGQUIT | SIGHUP))
    }
}

impl From<Signal> for CaughtSignal {
    fn from(signal: Signal) -> Self {
        Self(signal as u32)
    }
}

impl fmt::Display for CaughtSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal() {
            Some(signal) => f.write_str(signal.as_str()),
            None if self.0 == FIRST_REAL_TIME => f.write_str("SIGRTMIN"),
            None if self.0 > FIRST_REAL_TIME => write!(f, "SIGRTMIN+{}", self.0 - FIRST_REAL_TIME),
            None => write!(f, "SIG{}", self.0),
        }
    }
}

/// A signal is written with or without `SIG`, or as its number: `TERM`, `SIGQUIT`, `SIGRTMIN+3`, `37`.
impl FromStr for CaughtSignal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a signal that can be caught; use a name or a number, such as SIGQUIT or 3"
            )
        };
        let name = text.trim().to_ascii_uppercase();
        let name = name.strip_prefix("SIG").unwrap_or(&name);
        let number = if let Some(more) = name.strip_prefix("RTMIN") {
            let more =
                if more.is_empty() { Some(0) } else { more.strip_prefix('+').and_then(|n| n.parse().ok()) };
            more.and_then(|more: u32| FIRST_REAL_TIME.checked_add(more)).ok_or_else(wrong)?
        } else if let Ok(number) = name.parse() {
            number
        } else {
            Signal::from_str(&format!("SIG{name}")).map_err(|_| wrong())? as u32
        };
        let caught = Self(number);
        let catchable = match caught.signal() {
            Some(Signal::SIGKILL | Signal::SIGSTOP) => false,
            Some(signal) => !LEFT_ALONE.contains(&signal),
            None => (FIRST_REAL_TIME..=LAST_REAL_TIME).contains(&number),
        };
        if catchable { Ok(caught) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::time::Duration;

    use super::*;

    #[test]
    fn signals_are_read_and_written_by_name() {
        for (text, name) in [
            ("TERM", "SIGTERM"),
            ("sigquit", "SIGQUIT"),
            ("3", "SIGQUIT"),
            ("SIGRTMIN+3", "SIGRTMIN+3"),
            ("34", "SIGRTMIN"),
        ] {
            assert_eq!(text.parse::<CaughtSignal>().unwrap().to_string(), name, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_caught_is_refused() {
        for text in ["KILL", "SIGSTOP", "SEGV", "PIPE", "0", "65", "RTMIN+99", "RTMIN-1", "", "WINK"] {
            let error = text.parse::<CaughtSignal>().unwrap_err();
            assert!(error.contains("SIGQUIT"), "{text}: {error}");
        }
    }

    #[test]
    fn a_signal_waits_until_it_is_read_and_silence_ends_at_the_deadline() {
        let queue = SignalQueue::open().unwrap();
        raise(Signal::SIGUSR2).unwrap();
        assert_eq!(queue.next(None).unwrap(), Some(Signal::SIGUSR2.into()));
        let began = Instant::now();
        assert_eq!(queue.next(Some(began + Duration::from_millis(20))).unwrap(), None);
        assert!(began.elapsed() >= Duration::from_millis(20));
    }
}
