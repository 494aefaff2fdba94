//! Runs a program whose time of day is wrong, while everything around it has the right time. It looks like a kubelet
//! whose clock was set.
//!
//! The kernel has one time of day for all processes, and a program in Go reads it from memory that the kernel shares with
//! it, past every library. So the program is traced: the address of that memory is hidden from it, so that it must call the
//! kernel, where a filter stops it. The tracer answers in place of the kernel. All other clocks are unchanged, and so is the
//! time of day for programs that use a call other than `clock_gettime`. Programs in Go use only this call.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Command, ExitCode, ExitStatus},
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, AddressType, Event, Options},
        signal::{Signal, raise},
        time::TimeSpec,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    time::{ClockId, clock_gettime},
    unistd::Pid,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The offset of the kubelet's clock in microseconds. The keeper reads it each time it starts the kubelet.
pub(super) const OFFSET_FILE: &str = "/run/saboteur/clock";

/// The word at the end of the auxiliary vector, which the kernel passes to a program at its start.
const AT_NULL: i64 = 0;
/// An entry of that vector that a program ignores.
const AT_IGNORE: i64 = 1;
/// The entry with the address of the shared memory with the clocks.
const AT_SYSINFO_EHDR: i64 = 33;
/// The size of a word in the memory of a traced program.
const WORD: u64 = 8;

/// Sets the clock of the next kubelet, in microseconds ahead; `None` gives it the right time again.
///
/// # Errors
///
/// When the file cannot be written.
pub(super) fn set(offset_us: Option<i64>) -> io::Result<()> {
    match offset_us {
        Some(offset_us) => fs::write(OFFSET_FILE, offset_us.to_string()),
        None => fs::remove_file(OFFSET_FILE),
    }
}

/// The arguments to put before a command so that it starts with the clock that was set; none if its time is right.
pub(crate) fn prefix() -> Vec<OsString> {
    let Ok(offset_us) = fs::read_to_string(OFFSET_FILE) else { return Vec::new() };
    let Ok(own) = std::env::current_exe() else { return Vec::new() };
    vec![own.into(), "with-clock".into(), "--ahead-us".into(), offset_us.trim().into(), "--".into()]
}

/// Runs a command whose time of day is `ahead_us` microseconds ahead, and ends with its exit status. If this process is
/// killed, the command is killed, too.
///
/// # Errors
///
/// When the command cannot be started or traced.
pub fn run(ahead_us: i64, command: &[OsString]) -> io::Result<ExitCode> {
    let own = std::env::current_exe()?;
    let child = Command::new(own).arg("traced").arg("--").args(command).spawn()?;
    let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let status = Tracer { first: pid, ahead_us, known: BTreeSet::from([pid]) }.work()?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The traced side: waits for its tracer, installs the filter, and becomes the command.
///
/// # Errors
///
/// When a part of this is not allowed, or the command does not exist.
pub fn become_traced(command: &[OsString]) -> io::Result<()> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("no command to trace"))?;
    let filter = filter().map_err(io::Error::other)?;
    ptrace::traceme()?;
    // Until its tracer has set the options, the filter makes every call fail.
    raise(Signal::SIGSTOP)?;
    seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    Err(Command::new(program).args(arguments).exec())
}

/// A filter that stops a program when it asks the kernel for the time of day.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let clock = u64::from(ClockId::CLOCK_REALTIME.as_raw().unsigned_abs());
    let of_day = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, clock)?;
    let rules = BTreeMap::from([(libc::SYS_clock_gettime, vec![SeccompRule::new(vec![of_day])?])]);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(0), architecture)?.try_into()
}

struct Tracer {
    /// The command itself.
    first: Pid,
    ahead_us: i64,
    /// The processes and threads that have stopped at least once.
    known: BTreeSet<Pid>,
}

impl Tracer {
    /// Follows the command and all processes that it starts, until the command ends.
    fn work(mut self) -> io::Result<ExitStatus> {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL))? {
                WaitStatus::Exited(pid, code) if pid == self.first => {
                    return Ok(ExitStatus::from_raw(code << 8));
                }
                WaitStatus::Signaled(pid, signal, _) if pid == self.first => {
                    return Ok(ExitStatus::from_raw(signal as i32));
                }
                WaitStatus::PtraceEvent(pid, _, event) => {
                    if event == Event::PTRACE_EVENT_SECCOMP as i32 {
                        gone_is_fine(self.answer(pid))?;
                    } else if event == Event::PTRACE_EVENT_EXEC as i32 {
                        gone_is_fine(hide_shared_clocks(pid))?;
                    }
                    gone_is_fine(ptrace::cont(pid, None))?;
                }
                WaitStatus::Stopped(pid, signal) => gone_is_fine(self.go_on(pid, signal))?,
                _ => {}
            }
        }
    }

    /// Each new thread begins with a stop that is only for its tracer; all other signals are the program's own.
    fn go_on(&mut self, pid: Pid, signal: Signal) -> Result<(), Errno> {
        if pid == self.first && signal == Signal::SIGSTOP {
            ptrace::setoptions(
                pid,
                Options::PTRACE_O_TRACESECCOMP
                    | Options::PTRACE_O_TRACEEXEC
                    | Options::PTRACE_O_TRACECLONE
                    | Options::PTRACE_O_TRACEFORK
                    | Options::PTRACE_O_TRACEVFORK
                    | Options::PTRACE_O_EXITKILL,
            )?;
            return ptrace::cont(pid, None);
        }
        let first_stop = self.known.insert(pid) && signal == Signal::SIGSTOP;
        ptrace::cont(pid, Some(signal).filter(|_| !first_stop))
    }

    /// Answers a request for the time of day in place of the kernel.
    fn answer(&self, pid: Pid) -> Result<(), Errno> {
        let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
        let told = moved(now, self.ahead_us);
        let mut registers = ptrace::getregs(pid)?;
        write(pid, registers.rsi, told.tv_sec())?;
        write(pid, registers.rsi + WORD, told.tv_nsec())?;
        // An invalid call: the kernel does nothing, and returns the value in the register.
        registers.orig_rax = u64::MAX;
        registers.rax = 0;
        ptrace::setregs(pid, registers)
    }
}

/// If the thread was killed in the meantime, this is not an error.
fn gone_is_fine(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(Errno::ESRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn moved(now: TimeSpec, ahead_us: i64) -> TimeSpec {
    const US: i64 = 1_000_000;
    const NS_OF_US: i64 = 1_000;
    let us = now.tv_sec() * US + now.tv_nsec() / NS_OF_US + ahead_us;
    TimeSpec::new(us.div_euclid(US), us.rem_euclid(US) * NS_OF_US + now.tv_nsec() % NS_OF_US)
}

/// Hides the shared memory with the clocks in the auxiliary vector of a program that has just started. The stack of such a
/// program holds the number of its arguments, the arguments, the environment, and then the auxiliary vector.
fn hide_shared_clocks(pid: Pid) -> Result<(), Errno> {
    let stack = ptrace::getregs(pid)?.rsp;
    let arguments = read(pid, stack)?.unsigned_abs();
    let mut at = stack + (arguments + 2) * WORD;
    while read(pid, at)? != 0 {
        at += WORD;
    }
    at += WORD;
    loop {
        match read(pid, at)? {
            AT_NULL => return Ok(()),
            AT_SYSINFO_EHDR => return write(pid, at, AT_IGNORE),
            _ => at += 2 * WORD,
        }
    }
}

fn read(pid: Pid, address: u64) -> Result<i64, Errno> {
    ptrace::read(pid, address as AddressType)
}

fn write(pid: Pid, address: u64, word: i64) -> Result<(), Errno> {
    ptrace::write(pid, address as AddressType, word)
}

#[cfg(test)]
mod tests {
    use nix::sys::time::TimeSpec;

    use super::moved;

    #[test]
    fn a_clock_can_be_ahead_and_behind() {
        let now = TimeSpec::new(1_000, 900_000_001);
        assert_eq!(moved(now, 200_000), TimeSpec::new(1_001, 100_000_001));
        assert_eq!(moved(now, -60_000_000), TimeSpec::new(940, 900_000_001));
        assert_eq!(moved(now, -950_000), TimeSpec::new(999, 950_000_001));
    }
}
