//! Tests a command that the program runs with a wrong time of day.
#![cfg(target_arch = "x86_64")]

use std::{
    process::{Command, Output},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

type Error = Box<dyn std::error::Error>;

const HOUR: Duration = Duration::from_hours(1);

fn with_clock(ahead_us: i64, script: &str) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_saboteur"))
        .args(["with-clock", "--ahead-us", &ahead_us.to_string(), "--", "bash", "-c", script])
        .output()
}

/// The time of day that a command printed, in seconds.
fn printed(output: &Output) -> Result<u64, Error> {
    Ok(String::from_utf8(output.stdout.clone())?.trim().parse()?)
}

#[test]
fn a_command_and_what_it_starts_have_another_time_of_day() -> Result<(), Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let hour_us = i64::try_from(HOUR.as_micros())?;
    for script in ["date +%s", "(date +%s)"] {
        let ahead = printed(&with_clock(hour_us, script)?)?;
        let behind = printed(&with_clock(-hour_us, script)?)?;
        assert!(ahead.abs_diff(now + HOUR.as_secs()) < 60, "{script}: {ahead}, now {now}");
        assert!(behind.abs_diff(now - HOUR.as_secs()) < 60, "{script}: {behind}, now {now}");
    }
    Ok(())
}

#[test]
fn it_ends_as_the_command_ends() -> Result<(), Error> {
    assert_eq!(with_clock(0, "exit 7")?.status.code(), Some(7));
    assert_eq!(with_clock(0, "kill -KILL $$")?.status.code(), Some(137));
    assert_eq!(with_clock(0, "kill -USR1 $$")?.status.code(), Some(138));
    Ok(())
}

#[test]
fn its_signals_reach_it() -> Result<(), Error> {
    let caught = with_clock(0, "trap 'echo caught' USR1; kill -USR1 $$; exit 3")?;
    assert_eq!((caught.status.code(), caught.stdout.as_slice()), (Some(3), b"caught\n".as_slice()));
    Ok(())
}
