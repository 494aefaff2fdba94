//! Answers that are sent instead of a planned answer.

use std::sync::Arc;

use crate::answer::{Body, HttpAnswer, HttpReply};

/// The answer to a request for a path that is not in the plan.
#[must_use]
pub fn no_such_path() -> HttpAnswer {
    sentence(404, "no such path in the plan\n")
}

/// The answer to a request when all workers are busy and the queue is full.
#[must_use]
pub fn all_workers_busy() -> HttpAnswer {
    sentence(503, "all workers are busy and the queue is full\n")
}

/// The answer that replaces the planned answer if its dependency fails. `None` if the dependency answered with a status
/// below 400.
#[must_use]
pub fn dependency_missing(outcome: Result<u16, &str>) -> Option<HttpAnswer> {
    match outcome {
        Ok(..400) => None,
        Ok(status) => Some(sentence(503, &format!("the dependency answers {status}\n"))),
        Err(error) => Some(sentence(503, &format!("the dependency does not answer: {error}\n"))),
    }
}

fn sentence(status: u64, text: &str) -> HttpAnswer {
    HttpAnswer::Reply(Arc::new(HttpReply {
        status: status.try_into().unwrap_or_default(),
        body: Some(Body::Text(text.to_owned())),
        ..HttpReply::default()
    }))
}
