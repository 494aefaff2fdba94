//! Measurements that the system reports about a process and about the machine.

use std::fs;
use std::io;
use std::path::Path;

/// Memory of a process in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Pages in memory, including shared ones.
    pub resident: u64,
    /// Pages in memory, with shared ones divided among the processes that share them.
    pub proportional: u64,
}

/// The memory of a process now.
///
/// # Errors
///
/// If it has ended.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    Ok(Memory { resident: field("Rss:"), proportional: field("Pss:") })
}

/// The CPU time that a process has used so far, in seconds, user and system together.
///
/// # Errors
///
/// If it has ended.
pub fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may contain spaces, so fields are counted after its closing parenthesis.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    Ok(ticks as f64 / per_second as f64)
}

/// A description of the machine, in lines for a reader.
#[must_use]
pub fn machine() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo").lines().next().unwrap_or_default().replace("MemTotal:", "");
    vec![
        format!("{cores} processors ({})", model.map_or("of unknown make", |(_, name)| name.trim())),
        format!("memory {}", memory.trim()),
        format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
    ]
}

/// The load averages now.
#[must_use]
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The size of a file; `None` if the file does not exist.
#[must_use]
pub fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|data| data.len())
}
