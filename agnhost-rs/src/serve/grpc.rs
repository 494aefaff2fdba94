//! The gRPC health protocol as planned: Check, List and Watch, correct or not.
//!
//! tonic frames and encodes the messages. The plan determines the answers, so the health reporter of tonic-health is not
//! used.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, unfold};
use http::{Request as HttpRequest, Response as HttpResponse};
use hyper::body::Incoming;
use hyper::service::Service;
use probity_script::Choice;
use probity_script::answer::{GrpcAnswer, HttpAnswer};
use probity_script::wire::{HealthReply, HttpVersion, WireAction, compose_health};
use prost::Message as _;
use tokio::time::sleep;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_prost::ProstCodec;

use super::context::{ChosenAnswer, ConnectionContext, IncomingRequest};
use super::head_text::HeadText;
use super::http2::{Account, ConnectionCutter, Cut, incoming};
use crate::stage::ProbedEndpoint;
use crate::witness::RequestSeen;

/// How often a watch checks whether its answer has changed.
const LOOK: Duration = Duration::from_millis(20);

/// The request of `List`, which is newer than the messages in tonic-health.
#[derive(Clone, PartialEq, prost::Message)]
struct ListRequest {}

/// The answer of `List`: a status for each service.
#[derive(Clone, PartialEq, prost::Message)]
struct ListResponse {
    #[prost(map = "string, message", tag = "1")]
    statuses: HashMap<String, HealthCheckResponse>,
}

/// The health service of one connection.
#[derive(Clone)]
pub(super) struct Health {
    pub(super) context: ConnectionContext,
    pub(super) cutter: Arc<ConnectionCutter>,
    pub(super) requests: Arc<AtomicU64>,
}

type GrpcResponse = HttpResponse<tonic::body::Body>;

impl Service<HttpRequest<Incoming>> for Health {
    type Response = GrpcResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<GrpcResponse, Infallible>> + Send>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        let nth = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let incoming = incoming(&request, nth);
        let call = Call { health: self.clone(), incoming: Some(incoming) };
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/grpc.health.v1.Health/Check" => {
                    let codec = ProstCodec::<HealthCheckResponse, HealthCheckRequest>::default();
                    Grpc::new(codec).unary(Check(call), request).await
                }
                "/grpc.health.v1.Health/List" => {
                    let codec = ProstCodec::<ListResponse, ListRequest>::default();
                    Grpc::new(codec).unary(List(call), request).await
                }
                "/grpc.health.v1.Health/Watch" => {
                    let codec = ProstCodec::<HealthCheckResponse, HealthCheckRequest>::default();
                    Grpc::new(codec).server_streaming(Watch(call), request).await
                }
                _ => call.unknown_method(),
            })
        })
    }
}

/// One call, before its message is known.
struct Call {
    health: Health,
    incoming: Option<IncomingRequest>,
}

impl Call {
    /// Records the call and chooses its answer.
    fn arrive(&mut self, service: Option<String>) -> (Account, Option<GrpcAnswer>) {
        let context = self.health.context.clone();
        let open_request = context.listener.gate.enter();
        let (chosen_answer, answer, mark) = context.listener.stage.with_plan(|plan| {
            let listener = plan.listeners.get(&context.listener.name);
            let chosen = service.as_ref().and_then(|wanted| {
                let (name, script) = listener?.service(wanted)?;
                Some((name.clone(), self.choose(name, script)))
            });
            self.write_down(service, chosen)
        });
        if let Some((name, mark)) = mark {
            context.listener.stage.mark(&mark, &name);
        }
        (
            Account {
                context,
                chosen_answer,
                said: String::new(),
                sent: 0,
                ended: false,
                _open_request: open_request,
            },
            answer,
        )
    }

    fn choose(&self, name: &str, script: &probity_script::Script<GrpcAnswer>) -> Choice<GrpcAnswer> {
        let context = &self.health.context.listener;
        let probe = context.stage.count(&context.name, name);
        let host = self.incoming.as_ref().and_then(|incoming| incoming.host());
        context.stage.choose(script, ProbedEndpoint { name, probe, host })
    }

    fn write_down(
        &mut self,
        service: Option<String>,
        chosen: Option<(String, Choice<GrpcAnswer>)>,
    ) -> (ChosenAnswer, Option<GrpcAnswer>, Option<(String, String)>) {
        let context = &self.health.context;
        let incoming = self.incoming.take();
        let listener = &context.listener.name;
        let endpoint = chosen.as_ref().map(|(name, _)| name.clone());
        let (probe, step) = chosen.as_ref().map_or((0, 0), |(_, choice)| (choice.probe, choice.step));
        let nth = incoming.as_ref().map_or(0, |incoming| incoming.nth);
        let text = incoming.map_or_else(|| HeadText::new("", "", (0, 0)), |incoming| incoming.text);
        let arrived = context.witness().arrival(&RequestSeen {
            conn: context.conn,
            nth,
            endpoint: endpoint.as_deref().map(|name| context.endpoint_seen(name)),
            probe,
            hop: None,
            method: text.method(),
            target: text.target(),
            protocol: HttpVersion::Http2.word(),
            headers: text.lines(),
            body: 0,
            first_byte_us: context.wire.take_first_byte(),
            service: service.as_deref(),
        });
        let chosen_answer = ChosenAnswer {
            nth,
            answer: HttpAnswer::Hang,
            endpoint,
            step,
            probe,
            hop: 0,
            arrived,
            worker: None,
        };
        let (mark, answer) = chosen.map_or((None, None), |(name, choice)| {
            (choice.mark.map(|mark| (format!("{listener}:{name}"), mark)), Some(choice.answer))
        });
        (chosen_answer, answer, mark)
    }

    fn unknown_method(mut self) -> GrpcResponse {
        let (account, _) = self.arrive(None);
        finish(account, "unimplemented", 0);
        Status::unimplemented("no such method in the plan").into_http()
    }

    /// Gives the answer to one check, after its pause.
    async fn give(
        &self,
        mut account: Account,
        answer: Option<GrpcAnswer>,
    ) -> Result<HealthCheckResponse, Status> {
        let composed = compose_health(answer.as_ref());
        account.said = composed.word;
        if let Some(delay) = composed.delay {
            sleep(delay.0).await;
        }
        match composed.action {
            WireAction::Hang => account.never().await,
            WireAction::SendAndEnd { bytes, end } => {
                account.cut(&self.health.cutter, Cut { bytes, end }).await
            }
            WireAction::Respond(HealthReply::Status(status)) => {
                let response = HealthCheckResponse { status };
                // Each message has five bytes of framing before it.
                account.sent = response.encoded_len() as u64 + 5;
                account.ended = true;
                Ok(response)
            }
            WireAction::Respond(HealthReply::Error { code, message }) => {
                account.ended = true;
                Err(Status::new(Code::from(i32::from(code)), message))
            }
        }
    }
}

fn finish(mut account: Account, said: &str, sent: u64) {
    said.clone_into(&mut account.said);
    account.sent = sent;
    account.ended = true;
}

type GrpcFuture<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

struct Check(Call);

impl UnaryService<HealthCheckRequest> for Check {
    type Response = HealthCheckResponse;
    type Future = GrpcFuture<HealthCheckResponse>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let (account, answer) = self.0.arrive(Some(request.into_inner().service));
        let call = Call { health: self.0.health.clone(), incoming: None };
        Box::pin(async move { call.give(account, answer).await.map(Response::new) })
    }
}

struct List(Call);

impl UnaryService<ListRequest> for List {
    type Response = ListResponse;
    type Future = GrpcFuture<ListResponse>;

    fn call(&mut self, _: Request<ListRequest>) -> Self::Future {
        let (account, _) = self.0.arrive(None);
        let context = &self.0.health.context.listener;
        let statuses = context.stage.with_plan(|plan| {
            let services = plan.listeners.get(&context.name).map(|listener| &listener.services);
            let now = |(name, script): (&String, &probity_script::Script<GrpcAnswer>)| {
                let probe = context.stage.counted(&context.name, name).max(1);
                let answer = context.stage.choose(script, ProbedEndpoint { name, probe, host: None }).answer;
                (name.clone(), HealthCheckResponse { status: answer.status() })
            };
            services.into_iter().flatten().filter(|(name, _)| *name != "*").map(now).collect()
        });
        let response = ListResponse { statuses };
        finish(account, "list", response.encoded_len() as u64 + 5);
        Box::pin(std::future::ready(Ok(Response::new(response))))
    }
}

struct Watch(Call);

impl ServerStreamingService<HealthCheckRequest> for Watch {
    type Response = HealthCheckResponse;
    type ResponseStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;
    type Future = GrpcFuture<Self::ResponseStream>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let service = request.into_inner().service;
        let (mut account, answer) = self.0.arrive(Some(service.clone()));
        account.said = "watch".to_owned();
        if answer == Some(GrpcAnswer::Unimplemented) {
            finish(account, "unimplemented", 0);
            return Box::pin(std::future::ready(Err(Status::unimplemented(
                "this server has no health service",
            ))));
        }
        let state = Watching { account, service, last: None };
        let stream = unfold(state, |mut state| async move {
            let status = state.next().await;
            Some((Ok(HealthCheckResponse { status }), state))
        });
        Box::pin(std::future::ready(Ok(Response::new(Box::pin(stream) as BoxStream<'static, _>))))
    }
}

/// A watch: sends the status immediately, and again whenever it changes.
struct Watching {
    account: Account,
    service: String,
    last: Option<i32>,
}

impl Watching {
    async fn next(&mut self) -> i32 {
        loop {
            let status = self.now();
            if self.last != Some(status) {
                self.last = Some(status);
                self.account.sent += 7;
                return status;
            }
            sleep(LOOK).await;
        }
    }

    /// The current status. For a service that is not in the plan, it is SERVICE_UNKNOWN, as the protocol requires.
    fn now(&self) -> i32 {
        let context = &self.account.context.listener;
        context.stage.with_plan(|plan| {
            let known =
                plan.listeners.get(&context.name).and_then(|listener| listener.service(&self.service));
            let Some((_, script)) = known else { return GrpcAnswer::ServiceUnknown.status() };
            let probe = context.stage.counted(&context.name, &self.service).max(1);
            context
                .stage
                .choose(script, ProbedEndpoint { name: &self.service, probe, host: None })
                .answer
                .status()
        })
    }
}
