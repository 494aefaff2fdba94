//! Writes values as Go does: quoted strings, durations, stamps and system errors.
//!
//! The texts are byte for byte those that `%q`, `%v` and `%s` give in agnhost, because tests match its output as text.

use std::fmt::Write as _;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static STARTED: OnceLock<Instant> = OnceLock::new();

/// The moment at which the monotonic part of printed stamps is zero. The first call sets it.
pub(crate) fn process_start() -> Instant {
    *STARTED.get_or_init(Instant::now)
}

/// A moment with a wall clock and a monotonic reading, like Go's `time.Time`.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    wall: jiff::Timestamp,
    monotonic: Instant,
}

impl Moment {
    /// Reads both clocks.
    pub(crate) fn now() -> Self {
        process_start();
        Self { wall: jiff::Timestamp::now(), monotonic: Instant::now() }
    }

    /// The time that has passed since this moment.
    pub(crate) fn elapsed(self) -> Duration {
        self.monotonic.elapsed()
    }

    /// The form `2026-11-21 04:00:08.841895335 +0000 UTC m=+0.775791999`, always in UTC.
    pub(crate) fn text(self) -> String {
        let date = self.wall.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S");
        let fraction = match self.wall.subsec_nanosecond() {
            0 => String::new(),
            nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
        };
        let run = self.monotonic.saturating_duration_since(process_start());
        format!("{date}{fraction} +0000 UTC m=+{}.{:09}", run.as_secs(), run.subsec_nanos())
    }
}

/// A duration as Go prints it: `1h2m3.5s`, `250ms`, `1.5µs`, `0s`.
pub(crate) fn duration(span: Duration) -> String {
    let nanos = span.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000, 6)),
        _ => hours_minutes_seconds(nanos),
    }
}

fn hours_minutes_seconds(nanos: u128) -> String {
    const MINUTE: u128 = 60_000_000_000;
    let (hours, minutes) = (nanos / (60 * MINUTE), nanos / MINUTE % 60);
    let seconds = decimal(nanos % MINUTE, 1_000_000_000, 9);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(value: u128, unit: u128, digits: usize) -> String {
    let text = format!("{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A string as `%q` prints it.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_quoted(&mut out, c));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

fn push_quoted(out: &mut String, c: char) {
    let short = match c {
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        '\\' => "\\\\",
        '"' => "\\\"",
        '\'' => "'",
        _ => "",
    };
    let printable = c.escape_debug().len() == 1;
    let _ = match (short, c as u32) {
        ("", code) if code < 0x20 || code == 0x7f => write!(out, "\\x{code:02x}"),
        ("", _) if printable => write!(out, "{c}"),
        ("", code) if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
        ("", code) => write!(out, "\\U{code:08x}"),
        (short, _) => write!(out, "{short}"),
    };
}

/// The text of a system error: `connection refused`, `no such file or directory`.
pub(crate) fn errno(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => lower_first(nix::errno::Errno::from_raw(code).desc()),
        None => error.to_string(),
    }
}

fn lower_first(text: &str) -> String {
    // "I/O error" and similar texts keep their capitals: only a plain first word is changed to lower case.
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(crate) fn host_port(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// JSON as Go writes it: `<`, `>`, `&` and the two line separators are escaped.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    let plain = serde_json::to_string(value)?;
    Ok(plain
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// The host's name. If it cannot be read, the process ends with a fatal line.
pub(crate) fn host_name() -> String {
    match nix::unistd::gethostname() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(error) => super::klog::fatal(format!(
            "Error occurred: failed to get hostname:{}",
            lower_first(error.desc())
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, errno, quoted};
    use std::io;
    use std::time::Duration;

    #[test]
    fn durations_use_the_largest_unit_without_zeros_behind() {
        let cases = [
            (0, "0s"),
            (15, "15ns"),
            (1_500, "1.5µs"),
            (250_000_000, "250ms"),
            (1_000_000_000, "1s"),
            (61_250_000_000, "1m1.25s"),
            (3_600_000_000_000, "1h0m0s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn quoting_escapes_what_go_escapes() {
        assert_eq!(quoted(b"a\"b\\c\n'\x01\xff\xc3\xa9"), "\"a\\\"b\\\\c\\n'\\x01\\xff\u{e9}\"");
    }

    #[test]
    fn system_errors_start_in_lower_case() {
        assert_eq!(errno(&io::Error::from_raw_os_error(111)), "connection refused");
        assert_eq!(errno(&io::Error::from_raw_os_error(2)), "no such file or directory");
    }
}
