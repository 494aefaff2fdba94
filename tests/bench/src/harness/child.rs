//! What a command costs. A process of its own starts it: the system reports the peak memory of the children of a process
//! only as a maximum over all of them.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The word on the command line for the process that starts a command.
pub const WORD: &str = "measured-child";

/// The exit statuses of `probity` after it has done its work; which of them depends on the verdicts.
const WORKED: [i64; 3] = [0, 1, 3];

/// What a command has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// The time that it took, in seconds.
    pub wall: f64,
    /// The user and system time of all its threads, in seconds.
    pub cpu: f64,
    /// The largest memory that it had, in bytes.
    pub memory: f64,
}

/// Runs a command on one processor or on all.
///
/// # Errors
///
/// If it cannot be started, or fails.
pub fn cost(program: &Path, arguments: &[&str], one_processor: bool) -> io::Result<Cost> {
    let processors = if one_processor { "one" } else { "all" };
    let output = Command::new(std::env::current_exe()?)
        .args([WORD, processors])
        .arg(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    let said: Value = serde_json::from_slice(&output.stdout).map_err(io::Error::other)?;
    if !said["status"].as_i64().is_some_and(|status| WORKED.contains(&status)) {
        return Err(io::Error::other(format!("{} {}: {said}", program.display(), arguments.join(" "))));
    }
    let number = |name: &str| said[name].as_f64().unwrap_or(f64::NAN);
    Ok(Cost { wall: number("wall"), cpu: number("cpu"), memory: number("memory") })
}

/// Runs the command of [`cost`], and prints what it used.
///
/// # Errors
///
/// If it cannot be started.
pub fn measured(mut arguments: impl Iterator<Item = String>) -> io::Result<()> {
    if arguments.next().as_deref() == Some("one") {
        bind_to_one_processor()?;
    }
    let program = arguments.next().unwrap_or_default();
    let began = Instant::now();
    let nothing = || File::options().write(true).open("/dev/null");
    let status = Command::new(program).args(arguments).stdout(nothing()?).stderr(nothing()?).status()?;
    let wall = began.elapsed().as_secs_f64();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let said = json!({
        "status": status.code(),
        "wall": wall,
        "cpu": seconds(used.user_time()) + seconds(used.system_time()),
        "memory": used.max_rss() * 1024,
    });
    writeln!(io::stdout(), "{said}")
}

/// Binds this process, and so its children, to the first processor that it may use.
fn bind_to_one_processor() -> io::Result<()> {
    let all = sched_getaffinity(Pid::from_raw(0))?;
    let first = (0..CpuSet::count()).find(|at| all.is_set(*at).unwrap_or(false)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}
