//! The proxy's memory from one probe to the next: the last answer, how many probes were skipped, and kept connections.

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Stream;

/// The identity of a probe: its destination, and the pod's uid with the requested path or service. Another pod may
/// have the same address later.
pub(super) type Key = (SocketAddrV4, String);

/// The last answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// The connection was refused, broken, or got no answer.
    None,
    /// It was accepted; TCP has no further answer.
    Open,
    /// These bytes of HTTP/1.1.
    Http(Vec<u8>),
    /// The answer had this status, in HTTP/2.
    Status(u16),
    /// This health status.
    Health(u64),
    /// This gRPC error.
    Error(u32),
}

/// One memory for all connections. Every clone is the same memory.
#[derive(Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    last: HashMap<Key, Last>,
    counts: HashMap<Key, u32>,
    kept: HashMap<Key, Stream>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this probe is the one in `pass` that reaches the pod. The first probe does.
    pub(super) fn passes(&self, key: &Key, pass: u32) -> bool {
        let mut memory = self.lock();
        let count = memory.counts.entry(key.clone()).or_insert(0);
        let number = *count;
        *count += 1;
        pass != 0 && number.is_multiple_of(pass)
    }

    /// The last answer to a probe.
    #[must_use]
    pub(super) fn last(&self, key: &Key) -> Option<Last> {
        self.lock().last.get(key).cloned()
    }

    /// Remembers an answer.
    pub(super) fn remember(&self, key: &Key, last: Last) {
        self.lock().last.insert(key.clone(), last);
    }

    /// Takes the connection that was kept for a probe.
    #[must_use]
    pub(super) fn take(&self, key: &Key) -> Option<Stream> {
        self.lock().kept.remove(key)
    }

    /// Keeps a connection for the next probe.
    pub(super) fn keep(&self, key: &Key, stream: Stream) {
        self.lock().kept.insert(key.clone(), stream);
    }
}
