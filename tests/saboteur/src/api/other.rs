//! Requests that are about neither statuses nor events of pods: a kubelet's requests for other objects, and
//! everything that controllers write.

use std::io;

use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Client;
use super::fault::{ApiFault, OtherDoes};
use super::forward::{Proxy, answer, done, pass};
use super::upstream::{AnyBody, Sender, full};
use crate::defect::{Fault, Target};

/// A request, and the object that it is about.
pub(super) struct Other<'p> {
    /// The proxy that received it.
    pub(super) proxy: &'p Proxy,
    /// The namespace of its object.
    pub(super) namespace: String,
    /// The name in its path; `None` for an object that the request creates.
    pub(super) name: String,
    /// Its resource, with the subresource.
    pub(super) resource: String,
}

impl Other<'_> {
    /// Answers the request, or passes it on.
    ///
    /// # Errors
    ///
    /// When the API server can't be reached.
    pub(super) async fn handle(
        self,
        sender: &Sender,
        request: Request<Incoming>,
    ) -> io::Result<Response<AnyBody>> {
        if !self.is_concerned(request.method()) {
            return pass(sender, request.map(BodyExt::boxed)).await;
        }
        let (mut head, body) = request.into_parts();
        let mut bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let mut object = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let target = Target::pod(&self.namespace, &self.name_in(&object));
        for does in self.proxy.board.strikes(|fault| self.pick(fault, &head.method), &target) {
            match does {
                OtherDoes::Late { by } => sleep(by.0).await,
                OtherDoes::Refused { status } => return Ok(refusal(status)),
                OtherDoes::Pretended => return self.pretend(&head, &object).await,
                OtherDoes::Alter(change) => {
                    if change.apply(&mut object) {
                        bytes = object.to_string().into();
                        head.headers.remove(CONTENT_LENGTH);
                    }
                }
            }
        }
        pass(sender, Request::from_parts(head, full(bytes))).await
    }

    /// Whether any active defect may strike the request, so that its body must be read.
    fn is_concerned(&self, method: &Method) -> bool {
        let active = self.proxy.board.all(|fault| self.pick(fault, method));
        active.iter().any(|(active, _)| active.defect().on.namespace == self.namespace)
    }

    fn pick(&self, fault: &Fault, method: &Method) -> Option<OtherDoes> {
        let fault = match (self.proxy.client, fault) {
            (Client::Kubelet, Fault::Api(ApiFault::Other(fault)))
            | (Client::Controllers, Fault::Controllers(fault)) => fault,
            _ => return None,
        };
        let is_method = fault.method.as_ref().is_none_or(|wanted| wanted == method.as_str());
        (fault.resource == self.resource && is_method).then(|| fault.does.clone())
    }

    /// The name in the path, or the name that the new object requests, which may be only a prefix.
    fn name_in(&self, object: &Value) -> String {
        let asked_for = || {
            let text = |field| object.pointer(field).and_then(Value::as_str);
            text("/metadata/name").or_else(|| text("/metadata/generateName")).unwrap_or_default().to_owned()
        };
        if self.name.is_empty() { asked_for() } else { self.name.clone() }
    }

    /// The answer to a successful request.
    async fn pretend(&self, head: &Parts, sent: &Value) -> io::Result<Response<AnyBody>> {
        Ok(match head.method {
            Method::POST => answer(StatusCode::CREATED, sent),
            Method::PATCH => {
                let object = self.proxy.upstream.read(head.uri.path()).await?;
                object.map_or_else(|| refusal(404), |object| answer(StatusCode::OK, &object))
            }
            Method::DELETE => done(),
            _ => answer(StatusCode::OK, sent),
        })
    }
}

fn refusal(status: u16) -> Response<AnyBody> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": status.as_u16(), "message": "refused by the saboteur",
    });
    answer(status, &body)
}
