//! `logs-generator`: writes lines that look like an API server's requests, evenly over some time.

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::go::flags::{duration, integer};
use super::go::{klog, signals, text};

const METHODS: [&str; 3] = ["GET", "POST", "PUT"];
const NAMESPACES: [&str; 3] = ["kube-system", "default", "ns"];
/// The letters and digits of which Kubernetes makes names.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Flags of `logs-generator`.
#[derive(Args, Debug)]
pub struct Flags {
    /// How many lines to write in all
    #[arg(short = 't', long, alias = "log_lines_total", default_value = "0", value_parser = integer, allow_hyphen_values = true)]
    log_lines_total: i64,
    /// Over how long a time to write them
    #[arg(short = 'd', long, alias = "run_duration", default_value = "0s", value_parser = duration)]
    run_duration: Duration,
}

/// Writes the lines and ends with status 0.
pub(super) fn run(flags: &Flags) -> ExitCode {
    signals::end_by_default();
    let total = u64::try_from(flags.log_lines_total).unwrap_or(0);
    if total == 0 {
        klog::fatal_from(
            "logs_generator.go:64",
            format!("Invalid total number of lines: {}", flags.log_lines_total),
        );
    }
    if flags.run_duration.is_zero() {
        let shown = text::duration(flags.run_duration);
        klog::fatal_from("logs_generator.go:68", format!("Invalid duration: {shown}"));
    }
    let between = flags.run_duration.as_nanos() / u128::from(total);
    let start = Instant::now();
    let mut chance = Chance::seeded();
    for id in 0..total {
        klog::info_from("logs_generator.go:76", line(id, &mut chance));
        let due = Duration::from_nanos(u64::try_from(between * u128::from(id + 1)).unwrap_or(u64::MAX));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
    }
    ExitCode::SUCCESS
}

fn line(id: u64, chance: &mut Chance) -> String {
    let method = METHODS[chance.below(METHODS.len())];
    let namespace = NAMESPACES[chance.below(NAMESPACES.len())];
    let length = 3 + chance.below(2);
    let pod: String =
        (0..length).map(|_| char::from(NAME_LETTERS[chance.below(NAME_LETTERS.len())])).collect();
    format!("{id} {method} /api/v1/namespaces/{namespace}/pods/{pod} {}", 200 + chance.below(400))
}

/// A small generator (splitmix64): the lines need variety, not quality.
struct Chance(u64);

impl Chance {
    fn seeded() -> Self {
        Self(RandomState::new().hash_one(std::process::id()))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed >> 33) % (bound.max(1) as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, line};

    #[test]
    fn a_line_has_number_method_path_and_status() {
        let mut chance = Chance(7);
        for id in 0..1000 {
            let line = line(id, &mut chance);
            let parts: Vec<_> = line.split(' ').collect();
            assert!(matches!(parts[..], [_, "GET" | "POST" | "PUT", ..]), "{line}");
            let status: u16 = parts[3].parse().unwrap_or(0);
            assert!((200..600).contains(&status), "{line}");
            let pod = parts[2].rsplit('/').next().unwrap_or_default();
            assert!((3..5).contains(&pod.len()), "{line}");
        }
    }
}
