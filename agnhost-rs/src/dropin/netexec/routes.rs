//! The HTTP endpoints of `netexec`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, StatusCode, Uri};

use super::{State, dial, exit};
use crate::dropin::go::http::{Abort, Answer, Asked, Body, Reply, clean_redirect, error_reply, redirect};
use crate::dropin::go::klog;
use crate::dropin::go::text::{self, Moment, quoted};

const NO_SHELL: &str = "this program runs no shell command: use the endpoints of netexec, or agnhost itself";
const NO_UPLOAD: &str = "this program keeps no uploaded file: use agnhost itself";

/// Answers a request, or the one that overrides all requests.
pub(super) async fn answer(asked: Asked, state: &Arc<State>) -> Answer {
    if let Some(redirected) = clean_redirect(&asked) {
        return redirected;
    }
    if state.http_override.is_empty() {
        return route(asked, state).await;
    }
    match state.http_override.parse::<Uri>() {
        Ok(target) => {
            let asked = Asked::instead(target);
            match clean_redirect(&asked) {
                Some(redirected) => redirected,
                None => route(asked, state).await,
            }
        }
        Err(error) => {
            let words = format!("override request failed: {error}");
            Ok(error_reply(StatusCode::INTERNAL_SERVER_ERROR, &words))
        }
    }
}

async fn route(mut asked: Asked, state: &Arc<State>) -> Answer {
    match asked.path().as_slice() {
        b"/clientip" => logged("GET /clientip", asked.peer()),
        b"/serverport" => logged("GET /serverport", state.http_port.to_string()),
        b"/header" => header(&mut asked).await,
        b"/dial" => dial::dial(&asked).await,
        b"/echo" => echo(&mut asked).await,
        b"/exit" => exit::exit(&mut asked, state).await,
        b"/healthz" => Ok(health(state)),
        b"/readyz" => Ok(readiness(state)),
        b"/hostname" => logged("GET /hostname", text::host_name()),
        b"/hostName" => logged("GET /hostName", text::host_name()),
        b"/redirect" => redirection(&mut asked).await,
        b"/shell" => refused(&mut asked, "/shell", NO_SHELL).await,
        b"/upload" => refused(&mut asked, "/upload", NO_UPLOAD).await,
        b"/shutdown" => {
            klog::info("GET /shutdown");
            std::process::exit(0)
        }
        _ => logged("GET /", format!("NOW: {}", Moment::now().text())),
    }
}

fn logged(line: &str, body: String) -> Answer {
    klog::info(line);
    Ok(Reply::new(Body::full(body)))
}

fn bare(status: StatusCode) -> Reply {
    let mut reply = Reply::new(Body::default());
    *reply.status_mut() = status;
    reply
}

async fn echo(asked: &mut Asked) -> Answer {
    let form = asked.form().await;
    let (message, code) = (form.bytes("msg").to_vec(), form.text("code"));
    klog::info(format!("GET /echo?msg={}&code={code}", String::from_utf8_lossy(&message)));
    let mut reply = Reply::new(Body::full(message));
    if !code.is_empty() {
        match code.parse::<i64>() {
            Ok(number) => *reply.status_mut() = crate::dropin::go::http::status(number)?,
            Err(_) => return Ok(no_integer(&code)),
        }
    }
    Ok(reply)
}

fn no_integer(code: &str) -> Reply {
    let given = quoted(code.as_bytes());
    Reply::new(Body::full(format!("argument 'code' must be an integer or empty, got {given}\n")))
}

async fn redirection(asked: &mut Asked) -> Answer {
    let form = asked.form().await;
    let (location, code) = (form.bytes("location").to_vec(), form.text("code"));
    klog::info(format!(
        "{} /redirect?msg={}&code={code}",
        asked.method(),
        String::from_utf8_lossy(&location)
    ));
    let number = if code.is_empty() { Ok(302) } else { code.parse::<i64>() };
    match number {
        Ok(number) => redirect(asked, &location, number),
        Err(_) => Ok(no_integer(&code)),
    }
}

async fn header(asked: &mut Asked) -> Answer {
    let key = asked.form().await.text("key");
    let hidden = |name: &str| matches!(name, "host" | "transfer-encoding" | "trailer");
    if !key.is_empty() {
        klog::info(format!("GET /header?key={key}"));
        let value = asked.headers().get(key.as_str()).filter(|_| !hidden(&key.to_ascii_lowercase()));
        return Ok(Reply::new(Body::full(value.map(|value| value.as_bytes().to_vec()).unwrap_or_default())));
    }
    klog::info("GET /header");
    let shown = headers_by_name(asked.headers(), hidden);
    text::json(&shown).map(|json| Reply::new(Body::full(json))).map_err(|error| Abort(error.to_string()))
}

fn headers_by_name(headers: &HeaderMap, hidden: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<String>> {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| !hidden(name.as_str())) {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        shown.entry(title(name.as_str())).or_default().push(value);
    }
    shown
}

/// A header name with a capital at its start and after each dash.
fn title(name: &str) -> String {
    let part = |part: &str| {
        let mut chars = part.chars();
        chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect::<String>()
    };
    name.split('-').map(part).collect::<Vec<_>>().join("-")
}

fn health(state: &State) -> Reply {
    klog::info("GET /healthz");
    bare(if state.ready.load(Ordering::SeqCst) { StatusCode::OK } else { StatusCode::PRECONDITION_FAILED })
}

fn readiness(state: &State) -> Reply {
    klog::info("GET /readyz");
    if state.terminating.load(Ordering::SeqCst) {
        let mut reply = bare(StatusCode::SERVICE_UNAVAILABLE);
        *reply.body_mut() = Body::full("shutting down");
        return reply;
    }
    if state.ready.load(Ordering::SeqCst) {
        return Reply::new(Body::full("ok"));
    }
    bare(StatusCode::PRECONDITION_FAILED)
}

async fn refused(asked: &mut Asked, path: &str, why: &str) -> Answer {
    // The form is read so that the client gets to see the answer.
    asked.form().await;
    klog::info(format!("GET {path}: refused"));
    Ok(error_reply(StatusCode::FORBIDDEN, &format!("{path} is not available: {why}")))
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn header_names_are_written_with_capitals() {
        assert_eq!(title("x-forwarded-for"), "X-Forwarded-For");
        assert_eq!(title("accept"), "Accept");
    }
}
