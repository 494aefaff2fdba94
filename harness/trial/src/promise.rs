//! What probe settings promise by arithmetic: intervals of time, each with the formula that it follows from.
//!
//! A promise covers what the kubelet concludes from answers, counted from the moment at which the answers turn (or from
//! the start of the container). The settings do not say what a cluster adds to that: the kill itself, and the way of a
//! status to its reader. Whoever compares an observation allows for both and says so.

use probity_model::measure::{Interval, seconds};
use probity_model::timeline::{Handler, ProbeSpec};

pub(crate) const SECOND: i64 = 1_000_000;

/// When something happens that never does: after any other time.
pub const NEVER: Interval = Interval { lo: i64::MAX, hi: i64::MAX };

/// What the settings leave open.
const ANYTHING: Interval = Interval { lo: i64::MIN, hi: i64::MAX };

/// What follows from settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// From the least to the most, in microseconds where it is a time. [`NEVER`] if it does not happen.
    pub span: Interval,
    /// How it follows from the settings; or why it does not happen, or why they leave it open.
    pub formula: String,
}

/// How a probe fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// At once: by a bad answer or a refused connection.
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

    /// Exactly this.
    pub(crate) fn exactly(value: i64, formula: impl Into<String>) -> Self {
        Self::new(value, value, formula)
    }

    /// It does not happen.
    pub(crate) fn never(why: impl Into<String>) -> Self {
        Self { span: NEVER, formula: why.into() }
    }

    /// The settings leave it open.
    pub(crate) fn open(why: impl Into<String>) -> Self {
        Self { span: ANYTHING, formula: why.into() }
    }

    /// Whether the settings leave it open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.span == ANYTHING
    }

    /// The same, and possibly this much later.
    pub(crate) fn or_later(mut self, by: i64, formula: impl AsRef<str>) -> Self {
        self.span.hi += by;
        self.formula += formula.as_ref();
        self
    }

    /// This, and then that.
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

    /// The span for people: `20.0-31.0 s`.
    #[must_use]
    pub fn in_words(&self) -> String {
        tenths(self.span)
    }
}

/// A span of time to a tenth of a second: `20.0-31.0 s`, or `4.2 s` if both ends read alike.
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

/// When the first probe comes, from the start of the container. A startup probe holds the others back longer.
#[must_use]
pub fn first_probe(probe: &ProbeSpec) -> Promise {
    let delay = probe.initial_delay;
    let formula = match delay {
        0 => "at most periodSeconds",
        _ => "initialDelaySeconds, and periodSeconds more at most",
    };
    Promise::new(delay, delay + probe.period, formula)
}

/// When the last of the failures in a row happens that a probe waits for, from the moment at which the answers turn bad.
#[must_use]
pub fn failures(probe: &ProbeSpec, failing: Failing) -> Promise {
    if failing == Failing::AtOnce {
        let formula = "(failureThreshold - 1) × periodSeconds to failureThreshold × periodSeconds";
        return Promise::new((probe.failures - 1) * probe.period, probe.failures * probe.period, formula);
    }
    let (pace, word) = pace(probe);
    let lo = (probe.failures - 1) * pace + probe.timeout;
    let formula = format!("(failureThreshold - 1) × {word} + timeoutSeconds, and periodSeconds more at most");
    Promise::new(lo, lo + probe.period, formula)
}

/// When the last of the successes in a row happens that a probe waits for, from the moment at which the answers turn
/// good. Between the first and the last of them the kubelet may run a readiness probe once out of its turn.
#[must_use]
pub fn successes(probe: &ProbeSpec) -> Promise {
    let lo = (probe.successes - 2).max(0) * probe.period;
    let formula = match probe.successes {
        1 => "at most periodSeconds",
        _ => "(successThreshold - 2) × periodSeconds to successThreshold × periodSeconds",
    };
    Promise::new(lo, probe.successes * probe.period, formula)
}

/// How long a container may take to answer well before this probe ends it, from its start: it always survives less than
/// the least of it, and never more than the most. A closed port refuses at once, but a gRPC dial tries again until its
/// timeout.
#[must_use]
pub fn patience(probe: &ProbeSpec) -> Promise {
    let ((pace, word), dial, more) = match probe.handler {
        Handler::Grpc { .. } => (
            pace(probe),
            probe.timeout,
            "periodSeconds + timeoutSeconds more at most (a gRPC dial waits for its port until timeoutSeconds)",
        ),
        _ => ((probe.period, "periodSeconds"), 0, "periodSeconds more at most"),
    };
    let delay = if probe.initial_delay == 0 { "" } else { "initialDelaySeconds + " };
    let lo = probe.initial_delay + (probe.failures - 1) * pace;
    Promise::new(lo, lo + probe.period + dial, format!("{delay}(failureThreshold - 1) × {word}, and {more}"))
}

/// How long it is from one probe to the next if each takes until its timeout, and which field says so: a probe that
/// outlasts its period delays the next one.
fn pace(probe: &ProbeSpec) -> (i64, &'static str) {
    if probe.timeout > probe.period {
        (probe.timeout, "timeoutSeconds")
    } else {
        (probe.period, "periodSeconds")
    }
}

/// When a container is ready, from its start, if it answers well once `boot` has gone by.
#[must_use]
pub fn ready(startup: Option<&ProbeSpec>, readiness: Option<&ProbeSpec>, boot: i64) -> Promise {
    let begins = |probe: &ProbeSpec| match probe.initial_delay {
        delay if boot > 0 && boot >= delay => (boot, format!("{} of start-up + ", seconds_of(boot))),
        0 => (0, String::new()),
        delay => (delay, "initialDelaySeconds + ".to_owned()),
    };
    let started = startup.map(|probe| {
        let (from, word) = begins(probe);
        Promise::new(from, from + probe.period, format!("{word}periodSeconds at most (startup)"))
    });
    let Some(probe) = readiness else {
        let at_once = || Promise::exactly(0, "without a probe a container is ready as soon as it runs");
        return started.unwrap_or_else(at_once);
    };
    let turns = successes(probe);
    let Some(started) = started else {
        let (from, word) = begins(probe);
        let formula = if probe.successes == 1 { "periodSeconds at most" } else { turns.formula.as_str() };
        return Promise::new(from + turns.span.lo, from + turns.span.hi, format!("{word}{formula}"));
    };
    // Both delays count from the start of the container, so they go by together.
    let after = |start: i64, turns: i64| start.max(probe.initial_delay) + turns;
    let delay = match probe.initial_delay {
        0 => "",
        _ => " and not before initialDelaySeconds (readiness)",
    };
    Promise::new(
        after(started.span.lo, turns.span.lo),
        after(started.span.hi, turns.span.hi),
        format!("{}{delay}, then successThreshold × periodSeconds at most (readiness)", started.formula),
    )
}

/// Whole seconds for people where they are whole.
fn seconds_of(us: i64) -> String {
    if us % SECOND == 0 { format!("{} s", us / SECOND) } else { seconds(us) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;
    use probity_model::timeline::ProbeKind;

    /// A readiness probe with these settings beside its handler.
    fn probe(settings: &Value) -> ProbeSpec {
        let mut probe = settings.clone();
        probe["tcpSocket"] = json!({ "port": 80 });
        ProbeSpec::of(&json!({ "readinessProbe": probe }), ProbeKind::Readiness).unwrap()
    }

    fn all(settings: [i64; 5]) -> ProbeSpec {
        let [delay, period, timeout, successes, failures] = settings;
        probe(&json!({
            "initialDelaySeconds": delay, "periodSeconds": period, "timeoutSeconds": timeout,
            "successThreshold": successes, "failureThreshold": failures
        }))
    }

    fn span(promise: &Promise) -> (i64, i64) {
        (promise.span.lo / SECOND, promise.span.hi / SECOND)
    }

    #[test]
    fn the_defaults_notice_a_hang_after_twenty_one_to_thirty_one_seconds() {
        let probe = probe(&json!({}));
        assert_eq!(span(&failures(&probe, Failing::AtOnce)), (20, 30));
        assert_eq!(span(&failures(&probe, Failing::ByTimeout)), (21, 31));
        assert_eq!(failures(&probe, Failing::ByTimeout).in_words(), "21.0-31.0 s");
        assert_eq!(span(&ready(None, Some(&probe), 0)), (0, 10));
    }

    #[test]
    fn what_is_promised_agrees_with_a_clock_that_is_wound_through_all_phases() {
        for delay in [0, 3] {
            for period in 1..=4 {
                for timeout in 1..=6 {
                    for threshold in 1..=4 {
                        let probe = all([delay, period, timeout, threshold, threshold]);
                        for phase in 0..period * 4 {
                            check(&probe, phase * SECOND / 4);
                        }
                    }
                }
            }
        }
    }

    /// Plays a kubelet that asks at a phase of its period, and sees that every promise holds.
    fn check(probe: &ProbeSpec, phase: i64) {
        let within = |promise: &Promise, at: i64| {
            assert!(promise.span.lo <= at && at <= promise.span.hi, "{probe:?} {phase} {at} {promise:?}");
        };
        let turns = |count: i64, pace: i64| phase + (count - 1) * pace;
        within(&failures(probe, Failing::AtOnce), turns(probe.failures, probe.period));
        let pace = probe.period.max(probe.timeout);
        within(&failures(probe, Failing::ByTimeout), turns(probe.failures, pace) + probe.timeout);
        within(&successes(probe), turns(probe.successes, probe.period));
        within(&first_probe(probe), probe.initial_delay + phase);
        within(&patience(probe), probe.initial_delay + turns(probe.failures, probe.period));
        within(&ready(None, Some(probe), 0), probe.initial_delay + turns(probe.successes, probe.period));
        for boot in 0..12 {
            let boot = boot * SECOND;
            let mut at = probe.initial_delay + phase;
            while at < boot {
                at += probe.period;
            }
            within(&ready(Some(probe), None, boot), at);
            within(&ready(None, Some(probe), boot), at + (probe.successes - 1) * probe.period);
            let follows = at.max(probe.initial_delay) + (probe.successes - 1) * probe.period;
            within(&ready(Some(probe), Some(probe), boot), follows);
        }
    }

    #[test]
    fn each_end_of_a_promise_is_reached_so_none_is_wider_than_the_settings_say() {
        let probe = all([2, 5, 1, 1, 3]);
        assert_eq!(span(&failures(&probe, Failing::AtOnce)), (10, 15));
        assert_eq!(span(&failures(&probe, Failing::ByTimeout)), (11, 16));
        assert_eq!(span(&successes(&probe)), (0, 5));
        assert_eq!(span(&patience(&probe)), (12, 17));
        assert_eq!(span(&first_probe(&probe)), (2, 7));
        assert_eq!(span(&ready(None, Some(&probe), 9 * SECOND)), (9, 14));
        assert_eq!(span(&ready(Some(&probe), Some(&probe), 0)), (2, 12));
        let late = all([9, 5, 1, 1, 3]);
        assert_eq!(span(&ready(Some(&probe), Some(&late), 0)), (9, 14), "the longer delay counts, not both");
    }

    #[test]
    fn a_grpc_probe_has_patience_for_its_timeouts_too() {
        let grpc = |period: i64, timeout: i64| {
            let probe = json!({ "grpc": { "port": 80 }, "periodSeconds": period, "timeoutSeconds": timeout });
            ProbeSpec::of(&json!({ "livenessProbe": probe }), ProbeKind::Liveness).unwrap()
        };
        assert_eq!(span(&patience(&grpc(5, 1))), (10, 16));
        assert_eq!(span(&patience(&grpc(2, 5))), (10, 17), "the timeout sets the pace");
        let said = patience(&grpc(2, 5)).formula;
        assert!(said.contains("× timeoutSeconds") && said.contains("a gRPC dial waits"), "{said}");
    }

    #[test]
    fn a_timeout_longer_than_the_period_sets_the_pace() {
        let probe = all([0, 2, 5, 1, 3]);
        let promise = failures(&probe, Failing::ByTimeout);
        assert_eq!(span(&promise), (15, 17));
        assert!(promise.formula.contains("× timeoutSeconds"), "{}", promise.formula);
    }

    #[test]
    fn what_comes_first_is_as_early_as_the_earlier_and_no_later_than_either() {
        let (a, b) = (Promise::new(1, 9, "a"), Promise::new(3, 5, "b"));
        assert_eq!(a.or_sooner(&b).span, Interval { lo: 1, hi: 5 });
        assert_eq!(a.or_sooner(&Promise::new(9, 12, "c")).formula, "a");
        assert_eq!(a.then(&b).span, Interval { lo: 4, hi: 14 });
    }

    #[test]
    fn spans_are_shown_to_a_tenth() {
        assert_eq!(tenths(Interval::point(4_249_999)), "4.2 s");
        assert_eq!(tenths(Interval::new(20_000_000, 31_000_000)), "20.0-31.0 s");
        assert_eq!(tenths(Interval::point(-300_000)), "-0.3 s");
    }
}
