//! The gRPC health protocol as the plan wants it: Check, List and Watch, right or wrong.
//!
//! tonic frames and codes the messages; which answer is due is the plan's business, so the honest health reporter of
//! tonic-health is of no use here.

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
use probity_script::answer::{GrpcAnswer, HttpAnswer};
use probity_script::wire::{HealthReply, HttpVersion, WireAction, compose_health};
use probity_script::witness::Request as Seen;
use probity_script::{Choice, Endpoint, Fact};
use prost::Message as _;
use tokio::time::sleep;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_prost::ProstCodec;

use super::http2::{Account, Cut, Scissors, asking};
use super::site::{Asking, Decision, Visitor};
use crate::stage::Asked;

/// How often a watch looks whether its answer has changed.
const LOOK: Duration = Duration::from_millis(20);

/// The request of `List`, which is younger than the messages that tonic-health carries.
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
    pub(super) visitor: Visitor,
    pub(super) scissors: Arc<Scissors>,
    pub(super) requests: Arc<AtomicU64>,
}

type Answer = HttpResponse<tonic::body::Body>;

impl Service<HttpRequest<Incoming>> for Health {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        let nth = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let asking = asking(&request, nth);
        let call = Call { health: self.clone(), asking: Some(asking) };
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
    asking: Option<Asking>,
}

impl Call {
    /// Writes the call down and chooses its answer.
    fn arrive(&mut self, service: Option<String>) -> (Account, Option<GrpcAnswer>) {
        let visitor = self.health.visitor.clone();
        let visit = visitor.site.doors.visit();
        let (decision, answer, mark) = visitor.site.stage.with_plan(|plan| {
            let listener = plan.listeners.get(&visitor.site.name);
            let chosen = service.as_ref().and_then(|wanted| {
                let (name, script) = listener?.service(wanted)?;
                Some((name.clone(), self.choose(name, script)))
            });
            self.write_down(service, chosen)
        });
        if let Some((name, mark)) = mark {
            visitor.site.stage.mark(&mark, &name);
        }
        (Account { visitor, decision, said: String::new(), sent: 0, ended: false, _visit: visit }, answer)
    }

    fn choose(&self, name: &str, script: &probity_script::Script<GrpcAnswer>) -> Choice<GrpcAnswer> {
        let site = &self.health.visitor.site;
        let probe = site.stage.count(&site.name, name);
        let host = self.asking.as_ref().and_then(|asking| asking.host.as_deref());
        site.stage.choose(script, Asked { name, probe, host })
    }

    fn write_down(
        &mut self,
        service: Option<String>,
        chosen: Option<(String, Choice<GrpcAnswer>)>,
    ) -> (Decision, Option<GrpcAnswer>, Option<(String, String)>) {
        let visitor = &self.health.visitor;
        let asking = self.asking.take();
        let listener = &visitor.site.name;
        let endpoint =
            chosen.as_ref().map(|(name, _)| Endpoint::Of { listener: listener.clone(), name: name.clone() });
        let (probe, step) = chosen.as_ref().map_or((0, 0), |(_, choice)| (choice.probe, choice.step));
        let nth = asking.as_ref().map_or(0, |asking| asking.nth);
        let arrived = visitor.witness().arrival(&Fact::Request(Seen {
            conn: visitor.conn,
            nth,
            endpoint: endpoint.clone(),
            probe,
            hop: None,
            method: asking.as_ref().map(|asking| asking.method.clone()).unwrap_or_default(),
            target: asking.as_ref().map(|asking| asking.target.clone()).unwrap_or_default(),
            protocol: HttpVersion::Http2.word().to_owned(),
            headers: asking.map(|asking| asking.headers).unwrap_or_default(),
            body: 0,
            first_byte_us: visitor.wire.take_first_byte(),
            service,
        }));
        let decision =
            Decision { nth, answer: HttpAnswer::Hang, endpoint, step, probe, hop: 0, arrived, worker: None };
        let (mark, answer) = chosen.map_or((None, None), |(name, choice)| {
            (choice.mark.map(|mark| (format!("{listener}:{name}"), mark)), Some(choice.answer))
        });
        (decision, answer, mark)
    }

    fn unknown_method(mut self) -> Answer {
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
                account.cut(&self.health.scissors, Cut { bytes, end }).await
            }
            WireAction::Respond(HealthReply::Status(status)) => {
                let response = HealthCheckResponse { status };
                // Behind each message's five bytes of framing.
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

type Reply<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

struct Check(Call);

impl UnaryService<HealthCheckRequest> for Check {
    type Response = HealthCheckResponse;
    type Future = Reply<HealthCheckResponse>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let (account, answer) = self.0.arrive(Some(request.into_inner().service));
        let call = Call { health: self.0.health.clone(), asking: None };
        Box::pin(async move { call.give(account, answer).await.map(Response::new) })
    }
}

struct List(Call);

impl UnaryService<ListRequest> for List {
    type Response = ListResponse;
    type Future = Reply<ListResponse>;

    fn call(&mut self, _: Request<ListRequest>) -> Self::Future {
        let (account, _) = self.0.arrive(None);
        let site = &self.0.health.visitor.site;
        let statuses = site.stage.with_plan(|plan| {
            let services = plan.listeners.get(&site.name).map(|listener| &listener.services);
            let now = |(name, script): (&String, &probity_script::Script<GrpcAnswer>)| {
                let probe = site.stage.counted(&site.name, name).max(1);
                let answer = site.stage.choose(script, Asked { name, probe, host: None }).answer;
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
    type Future = Reply<Self::ResponseStream>;

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

/// A watch: sends a status at once, and again whenever it is another.
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

    /// The status now; SERVICE_UNKNOWN for a service that the plan does not have, as the protocol says.
    fn now(&self) -> i32 {
        let site = &self.account.visitor.site;
        site.stage.with_plan(|plan| {
            let known = plan.listeners.get(&site.name).and_then(|listener| listener.service(&self.service));
            let Some((_, script)) = known else { return GrpcAnswer::ServiceUnknown.status() };
            let probe = site.stage.counted(&site.name, &self.service).max(1);
            site.stage.choose(script, Asked { name: &self.service, probe, host: None }).answer.status()
        })
    }
}
