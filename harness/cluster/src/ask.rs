//! One request to the API server and its answer: bytes, deadlines, and refusals in the server's own words.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;

use crate::connect::Ground;
use crate::error::{ClusterError, Refusal, SendError};
use crate::steady;

/// A request, its repetitions included, takes no longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(45);
const _: () = assert!(steady::PATIENCE.as_secs() < DEADLINE.as_secs());

/// What is sent unless it is a patch.
pub(crate) const JSON: &str = "application/json";

impl Ground {
    /// Sends a request without a body and reads the object that comes.
    pub(crate) async fn fetch(&self, doing: &str, target: &str) -> Result<Value, SendError> {
        self.ask(doing, Method::GET, target, None).await
    }

    /// Sends a request and reads the object that comes.
    pub(crate) async fn ask(
        &self,
        doing: &str,
        method: Method,
        target: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, SendError> {
        let mut request = Request::builder().method(method).uri(target).header("accept", JSON);
        if let Some((kind, _)) = body {
            request = request.header("content-type", kind);
        }
        let bytes = body.map(|(_, value)| value.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(Body::from(bytes)).map_err(|error| broken(doing, error))?;
        let whole = async {
            let response = self.open(doing, request).await?;
            let body = response.into_body().collect().await.map_err(|error| broken(doing, chain(&error)))?;
            serde_json::from_slice(&body.to_bytes()).map_err(|error| {
                ClusterError::Answer { doing: doing.to_owned(), error: error.to_string() }.into()
            })
        };
        match tokio::time::timeout(DEADLINE, whole).await {
            Ok(result) => result,
            Err(_) => Err(silent(doing)),
        }
    }

    /// Sends a request and returns the response with its body unread, if it is no refusal.
    pub(crate) async fn open(
        &self,
        doing: &str,
        request: Request<Body>,
    ) -> Result<http::Response<Body>, SendError> {
        let response = self.client.send(request).await.map_err(|error| failed(doing, error))?;
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        // A refusal whose words do not come is a refusal all the same.
        let words = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Err(SendError::Refused { doing: doing.to_owned(), refusal: refusal(code.as_u16(), &words) })
    }
}

pub(crate) fn silent(doing: &str) -> SendError {
    ClusterError::Silent { doing: doing.to_owned(), seconds: DEADLINE.as_secs() }.into()
}

pub(crate) fn broken(doing: &str, error: impl ToString) -> SendError {
    ClusterError::Unreachable { doing: doing.to_owned(), error: error.to_string() }.into()
}

/// A client's error: a refusal if the server answered.
pub(crate) fn failed(doing: &str, error: kube::Error) -> SendError {
    match error {
        kube::Error::Api(status) => SendError::Refused {
            doing: doing.to_owned(),
            refusal: refusal(status.code, serde_json::to_string(&status).unwrap_or_default().as_bytes()),
        },
        other => broken(doing, chain(&other)),
    }
}

/// A client's error in words, the server's own where it answered.
pub(crate) fn words(error: kube::Error) -> String {
    match failed("", error) {
        SendError::Refused { refusal, .. } => refusal.to_string(),
        SendError::Failed(ClusterError::Unreachable { error, .. }) => error,
        SendError::Failed(error) => error.to_string(),
    }
}

/// An error with what it came from, without repetitions.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        next = cause.source();
    }
    words
}

/// Reads a refusal's words: a `Status`, or whatever a proxy wrote.
fn refusal(code: u16, words: &[u8]) -> Refusal {
    let status: Value = serde_json::from_slice(words).unwrap_or_default();
    if status.get("kind").is_none() && status.get("message").is_none() {
        let message = String::from_utf8_lossy(words).chars().take(500).collect();
        return Refusal { code, message, ..Refusal::default() };
    }
    let say = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let causes = status.get("details").and_then(|details| details.get("causes")?.as_array());
    let causes = causes.into_iter().flatten().map(|cause| (say(cause, "field"), say(cause, "message")));
    Refusal {
        code,
        reason: say(&status, "reason"),
        message: say(&status, "message"),
        causes: causes.collect(),
    }
}
