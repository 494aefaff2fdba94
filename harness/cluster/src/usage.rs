//! What the harness itself took: processor time and memory.

use std::fs;

/// The processor time of this process so far, in microseconds, and its peak resident memory in bytes.
#[must_use]
pub fn of_this_process() -> (i64, u64) {
    let cpu = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_us(&stat)).unwrap_or_default();
    let peak = fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| peak_bytes(&status))
        .unwrap_or_default();
    (cpu, peak)
}

/// User and system time stand at the 14th and 15th place, in hundredths of a second; the name before them may hold spaces.
fn cpu_us(stat: &str) -> Option<i64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: i64 = fields.next()?.parse().ok()?;
    let system: i64 = fields.next()?.parse().ok()?;
    Some((user + system) * 10_000)
}

fn peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_us(stat), Some(3_000_000));
    }

    #[test]
    fn the_peak_is_told_in_bytes() {
        assert_eq!(peak_bytes("VmPeak: 9 kB\nVmHWM:\t    12 kB\n"), Some(12_288));
    }
}
