//! The resources that the harness itself used: CPU time and memory.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// The CPU time of this process so far, in microseconds, and its peak resident memory in bytes.
pub(super) fn of_this_process() -> (i64, u64) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return (0, 0) };
    let cpu = usage.user_time() + usage.system_time();
    (cpu.num_microseconds(), u64::try_from(usage.max_rss()).unwrap_or_default() * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_in_bytes() {
        let (_, peak) = of_this_process();
        assert!((1 << 20..1 << 40).contains(&peak), "{peak}");
    }
}
