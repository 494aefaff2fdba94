//! The context of a connection: its listener and itself. This is the only place where HTTP requests are looked up in the
//! plan.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use probity_script::answer::HttpAnswer;
use probity_script::wire::{HttpRequestFacts, HttpVersion, all_workers_busy, hop_of, no_such_path, path_of};
use probity_script::{Choice, Endpoint, Protocol, Workers};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::head_text::HeadText;
use super::wire::Wire;
use crate::lifecycle::ShutdownGate;
use crate::meters::Meters;
use crate::stage::{ProbedEndpoint, Stage};
use crate::witness::{AnswerSeen, EndpointSeen, RequestSeen, Stamp, Witness};

/// What the connections of a listener share.
pub(super) struct ListenerContext {
    pub(super) name: String,
    pub(super) protocol: Protocol,
    pub(super) stage: Stage,
    pub(super) gate: ShutdownGate,
    pub(super) meters: Meters,
    pub(super) tls: Option<tokio_rustls::TlsAcceptor>,
    pub(super) numbers: Arc<AtomicU64>,
    pub(super) pool: Option<WorkerPool>,
}

/// A limited number of workers, with a limited queue.
pub(super) struct WorkerPool {
    workers: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

impl WorkerPool {
    pub(super) fn new(workers: Workers) -> Self {
        let queue = workers.queue.map_or(usize::MAX, usize::from);
        Self {
            workers: Arc::new(Semaphore::new(usize::from(workers.count))),
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// Waits for a free worker. `None` if the queue is full.
    async fn worker(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.workers).try_acquire_owned() {
            return Some(permit);
        }
        let place = QueuePlace::take(&self.waiting, self.queue)?;
        let permit = Arc::clone(&self.workers).acquire_owned().await.ok();
        drop(place);
        permit
    }
}

/// A place in the queue, which is freed however the wait ends.
struct QueuePlace<'a>(&'a AtomicUsize);

impl<'a> QueuePlace<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let room = |count: usize| (count < most).then_some(count + 1);
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok().map(|_| Self(waiting))
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One connection.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) listener: Arc<ListenerContext>,
    pub(super) conn: u64,
    pub(super) local: SocketAddr,
    pub(super) wire: Arc<Wire>,
}

/// A request as received, over any protocol.
pub(super) struct IncomingRequest {
    pub(super) nth: u64,
    pub(super) version: HttpVersion,
    pub(super) text: HeadText,
    pub(super) body: u64,
}

impl IncomingRequest {
    /// The requested host. HTTP/2 clients usually send it in `:authority`, which is then the first line.
    pub(super) fn host(&self) -> Option<&str> {
        let authority = self.text.lines().next().filter(|(name, _)| *name == AUTHORITY);
        authority.map(|(_, host)| host).or_else(|| self.text.all("host").next())
    }

    /// The facts that determine its answer.
    pub(super) fn facts(&self) -> HttpRequestFacts<'_> {
        let (path, host) = (path_of(self.text.target()), self.host().unwrap_or_default());
        HttpRequestFacts { version: self.version, path, host, ..HttpRequestFacts::default() }
    }
}

/// The pseudo-header with the host, which cannot be a name in HTTP/1.
pub(super) const AUTHORITY: &str = ":authority";

/// The answer that was chosen for a request.
pub(super) struct ChosenAnswer {
    pub(super) nth: u64,
    pub(super) answer: HttpAnswer,
    /// The name of the endpoint at the listener, if there is one for the request.
    pub(super) endpoint: Option<String>,
    pub(super) step: usize,
    pub(super) probe: u64,
    pub(super) hop: u64,
    pub(super) arrived: Stamp,
    pub(super) worker: Option<OwnedSemaphorePermit>,
}

impl ConnectionContext {
    pub(super) fn witness(&self) -> &Witness {
        self.listener.stage.witness()
    }

    /// Records the request and chooses its answer, both on the same side of any change of the plan.
    pub(super) async fn decide(&self, incoming: &IncomingRequest) -> ChosenAnswer {
        let (mut chosen_answer, mark) = self.listener.stage.with_plan(|plan| {
            let listener = plan.listeners.get(&self.listener.name);
            let known = listener.and_then(|listener| listener.path(path_of(incoming.text.target())));
            let hop = hop_of(incoming.text.target());
            let chosen = known.map(|(name, script)| (name, self.choose(name, script, hop, incoming.host())));
            self.arrive(incoming, chosen, hop)
        });
        if let Some((name, mark)) = mark {
            self.listener.stage.mark(&mark, &name);
        }
        self.witness().offered(chosen_answer.arrived).await;
        if let Some(pool) = &self.listener.pool {
            chosen_answer.worker = pool.worker().await;
            if chosen_answer.worker.is_none() {
                chosen_answer.answer = all_workers_busy();
            }
        }
        chosen_answer
    }

    fn choose(
        &self,
        name: &str,
        script: &probity_script::Script<HttpAnswer>,
        hop: u64,
        host: Option<&str>,
    ) -> Choice<HttpAnswer> {
        let stage = &self.listener.stage;
        let probe = if hop == 0 {
            stage.count(&self.listener.name, name)
        } else {
            stage.counted(&self.listener.name, name)
        };
        stage.choose(script, ProbedEndpoint { name, probe, host })
    }

    fn arrive(
        &self,
        incoming: &IncomingRequest,
        chosen: Option<(&String, Choice<HttpAnswer>)>,
        hop: u64,
    ) -> (ChosenAnswer, Option<(String, String)>) {
        let endpoint = chosen.as_ref().map(|(name, _)| (*name).clone());
        let (probe, step, mark, answer) = match chosen {
            Some((_, choice)) => (choice.probe, choice.step, choice.mark, choice.answer),
            None => (0, 0, None, no_such_path()),
        };
        let nth = incoming.nth;
        let arrived = self.witness().announce(&RequestSeen {
            conn: self.conn,
            nth,
            endpoint: endpoint.as_deref().map(|name| self.endpoint_seen(name)),
            probe,
            hop: (hop > 0).then_some(hop),
            method: incoming.text.method(),
            target: incoming.text.target(),
            protocol: incoming.version.word(),
            headers: incoming.text.lines(),
            body: incoming.body,
            first_byte_us: self.wire.take_first_byte(),
            service: None,
        });
        let by = mark.zip(endpoint.as_deref()).map(|(mark, name)| (self.endpoint(name).to_string(), mark));
        (ChosenAnswer { nth, answer, endpoint, step, probe, hop, arrived, worker: None }, by)
    }

    /// Records how a request was answered.
    pub(super) fn answered(
        &self,
        chosen_answer: &ChosenAnswer,
        answer: &str,
        written: u64,
        error: Option<&str>,
    ) {
        let arrived_us = chosen_answer.arrived.at.mono_us;
        let took_us = self.witness().clock().mono_us().saturating_sub(arrived_us);
        self.witness().record(&AnswerSeen {
            conn: self.conn,
            nth: chosen_answer.nth,
            endpoint: chosen_answer.endpoint.as_deref().map(|name| self.endpoint_seen(name)),
            step: chosen_answer.step,
            answer,
            written,
            took_us,
            last_send_us: self.wire.last_send_since(arrived_us),
            error,
        });
    }

    /// An endpoint of the listener.
    pub(super) fn endpoint(&self, name: &str) -> Endpoint {
        Endpoint::Of { listener: self.listener.name.clone(), name: name.to_owned() }
    }

    /// An endpoint of the listener, as the witness records it.
    pub(super) fn endpoint_seen<'a>(&'a self, name: &'a str) -> EndpointSeen<'a> {
        EndpointSeen { listener: &self.listener.name, name }
    }
}
