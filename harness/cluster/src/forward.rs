//! HTTP to a port of a pod, over a port-forward.
//!
//! Not the API server's pod proxy: that one keeps the `Authorization` header to itself, and the target's control port and
//! the recorder ask for a token. A door keeps one connection, reopens it when it broke or lay idle, and repeats only
//! what was not sent or does no harm twice.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::ask::{chain, words};
use crate::connect::Ground;
use crate::error::ClusterError;

/// A request takes no longer, unless it asks the other side to wait.
const DEADLINE: Duration = Duration::from_secs(10);
/// Opening takes no longer.
const OPENING: Duration = Duration::from_secs(10);
/// A connection that lay idle for so long may be closed by the other side at any moment.
const FRESH: Duration = Duration::from_secs(3);
/// So long after its end a connection's complaint is waited for.
const COMPLAINING: Duration = Duration::from_millis(300);

/// A way to a port of a pod.
pub struct Door {
    ground: Ground,
    namespace: String,
    pod: String,
    port: u16,
    token: String,
    link: Mutex<Option<Link>>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// An open connection.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    used: Instant,
    /// What the node's side says is wrong with the port, if it does.
    complaint: Arc<OnceLock<String>>,
    carrier: AbortOnDropHandle<()>,
    _tunnel: Tunnel,
}

impl Link {
    /// What the node's side says of a connection that failed; it may come a moment after the end.
    async fn complaint(self) -> Option<String> {
        let _ = tokio::time::timeout(COMPLAINING, self.carrier).await;
        self.complaint.get().cloned()
    }
}

/// The port-forward, which must not outlive its connection.
struct Tunnel(Portforwarder);

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a request had no answer.
enum Trouble {
    /// It was not sent.
    Unsent(String),
    /// It may have arrived.
    Unknown(String),
}

impl Door {
    /// Opens a way to a port of a pod, for requests that show this token.
    ///
    /// # Errors
    ///
    /// If there is no way to it.
    pub async fn open(
        ground: &Ground,
        namespace: &str,
        pod: &str,
        port: u16,
        token: &str,
    ) -> Result<Self, ClusterError> {
        let door = Self::closed(ground, namespace, pod, port, token);
        let link = door.connect().await.map_err(|error| door.error("connect", error))?;
        *door.link.lock().await = Some(link);
        Ok(door)
    }

    /// The same without opening it yet: the first request does.
    #[must_use]
    pub fn closed(ground: &Ground, namespace: &str, pod: &str, port: u16, token: &str) -> Self {
        Self {
            ground: ground.clone(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            port,
            token: token.to_owned(),
            link: Mutex::new(None),
        }
    }

    /// Asks for a path. Returns the status and the body.
    ///
    /// # Errors
    ///
    /// If no answer came, of whatever status.
    pub async fn get(&self, path: &str) -> Result<(u16, Bytes), ClusterError> {
        let reply = self.send(Method::GET, path, Bytes::new(), DEADLINE).await?;
        Ok((reply.status, reply.body))
    }

    /// Asks for a path on which the other side may wait for so long.
    ///
    /// # Errors
    ///
    /// If no answer came.
    pub async fn wait_for(&self, path: &str, wait: Duration) -> Result<Reply, ClusterError> {
        self.send(Method::GET, path, Bytes::new(), DEADLINE + wait).await
    }

    /// Sends a body (JSON or YAML, or nothing) to a path. Returns the status and the body.
    ///
    /// # Errors
    ///
    /// If no answer came; then it is not known whether it was done, unless the error says that it was not sent.
    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> Result<(u16, Bytes), ClusterError> {
        let reply = self.send(Method::POST, path, body.into(), DEADLINE).await?;
        Ok((reply.status, reply.body))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        within: Duration,
    ) -> Result<Reply, ClusterError> {
        let doing = format!("{method} {path}");
        let mut link = self.link.lock().await;
        let mut again = true;
        loop {
            let trouble = match self.through(&mut link, &method, path, &body, within).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let complaint = match link.take() {
                Some(link) => link.complaint().await,
                None => None,
            };
            let trouble = match (trouble, complaint) {
                (Trouble::Unsent(_) | Trouble::Unknown(_), Some(complaint)) => Trouble::Unsent(complaint),
                (trouble, None) => trouble,
            };
            let (error, harmless) = match trouble {
                Trouble::Unsent(error) => (format!("{error} (nothing was sent)"), true),
                Trouble::Unknown(error) => (error, method == Method::GET),
            };
            if !(again && harmless) {
                return Err(self.error(&doing, error));
            }
            again = false;
        }
    }

    /// One request over the open link, or a new one.
    async fn through(
        &self,
        link: &mut Option<Link>,
        method: &Method,
        path: &str,
        body: &Bytes,
        within: Duration,
    ) -> Result<Reply, Trouble> {
        if link.as_ref().is_none_or(|link| link.used.elapsed() > FRESH || link.sender.is_closed()) {
            *link = Some(self.connect().await.map_err(Trouble::Unsent)?);
        }
        let Some(open) = link.as_mut() else { return Err(Trouble::Unsent("no connection".to_owned())) };
        let request = self.request(method, path, body).map_err(Trouble::Unsent)?;
        let exchange = async {
            open.sender.ready().await.map_err(|error| Trouble::Unsent(chain(&error)))?;
            let response = open.sender.send_request(request).await.map_err(|error| {
                let words = chain(&error);
                if error.is_canceled() { Trouble::Unsent(words) } else { Trouble::Unknown(words) }
            })?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| Trouble::Unknown(chain(&error)))?.to_bytes();
            Ok(Reply { status: head.status.as_u16(), headers: head.headers, body })
        };
        let reply = tokio::time::timeout(within, exchange).await;
        let reply =
            reply.map_err(|_| Trouble::Unknown(format!("no answer within {} s", within.as_secs())))??;
        open.used = Instant::now();
        Ok(reply)
    }

    fn request(&self, method: &Method, path: &str, body: &Bytes) -> Result<Request<Full<Bytes>>, String> {
        Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, format!("{}:{}", self.pod, self.port))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))
            .map_err(|error| error.to_string())
    }

    async fn connect(&self) -> Result<Link, String> {
        let pods: Api<Pod> = Api::namespaced(self.ground.client.clone(), &self.namespace);
        let opening = async {
            let mut tunnel = Tunnel(pods.portforward(&self.pod, &[self.port]).await.map_err(words)?);
            let stream = tunnel.0.take_stream(self.port).ok_or("the port-forward has no stream")?;
            let failed = tunnel.0.take_error(self.port);
            let (sender, carrier) = handshake(TokioIo::new(stream)).await.map_err(|error| chain(&error))?;
            let complaint = Arc::new(OnceLock::new());
            let told = Arc::clone(&complaint);
            // After a complaint the connection is of no use. How it ends otherwise is told by the request on it.
            let failed = async move {
                match failed {
                    Some(failed) => match failed.await {
                        Some(words) => drop(told.set(words.trim().to_owned())),
                        None => std::future::pending().await,
                    },
                    None => std::future::pending().await,
                }
            };
            let carrier = AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::pin!(failed);
                tokio::select! {
                    _ = carrier => drop(tokio::time::timeout(COMPLAINING, failed).await),
                    () = &mut failed => {}
                }
            }));
            Ok(Link { sender, used: Instant::now(), complaint, carrier, _tunnel: tunnel })
        };
        match tokio::time::timeout(OPENING, opening).await {
            Ok(link) => link,
            Err(_) => Err(format!("no connection within {} s", OPENING.as_secs())),
        }
    }

    fn error(&self, doing: &str, error: String) -> ClusterError {
        ClusterError::Door { doing: doing.to_owned(), pod: self.pod.clone(), port: self.port, error }
    }
}
