//! The signal with which a runtime asks the container to stop. Refuses what runtimes would silently replace by SIGTERM.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The names that Linux gives its signals, without `SIG`. KILL and STOP are allowed: a runtime takes them.
const NAMES: [&str; 34] = [
    "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE",
    "POLL", "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU",
    "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ",
];

/// A signal by its full name: `SIGUSR1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopSignal(String);

impl StopSignal {
    /// SIGUSR1, the signal of the variant that shows whether a runtime honours an image's stop signal.
    #[must_use]
    pub fn usr1() -> Self {
        Self("SIGUSR1".to_owned())
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for StopSignal {
    type Err = Error;

    /// Takes `SIGUSR1`, `USR1`, `sigusr1`, `SIGRTMIN+3` and `SIGRTMAX-1`.
    fn from_str(given: &str) -> Result<Self, Error> {
        let upper = given.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let offset = |text: &str, sign| {
            text.is_empty() || text.strip_prefix(sign).is_some_and(|n| n.parse::<u8>().is_ok_and(|n| n < 31))
        };
        let real_time = name.strip_prefix("RTMIN").is_some_and(|rest| offset(rest, '+'))
            || name.strip_prefix("RTMAX").is_some_and(|rest| offset(rest, '-'));
        if NAMES.contains(&name) || real_time {
            return Ok(Self(format!("SIG{name}")));
        }
        Err(Error::Signal { given: given.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn signals_get_their_full_name() {
        for (given, full) in
            [("SIGUSR1", "SIGUSR1"), ("term", "SIGTERM"), ("RTMIN+3", "SIGRTMIN+3"), ("SIGRTMAX", "SIGRTMAX")]
        {
            assert_eq!(given.parse::<StopSignal>().unwrap().to_string(), full);
        }
        assert_eq!("USR1".parse::<StopSignal>().unwrap(), StopSignal::usr1());
    }

    #[test]
    fn words_that_are_no_signal_are_refused() {
        for given in ["", "SIG", "SIGUSR3", "RTMIN+31", "RTMIN-1", "RTMAX+1", "15"] {
            assert!(given.parse::<StopSignal>().is_err(), "{given}");
        }
    }
}
