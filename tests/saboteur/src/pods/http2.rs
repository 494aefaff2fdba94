//! Serves a probe in HTTP/2, gRPC or HTTPS, with the defects that strike it. A library handles both sides;
//! unchanged parts keep their meaning, but not necessarily their frames.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};

use super::Stream;
use super::effects::Effects;
use super::fault::{Instead, Outcome};
use super::health;
use super::memory::{Key, Last};
use super::messages::{Answer, AnswerBody, altered, judged, last_of, remembered, synthetic};
use super::pace;
use super::probes::{Mechanism, Seen};
use super::session::Session;

/// How long the proxy waits for the answer to a probe that no client waits for.
const UNATTENDED: Duration = Duration::from_secs(60);

/// A sender of requests to the pod.
pub(super) type Sender = SendRequest<BoxBody<Bytes, hyper::Error>>;

struct Probe {
    session: Mutex<Session>,
    sender: Mutex<Option<Sender>>,
    secure: bool,
    lingering: Mutex<Option<Duration>>,
}

/// Serves one connection of the kubelet. `pod` is the connection to the pod, if TLS is already established on it.
///
/// # Errors
///
/// When the kubelet breaks it.
pub(super) async fn serve(
    mut session: Session,
    kubelet: Stream,
    secure: bool,
    pod: Option<Stream>,
) -> io::Result<()> {
    let open = pod.or_else(|| session.open.take());
    let effects = Effects::of(&session.choice.struck);
    let sender = match open {
        Some(stream) if !secure && effects.grpc.as_ref().is_some_and(|change| change.tls) => {
            Some(secured(&session, stream).await?)
        }
        Some(stream) => Some(handshake(stream).await?),
        None => None,
    };
    let probe = Arc::new(Probe {
        session: Mutex::new(session),
        sender: Mutex::new(sender),
        secure,
        lingering: Mutex::default(),
    });
    let served = Arc::clone(&probe);
    let service = service_fn(move |request| Arc::clone(&served).answer(request));
    let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(kubelet), service)
        .await;
    if let Some(lasting) = *probe.lingering.lock().await {
        sleep(lasting).await;
    }
    served.map_err(io::Error::other)
}

async fn handshake(stream: Stream) -> io::Result<Sender> {
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
    // The connection ends when its sender is dropped.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

async fn secured(session: &Session, stream: Stream) -> io::Result<Sender> {
    let address = (*session.to.ip()).into();
    let tls = super::fault::Tls::default();
    let stream = session.shared.identity.connect(stream, address, vec![b"h2".to_vec()], &tls).await?;
    handshake(Box::new(stream)).await
}

impl Probe {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> io::Result<Response<AnswerBody>> {
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let is_grpc = head
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
        let service = if is_grpc { health::service(&bytes) } else { None };
        let by = if is_grpc { Mechanism::Grpc } else { Mechanism::Https };
        let path = (!is_grpc).then(|| head.uri.path().to_owned());
        let (effects, key, ended, since) = {
            let mut session = self.session.lock().await;
            let what = service.clone().or_else(|| path.clone()).unwrap_or_default();
            let seen = Seen { port: session.to.port(), by: Some(by), path, service };
            (session.effects(&seen), session.key(&what), session.ended, session.since)
        };
        *self.lingering.lock().await = effects.linger;
        if effects.drop {
            return std::future::pending().await;
        }
        if effects.refuse {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        sleep(effects.delay).await;
        if let Some(outcome) = ended {
            return Ok(synthetic(is_grpc, outcome).into_response());
        }
        let request = altered(head, bytes, &effects);
        if let Some(answer) = self.stand_in(&key, is_grpc, &effects, &request).await? {
            return Ok(answer.into_response());
        }
        let answer = self.ask_in_time(&key, is_grpc, &effects, request.clone(), since).await?;
        sleep(effects.late).await;
        if let Some((times, after)) = effects.double {
            let probe = Arc::clone(&self);
            tokio::spawn(async move {
                for _ in 0..times {
                    sleep(after).await;
                    drop(probe.ask_anew(&Effects::default(), request.clone()).await);
                }
            });
        }
        if effects.skip.is_some() {
            self.session.lock().await.shared.memory.remember(&key, last_of(&answer));
        }
        Ok(answer.into_response())
    }

    /// The answer in place of the pod's, if a defect requires it.
    async fn stand_in(
        self: &Arc<Self>,
        key: &Key,
        is_grpc: bool,
        effects: &Effects,
        request: &Request<Bytes>,
    ) -> io::Result<Option<Answer>> {
        let shared = Arc::clone(&self.session.lock().await.shared);
        let (last, stands_for) = if let Some(pace) = effects.pace {
            let (probe, key_of_probe, request) = (Arc::clone(self), key.clone(), request.clone());
            let judge = effects.clone();
            let ask = move || {
                let (probe, key, request, judge) =
                    (Arc::clone(&probe), key_of_probe.clone(), request.clone(), judge.clone());
                tokio::spawn(async move {
                    let last = match probe.ask_anew(&judge, request).await {
                        Ok(answer) => last_of(&judged(answer, &judge.judge)),
                        Err(_) => Last::None,
                    };
                    probe.session.lock().await.shared.memory.remember(&key, last);
                });
            };
            (pace::other(&shared, key, pace, ask).await, Instead::Last)
        } else if let Some((pass, stands_for)) = effects.skip
            && !shared.memory.passes(key, pass)
        {
            (shared.memory.last(key), stands_for)
        } else {
            return Ok(None);
        };
        match stands_for {
            Instead::Success => Ok(Some(synthetic(is_grpc, Outcome::Success))),
            Instead::Failure => Ok(Some(synthetic(is_grpc, Outcome::Failure))),
            Instead::Last => match last {
                Some(Last::None) => Err(io::ErrorKind::ConnectionReset.into()),
                last => Ok(Some(remembered(is_grpc, last))),
            },
        }
    }

    async fn ask_in_time(
        self: &Arc<Self>,
        key: &Key,
        is_grpc: bool,
        effects: &Effects,
        request: Request<Bytes>,
        since: Instant,
    ) -> io::Result<Answer> {
        let (probe, strikes, kept) = (Arc::clone(self), effects.clone(), key.clone());
        let mut asking = tokio::spawn(async move { probe.ask(&kept, &strikes, request).await });
        let answer = match effects.slow {
            None => (&mut asking).await,
            Some((after, outcome)) => match timeout_at(since + after, &mut asking).await {
                Ok(answer) => answer,
                Err(_) => {
                    if outcome == Outcome::Failure {
                        asking.abort();
                    }
                    return Ok(synthetic(is_grpc, outcome));
                }
            },
        };
        match (answer.map_err(io::Error::other).flatten(), effects.judge.silence) {
            (Ok(answer), _) => Ok(judged(answer, &effects.judge)),
            (Err(_), Some(outcome)) => Ok(synthetic(is_grpc, outcome)),
            (Err(error), None) => Err(error),
        }
    }

    /// Sends the request on the connection of this probe, or on the connection that is kept for all probes.
    async fn ask(&self, key: &Key, effects: &Effects, request: Request<Bytes>) -> io::Result<Answer> {
        let shared = Arc::clone(&self.session.lock().await.shared);
        if effects.keep_alive
            && let Some(sender) = shared.kept.get(key)
            && let Ok(answer) = send(&sender, request.clone()).await
        {
            return Ok(answer);
        }
        let sender = {
            let mut sender = self.sender.lock().await;
            match &*sender {
                Some(sender) => sender.clone(),
                None => sender.insert(self.dial(effects).await?).clone(),
            }
        };
        if effects.keep_alive {
            shared.kept.keep(key, sender.clone());
        }
        send(&sender, request).await
    }

    /// Sends the request on a separate connection.
    async fn ask_anew(&self, effects: &Effects, request: Request<Bytes>) -> io::Result<Answer> {
        let sender = self.dial(effects).await?;
        tokio::time::timeout(UNATTENDED, send(&sender, request)).await?
    }

    async fn dial(&self, effects: &Effects) -> io::Result<Sender> {
        let to = {
            let session = self.session.lock().await;
            effects.destination(session.to)
        };
        let stream = super::exchange::dial(to, effects).await?;
        if self.secure || effects.grpc.as_ref().is_some_and(|change| change.tls) {
            let session = self.session.lock().await;
            return secured(&session, stream).await;
        }
        handshake(stream).await
    }
}

/// A body without a known length. With a known length, a length field would be added, which a kubelet's gRPC requests
/// do not have.
fn body_of(bytes: Bytes) -> BoxBody<Bytes, hyper::Error> {
    if bytes.is_empty() {
        return Empty::new().map_err(|never| match never {}).boxed();
    }
    StreamBody::new(futures_util::stream::iter([Ok(Frame::data(bytes))])).boxed()
}

async fn send(sender: &Sender, request: Request<Bytes>) -> io::Result<Answer> {
    let mut sender = sender.clone();
    sender.ready().await.map_err(io::Error::other)?;
    let request = request.map(body_of);
    let (head, body) = sender.send_request(request).await.map_err(io::Error::other)?.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?;
    let trailers = body.trailers().cloned();
    Ok(Answer { head, body: body.to_bytes(), trailers })
}
