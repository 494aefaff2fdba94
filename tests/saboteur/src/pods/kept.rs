//! HTTP/2 connections to pods that a defect keeps for the next probe.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::http2::Sender;
use super::memory::Key;

/// The connections, by probe.
#[derive(Default)]
pub(super) struct Kept(Mutex<HashMap<Key, Sender>>);

impl Kept {
    /// The connection that is kept for a probe.
    #[must_use]
    pub(super) fn get(&self, key: &Key) -> Option<Sender> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps one.
    pub(super) fn keep(&self, key: &Key, sender: Sender) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), sender);
    }
}
