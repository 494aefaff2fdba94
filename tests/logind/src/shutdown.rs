//! The shutdown that is announced and never happens: who is told, and who delays it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use zbus::Connection;

use crate::manager::{MANAGER, PATH};

/// How long a kubelet may take after its start until it holds a lock.
const LOCKED_WITHIN: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What all connections share.
#[derive(Default)]
pub(crate) struct Shutdown(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    clients: Vec<Connection>,
    /// The number of locks that are held.
    locks: usize,
    /// When the shutdown was announced, and whether a lock was held then.
    announced: Option<(Instant, bool)>,
    /// When the last lock was released.
    released: Option<Instant>,
}

fn state(of: &Mutex<State>) -> MutexGuard<'_, State> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shutdown {
    /// A client connected.
    pub(crate) fn joined(&self, client: Connection) {
        state(&self.0).clients.push(client);
    }

    /// A client disconnected.
    pub(crate) fn forget_the_gone(&self) {
        state(&self.0).clients.retain(|client| !client.is_closed());
    }

    /// A new lock: one end of a pipe, which the client closes to release it.
    pub(crate) fn lock(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = io::pipe()?;
        let mut ours = Receiver::from_owned_fd(ours.into())?;
        state(&self.0).locks += 1;
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _ = ours.read_to_end(&mut Vec::new()).await;
            let mut state = state(&shared);
            state.locks -= 1;
            if state.locks == 0 {
                state.released = Some(Instant::now());
            }
        });
        Ok(theirs.into())
    }

    /// Announces the shutdown as soon as a lock delays it. Returns whether one does: a kubelet that has just started gets
    /// [`LOCKED_WITHIN`] for it.
    pub(crate) async fn announce(&self) -> bool {
        let until = Instant::now() + LOCKED_WITHIN;
        while state(&self.0).locks == 0 && Instant::now() < until {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let delayed = {
            let mut state = state(&self.0);
            let delayed = state.locks > 0;
            state.announced = Some((Instant::now(), delayed));
            delayed
        };
        self.tell(true).await;
        delayed
    }

    /// Cancels the shutdown. Returns whether a lock delayed it when it was announced, and how long after the announcement
    /// the last lock was released.
    pub(crate) async fn cancel(&self) -> (bool, Option<Duration>) {
        let (announced, released) = {
            let mut state = state(&self.0);
            (state.announced.take(), state.released.filter(|_| state.locks == 0))
        };
        if announced.is_some() {
            self.tell(false).await;
        }
        let Some((announced, delayed)) = announced else { return (false, None) };
        (delayed, released.and_then(|released| released.checked_duration_since(announced)))
    }

    /// Sends the signal that a shutdown begins, or is cancelled.
    async fn tell(&self, begins: bool) {
        let clients = state(&self.0).clients.clone();
        for client in clients {
            let _ = client.emit_signal(None::<&str>, PATH, MANAGER, "PrepareForShutdown", &(begins,)).await;
        }
    }
}
