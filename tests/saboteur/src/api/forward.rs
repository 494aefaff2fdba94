//! Passes on the requests of a kubelet or of the controllers, and gives the requests that a defect may strike to the
//! module that decides about them. Requests without a defect pass unchanged, including streams.

use std::io;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::Client;
use super::events::{self, Fates};
use super::fault::{ApiFault, Fate};
use super::heard::Ear;
use super::other::Other;
use super::route::{Route, route, route_of_controllers};
use super::shadow::Shadow;
use super::status::{self, Case};
use super::stream;
use super::upstream::{AnyBody, Sender, Upstream, full};
use super::writer::{self, Deed, Write};
use crate::board::Board;
use crate::defect::{Fault, Target};

/// The shared state of all connections.
#[derive(Clone)]
pub(super) struct Proxy {
    /// The client that sends the requests.
    pub(super) client: Client,
    /// The defects.
    pub(super) board: Board,
    /// The connection for the proxy's own requests to the API server.
    pub(super) upstream: Upstream,
    /// What the kubelet receives.
    pub(super) ear: Ear,
    /// The results for events.
    pub(super) fates: Fates,
}

/// An answer that the proxy itself creates.
pub(super) fn answer(status: StatusCode, body: &Value) -> Response<AnyBody> {
    let mut response = Response::new(full(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

/// The API server's answer to a successful request that returns no object.
pub(super) fn done() -> Response<AnyBody> {
    answer(
        StatusCode::OK,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
    )
}

impl Proxy {
    /// Answers one request of the client. `sender` is the API server side of its connection.
    ///
    /// # Errors
    ///
    /// When the API server can't be reached.
    pub(super) async fn handle(
        &self,
        sender: Sender,
        request: Request<Incoming>,
    ) -> io::Result<Response<AnyBody>> {
        let (method, uri) = (request.method().as_str(), request.uri());
        let route = match self.client {
            Client::Kubelet => route(method, uri.path(), uri.query().unwrap_or_default()),
            Client::Controllers => route_of_controllers(method, uri.path()),
        };
        match route {
            Route::WriteStatus { namespace, pod } => {
                self.write_status(sender, request, &namespace, &pod).await
            }
            Route::ReadPod { namespace, pod } if self.ear.shadows.has(&namespace, &pod) => {
                self.read(sender, request, |bytes| self.show_pod(bytes)).await
            }
            Route::ListPods => self.read(sender, request, |bytes| self.ear.hear_list(bytes)).await,
            Route::WatchPods => self.watch(sender, request).await,
            Route::RemovePod { namespace, pod } => self.remove(sender, request, &namespace, &pod).await,
            Route::WriteEvent { namespace } => self.write_event(sender, request, &namespace).await,
            Route::Other { namespace, name, resource } => {
                Other { proxy: self, namespace, name, resource }.handle(&sender, request).await
            }
            Route::ReadPod { .. } | Route::Untouched => pass(&sender, request.map(BodyExt::boxed)).await,
        }
    }

    async fn write_status(
        &self,
        sender: Sender,
        request: Request<Incoming>,
        namespace: &str,
        pod: &str,
    ) -> io::Result<Response<AnyBody>> {
        let faults = status::faults(&self.board, namespace, pod);
        let shadows = &self.ear.shadows;
        let is_merge = content_type(&request).starts_with("application/strategic-merge-patch+json");
        if (faults.is_empty() && !shadows.has(namespace, pod)) || !is_merge {
            return pass(&sender, request.map(BodyExt::boxed)).await;
        }
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}");
        let patch = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let object = self.upstream.read(&path).await?;
        let uid = |object: &Value| object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
        let object = object.filter(|object| uid(&patch).is_none() || uid(object) == uid(&patch));
        let Some(mut object) = object else {
            return pass(&sender, Request::from_parts(head, full(bytes))).await;
        };
        let uid = uid(&object).unwrap_or_default();
        shadows.ensure(namespace, pod, &uid, || {
            Shadow::new(&uid, writer::start(self.upstream.clone(), path, uid.clone()))
        });
        shadows.with(namespace, pod, |shadow| {
            super::merge::add_up(&mut shadow.sum, &patch);
            shadow.show(&mut object);
            let case = Case {
                board: &self.board,
                namespace,
                pod,
                status: &object["status"],
                is_written: shadow.is_written,
            };
            let decision = case.decide(faults);
            shadow.is_written = true;
            let own_conditions = shadow.own_conditions();
            let write = Write {
                status: decision.status,
                own_conditions,
                since: Instant::now(),
                timing: decision.timing,
            };
            // The writer ends only with its shadow.
            drop(shadow.deeds.send(Deed::Write(write)));
        });
        Ok(answer(StatusCode::OK, &object))
    }

    fn show_pod(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut pod = serde_json::from_slice::<Value>(bytes).ok()?;
        self.ear.shadows.show(&mut pod).then(|| serde_json::to_vec(&pod).ok())?
    }

    /// Passes on a request whose whole answer is read and may be changed.
    async fn read(
        &self,
        sender: Sender,
        mut request: Request<Incoming>,
        show: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> io::Result<Response<AnyBody>> {
        // A compressed answer would have to be decompressed.
        request.headers_mut().remove(ACCEPT_ENCODING);
        let (mut head, body) = send(&sender, request.map(BodyExt::boxed)).await?.into_parts();
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(match show(&bytes) {
            Some(shown) if head.status == StatusCode::OK => {
                head.headers.remove(CONTENT_LENGTH);
                Response::from_parts(head, full(shown))
            }
            _ => Response::from_parts(head, full(bytes)),
        })
    }

    async fn watch(&self, sender: Sender, mut request: Request<Incoming>) -> io::Result<Response<AnyBody>> {
        request.headers_mut().remove(ACCEPT_ENCODING);
        let response = send(&sender, request.map(BodyExt::boxed)).await?;
        let is_json = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if response.status() != StatusCode::OK || !is_json {
            return Ok(response.map(BodyExt::boxed));
        }
        let ear = self.ear.clone();
        Ok(response.map(|body| stream::altered(body, ear)))
    }

    async fn remove(
        &self,
        sender: Sender,
        request: Request<Incoming>,
        namespace: &str,
        pod: &str,
    ) -> io::Result<Response<AnyBody>> {
        let pick = |fault: &Fault| match fault {
            Fault::Api(ApiFault::Delete(fate)) => Some(fate.clone()),
            _ => None,
        };
        let fate = self.board.strikes(pick, &Target::pod(namespace, pod)).into_iter().next();
        let deeds = self.ear.shadows.with(namespace, pod, |shadow| shadow.deeds.clone());
        let not_before = match &fate {
            Some(Fate::Never) => return Ok(done()),
            Some(Fate::Late { by }) => Instant::now() + by.0,
            // Statuses that wait must be written before the pod is removed.
            None if deeds.is_some() => Instant::now(),
            None => return pass(&sender, request.map(BodyExt::boxed)).await,
        };
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        let deeds =
            deeds.unwrap_or_else(|| writer::start(self.upstream.clone(), String::new(), String::new()));
        drop(deeds.send(Deed::Remove { path, body, not_before }));
        Ok(done())
    }

    async fn write_event(
        &self,
        sender: Sender,
        request: Request<Incoming>,
        namespace: &str,
    ) -> io::Result<Response<AnyBody>> {
        let is_mine = |fault: &Fault| matches!(fault, Fault::Api(ApiFault::Event(_))).then_some(());
        let mut active = self.board.all(is_mine).into_iter();
        if !active.any(|(active, ())| active.defect().on.namespace == namespace) {
            return pass(&sender, request.map(BodyExt::boxed)).await;
        }
        let (head, body) = request.into_parts();
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let Ok(event) = serde_json::from_slice::<Value>(&bytes) else {
            return pass(&sender, Request::from_parts(head, full(bytes))).await;
        };
        if head.method != Method::POST {
            let name = head.uri.path().rsplit('/').next().unwrap_or_default();
            return match self.fates.change(namespace, name, event.clone()) {
                None => Ok(answer(StatusCode::OK, &events::receipt(&event, namespace, name))),
                Some(change) if change == event => {
                    pass(&sender, Request::from_parts(head, full(bytes))).await
                }
                Some(change) => {
                    let mut request = Request::from_parts(head, full(change.to_string()));
                    request.headers_mut().remove(CONTENT_LENGTH);
                    pass(&sender, request).await
                }
            };
        }
        let decision = events::decide(&self.board, event.clone());
        if decision.does.is_empty() {
            return pass(&sender, Request::from_parts(head, full(bytes))).await;
        }
        self.fates.add(&event, decision.does);
        let (upstream, path) = (self.upstream.clone(), head.uri.path().to_owned());
        tokio::spawn(async move {
            sleep(decision.late).await;
            for event in decision.events {
                // An event that is rejected is lost, as it would be without a proxy.
                drop(upstream.ask(Method::POST, &path, "application/json", event.to_string().into()).await);
            }
        });
        Ok(answer(StatusCode::CREATED, &events::receipt(&event, namespace, "")))
    }
}

fn content_type(request: &Request<Incoming>) -> &str {
    request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

async fn send(sender: &Sender, mut request: Request<AnyBody>) -> io::Result<Response<Incoming>> {
    if matches!(sender, Sender::Http2(_)) {
        // In HTTP/2 the authority is a part of the address.
        request.headers_mut().remove(HOST);
    }
    sender.send(request).await.map_err(io::Error::other)
}

pub(super) async fn pass(sender: &Sender, request: Request<AnyBody>) -> io::Result<Response<AnyBody>> {
    Ok(send(sender, request).await?.map(BodyExt::boxed))
}
