//! HTTP/2 as planned, within the limits of the library: hyper writes the frames, and the plan decides their content.
//!
//! A framework cannot produce faults below a request, such as an abort or garbage. They are written directly to the wire,
//! and then the framework's part of the connection is dropped.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use probity_script::wire::{
    BodyCut, BodyLength, BodyTurn, ConnectionEnd, HttpVersion, PlannedResponse, WireAction,
};
use probity_script::witness::Ending;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

use super::connection::close;
use super::context::{AUTHORITY, ChosenAnswer, ConnectionContext, IncomingRequest};
use super::head_text::HeadText;
use super::reply::PlannedBody;
use super::wire::WireStream;
use crate::lifecycle::OpenRequest;
use crate::locks::lock;

/// How a request cuts off its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The bytes that are sent first, outside all frames.
    pub(super) bytes: Vec<u8>,
    /// How the connection then ends.
    pub(super) end: ConnectionEnd,
}

/// Lets a request cut off its connection.
#[derive(Default)]
pub(super) struct ConnectionCutter {
    cut: Mutex<Option<Cut>>,
    called: Notify,
}

impl ConnectionCutter {
    pub(super) fn cut(&self, cut: Cut) {
        lock(&self.cut).get_or_insert(cut);
        self.called.notify_one();
    }

    async fn called(&self) -> Cut {
        loop {
            if let Some(cut) = lock(&self.cut).clone() {
                return cut;
            }
            self.called.notified().await;
        }
    }
}

/// Serves one connection with any HTTP/2 service, until the connection ends, is cut off, or the gate shuts.
pub(super) async fn serve<S, T, B>(
    context: &ConnectionContext,
    stream: S,
    cutter: &ConnectionCutter,
    service: T,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send,
    T::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(64 * 1024)
        .max_pending_accept_reset_streams(64)
        .keep_alive_interval(Some(Duration::from_secs(60)));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let (mut gate, mut drain) = (context.listener.gate.watch(), context.listener.gate.watch());
    tokio::pin!(connection);
    let mut draining = false;
    loop {
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    context.wire.we_close_because(&reason(&error));
                }
                break;
            }
            cut = cutter.called() => { apply(context, cut); break; }
            () = gate.shut() => { context.wire.we_close(); break; }
            () = drain.closing(), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
    if context.wire.end().how != Ending::WeReset {
        // What the peer still sends must be read. Otherwise, the system would abort the connection instead of closing it
        // gracefully.
        close(&mut WireStream(std::sync::Arc::clone(&context.wire))).await;
    }
}

/// Why hyper ended a connection: the root cause.
fn reason(error: &hyper::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn apply(context: &ConnectionContext, cut: Cut) {
    if !cut.bytes.is_empty() {
        context.wire.send_raw(&cut.bytes);
    }
    match cut.end {
        ConnectionEnd::Close => context.wire.we_close(),
        ConnectionEnd::Reset => context.wire.reset(),
    }
}

/// The scripted answers of an HTTP listener.
#[derive(Clone)]
pub(super) struct Scripted {
    pub(super) context: ConnectionContext,
    pub(super) cutter: std::sync::Arc<ConnectionCutter>,
    pub(super) requests: std::sync::Arc<AtomicU64>,
}

impl Service<Request<Incoming>> for Scripted {
    type Response = Response<Script2Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let this = self.clone();
        // Counted here, where requests arrive in order. Their answers are chosen concurrently.
        let nth = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move { Ok(this.answer(request, nth).await) })
    }
}

impl Scripted {
    async fn answer(self, request: Request<Incoming>, nth: u64) -> Response<Script2Body> {
        let open_request = self.context.listener.gate.enter();
        let incoming = incoming(&request, nth);
        let is_head = incoming.text.method() == "HEAD";
        let chosen_answer = self.context.decide(&incoming).await;
        let mut account = Account {
            context: self.context.clone(),
            chosen_answer,
            said: String::new(),
            sent: 0,
            ended: false,
            _open_request: open_request,
        };
        let composed = self.context.compose(&account.chosen_answer, incoming.facts()).await;
        account.said = composed.word;
        if let Some(delay) = composed.delay {
            sleep(delay.0).await;
        }
        match composed.action {
            WireAction::Hang => account.never().await,
            WireAction::SendAndEnd { bytes, end } => account.cut(&self.cutter, Cut { bytes, end }).await,
            WireAction::Respond(planned) => response(planned, account, self.cutter, is_head),
        }
    }
}

/// An HTTP/2 request in the form in which it is looked up in the plan.
pub(super) fn incoming(request: &Request<Incoming>, nth: u64) -> IncomingRequest {
    let uri = request.uri();
    let target = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let mut text = HeadText::new(request.method().as_str(), &target, (256, request.headers().len() + 1));
    uri.authority().iter().for_each(|authority| text.push_line(AUTHORITY, authority.as_str().as_bytes()));
    request.headers().iter().for_each(|(name, value)| text.push_line(name.as_str(), value.as_bytes()));
    IncomingRequest { nth, version: HttpVersion::Http2, text, body: 0 }
}

/// Records how a request ended, whatever ended it.
pub(super) struct Account {
    pub(super) context: ConnectionContext,
    pub(super) chosen_answer: ChosenAnswer,
    pub(super) said: String,
    pub(super) sent: u64,
    pub(super) ended: bool,
    pub(super) _open_request: OpenRequest,
}

impl Account {
    /// Waits forever. When the peer ends the request, this is dropped.
    pub(super) async fn never<T>(self) -> T {
        std::future::pending().await
    }

    /// Cuts the connection off, which drops the request.
    pub(super) async fn cut<T>(mut self, cutter: &ConnectionCutter, cut: Cut) -> T {
        self.ended = true;
        drop(self);
        cutter.cut(cut);
        std::future::pending().await
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let error = (!self.ended).then_some("the peer gave up");
        self.context.answered(&self.chosen_answer, &self.said, self.sent, error);
    }
}

fn response(
    mut planned: PlannedResponse,
    account: Account,
    cutter: std::sync::Arc<ConnectionCutter>,
    is_head: bool,
) -> Response<Script2Body> {
    let announced = planned.announced();
    let body = PlannedBody::of(&mut planned);
    let PlannedResponse { status, headers, length, body_delay, .. } = planned;
    let resting = body_delay.map(|delay| Box::pin(sleep(delay.0)));
    let mut response = Response::new(Script2Body { body, resting, account, cutter, is_head });
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    for line in &headers {
        // Headers that HTTP/2 cannot express are left out. The author of the plan sees that the client does not receive
        // them.
        let parts = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = parts else { continue };
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    if let (BodyLength::True | BodyLength::Claimed(_), Some(announced)) = (length, announced) {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, announced.into());
    }
    response
}

/// A scripted body, framed by hyper.
pub(super) struct Script2Body {
    body: PlannedBody,
    resting: Option<Pin<Box<Sleep>>>,
    account: Account,
    cutter: std::sync::Arc<ConnectionCutter>,
    is_head: bool,
}

impl http_body::Body for Script2Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(resting) = &mut this.resting {
                ready!(resting.as_mut().poll(cx));
                this.resting = None;
            }
            match if this.is_head { BodyTurn::Complete } else { this.body.turns.take() } {
                BodyTurn::Send(range) => {
                    let piece = this.body.bytes(range);
                    this.account.sent += piece.len() as u64;
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                BodyTurn::Pause(pause) => this.resting = Some(Box::pin(sleep(pause.0))),
                BodyTurn::Complete => {
                    this.account.ended = true;
                    return Poll::Ready(None);
                }
                BodyTurn::Cut(BodyCut::Stall) => return Poll::Pending,
                BodyTurn::Cut(BodyCut::End(end)) => {
                    this.account.ended = true;
                    this.cutter.cut(Cut { bytes: Vec::new(), end });
                    return Poll::Pending;
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        false
    }
}
