//! What all connections of one listener share, and the one place where requests are looked up in the plan.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use probity_script::answer::{HttpAnswer, HttpReply};
use probity_script::witness::{Answered, Call, Request};
use probity_script::{Endpoint, Fact, Protocol, Workers};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::tap::Wire;
use crate::client;
use crate::lifecycle::Doors;
use crate::meters::Meters;
use crate::stage::{Asked, Choice, Stage};
use crate::witness::{Stamp, Witness};

/// The query by which a chain of redirects counts its hops.
pub(super) const HOP: &str = "probity-hop";

/// How long a dependency may take if the plan does not say.
const DEPENDENCY_PATIENCE: Duration = Duration::from_secs(5);

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
    pub(super) protocol: &'static str,
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

impl Asking {
    /// The path that the plan knows: without scheme, authority and query.
    pub(super) fn path(&self) -> &str {
        let target = match self.target.split_once("://") {
            Some((_, rest)) if !self.target.starts_with('/') => rest.find('/').map_or("/", |at| &rest[at..]),
            _ => self.target.as_str(),
        };
        target.split(['?', '#']).next().unwrap_or(target)
    }

    fn hop(&self) -> u64 {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let hop = query.split('&').find_map(|pair| pair.strip_prefix(HOP)?.strip_prefix('='));
        hop.and_then(|hop| hop.parse().ok()).unwrap_or(0)
    }
}

impl Visitor {
    pub(super) fn witness(&self) -> &Witness {
        self.site.stage.witness()
    }

    /// Writes the request down and chooses its answer, both on the same side of any change of plan.
    pub(super) async fn decide(&self, asking: Asking) -> Decision {
        let mut decision = self.site.stage.with_plan(|plan| {
            let listener = plan.listeners.get(&self.site.name);
            let path = asking.path();
            let known = listener.and_then(|listener| {
                let exact = listener.paths.get_key_value(path);
                exact.or_else(|| listener.paths.get_key_value("*"))
            });
            let hop = asking.hop();
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
                decision.answer = sentence(503, "all workers are busy and the queue is full\n");
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
            None => (0, 0, None, sentence(404, "no such path in the plan\n")),
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
            protocol: asking.protocol.to_owned(),
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

    /// Asks the dependency of a reply. Nothing if it is there, or the reply that says that it is not.
    pub(super) async fn missing_dependency(
        &self,
        reply: &HttpReply,
        endpoint: Option<&Endpoint>,
    ) -> Option<HttpReply> {
        let depends = reply.depends_on.as_ref()?;
        let began = self.witness().clock().mono_us();
        let patience = depends.timeout.map_or(DEPENDENCY_PATIENCE, |span| span.0);
        let outcome = client::get(&depends.url, patience).await;
        let (status, error) = match &outcome {
            Ok(answer) => (Some(answer.status), None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.witness().record(&Fact::Call(Call {
            by: endpoint.map(ToString::to_string).unwrap_or_default(),
            url: depends.url.clone(),
            status,
            answered_by: None,
            error: error.clone(),
            took_us: self.witness().clock().mono_us().saturating_sub(began),
        }));
        match outcome {
            Ok(answer) if answer.status < 400 => None,
            Ok(answer) => Some(reply_with(503, &format!("the dependency answers {}\n", answer.status))),
            Err(error) => Some(reply_with(503, &format!("the dependency does not answer: {error}\n"))),
        }
    }
}

fn sentence(status: u64, text: &str) -> HttpAnswer {
    HttpAnswer::Reply(Arc::new(reply_with(status, text)))
}

fn reply_with(status: u64, text: &str) -> HttpReply {
    HttpReply {
        status: status.try_into().unwrap_or_default(),
        body: Some(probity_script::answer::Body::Text(text.to_owned())),
        ..HttpReply::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(target: &str) -> Asking {
        Asking {
            nth: 1,
            method: "GET".to_owned(),
            target: target.to_owned(),
            protocol: "HTTP/1.1",
            headers: Vec::new(),
            host: None,
            body: 0,
        }
    }

    #[test]
    fn the_path_is_what_the_plan_knows() {
        for (target, path, hop) in [
            ("/healthz", "/healthz", 0),
            ("/healthz?a=1", "/healthz", 0),
            ("/r?probity-hop=3", "/r", 3),
            ("/r?a=1&probity-hop=4", "/r", 4),
            ("/r?probity-hop=x", "/r", 0),
            ("http://host:80/x?y", "/x", 0),
            ("http://host", "/", 0),
            ("/a://b", "/a://b", 0),
            ("*", "*", 0),
        ] {
            assert_eq!((asking(target).path(), asking(target).hop()), (path, hop), "{target}");
        }
    }
}
