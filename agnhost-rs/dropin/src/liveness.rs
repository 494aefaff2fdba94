//! `liveness`: serves port 8080, is healthy for ten seconds after its start and unhealthy after that, and redirects on
//! request.

use std::future::ready;
use std::process::ExitCode;

use http::StatusCode;

use super::go::http::{
    Body, HttpRequest, HttpResponse, HttpResult, Server, clean_redirect, error_response, not_found, ok,
    redirect, unescape, with_status,
};
use super::go::text::{Moment, duration, quoted};
use super::go::{klog, listen, signals};

const PORT: i64 = 8080;
const HEALTHY_SECONDS: f64 = 10.0;

/// Serves until a signal ends the process.
pub(super) fn run() -> ExitCode {
    let started = Moment::now();
    signals::end_by_default();
    super::serve(async move {
        let listener = listen::tcp_async(PORT).unwrap_or_else(|error| klog::fatal(error));
        let handler = move |request: HttpRequest| ready(answer(&request, started));
        Server::new(None).run(listener, handler).await;
        ExitCode::SUCCESS
    })
}

fn answer(request: &HttpRequest, started: Moment) -> HttpResult {
    if let Some(redirected) = clean_redirect(request) {
        return redirected;
    }
    match request.path().as_slice() {
        b"/started" => Ok(ok(duration(started.elapsed()))),
        b"/healthz" => Ok(health(started.elapsed().as_secs_f64())),
        b"/redirect" => to_location(request),
        _ => Ok(not_found()),
    }
}

fn health(seconds: f64) -> HttpResponse {
    if seconds <= HEALTHY_SECONDS {
        return ok("ok");
    }
    with_status(StatusCode::INTERNAL_SERVER_ERROR, Body::full(format!("error: {seconds}")))
}

fn to_location(request: &HttpRequest) -> HttpResult {
    let given = request.query_form().bytes("loc").to_vec();
    // The query is already unescaped once; agnhost unescapes it twice.
    match unescape(&String::from_utf8_lossy(&given), true) {
        Some(location) => redirect(request, &location, i64::from(StatusCode::FOUND.as_u16())),
        None => Ok(error_response(StatusCode::BAD_REQUEST, &format!("invalid redirect: {}", quoted(&given)))),
    }
}
