//! `grpc-health-checking`: the gRPC health service on one port, and two HTTP paths on another port that switch its
//! answer.
//!
//! Check answers for one service name and NotFound for every other; Watch and List are Unimplemented, as in agnhost.

use std::future::ready;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use http::HeaderValue;
use http_body_util::{BodyExt, Limited};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tower_service::Service;

use super::go::flags::integer;
use super::go::http::{HttpRequest, HttpResult, Server, clean_redirect, not_found, ok};
use super::go::text::{Moment, duration};
use super::go::{klog, listen, signals, tls};

/// The flags of `grpc-health-checking`.
#[derive(Args, Debug)]
pub struct GrpcHealthFlags {
    /// Port of the gRPC service
    #[arg(long, default_value = "5000", value_parser = integer, allow_hyphen_values = true)]
    port: i64,
    /// Port of /make-serving and /make-not-serving
    #[arg(long, alias = "http_port", default_value = "8080", value_parser = integer, allow_hyphen_values = true)]
    http_port: i64,
    /// Seconds until the service reports NOT_SERVING; never if negative
    #[arg(long, alias = "delay_unhealthy_sec", default_value = "-1", value_parser = integer, allow_hyphen_values = true)]
    delay_unhealthy_sec: i64,
    /// Name of the service whose health is reported
    #[arg(long, default_value = "", hide_default_value = true)]
    service: String,
    /// Certificate chain for TLS (PEM)
    #[arg(long, alias = "tls_cert_file", default_value = "", hide_default_value = true)]
    tls_cert_file: String,
    /// Key of the certificate (PEM)
    #[arg(long, alias = "tls_private_key_file", default_value = "", hide_default_value = true)]
    tls_private_key_file: String,
}

/// The state that both ports share.
struct HealthState {
    started: Moment,
    service: String,
    healthy_for: Option<Duration>,
    forced_unhealthy: AtomicBool,
}

/// Serves until a signal ends the process.
pub(super) fn run(flags: GrpcHealthFlags) -> ExitCode {
    let started = Moment::now();
    if flags.tls_cert_file.is_empty() != flags.tls_private_key_file.is_empty() {
        klog::fatal("Both --tls-cert-file and --tls-private-key-file must be set");
    }
    signals::end_by_default();
    let state = Arc::new(HealthState {
        started,
        service: flags.service,
        healthy_for: u64::try_from(flags.delay_unhealthy_sec).ok().map(Duration::from_secs),
        forced_unhealthy: AtomicBool::new(false),
    });
    super::serve(async move {
        tokio::spawn(switch(flags.http_port, Arc::clone(&state)));
        let listener = listen::tcp_async(flags.port).unwrap_or_else(|error| {
            klog::fatal(format!("Error while starting the listening service {error}"))
        });
        let encryption = (!flags.tls_cert_file.is_empty()).then(|| {
            tls::server(&flags.tls_cert_file, &flags.tls_private_key_file, &[b"h2"])
                .map(TlsAcceptor::from)
                .unwrap_or_else(|error| klog::fatal(format!("Failed to generate credentials {error}")))
        });
        klog::info(format!("gRPC server starting to listen on :{}", flags.port));
        accept(listener, encryption, HealthServer::new(Checker(state))).await;
        ExitCode::SUCCESS
    })
}

async fn switch(port: i64, state: Arc<HealthState>) {
    klog::info(format!("Http server starting to listen on :{port}"));
    let listener = listen::tcp_async(port).unwrap_or_else(|error| klog::fatal(error));
    let handler = move |request: HttpRequest| ready(switched(&request, &state));
    Server::new(None).run(listener, handler).await;
}

fn switched(request: &HttpRequest, state: &HealthState) -> HttpResult {
    if let Some(redirected) = clean_redirect(request) {
        return redirected;
    }
    let (unhealthy, line) = match request.path().as_slice() {
        b"/make-not-serving" => (true, "Mark as unhealthy"),
        b"/make-serving" => (false, "Mark as healthy"),
        _ => return Ok(not_found()),
    };
    klog::info(line);
    state.forced_unhealthy.store(unhealthy, Ordering::SeqCst);
    Ok(ok(duration(state.started.elapsed())))
}

async fn accept(listener: TcpListener, encryption: Option<TlsAcceptor>, service: HealthServer<Checker>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
        };
        let (encryption, service) = (encryption.clone(), service.clone());
        tokio::spawn(async move {
            match encryption {
                None => http2(stream, service).await,
                Some(acceptor) => match acceptor.accept(stream).await {
                    // gRPC over TLS needs HTTP/2 to be agreed on.
                    Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                        http2(stream, service).await
                    }
                    Ok(_) | Err(_) => {}
                },
            }
        });
    }
}

async fn http2<S>(stream: S, service: HealthServer<Checker>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let mut service = service.clone();
        async move {
            match refusal(request.headers().get("content-type"), request.uri().path()) {
                Some(refused) => {
                    drain(request.into_body()).await;
                    Ok(refused)
                }
                None => service.call(request).await,
            }
        }
    });
    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    // How a connection ends is up to the peer.
    let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
}

/// Reads the rest of a refused request, within limits: an answer before the end of a request resets the stream, which
/// some clients take for an error.
async fn drain(body: hyper::body::Incoming) {
    let read = Limited::new(body, 64 * 1024).collect();
    let _ = tokio::time::timeout(Duration::from_secs(1), read).await;
}

/// The answer to a request that is not gRPC, or that is for another service.
fn refusal(content_type: Option<&HeaderValue>, path: &str) -> Option<http::Response<tonic::body::Body>> {
    let kind = content_type.map(HeaderValue::as_bytes).unwrap_or_default();
    if !kind.starts_with(b"application/grpc") {
        let mut refused = http::Response::new(tonic::body::Body::empty());
        *refused.status_mut() = http::StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Some(refused);
    }
    let (service, method) = path.trim_start_matches('/').rsplit_once('/').unwrap_or_default();
    match (service, method) {
        ("grpc.health.v1.Health", "Check" | "Watch") => None,
        // The library does not know this method; its answer would be the same, but without the message.
        ("grpc.health.v1.Health", "List") => Some(Status::unimplemented("unimplemented").into_http()),
        ("grpc.health.v1.Health", method) => {
            Some(Status::unimplemented(format!("unknown method {method} for service {service}")).into_http())
        }
        (service, _) => Some(Status::unimplemented(format!("unknown service {service}")).into_http()),
    }
}

struct Checker(Arc<HealthState>);

#[tonic::async_trait]
impl Health for Checker {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let state = &self.0;
        klog::info(format!(
            "Serving the Check request for health check, started at {}",
            state.started.text()
        ));
        if request.get_ref().service != state.service {
            return Err(Status::new(Code::NotFound, "unknown service"));
        }
        let expired = state.healthy_for.is_some_and(|limit| state.started.elapsed() >= limit);
        let unhealthy = expired || state.forced_unhealthy.load(Ordering::SeqCst);
        let status = if unhealthy { ServingStatus::NotServing } else { ServingStatus::Serving };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    type WatchStream = futures_util::stream::Pending<Result<HealthCheckResponse, Status>>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("unimplemented"))
    }
}
