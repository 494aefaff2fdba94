//! `/exit`: waits, gives open connections some time to end, and exits with a status that the client chooses.

use std::sync::Arc;
use std::time::Duration;

use super::NetexecState;
use crate::go::flags::signed_duration;
use crate::go::http::{HttpRequest, HttpResult, ok};
use crate::go::klog;
use crate::go::text::{duration, quoted};

/// Answers only if there is time for an answer, that is, with a timeout or after a wrong argument.
pub(super) async fn exit(request: &mut HttpRequest, state: &Arc<NetexecState>) -> HttpResult {
    let form = request.form().await;
    let (wait_text, timeout_text, code_text) = (form.text("wait"), form.text("timeout"), form.text("code"));
    klog::info(format!("GET /exit?code={code_text}&timeout={timeout_text}&wait={wait_text}"));
    let argued = |name: &str, what: &str, given: &str| {
        let given = quoted(given.as_bytes());
        Ok(ok(format!("argument '{name}' must be {what} or empty, got {given}\n")))
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
    Ok(ok(""))
}

async fn end(state: Arc<NetexecState>, timeout: Duration, code: i32) {
    let ended = state.server.shut_down(timeout).await;
    let outcome = if ended { "<nil>" } else { "context deadline exceeded" };
    klog::info(format!("Graceful shutdown completed with: {outcome}"));
    std::process::exit(code);
}

/// Reads a duration. A negative duration is treated as zero.
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
