//! The only place that waits for processes that have ended.
//!
//! The first process of a container inherits every process whose parent has ended. If it reaps them, each is recorded.
//! With `reap: false` in the plan, they remain as zombies, as under a program that does not reap. The children that this
//! process starts are reaped in both cases.

use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use probity_script::Fact;
use probity_script::witness::ChildSeen;

use super::children::Children;
use crate::locks::lock;

impl Children {
    /// Reaps all processes that have exited, without waiting.
    pub fn sweep(&self) {
        if self.adopts {
            while self.collect(None) {}
        } else {
            let own: Vec<i32> = lock(&self.names).keys().copied().collect();
            for pid in own {
                self.collect(Some(Pid::from_raw(pid)));
            }
        }
    }

    /// Reaps one process. Returns whether there may be more.
    fn collect(&self, which: Option<Pid>) -> bool {
        // The lock is held meanwhile, so that a child that is just being started gets its name before its end is
        // handled.
        let mut names = lock(&self.names);
        let (pid, status) = match waitpid(which, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => (pid, format!("exit {code}")),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, signal.as_str().to_owned()),
            // A real-time signal has no name, and the process that it ended is no longer known.
            Err(Errno::EINTR | Errno::EINVAL) => return true,
            _ => return false,
        };
        let name = names.remove(&pid.as_raw());
        drop(names);
        let event = if name.is_some() { "ended" } else { "reaped" };
        self.witness.record(&Fact::Child(ChildSeen {
            name: name.unwrap_or_else(|| "orphan".to_owned()),
            pid: u32::try_from(pid.as_raw()).unwrap_or(0),
            event: event.to_owned(),
            status: Some(status),
        }));
        true
    }
}
