//! Flag values as Go's pflag reads them, and the klog flags that every agnhost command takes.
//!
//! The value of a boolean flag is omitted or follows `=`; an integer may be octal, hexadecimal or binary; a duration
//! has the form `1m30s`. The klog flags are accepted and have no effect, because there is only one log level.

use std::time::Duration;

use clap::Args;

/// The klog flags of current and earlier agnhost images. They are accepted and have no effect.
#[derive(Args, Clone, Debug, Default)]
pub struct KlogFlags {
    /// Log level (accepted for compatibility with agnhost, without effect)
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        hide = true,
        allow_hyphen_values = true
    )]
    v: Option<String>,
    /// Log levels by file (without effect)
    #[arg(long, global = true, value_name = "PATTERN=N,…", hide = true)]
    vmodule: Option<String>,
    /// Time between flushes of the log (without effect)
    #[arg(long, alias = "log_flush_frequency", global = true, value_parser = duration, hide = true)]
    log_flush_frequency: Option<Duration>,
    /// Log to standard error (always on)
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = boolean, hide = true)]
    logtostderr: Option<bool>,
    /// Log to standard error too (always on)
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = boolean, hide = true)]
    alsologtostderr: Option<bool>,
    /// Lowest severity that goes to standard error (without effect)
    #[arg(long, global = true, hide = true)]
    stderrthreshold: Option<String>,
    /// Folder for log files (without effect: none is written)
    #[arg(long, alias = "log_dir", global = true, hide = true)]
    log_dir: Option<String>,
    /// Log file (without effect: none is written)
    #[arg(long, alias = "log_file", global = true, hide = true)]
    log_file: Option<String>,
    /// Place at which to log a stack trace (without effect)
    #[arg(long, alias = "log_backtrace_at", global = true, hide = true)]
    log_backtrace_at: Option<String>,
    /// Leave headers out of log files (without effect)
    #[arg(long, alias = "skip_headers", global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = boolean, hide = true)]
    skip_headers: Option<bool>,
}

/// Reads a boolean as Go's `ParseBool` does.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("{text:?} is not a boolean: write true or false")),
    }
}

/// Reads an integer in the notations of Go source: decimal, `0x`, `0o`, `0`, `0b`, with `_` between digits.
pub(crate) fn integer(text: &str) -> Result<i64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    i64::from_str_radix(&digits.replace('_', ""), radix)
        .ok()
        .filter(|_| !digits.starts_with(['+', '-']))
        .map(|value| sign * value)
        .ok_or_else(|| format!("{text:?} is not an integer"))
}

/// Reads a duration that is not negative, for a flag.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    signed_duration(text)
        .map(|nanos| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
        .ok_or_else(|| format!("{text:?} is not a duration: write something like 1m30s, 250ms or 0"))
}

/// Reads a duration as Go's `ParseDuration` does, in nanoseconds. `None` if the text is not a duration.
pub(crate) fn signed_duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0.0_f64;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let value: f64 = rest[..number].parse().ok().filter(|_| rest[..number] != *".")?;
        rest = &rest[number..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        nanos += value * unit_in_nanoseconds(&rest[..unit])?;
        rest = &rest[unit..];
    }
    #[expect(clippy::cast_possible_truncation, reason = "a duration beyond 292 years saturates")]
    Some((sign * nanos) as i64)
}

fn unit_in_nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{boolean, integer, signed_duration};

    #[test]
    fn integers_come_in_every_notation_of_go() {
        let cases = [
            ("8080", Some(8080)),
            ("-1", Some(-1)),
            ("0x1F90", Some(8080)),
            ("010", Some(8)),
            ("0", Some(0)),
        ];
        for (text, value) in cases {
            assert_eq!(integer(text).ok(), value, "{text}");
        }
        for wrong in ["", "1.5", "--1", "0x", "eighty"] {
            assert!(integer(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_add_up_their_parts() {
        let cases = [
            ("1m30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("0", 0),
            ("-2ms", -2_000_000),
            ("1h", 3_600_000_000_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(signed_duration(text), Some(nanos), "{text}");
        }
        for wrong in ["", "5", "s", ".s", "1d", "-", "1s2"] {
            assert_eq!(signed_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn booleans_are_go_booleans() {
        assert_eq!((boolean("T"), boolean("0")), (Ok(true), Ok(false)));
        assert!(boolean("yes").is_err());
    }
}
