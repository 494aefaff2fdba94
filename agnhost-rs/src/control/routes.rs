//! The routes of the control port, with one handler for each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use probity_script::{Change, Changed, Plan, Size, Span};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ControlError;
use super::{Control, ExitOrder, files, metrics};
use crate::stage::STOP_EVENT;
use crate::witness::Stamp;
use probity_document as document;

type SharedControl = State<Arc<Control>>;
type RouteResult<T> = Result<T, ControlError>;

/// A body must arrive within this time.
const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// How long a reader of the witness may wait for a line.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How many bytes a reader of the witness gets at a time by default, and the maximum.
const USUAL_LINES: u64 = 1 << 20;
const MOST_LINES: u64 = 8 << 20;
/// The pause before the exit, so that the answer to an exit order is sent first.
const EXIT_PAUSE: Duration = Duration::from_millis(50);

pub(super) fn router(control: Arc<Control>) -> Router {
    Router::new()
        .route("/v1/clock", get(clock))
        .route("/v1/change", post(change))
        .route("/v1/reset", post(reset))
        .route("/v1/marks/{name}", post(mark))
        .route("/v1/plan", get(plan))
        .route("/v1/counters", get(counters))
        .route("/v1/witness", get(witness))
        .route("/v1/exit", post(exit))
        .route("/v1/dump", get(dump))
        .route("/v1/file", get(read_file).put(write_file).delete(remove_file))
        .route("/v1/stat", get(stat_file))
        .route("/metrics", get(page))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .with_state(control)
}

async fn unknown(uri: Uri) -> ControlError {
    ControlError::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> ControlError {
    ControlError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not support {method}", uri.path()))
}

#[derive(Serialize)]
struct ClockReading {
    mono_us: u64,
    wall_us: u64,
    boot: String,
    attempt: u64,
    began_mono_us: u64,
}

async fn clock(State(control): SharedControl) -> Json<ClockReading> {
    let witness = control.stage.witness();
    let (at, who) = (witness.clock().read(), witness.identity());
    Json(ClockReading {
        mono_us: at.mono_us,
        wall_us: at.wall_us,
        boot: who.boot.clone(),
        attempt: who.attempt,
        began_mono_us: witness.clock().began_mono_us(),
    })
}

async fn change(State(control): SharedControl, body: Body) -> RouteResult<Json<Changed>> {
    let text = text(body).await?;
    let change: Change = document::change("change", &text).map_err(|problem| ControlError::from(*problem))?;
    match control.stage.change(change) {
        Ok(changed) => Ok(Json(changed)),
        Err(message) => Err(document::misfit("change", &text, &message).into()),
    }
}

async fn reset(State(control): SharedControl) -> Json<Value> {
    Json(stamped(control.stage.reset()))
}

async fn mark(State(control): SharedControl, Path(name): Path<String>) -> RouteResult<Json<Value>> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() > 64 || !name.chars().all(fits) {
        return Err(ControlError::bad(
            "a mark's name has at most 64 letters, digits, dashes, underscores and dots",
        ));
    }
    if name == STOP_EVENT {
        return Err(ControlError::bad(format!("only a stop signal creates `{STOP_EVENT}`: send one")));
    }
    Ok(Json(stamped(control.stage.mark(&name, "control"))))
}

fn stamped(stamp: Stamp) -> Value {
    json!({ "seq": stamp.seq, "mono_us": stamp.at.mono_us, "wall_us": stamp.at.wall_us })
}

async fn plan(State(control): SharedControl) -> Json<Arc<Plan>> {
    Json(control.stage.plan())
}

async fn counters(State(control): SharedControl) -> Response {
    Json(control.stage.counters()).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WitnessQuery {
    since: u64,
    wait: Span,
    most: Size,
}

impl Default for WitnessQuery {
    fn default() -> Self {
        Self { since: 0, wait: Span::default(), most: Size(USUAL_LINES) }
    }
}

async fn witness(State(control): SharedControl, uri: Uri) -> RouteResult<Response> {
    let WitnessQuery { since, wait, most } = query(&uri)?;
    if wait.0 > LONGEST_WAIT || most.0 > MOST_LINES {
        return Err(ControlError::bad(format!(
            "`wait` may be at most {}, and `most` at most {}",
            Span(LONGEST_WAIT),
            Size(MOST_LINES)
        )));
    }
    let most = usize::try_from(most.0).unwrap_or(usize::MAX);
    let lines = aside(move || control.stage.witness().since(since, most, wait.0)).await?;
    let number = |name, number: u64| (HeaderName::from_static(name), number.to_string());
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson".to_owned()),
        number("probity-first", lines.first),
        number("probity-next", lines.next),
    ];
    Ok((headers, lines.concat()).into_response())
}

async fn exit(State(control): SharedControl, body: Body) -> RouteResult<Response> {
    let text = text(body).await?;
    let order: ExitOrder =
        document::read("order", "order", &text).map_err(|problem| ControlError::from(*problem))?;
    let at = control.stage.witness().clock().read();
    tokio::spawn(async move {
        tokio::time::sleep(EXIT_PAUSE.max(order.after.0)).await;
        let _ = tokio::task::spawn_blocking(move || (control.exit)(order)).await;
    });
    let answer = json!({ "mono_us": at.mono_us, "wall_us": at.wall_us });
    Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
}

async fn dump(State(control): SharedControl) -> RouteResult<Response> {
    let take = control.dump;
    Ok(Json(aside(take).await?).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQuery {
    path: PathBuf,
}

async fn read_file(uri: Uri) -> RouteResult<Response> {
    let FileQuery { path } = query(&uri)?;
    let bytes = aside(move || files::read(&path)).await??;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

async fn write_file(uri: Uri, body: Body) -> RouteResult<Json<Value>> {
    let FileQuery { path } = query(&uri)?;
    let bytes = whole(body).await?;
    let length = bytes.len();
    aside(move || files::write(&path, &bytes)).await??;
    Ok(Json(json!({ "bytes": length })))
}

async fn remove_file(uri: Uri) -> RouteResult<Json<Value>> {
    let FileQuery { path } = query(&uri)?;
    aside(move || files::remove(&path)).await??;
    Ok(Json(json!({})))
}

async fn stat_file(uri: Uri) -> RouteResult<Response> {
    let FileQuery { path } = query(&uri)?;
    Ok(Json(aside(move || files::stat(&path)).await??).into_response())
}

async fn page(State(control): SharedControl) -> RouteResult<Response> {
    let page = metrics::page(&control);
    let page = page
        .map_err(|_| ControlError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed to write the metrics"))?;
    Ok(([(CONTENT_TYPE, metrics::TYPE)], page).into_response())
}

/// Runs a blocking task outside the runtime.
async fn aside<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> RouteResult<T> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|error| {
        ControlError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the task failed: {error}"))
    })
}

fn query<T: DeserializeOwned>(uri: &Uri) -> RouteResult<T> {
    let read = Query::<T>::try_from_uri(uri);
    read.map(|Query(query)| query).map_err(|error| ControlError::bad(error.body_text()))
}

async fn whole(body: Body) -> RouteResult<Bytes> {
    match tokio::time::timeout(BODY_PATIENCE, to_bytes(body, document::LARGEST)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(ControlError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {} bytes", document::LARGEST),
        )),
        Ok(Err(error)) => Err(ControlError::bad(format!("failed to read the body: {error}"))),
        Err(_) => Err(ControlError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body did not arrive within {BODY_PATIENCE:?}"),
        )),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<http_body_util::LengthLimitError>())
}

async fn text(body: Body) -> RouteResult<String> {
    let bytes = whole(body).await?;
    String::from_utf8(bytes.into()).map_err(|_| ControlError::bad("the body is not text in UTF-8"))
}
