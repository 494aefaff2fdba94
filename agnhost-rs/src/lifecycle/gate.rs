//! The shutdown gate: whether listeners accept connections, and how many requests are still being answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, watch};

/// What listeners do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// They follow their scripts.
    Open,
    /// They are closed; open requests are answered.
    Draining,
    /// They are closed; open requests are aborted.
    Shut,
}

/// The state of all listeners and the number of open requests. Cheap to clone.
#[derive(Clone)]
pub struct ShutdownGate {
    gate: Arc<watch::Sender<GateState>>,
    open_requests: Arc<OpenRequests>,
}

/// The number of open requests. Every request changes it, so a change must be cheap.
#[derive(Default)]
struct OpenRequests {
    count: AtomicUsize,
    emptied: Notify,
}

impl Default for ShutdownGate {
    fn default() -> Self {
        Self { gate: Arc::new(watch::Sender::new(GateState::Open)), open_requests: Arc::default() }
    }
}

impl ShutdownGate {
    /// Sets the state. Listeners and connections that watch it act on it.
    pub fn set(&self, gate: GateState) {
        self.gate.send_replace(gate);
    }

    /// The state now.
    #[must_use]
    pub fn now(&self) -> GateState {
        *self.gate.borrow()
    }

    /// Watches the state.
    #[must_use]
    pub fn watch(&self) -> GateWatcher {
        GateWatcher(self.gate.subscribe())
    }

    /// Counts a request as open until the result is dropped.
    #[must_use]
    pub fn enter(&self) -> OpenRequest {
        self.open_requests.count.fetch_add(1, Ordering::SeqCst);
        OpenRequest { open_requests: Arc::clone(&self.open_requests) }
    }

    /// Waits until no request is open.
    pub async fn empty(&self) {
        let open = &*self.open_requests;
        loop {
            // Created before the count is read, so that it sees every later change to zero.
            let emptied = open.emptied.notified();
            if open.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            emptied.await;
        }
    }
}

/// Waits for a change of the gate.
pub struct GateWatcher(watch::Receiver<GateState>);

impl GateWatcher {
    /// Waits until the gate is closed.
    pub async fn closing(&mut self) {
        self.wait(|gate| gate != GateState::Open).await;
    }

    /// Waits until the gate is shut.
    pub async fn shut(&mut self) {
        self.wait(|gate| gate == GateState::Shut).await;
    }

    async fn wait(&mut self, wanted: fn(GateState) -> bool) {
        // Without a sender, the process is ending, and nothing needs to act.
        if self.0.wait_for(|gate| wanted(*gate)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A request that is being answered.
pub struct OpenRequest {
    open_requests: Arc<OpenRequests>,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.open_requests.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.open_requests.emptied.notify_waiters();
        }
    }
}
