//! An outlet for lines: a limited buffer, a count of losses, and a thread that empties the buffer.
//!
//! A *prompt* outlet has a descriptor that never blocks, so an arrival is written to it immediately. For other outlets (a
//! file on a slow disk, a terminal that could not be opened a second time), only their thread writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use probity_script::witness::Lost;

use super::Urgency;
use crate::locks::lock;
use crate::recent::RecentLines;

/// How long a line that is not an arrival may wait for further lines.
const GATHER: Duration = Duration::from_millis(1);

/// An outlet for lines.
pub struct Outlet {
    name: &'static str,
    most: usize,
    /// Whether it was created without a connection, so that it may still be connected.
    linked: bool,
    state: Mutex<OutletState>,
    filled: Condvar,
}

struct OutletState {
    destination: Destination,
    waiting: Vec<u8>,
    writing: bool,
    lost: u64,
    unsaid: Option<(u64, u64)>,
    idle: bool,
}

/// Where the bytes are written.
enum Destination {
    /// Nowhere yet. Lines wait.
    None,
    /// A descriptor that does not block.
    Prompt(OwnedFd),
    /// A descriptor that may block, which only the thread uses.
    Patient(Arc<File>),
}

impl Outlet {
    fn start(name: &'static str, most: usize, destination: Destination) -> Arc<Self> {
        let linked = matches!(destination, Destination::None);
        let state = OutletState {
            destination,
            waiting: Vec::new(),
            writing: false,
            lost: 0,
            unsaid: None,
            idle: true,
        };
        let outlet = Arc::new(Self { name, most, linked, state: Mutex::new(state), filled: Condvar::new() });
        let worker = Arc::clone(&outlet);
        // Without its thread, an outlet fills up and counts what it loses, which is correct.
        let _ =
            thread::Builder::new().name(name.to_owned()).stack_size(64 * 1024).spawn(move || worker.work());
        outlet
    }

    /// Standard output. It is opened a second time, so that it is non-blocking only for this process.
    #[must_use]
    pub fn stdout(most: usize) -> Arc<Self> {
        let again =
            OpenOptions::new().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open("/proc/self/fd/1");
        let is_stream = |file: &File| file.metadata().is_ok_and(|data| !data.is_file());
        let destination = match again {
            Ok(file) if is_stream(&file) => Destination::Prompt(file.into()),
            // A file that is opened a second time has a second position, so writes would overwrite each other.
            _ => match io::stdout().as_fd().try_clone_to_owned() {
                Ok(fd) => Destination::Patient(Arc::new(fd.into())),
                Err(_) => Destination::None,
            },
        };
        Self::start("stdout", most, destination)
    }

    /// A file that lines are appended to.
    #[must_use]
    pub fn file(name: &'static str, file: File, most: usize) -> Arc<Self> {
        Self::start(name, most, Destination::Patient(Arc::new(file)))
    }

    /// An outlet without a destination until it is connected.
    #[must_use]
    pub fn unconnected(name: &'static str, most: usize) -> Arc<Self> {
        Self::start(name, most, Destination::None)
    }

    /// Connects the outlet to a descriptor that must not block.
    pub(super) fn connect(&self, destination: OwnedFd) {
        lock(&self.state).destination = Destination::Prompt(destination);
        self.filled.notify_one();
    }

    /// Lets lines wait until the outlet is connected again.
    pub(super) fn disconnect(&self) {
        lock(&self.state).destination = Destination::None;
    }

    /// Its name in the witness.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How many lines it has lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        lock(&self.state).lost
    }

    /// Accepts a line, or counts it as lost. Returns an earlier loss that can be reported because there is room again.
    pub(super) fn offer(&self, seq: u64, line: &[u8], urgency: Urgency) -> Option<Lost> {
        let mut state = lock(&self.state);
        if state.waiting.len() + line.len() > self.most {
            state.write_promptly();
        }
        if state.waiting.len() + line.len() > self.most {
            state.lost += 1;
            let (_, lines) = state.unsaid.get_or_insert((seq, 0));
            *lines += 1;
            return None;
        }
        state.waiting.extend_from_slice(line);
        match urgency {
            Urgency::Now => self.hurry(&mut state),
            Urgency::Awaited => {}
            Urgency::Soon => self.wake(&mut state),
        }
        // Reported only when half of the buffer is free, so that a slow reader does not receive only reports of losses.
        let room = state.waiting.len() <= self.most / 2;
        let unsaid = if room { state.unsaid.take() } else { None };
        unsaid.map(|(first, lines)| Lost { to: self.name.to_owned(), lines, first })
    }

    /// Offers the waiting bytes to the system.
    pub(super) fn push(&self) {
        self.hurry(&mut lock(&self.state));
    }

    /// Writes without waiting. The thread writes the rest.
    fn hurry(&self, state: &mut OutletState) {
        state.write_promptly();
        self.wake(state);
    }

    fn wake(&self, state: &mut OutletState) {
        if state.idle && !state.waiting.is_empty() {
            state.idle = false;
            self.filled.notify_one();
        }
    }

    /// Accepts bytes that are not a numbered line, and drops them if there is no room.
    pub(super) fn whisper(&self, bytes: &[u8]) {
        let mut state = lock(&self.state);
        if !matches!(state.destination, Destination::None) && state.waiting.len() + bytes.len() <= self.most {
            state.waiting.extend_from_slice(bytes);
            state.write_promptly();
        }
    }

    /// Replaces the waiting bytes with the lines in memory from a number on. Lines that are no longer in memory count as
    /// lost.
    ///
    /// The buffer of such an outlet is at least as large as the witness's memory.
    pub(super) fn refill(&self, seq: u64, recent: &RecentLines) {
        let since = recent.since(seq, usize::MAX);
        let mut state = lock(&self.state);
        let missing = since.first.saturating_sub(seq);
        state.lost += missing;
        state.unsaid = (missing > 0).then_some((seq, missing));
        state.waiting = since.concat();
    }

    /// Waits until no bytes are waiting, or the deadline has passed. It also waits for an outlet that may still be
    /// connected, because a process that ends immediately has lines to send but may not be connected yet.
    pub(super) fn drain_until(&self, deadline: Instant) {
        loop {
            {
                let mut state = lock(&self.state);
                state.write_promptly();
                let is_lost = matches!(state.destination, Destination::None) && !self.linked;
                if is_lost || (state.waiting.is_empty() && !state.writing) {
                    return;
                }
            }
            self.filled.notify_one();
            if Instant::now() >= deadline {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The loop of the thread: it waits for bytes, gathers more for a moment, and writes them.
    fn work(&self) {
        loop {
            let mut state = lock(&self.state);
            while state.waiting.is_empty() || matches!(state.destination, Destination::None) {
                state.idle = true;
                state = self.filled.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            state.idle = false;
            drop(state);
            thread::sleep(GATHER);
            self.write_once();
        }
    }

    fn write_once(&self) {
        let mut state = lock(&self.state);
        match &state.destination {
            Destination::None => {}
            Destination::Prompt(_) => {
                state.write_promptly();
                let stuck = !state.waiting.is_empty();
                let waiter = match &state.destination {
                    Destination::Prompt(fd) if stuck => fd.try_clone().ok(),
                    _ => None,
                };
                drop(state);
                if let Some(fd) = waiter {
                    let _ =
                        poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLOUT)], PollTimeout::from(50_u8));
                }
            }
            Destination::Patient(file) => {
                let file = Arc::clone(file);
                let bytes = std::mem::take(&mut state.waiting);
                state.writing = true;
                drop(state);
                let written = (&*file).write_all(&bytes);
                let mut state = lock(&self.state);
                state.writing = false;
                if written.is_err() {
                    state.lost += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
                }
            }
        }
    }
}

impl OutletState {
    /// Writes as much as the descriptor accepts without waiting.
    fn write_promptly(&mut self) {
        let Destination::Prompt(fd) = &self.destination else { return };
        let mut done = 0;
        let mut broken = false;
        while done < self.waiting.len() {
            match nix::unistd::write(fd, &self.waiting[done..]) {
                Ok(count) => done += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(_) => {
                    broken = true;
                    break;
                }
            }
        }
        self.waiting.drain(..done);
        if broken {
            self.destination = Destination::None;
        }
    }
}
