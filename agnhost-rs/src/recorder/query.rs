//! The query port: the merged stream and the state of the targets, for clients with the token.
//!
//! Nothing here changes any state, and a slow reader does not slow down others. Readers pull from the memory. A reader
//! that is too slow sees a gap in the cursors, because old entries are dropped. Every refusal is a JSON object with one
//! sentence.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, StatusCode};
use probity_script::{Size, Span};
use serde_json::json;

use super::metrics;
use super::state::RecorderState;
use crate::recent::LinesSince;
use crate::token::Token;

const NDJSON: &str = "application/x-ndjson";
const FIRST: HeaderName = HeaderName::from_static("probity-first");
const NEXT: HeaderName = HeaderName::from_static("probity-next");
const RECORDER: HeaderName = HeaderName::from_static("probity-recorder");
/// The default maximum number of bytes of an answer.
const USUAL: u64 = 4 << 20;
/// The largest maximum that a query can request.
const MOST: u64 = 64 << 20;
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The maximum number of bytes that a follower takes at once.
const PIECE: usize = 256 * 1024;

type Refusal = (StatusCode, String);

/// Everything that the query port answers.
pub(super) fn router(state: Arc<RecorderState>, token: Token) -> Router {
    let guarded = Router::new()
        .route("/v1/lines", get(lines))
        .route("/v1/stream", get(follow))
        .route("/v1/targets", get(targets))
        .route("/v1/clock", get(clock))
        .route("/metrics", get(measures))
        .fallback(|| async {
            refuse(
                StatusCode::NOT_FOUND,
                "there is no such path; the paths are /v1/lines, \
                                                            /v1/stream, /v1/targets, /v1/clock, /metrics and \
                                                            /healthz",
            )
        })
        .method_not_allowed_fallback(|| async {
            refuse(StatusCode::METHOD_NOT_ALLOWED, "this port only answers GET")
        })
        .layer(middleware::from_fn_with_state((Arc::clone(&state), token), guard))
        .with_state(state);
    Router::new().route("/healthz", get(|| async { "ok\n" })).fallback_service(guarded)
}

async fn guard(
    State((state, token)): State<(Arc<RecorderState>, Token)>,
    request: Request,
    next: Next,
) -> Response {
    match token.check(request.headers()) {
        Ok(()) => {
            let mut response = next.run(request).await;
            if let Ok(name) = state.name.parse() {
                response.headers_mut().insert(RECORDER, name);
            }
            response
        }
        Err(why) => {
            state.refused.fetch_add(1, Ordering::Relaxed);
            ([(WWW_AUTHENTICATE, "Bearer")], refuse(StatusCode::UNAUTHORIZED, why)).into_response()
        }
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, axum::Json(json!({ "error": why }))).into_response()
}

/// The parameters of a query.
struct StreamQuery {
    since: u64,
    wait: Duration,
    most: usize,
}

impl StreamQuery {
    /// Reads the query string. Only the names in `known` are allowed.
    fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, Refusal> {
        let wrong = |why: String| (StatusCode::BAD_REQUEST, why);
        let mut ask = Self { since: 0, wait: Duration::ZERO, most: USUAL as usize };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                name if !known.contains(&name) => {
                    return Err(wrong(format!(
                        "`{name}` is not a parameter of this query; the parameters are {}",
                        known.join(", ")
                    )));
                }
                "since" => {
                    let number = value.parse();
                    ask.since = number.map_err(|_| wrong(format!("since: `{value}` is not a cursor")))?;
                }
                "wait" => {
                    ask.wait = value.parse::<Span>().map_err(|error| wrong(format!("wait: {error}")))?.0
                }
                _ => {
                    let size: Size = value.parse().map_err(|error| wrong(format!("most: {error}")))?;
                    ask.most = usize::try_from(size.0.min(MOST)).unwrap_or(usize::MAX);
                }
            }
        }
        if ask.wait > LONGEST_WAIT {
            return Err(wrong(format!("wait: at most {}", Span(LONGEST_WAIT))));
        }
        Ok(ask)
    }

    /// Rejects a cursor from the future. It belongs to another recorder, or to an earlier process of this one.
    fn check_cursor(&self, state: &RecorderState) -> Result<(), Refusal> {
        let next = state.look(super::merged::MergedStream::next);
        if self.since <= next {
            return Ok(());
        }
        let why = format!(
            "the cursor {} is in the future, the next one is {next}: it is not a cursor of this recorder ({})",
            self.since, state.name
        );
        Err((StatusCode::CONFLICT, why))
    }
}

fn respond(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|(status, why)| refuse(status, &why))
}

async fn lines(State(state): State<Arc<RecorderState>>, RawQuery(query): RawQuery) -> Response {
    let answer = async {
        let ask = StreamQuery::parse(query.as_deref(), &["since", "wait", "most"])?;
        ask.check_cursor(&state)?;
        // The answer has the existing entries, whether an entry arrived or the time is over.
        let _ = tokio::time::timeout(ask.wait, state.wait_for(ask.since)).await;
        let LinesSince { first, next, pieces } = state.since(ask.since, ask.most);
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
        let headers =
            [(FIRST, first.to_string()), (NEXT, next.to_string()), (CONTENT_TYPE, NDJSON.to_owned())];
        Ok((headers, Body::from_stream(pieces)).into_response())
    };
    respond(answer.await)
}

async fn follow(State(state): State<Arc<RecorderState>>, RawQuery(query): RawQuery) -> Response {
    respond(start_following(state, query.as_deref()))
}

fn start_following(state: Arc<RecorderState>, query: Option<&str>) -> Result<Response, Refusal> {
    let ask = StreamQuery::parse(query, &["since"])?;
    ask.check_cursor(&state)?;
    let place = state.followers.take().ok_or_else(|| {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "too many readers follow the stream; use /v1/lines with `wait`".to_owned(),
        )
    })?;
    let first = ask.since.max(state.look(|merged| merged.memory().first()));
    let pieces = stream::unfold((state, ask.since, place), |(state, cursor, place)| async move {
        let LinesSince { next, pieces, .. } = state.follow(cursor, PIECE).await;
        let bytes = match <[_; 1]>::try_from(pieces) {
            Ok([piece]) => piece,
            Err(pieces) => pieces.concat().into(),
        };
        Some((Ok::<_, Infallible>(bytes), (state, next, place)))
    });
    let headers = [
        (FIRST, first.to_string()),
        (CONTENT_TYPE, NDJSON.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

async fn targets(State(state): State<Arc<RecorderState>>) -> Response {
    let at = state.clock.read();
    let targets = state.look(|merged| serde_json::to_value(merged.targets()));
    let targets = targets.unwrap_or_default();
    axum::Json(json!({ "v": 1, "recorder": state.name, "mono_us": at.mono_us, "wall_us": at.wall_us, "targets": targets }))
        .into_response()
}

async fn clock(State(state): State<Arc<RecorderState>>) -> Response {
    let at = state.clock.read();
    axum::Json(json!({ "v": 1, "recorder": state.name, "mono_us": at.mono_us, "wall_us": at.wall_us }))
        .into_response()
}

async fn measures(State(state): State<Arc<RecorderState>>) -> Response {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, content_type)], metrics::text(&state)).into_response()
}
