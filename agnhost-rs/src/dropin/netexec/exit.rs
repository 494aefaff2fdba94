//! `/exit`: waits, lets connections end for a time, and ends the process with a status of the client's choice.

use std::time::Duration;

use super::State;
use crate::dropin::go::flags::signed_duration;
use crate::dropin::go::http::{Answer, Asked, Body, Reply};
use crate::dropin::go::klog;
use crate::dropin::go::text::{duration, quoted};
use std::sync::Arc;

/// Answers only where there is time left for it: with a timeout, or with a word about a wrong argument.
pub(super) async fn exit(asked: &mut Asked, state: &Arc<State>) -> Answer {
    let form = asked.form().await;
    let (wait_text, timeout_text, code_text) = (form.text("wait"), form.text("timeout"), form.text("code"));
    klog::info(format!("GET /exit?code={code_text}&timeout={timeout_text}&wait={wait_text}"));
    let argued = |name: &str, what: &str, given: &str| {
        let given = quoted(given.as_bytes());
        Ok(Reply::new(Body::full(format!("argument '{name}' must be {what} or empty, got {given}\n"))))
    };
    let Some(timeout) = span(&timeout_text) else {
        return argued("timeout", "a valid golang duration", &timeout_text);
    };
    let Some(wait) = span(&wait_text) else {
        return argued("wait", "a valid golang duration", &wait_text);
    };
    let Some(code) = number(&code_text) else {
        return argued("code", "an integer [0-127]", &code_text);
    };
    let (wait_shown, timeout_shown) = (duration(wait), duration(timeout));
    klog::info(format!(
        "Will begin shutdown in {wait_shown}, allowing {timeout_shown} for connections to close, then will exit with {code}"
    ));
    tokio::time::sleep(wait).await;
    if timeout.is_zero() {
        std::process::exit(code);
    }
    tokio::spawn(end(Arc::clone(state), timeout, code));
    Ok(Reply::new(Body::default()))
}

async fn end(state: Arc<State>, timeout: Duration, code: i32) {
    let ended = state.server.shut_down(timeout).await;
    let outcome = if ended { "<nil>" } else { "context deadline exceeded" };
    klog::info(format!("Graceful shutdown completed with: {outcome}"));
    std::process::exit(code);
}

/// A duration; one below zero is as good as none.
fn span(text: &str) -> Option<Duration> {
    match text {
        "" => Some(Duration::ZERO),
        text => signed_duration(text).map(|nanos| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))),
    }
}

fn number(text: &str) -> Option<i32> {
    match text {
        "" => Some(0),
        text => text.parse().ok(),
    }
}
