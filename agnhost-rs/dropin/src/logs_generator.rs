//! `logs-generator`: writes lines that look like an API server's requests, spread evenly over some time.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use fastrand::Rng;

use super::go::flags::{duration, integer};
use super::go::{klog, signals, text};

const METHODS: [&str; 3] = ["GET", "POST", "PUT"];
const NAMESPACES: [&str; 3] = ["kube-system", "default", "ns"];
/// The letters and digits of generated Kubernetes names.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The flags of `logs-generator`.
#[derive(Args, Debug)]
pub struct LogsGeneratorFlags {
    /// How many lines to write in total
    #[arg(short = 't', long, alias = "log_lines_total", default_value = "0", value_parser = integer, allow_hyphen_values = true)]
    log_lines_total: i64,
    /// Time over which to spread them
    #[arg(short = 'd', long, alias = "run_duration", default_value = "0s", value_parser = duration)]
    run_duration: Duration,
}

/// Writes the lines and exits with status 0.
pub(super) fn run(flags: &LogsGeneratorFlags) -> ExitCode {
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
    let mut random = Rng::new();
    for id in 0..total {
        klog::info_from("logs_generator.go:76", line(id, &mut random));
        let due = Duration::from_nanos(u64::try_from(between * u128::from(id + 1)).unwrap_or(u64::MAX));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
    }
    ExitCode::SUCCESS
}

fn line(id: u64, random: &mut Rng) -> String {
    let method = METHODS[random.usize(..METHODS.len())];
    let namespace = NAMESPACES[random.usize(..NAMESPACES.len())];
    let pod: String = (0..random.usize(3..5))
        .map(|_| char::from(NAME_LETTERS[random.usize(..NAME_LETTERS.len())]))
        .collect();
    format!("{id} {method} /api/v1/namespaces/{namespace}/pods/{pod} {}", random.u16(200..600))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_has_number_method_path_and_status() {
        let mut random = fastrand::Rng::with_seed(7);
        for id in 0..1000 {
            let line = line(id, &mut random);
            let parts: Vec<_> = line.split(' ').collect();
            assert!(matches!(parts[..], [_, "GET" | "POST" | "PUT", ..]), "{line}");
            let status: u16 = parts[3].parse().unwrap_or(0);
            assert!((200..600).contains(&status), "{line}");
            let pod = parts[2].rsplit('/').next().unwrap_or_default();
            assert!((3..5).contains(&pod.len()), "{line}");
        }
    }
}
