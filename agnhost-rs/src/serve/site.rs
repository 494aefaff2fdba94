//! What all connections of one listener share, and the one place where requests are looked up in the plan.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use probity_script::answer::HttpAnswer;
use probity_script::wire::{HttpVersion, all_workers_busy, hop_of, no_such_path, path_of};
use probity_script::witness::{Answered, Request};
use probity_script::{Choice, Endpoint, Fact, Protocol, Workers};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::tap::Wire;
use crate::lifecycle::Doors;
use crate::meters::Meters;
use crate::stage::{Asked, Stage};
use crate::witness::{Stamp, Witness};

/// A listener as its connections see it.
pub(super) struct Site {
    pub(super) name: String,
    pub(super) protocol: Protocol,
    pub(super) stage: Stage,
    pub(super) doors: Doors,
    pub(super) meters: Meters,
    pub(super) tls: Option<tokio_rustls::TlsAcceptor>,
    pub(super) numbers: Arc<AtomicU64>,
    pub(super) pool: Option<Pool>,
}

/// A bounded number of workers and of places to wait for one.
pub(super) struct Pool {
    workers: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

impl Pool {
    pub(super) fn new(workers: Workers) -> Self {
        let queue = workers.queue.map_or(usize::MAX, usize::from);
        Self {
            workers: Arc::new(Semaphore::new(usize::from(workers.count))),
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// A worker, as soon as one is free; nobody if too many wait already.
    async fn worker(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.workers).try_acquire_owned() {
            return Some(permit);
        }
        let place = Place::take(&self.waiting, self.queue)?;
        let permit = Arc::clone(&self.workers).acquire_owned().await.ok();
        drop(place);
        permit
    }
}

/// A place in the queue, given back however the wait ends.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let room = |count: usize| (count < most).then_some(count + 1);
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok().map(|_| Self(waiting))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One connection, as everything above the wire knows it.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) site: Arc<Site>,
    pub(super) conn: u64,
    pub(super) local: SocketAddr,
    pub(super) wire: Arc<Wire>,
}

/// A request as it came, whatever the protocol.
pub(super) struct Asking {
    pub(super) nth: u64,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) version: HttpVersion,
    pub(super) headers: Vec<(String, String)>,
    pub(super) host: Option<String>,
    pub(super) body: u64,
}

/// What is answered to a request.
pub(super) struct Decision {
    pub(super) nth: u64,
    pub(super) answer: HttpAnswer,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) step: usize,
    pub(super) probe: u64,
    pub(super) hop: u64,
    pub(super) arrived: Stamp,
    pub(super) worker: Option<OwnedSemaphorePermit>,
}

impl Visitor {
    pub(super) fn witness(&self) -> &Witness {
        self.site.stage.witness()
    }

    /// Writes the request down and chooses its answer, both on the same side of any change of plan.
    pub(super) async fn decide(&self, asking: Asking) -> Decision {
        let mut decision = self.site.stage.with_plan(|plan| {
            let listener = plan.listeners.get(&self.site.name);
            let known = listener.and_then(|listener| listener.path(path_of(&asking.target)));
            let hop = hop_of(&asking.target);
            let chosen =
                known.map(|(name, script)| (name, self.choose(name, script, hop, asking.host.as_deref())));
            self.arrive(asking, chosen, hop)
        });
        if let Some((name, mark)) = decision.1.take() {
            self.site.stage.mark(&mark, &name);
        }
        let mut decision = decision.0;
        self.witness().offered(decision.arrived).await;
        if let Some(pool) = &self.site.pool {
            decision.worker = pool.worker().await;
            if decision.worker.is_none() {
                decision.answer = all_workers_busy();
            }
        }
        decision
    }

    fn choose(
        &self,
        name: &str,
        script: &probity_script::Script<HttpAnswer>,
        hop: u64,
        host: Option<&str>,
    ) -> Choice<HttpAnswer> {
        let stage = &self.site.stage;
        let probe =
            if hop == 0 { stage.count(&self.site.name, name) } else { stage.counted(&self.site.name, name) };
        stage.choose(script, Asked { name, probe, host })
    }

    fn arrive(
        &self,
        asking: Asking,
        chosen: Option<(&String, Choice<HttpAnswer>)>,
        hop: u64,
    ) -> (Decision, Option<(String, String)>) {
        let endpoint = chosen
            .as_ref()
            .map(|(name, _)| Endpoint::Of { listener: self.site.name.clone(), name: (*name).clone() });
        let (probe, step, mark, answer) = match chosen {
            Some((_, choice)) => (choice.probe, choice.step, choice.mark, choice.answer),
            None => (0, 0, None, no_such_path()),
        };
        let nth = asking.nth;
        let request = Request {
            conn: self.conn,
            nth,
            endpoint,
            probe,
            hop: (hop > 0).then_some(hop),
            method: asking.method,
            target: asking.target,
            protocol: asking.version.word().to_owned(),
            headers: asking.headers,
            body: asking.body,
            first_byte_us: self.wire.take_first_byte(),
            service: None,
        };
        let fact = Fact::Request(request);
        let arrived = self.witness().announce(&fact);
        let endpoint = if let Fact::Request(request) = fact { request.endpoint } else { None };
        let by = mark.map(|mark| (endpoint.as_ref().map(ToString::to_string).unwrap_or_default(), mark));
        (Decision { nth, answer, endpoint, step, probe, hop, arrived, worker: None }, by)
    }

    /// Writes down how a request was answered.
    pub(super) fn answered(
        &self,
        decision: &mut Decision,
        answer: String,
        written: u64,
        error: Option<String>,
    ) {
        let took_us = self.witness().clock().mono_us().saturating_sub(decision.arrived.at.mono_us);
        self.witness().record(&Fact::Answer(Answered {
            conn: self.conn,
            nth: decision.nth,
            endpoint: decision.endpoint.take(),
            step: decision.step,
            answer,
            written,
            took_us,
            error,
        }));
    }
}
