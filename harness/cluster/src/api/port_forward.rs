//! HTTP to a port of a pod, over a port-forward.
//!
//! The pod proxy of the API server is not used: it removes the `Authorization` header, and the target's control port
//! and the recorder require a token. A client keeps one connection, and opens a new one if it was interrupted or idle.
//! It retries a request only if it was not sent or if sending it twice does no harm.

use std::future::pending;
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
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::ClusterClient;
use crate::error::{ClusterError, RequestFailure, with_causes};

/// The maximum time of a request, unless it tells the pod to wait.
const DEADLINE: Duration = Duration::from_secs(10);
/// The maximum time to connect.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// The maximum idle time of a connection that is used again. After this time, the pod may close the connection at any
/// moment.
const LONGEST_IDLE: Duration = Duration::from_secs(3);
/// How long after the end of a connection the node may still report a problem with the port.
const REPORT_DELAY: Duration = Duration::from_millis(300);

/// A client of one port of a pod.
pub(crate) struct PortForwardClient {
    cluster: ClusterClient,
    namespace: String,
    pod: String,
    port: u16,
    token: String,
    connection: Mutex<Option<ForwardedConnection>>,
}

/// The answer of a pod, with any status.
#[derive(Clone, Debug)]
pub(crate) struct ForwardedResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

struct ForwardedConnection {
    sender: SendRequest<Full<Bytes>>,
    used: Instant,
    /// Carries the bytes. The task ends with the node's report about the port, if there is one.
    carrier: AbortOnDropHandle<Option<String>>,
    _forwarder: AbortingForwarder,
}

/// The port-forward, which is aborted when its connection ends.
struct AbortingForwarder(Portforwarder);

impl Drop for AbortingForwarder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a request has no answer.
struct FailedExchange {
    error: String,
    /// Whether the request may have arrived.
    sent: bool,
}

impl FailedExchange {
    fn unsent(error: impl ToString) -> Self {
        Self { error: error.to_string(), sent: false }
    }

    fn sent(error: String) -> Self {
        Self { error, sent: true }
    }
}

impl PortForwardClient {
    /// A client for requests with this token. The first request connects.
    pub(crate) fn new(cluster: &ClusterClient, namespace: &str, pod: &str, port: u16, token: &str) -> Self {
        Self {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            port,
            token: token.to_owned(),
            connection: Mutex::new(None),
        }
    }

    /// Closes the connection, if there is one. The next request opens a new one.
    pub(crate) async fn close(&self) {
        drop(self.connection.lock().await.take());
    }

    /// Requests a path; the pod may wait this long before it answers.
    pub(crate) async fn get(&self, path: &str, wait: Duration) -> Result<ForwardedResponse, ClusterError> {
        self.exchange(Method::GET, path, Bytes::new(), DEADLINE + wait).await
    }

    /// Posts JSON, or an empty body. After an error, it is unknown whether the request took effect, unless the error
    /// states that nothing was sent.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<ForwardedResponse, ClusterError> {
        self.exchange(Method::POST, path, body.into(), DEADLINE).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        within: Duration,
    ) -> Result<ForwardedResponse, ClusterError> {
        let mut connection = self.connection.lock().await;
        let mut repeated = false;
        loop {
            let mut failed = match self.try_once(&mut connection, &method, path, &body, within).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            if let Some(broken) = connection.take()
                && let Ok(Ok(Some(report))) = timeout(REPORT_DELAY, broken.carrier).await
            {
                failed = FailedExchange::unsent(report);
            }
            if repeated || (failed.sent && method != Method::GET) {
                let note = if failed.sent { "" } else { " (nothing was sent)" };
                return Err(ClusterError::PortForward {
                    doing: format!("{method} {path}"),
                    pod: self.pod.clone(),
                    port: self.port,
                    error: failed.error + note,
                });
            }
            repeated = true;
        }
    }

    /// One request over the open connection, or a new one.
    async fn try_once(
        &self,
        connection: &mut Option<ForwardedConnection>,
        method: &Method,
        path: &str,
        body: &Bytes,
        within: Duration,
    ) -> Result<ForwardedResponse, FailedExchange> {
        let usable =
            |open: &ForwardedConnection| open.used.elapsed() <= LONGEST_IDLE && !open.sender.is_closed();
        let open = match connection.take().filter(usable) {
            Some(open) => connection.insert(open),
            None => connection.insert(self.connect().await.map_err(FailedExchange::unsent)?),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, format!("{}:{}", self.pod, self.port))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))
            .map_err(FailedExchange::unsent)?;
        let exchange = async {
            open.sender.ready().await.map_err(|error| FailedExchange::unsent(with_causes(&error)))?;
            let response = open
                .sender
                .send_request(request)
                .await
                .map_err(|error| FailedExchange { sent: !error.is_canceled(), error: with_causes(&error) })?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| FailedExchange::sent(with_causes(&error)))?;
            Ok(ForwardedResponse {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let response = timeout(within, exchange).await;
        let late = |_| FailedExchange::sent(format!("no answer within {} s", within.as_secs()));
        let response = response.map_err(late)??;
        open.used = Instant::now();
        Ok(response)
    }

    async fn connect(&self) -> Result<ForwardedConnection, String> {
        let pods: Api<Pod> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let connecting = async {
            let forwarder = pods.portforward(&self.pod, &[self.port]).await;
            let forwarder = forwarder.map_err(|error| RequestFailure::from(error).to_string())?;
            let mut forwarder = AbortingForwarder(forwarder);
            let stream = forwarder.0.take_stream(self.port).ok_or("the port-forward has no stream")?;
            let report = forwarder.0.take_error(self.port);
            let (sender, carrier) =
                handshake(TokioIo::new(stream)).await.map_err(|error| with_causes(&error))?;
            // If a connection ends without a report, the report may still arrive a moment later.
            let report = async move {
                match report {
                    Some(report) => match report.await {
                        Some(words) => words.trim().to_owned(),
                        None => pending().await,
                    },
                    None => pending().await,
                }
            };
            let carrier = AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::pin!(report);
                tokio::select! {
                    _ = carrier => timeout(REPORT_DELAY, report).await.ok(),
                    words = &mut report => Some(words),
                }
            }));
            Ok(ForwardedConnection { sender, used: Instant::now(), carrier, _forwarder: forwarder })
        };
        let late = |_| format!("no connection within {} s", CONNECT_DEADLINE.as_secs());
        timeout(CONNECT_DEADLINE, connecting).await.map_err(late)?
    }
}
