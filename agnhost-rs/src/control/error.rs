//! The error of a control request, as JSON: `{ "error": sentence }`, with the place in a wrong document.

use axum::Json;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use probity_script::problem::Problem;
use serde_json::{Map, Value, json};

/// The error of a request.
#[derive(Debug)]
pub(super) struct ControlError {
    status: StatusCode,
    body: Map<String, Value>,
}

impl ControlError {
    pub(super) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        let body = Map::from_iter([("error".to_owned(), Value::String(sentence.into()))]);
        Self { status, body }
    }

    pub(super) fn bad(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// Adds a detail for programs.
    pub(super) fn with(mut self, name: &str, detail: impl Into<Value>) -> Self {
        self.body.insert(name.to_owned(), detail.into());
        self
    }
}

impl From<Problem> for ControlError {
    fn from(problem: Problem) -> Self {
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, problem.line())
            .with("explanation", problem.to_string());
        if let Some(place) = problem.place {
            error = error.with("line", place.line).with("column", place.column);
        }
        if let Some(nearest) = problem.nearest {
            error = error.with("nearest", nearest);
        }
        if !problem.allowed.is_empty() {
            error = error.with("allowed", json!(problem.allowed));
        }
        error
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response<Body> {
        (self.status, Json(Value::Object(self.body))).into_response()
    }
}
