//! Log lines as klog writes them: `I1121 04:00:08.085596       1 log.go:244] text`, on standard error.
//!
//! Tests match the part after the bracket, and log collectors match the part before it. Times are UTC. A line is
//! written with one call, so that lines of several threads never mix. A closed standard error does not stop the
//! program.

use std::fmt::Display;
use std::io::Write;
use std::process::exit;

/// The source location in agnhost's plain log lines.
const PLAIN: &str = "log.go:244";

/// Writes an information line.
pub(crate) fn info(text: impl Display) {
    write('I', PLAIN, &text.to_string());
}

/// Writes an information line that names another place in the source.
pub(crate) fn info_from(place: &str, text: impl Display) {
    write('I', place, &text.to_string());
}

/// Writes a line and ends the process with status 1, as Go's standard logger does for a fatal error.
pub(crate) fn fatal(text: impl Display) -> ! {
    info(text);
    exit(1)
}

/// Writes a line of severity F and ends the process with status 255, as klog itself does (without its stack dump).
pub(crate) fn fatal_from(place: &str, text: impl Display) -> ! {
    write('F', place, &text.to_string());
    exit(255)
}

fn write(severity: char, place: &str, text: &str) {
    let line = line(severity, jiff::Timestamp::now(), std::process::id(), place, text);
    // If the log itself can't be written, the error cannot be reported anywhere.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

fn line(severity: char, stamp: jiff::Timestamp, pid: u32, place: &str, text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let when = stamp.to_zoned(jiff::tz::TimeZone::UTC).strftime("%m%d %H:%M:%S%.6f");
    format!("{severity}{when} {pid:>7} {place}] {text}{end}")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_has_severity_stamp_padded_pid_and_place() {
        let stamp = "2026-11-21T02:40:08.085596Z".parse().unwrap_or_default();
        assert_eq!(
            line('I', stamp, 12, "log.go:244", "GET /echo?msg=hi&code="),
            "I1121 02:40:08.085596      12 log.go:244] GET /echo?msg=hi&code=\n"
        );
    }

    #[test]
    fn a_text_that_ends_its_line_gets_no_second_end() {
        let line = line('I', jiff::Timestamp::UNIX_EPOCH, 1, "a.go:1", "Serving on port 9376.\n");
        assert!(line.ends_with("9376.\n") && !line.ends_with("\n\n"), "{line:?}");
    }
}
