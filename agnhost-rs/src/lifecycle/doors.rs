//! The doors: whether listeners take new connections, and how much is still being answered behind them.

use std::sync::Arc;

use tokio::sync::watch;

/// What listeners do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// They go on as their scripts say.
    Open,
    /// They are closed; what is under way is finished.
    Draining,
    /// They are closed; what is under way is aborted.
    Shut,
}

/// The state of all doors and the number of requests under way. Cheap to clone.
#[derive(Clone)]
pub struct Doors {
    door: Arc<watch::Sender<Door>>,
    visits: Arc<watch::Sender<usize>>,
}

impl Default for Doors {
    fn default() -> Self {
        Self { door: Arc::new(watch::Sender::new(Door::Open)), visits: Arc::new(watch::Sender::new(0)) }
    }
}

impl Doors {
    /// Sets the doors; listeners and connections that watch them act on it.
    pub fn set(&self, door: Door) {
        self.door.send_replace(door);
    }

    /// The state now.
    #[must_use]
    pub fn now(&self) -> Door {
        *self.door.borrow()
    }

    /// A watcher of the doors.
    #[must_use]
    pub fn watch(&self) -> DoorWatch {
        DoorWatch(self.door.subscribe())
    }

    /// Notes that a request is under way, until the visit is dropped.
    #[must_use]
    pub fn visit(&self) -> Visit {
        self.visits.send_modify(|count| *count += 1);
        Visit { visits: Arc::clone(&self.visits) }
    }

    /// Waits until no request is under way.
    pub async fn empty(&self) {
        // The sender lives in self, so waiting cannot fail.
        let _ = self.visits.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Somebody who acts when the doors close.
pub struct DoorWatch(watch::Receiver<Door>);

impl DoorWatch {
    /// Waits until the doors are no longer open.
    pub async fn closing(&mut self) {
        self.wait(|door| door != Door::Open).await;
    }

    /// Waits until the doors are shut.
    pub async fn shut(&mut self) {
        self.wait(|door| door == Door::Shut).await;
    }

    async fn wait(&mut self, wanted: fn(Door) -> bool) {
        // Without its sender the process is ending; nobody is left to act.
        if self.0.wait_for(|door| wanted(*door)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A request under way.
pub struct Visit {
    visits: Arc<watch::Sender<usize>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.visits.send_modify(|count| *count -= 1);
    }
}
