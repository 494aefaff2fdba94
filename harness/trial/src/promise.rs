//! The promises that follow from probe settings by arithmetic: intervals of time, each with its formula.
//!
//! A promise covers the time until the kubelet draws a conclusion, from the moment at which the answers change, or from
//! the start of the container. The settings do not determine how long the kill itself and the propagation of a status
//! take. A comparison with an observation must allow for both and document this.

use probity_model::measure::{Interval, seconds};
use probity_model::timeline::{Handler, ProbeSpec};

pub(crate) const SECOND: i64 = 1_000_000;

/// The time of something that never happens. It is after any other time.
pub const NEVER: Interval = Interval { lo: i64::MAX, hi: i64::MAX };

/// Quantities that the settings leave open.
const ANYTHING: Interval = Interval { lo: i64::MIN, hi: i64::MAX };

/// What follows from the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The range of values, in microseconds for a time. [`NEVER`] if the event does not happen.
    pub span: Interval,
    /// The formula, or why the event does not happen, or why nothing follows from the settings.
    pub formula: String,
}

/// How a probe fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The probe fails immediately, because of a bad answer or a refused connection.
    AtOnce,
    /// By its timeout.
    ByTimeout,
}

impl Promise {
    /// A span and its formula.
    #[must_use]
    pub fn new(lo: i64, hi: i64, formula: impl Into<String>) -> Self {
        Self { span: Interval::new(lo, hi), formula: formula.into() }
    }

    /// A promise of exactly this value.
    pub(crate) fn exactly(value: i64, formula: impl Into<String>) -> Self {
        Self::new(value, value, formula)
    }

    /// A promise that the event does not happen.
    pub(crate) fn never(why: impl Into<String>) -> Self {
        Self { span: NEVER, formula: why.into() }
    }

    /// No promise, because nothing follows from the settings.
    pub(crate) fn open(why: impl Into<String>) -> Self {
        Self { span: ANYTHING, formula: why.into() }
    }

    /// Whether nothing follows from the settings.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.span == ANYTHING
    }

    /// The same promise, but the event may happen this much later.
    pub(crate) fn or_later(mut self, by: i64, formula: impl AsRef<str>) -> Self {
        self.span.hi += by;
        self.formula += formula.as_ref();
        self
    }

    /// This promise, followed by the next one.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let formula = match (self.formula.as_str(), next.formula.as_str()) {
            ("", only) | (only, "") => only.to_owned(),
            (first, second) => format!("{first}; then {second}"),
        };
        Self { span: self.span.plus(next.span), formula }
    }

    /// Whichever comes first.
    #[must_use]
    pub fn or_sooner(&self, other: &Self) -> Self {
        let span = Interval { lo: self.span.lo.min(other.span.lo), hi: self.span.hi.min(other.span.hi) };
        let formula = if self.span.hi <= other.span.lo {
            self.formula.clone()
        } else if other.span.hi <= self.span.lo {
            other.formula.clone()
        } else {
            format!("the earlier of {} and {}", self.formula, other.formula)
        };
        Self { span, formula }
    }

    /// The span for users: `20.0-31.0 s`.
    #[must_use]
    pub fn in_words(&self) -> String {
        tenths(self.span)
    }
}

/// A time range with a precision of a tenth of a second: `20.0-31.0 s`, or `4.2 s` if both ends are equal.
#[must_use]
pub fn tenths(span: Interval) -> String {
    let tenth = |us: i64| {
        let rounded = (us + 50_000).div_euclid(100_000);
        let sign = if rounded < 0 { "-" } else { "" };
        format!("{sign}{}.{}", rounded.abs() / 10, rounded.abs() % 10)
    };
    let (lo, hi) = (tenth(span.lo), tenth(span.hi));
    if lo == hi { format!("{lo} s") } else { format!("{lo}-{hi} s") }
}

/// When the first probe is sent, from the start of the container. A startup probe delays the other probes further.
#[must_use]
pub fn first_probe(probe: &ProbeSpec) -> Promise {
    let delay = probe.initial_delay;
    let formula = match delay {
        0 => "at most periodSeconds",
        _ => "initialDelaySeconds, plus at most periodSeconds",
    };
    Promise::new(delay, delay + probe.period, formula)
}

/// When a probe has failed `failureThreshold` times in a row, from the moment at which the answers become failures.
#[must_use]
pub fn failures(probe: &ProbeSpec, failing: Failing) -> Promise {
    if failing == Failing::AtOnce {
        let formula = "(failureThreshold - 1) × periodSeconds to failureThreshold × periodSeconds";
        return Promise::new((probe.failures - 1) * probe.period, probe.failures * probe.period, formula);
    }
    let (pace, word) = pace(probe);
    let lo = (probe.failures - 1) * pace + probe.timeout;
    let formula = format!("(failureThreshold - 1) × {word} + timeoutSeconds, plus at most periodSeconds");
    Promise::new(lo, lo + probe.period, formula)
}

/// When a probe has succeeded `successThreshold` times in a row, from the moment at which the answers become successes.
/// Between the first and the last of these probes, the kubelet may run one extra readiness probe.
#[must_use]
pub fn successes(probe: &ProbeSpec) -> Promise {
    let lo = (probe.successes - 2).max(0) * probe.period;
    let formula = match probe.successes {
        1 => "at most periodSeconds",
        _ => "(successThreshold - 2) × periodSeconds to successThreshold × periodSeconds",
    };
    Promise::new(lo, probe.successes * probe.period, formula)
}

/// How long after its start a container may take to answer successfully before this probe kills it. It always survives
/// if it takes less than the lower end, and never if it takes more than the upper end. A closed port refuses a
/// connection immediately, but a gRPC client tries to connect until its timeout.
#[must_use]
pub fn patience(probe: &ProbeSpec) -> Promise {
    let ((pace, word), dial, more) = match probe.handler {
        Handler::Grpc { .. } => (
            pace(probe),
            probe.timeout,
            "plus at most periodSeconds + timeoutSeconds (a gRPC dial waits up to timeoutSeconds for its port)",
        ),
        _ => ((probe.period, "periodSeconds"), 0, "plus at most periodSeconds"),
    };
    let delay = if probe.initial_delay == 0 { "" } else { "initialDelaySeconds + " };
    let lo = probe.initial_delay + (probe.failures - 1) * pace;
    Promise::new(lo, lo + probe.period + dial, format!("{delay}(failureThreshold - 1) × {word}, {more}"))
}

/// The time from one probe to the next if each probe takes until its timeout, and the field that determines this time.
/// A probe that takes longer than its period delays the next one.
fn pace(probe: &ProbeSpec) -> (i64, &'static str) {
    if probe.timeout > probe.period {
        (probe.timeout, "timeoutSeconds")
    } else {
        (probe.period, "periodSeconds")
    }
}

/// The time from a container's start until it is ready, if it answers successfully after `boot`.
#[must_use]
pub fn ready(startup: Option<&ProbeSpec>, readiness: Option<&ProbeSpec>, boot: i64) -> Promise {
    let begins = |probe: &ProbeSpec| match probe.initial_delay {
        delay if boot > 0 && boot >= delay => (boot, format!("{} of startup + ", seconds_of(boot))),
        0 => (0, String::new()),
        delay => (delay, "initialDelaySeconds + ".to_owned()),
    };
    let started = startup.map(|probe| {
        let (from, word) = begins(probe);
        Promise::new(from, from + probe.period, format!("at most {word}periodSeconds (startup)"))
    });
    let Some(probe) = readiness else {
        let at_once = || {
            Promise::exactly(
                0,
                "without a startup or readiness probe, a container is ready as soon as it runs",
            )
        };
        return started.unwrap_or_else(at_once);
    };
    let turns = successes(probe);
    let Some(started) = started else {
        let (from, word) = begins(probe);
        let formula = format!("{word}{}", turns.formula);
        return Promise::new(from + turns.span.lo, from + turns.span.hi, formula);
    };
    // Both delays count from the start of the container, so they overlap.
    let after = |start: i64, turns: i64| start.max(probe.initial_delay) + turns;
    let delay = match probe.initial_delay {
        0 => "",
        _ => " and not before initialDelaySeconds (readiness)",
    };
    Promise::new(
        after(started.span.lo, turns.span.lo),
        after(started.span.hi, turns.span.hi),
        format!("{}{delay}, then at most successThreshold × periodSeconds (readiness)", started.formula),
    )
}

/// A time in seconds, without a fraction if it is whole.
fn seconds_of(us: i64) -> String {
    if us % SECOND == 0 { format!("{} s", us / SECOND) } else { seconds(us) }
}

#[cfg(test)]
mod tests;
