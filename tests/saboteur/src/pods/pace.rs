//! A different pace: the proxy probes the pod as often as the defect requires, and the kubelet gets the last answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Shared;
use super::effects::Pace;
use super::exchange::{Errand, Reply};
use super::http1::remembered;
use super::memory::{Key, Last, Memory};

/// The probes that have a pacer, and when the kubelet last sent each.
#[derive(Default)]
pub(super) struct Pacers(Mutex<HashMap<Key, Instant>>);

/// After this time, a pod that the kubelet no longer probes is left alone.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait for the first answer.
const FIRST: Duration = Duration::from_secs(60);
/// How long to wait for any answer. The kubelet's own timeout is not known here.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Pacers {
    /// Whether the probe is new, so that a pacer must be started.
    fn ask(&self, key: &Key) -> bool {
        let mut pacers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pacers.insert(key.clone(), Instant::now()).is_none()
    }

    /// Whether the kubelet still sends this probe. If not, the pacer is removed.
    fn is_wanted(&self, key: &Key, patience: Duration) -> bool {
        let mut pacers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = pacers.get(key).is_some_and(|asked| asked.elapsed() < patience);
        if !is_wanted {
            pacers.remove(key);
        }
        is_wanted
    }
}

/// Keeps the pace of an HTTP probe, and returns its last answer.
pub(super) async fn http(shared: &std::sync::Arc<Shared>, errand: &Errand, pace: Pace) -> Option<Last> {
    if shared.pacers.ask(&errand.key) {
        let (shared, mut errand) = (std::sync::Arc::clone(shared), errand.clone());
        errand.effects.pace = None;
        let key = errand.key.clone();
        tokio::spawn(async move {
            keep(&shared, &key, pace, || {
                let (errand, memory) = (errand.clone(), shared.memory.clone());
                tokio::spawn(async move { ask(&errand, &memory).await });
            })
            .await;
        });
    }
    first(&shared.memory, &errand.key).await
}

async fn ask(errand: &Errand, memory: &Memory) {
    let last = match tokio::time::timeout(TIMEOUT, errand.run(None)).await {
        Ok(Ok(reply)) => Last::Http(remembered(&judged(reply, errand))),
        Ok(Err(_)) | Err(_) => Last::None,
    };
    memory.remember(&errand.key, last);
}

fn judged(mut reply: Reply, errand: &Errand) -> Reply {
    reply.head.judge(&errand.effects.judge);
    reply
}

/// Calls `probe` at the pace until the kubelet no longer probes.
pub(super) async fn keep(shared: &Shared, key: &Key, pace: Pace, probe: impl Fn()) {
    let patience = PATIENCE.max(pace.period * 3);
    let mut next = Instant::now();
    while shared.pacers.is_wanted(key, patience) {
        for _ in 0..pace.burst.max(1) {
            probe();
        }
        // The next time counts from the last scheduled time, so that the duration of a probe does not make the pace
        // drift.
        next += pace.period + pace.spread.mul_f64(fastrand::f64());
        sleep(next.saturating_duration_since(Instant::now())).await;
    }
}

/// The last answer, once there is one.
async fn first(memory: &Memory, key: &Key) -> Option<Last> {
    let until = Instant::now() + FIRST;
    while Instant::now() < until {
        if let Some(last) = memory.last(key) {
            return Some(last);
        }
        sleep(Duration::from_millis(2)).await;
    }
    None
}

/// Keeps the pace of any other probe; `probe` sends it and remembers the answer.
pub(super) async fn other(
    shared: &std::sync::Arc<Shared>,
    key: &Key,
    pace: Pace,
    probe: impl Fn() + Send + Sync + 'static,
) -> Option<Last> {
    if shared.pacers.ask(key) {
        let (shared, key) = (std::sync::Arc::clone(shared), key.clone());
        tokio::spawn(async move { keep(&shared, &key, pace, probe).await });
    }
    first(&shared.memory, key).await
}
