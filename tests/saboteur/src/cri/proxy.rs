//! Handles one call in the proxy: reads it, applies the defects, forwards it, and learns from the answer.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use tokio::time::sleep;

use super::{
    call::Call,
    events,
    fault::{CriFault, Method},
    grpc::{CallAnswer, ProxyBody, UNAVAILABLE, frame, full, unframe},
    plan::{Plan, alter, concerns},
    replace::Replacements,
    shown::Showings,
    wire::Message,
};
use crate::{
    board::{Board, Moment},
    defect::{Fault, Target},
};

/// The connection to the container runtime.
pub(super) type Upstream = SendRequest<ProxyBody>;

/// The shared state of all connections of the kubelet.
#[derive(Debug, Default)]
pub(super) struct Proxy {
    pub(super) board: Board,
    pub(super) showings: Showings,
    pub(super) replacements: Replacements,
}

impl Proxy {
    pub(super) fn new(board: Board) -> Self {
        Self { board, ..Self::default() }
    }

    /// Answers one call. The kubelet sees any failure on the way to the runtime as a failed connection.
    pub(super) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        upstream: Upstream,
    ) -> Result<Response<ProxyBody>, Infallible> {
        let path = request.uri().path().to_owned();
        let answered = match Call::of_path(&path) {
            Some(call) => self.unary(call, request, upstream).await,
            None if path.ends_with("/GetContainerEvents") => events::stream(self, request, upstream).await,
            None => stream_by(request, upstream).await,
        };
        Ok(answered.unwrap_or_else(|_| CallAnswer::failure(UNAVAILABLE).into_response()))
    }

    async fn unary(
        self: &Arc<Self>,
        call: Call,
        request: Request<Incoming>,
        upstream: Upstream,
    ) -> hyper::Result<Response<ProxyBody>> {
        let (parts, body) = request.into_parts();
        let mut framed = body.collect().await?.to_bytes();
        let read = unframe(&framed).and_then(|bytes| Message::parse(&bytes).ok());
        let Some(message) = read else {
            let mut upstream = upstream;
            return Ok(upstream.send_request(Request::from_parts(parts, full(framed))).await?.map(streamed));
        };
        let target = call.target(&message, &self.board);
        self.announce(target.as_ref(), call, Order::Before);
        let plan = self.plan(call, &message, target.as_ref());
        sleep(plan.late).await;
        if let Some(altered) = &plan.request {
            framed = frame(altered);
        }
        if let Some(answer) = plan.instead {
            sleep(plan.answered_late).await;
            return Ok(answer.into_response());
        }
        let sent = Outgoing { parts, upstream };
        let framed = self.replacements.to_runtime(framed);
        if plan.twice {
            sent.send(framed.clone()).await?;
        }
        let answer = plan.answer(sent.send(framed.clone()).await?);
        let answer = self.replacements.to_kubelet(answer);
        let answer = self.after(call, &message, answer);
        self.announce(target.as_ref(), call, Order::After);
        if call == Call::Of(Method::Start) && answer.message().is_some() {
            self.clone().replace_later(&message.text(1), sent);
        } else if call == Call::Of(Method::Create) {
            self.replacements.remember(&answer, framed);
        }
        sleep(plan.answered_late).await;
        Ok(answer.into_response())
    }

    /// The effect of the active defects on this call.
    fn plan(&self, call: Call, request: &Message, target: Option<&Target>) -> Plan {
        let (Call::Of(method), Some(target)) = (call, target) else { return Plan::default() };
        Plan::of(self.strikes(method, request, target), request)
    }

    /// Tells the other proxies what is about to happen, or has happened.
    fn announce(&self, target: Option<&Target>, call: Call, order: Order) {
        if let (Some(target), Some(moment)) = (target, moment(call, order)) {
            self.board.happened(moment, target);
        }
    }

    fn strikes(&self, method: Method, request: &Message, target: &Target) -> Vec<CriFault> {
        let pick = |fault: &Fault| match fault {
            Fault::Cri(fault) if concerns(fault, method, request) => Some(fault.clone()),
            _ => None,
        };
        self.board.strikes(pick, target)
    }

    /// Learns the true state from an answer, then changes the containers in it as the defects require.
    fn after(&self, call: Call, request: &Message, answer: CallAnswer) -> CallAnswer {
        let Some(response) = answer.message().and_then(|bytes| Message::parse(&bytes).ok()) else {
            return answer;
        };
        call.learn(request, &response, &self.board);
        match call {
            Call::ListContainers => alter(answer, |response| self.showings.list(response, &self.board)),
            Call::Of(Method::Status) => alter(answer, |response| self.showings.status(response, &self.board)),
            Call::Of(Method::SandboxStatus) => {
                alter(answer, |response| self.showings.statuses(3, response, &self.board))
            }
            Call::Of(Method::Remove) => {
                self.showings.forget(&request.text(1));
                self.replacements.forget(&request.text(1));
                answer
            }
            _ => answer,
        }
    }
}

/// Whether a call is about to go to the runtime, or has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Before,
    After,
}

fn moment(call: Call, order: Order) -> Option<Moment> {
    let Call::Of(method) = call else { return None };
    Some(match (method, order) {
        (Method::RunSandbox, Order::After) => Moment::Sandbox,
        (Method::Create, Order::After) => Moment::Created,
        (Method::Start, Order::After) => Moment::Started,
        (Method::Exec, Order::Before) => Moment::Exec,
        (Method::Stop, Order::Before) => Moment::Stopping,
        (Method::Stop, Order::After) => Moment::Stopped,
        _ => return None,
    })
}

/// A way to send more calls like the received one.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    parts: http::request::Parts,
    upstream: Upstream,
}

impl Outgoing {
    /// Sends a framed message to the same method, and waits for the answer.
    pub(super) async fn send(&self, framed: Bytes) -> hyper::Result<CallAnswer> {
        let request = Request::from_parts(self.parts.clone(), full(framed));
        CallAnswer::collect(self.upstream.clone().send_request(request).await?).await
    }

    /// A way to send calls of another method, without the kubelet's own deadline.
    pub(super) fn to(&self, method: &str) -> Self {
        let mut other = self.clone();
        other.parts.headers.remove("grpc-timeout");
        let uri = format!("http://localhost/runtime.v1.RuntimeService/{method}");
        if let Ok(uri) = uri.parse() {
            other.parts.uri = uri;
        }
        other
    }
}

/// Passes on a call without reading it, in whichever direction its messages flow.
async fn stream_by(request: Request<Incoming>, mut upstream: Upstream) -> hyper::Result<Response<ProxyBody>> {
    Ok(upstream.send_request(request.map(streamed)).await?.map(streamed))
}

pub(super) fn streamed(body: Incoming) -> ProxyBody {
    body.boxed_unsync()
}
