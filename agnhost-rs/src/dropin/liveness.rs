//! `liveness`: port 8080, healthy for ten seconds after start and unhealthy ever after; redirects on demand.

use std::process::ExitCode;

use http::StatusCode;

use super::go::http::{
    Answer, Asked, Body, Reply, Server, clean_redirect, error_reply, not_found, redirect, unescape,
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
        Server::new(None).run(listener, move |asked| async move { answer(&asked, started) }).await;
        ExitCode::SUCCESS
    })
}

fn answer(asked: &Asked, started: Moment) -> Answer {
    if let Some(redirected) = clean_redirect(asked) {
        return redirected;
    }
    match asked.path().as_slice() {
        b"/started" => Ok(Reply::new(Body::full(duration(started.elapsed())))),
        b"/healthz" => Ok(health(started.elapsed().as_secs_f64())),
        b"/redirect" => to_location(asked),
        _ => Ok(not_found()),
    }
}

fn health(seconds: f64) -> Reply {
    if seconds <= HEALTHY_SECONDS {
        return Reply::new(Body::full("ok"));
    }
    let mut reply = Reply::new(Body::full(format!("error: {seconds}")));
    *reply.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    reply
}

fn to_location(asked: &Asked) -> Answer {
    let given = asked.query_form().bytes("loc").to_vec();
    // The query was unescaped once already; agnhost does it twice.
    match unescape(&String::from_utf8_lossy(&given), true) {
        Some(location) => redirect(asked, &location, i64::from(StatusCode::FOUND.as_u16())),
        None => Ok(error_reply(StatusCode::BAD_REQUEST, &format!("invalid redirect: {}", quoted(&given)))),
    }
}
