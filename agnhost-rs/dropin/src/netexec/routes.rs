//! The HTTP endpoints of `netexec`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, StatusCode, Uri};

use super::{NetexecState, dial, exit};
use crate::go::http::{
    Abort, Body, HttpRequest, HttpResponse, HttpResult, clean_redirect, error_response, ok, redirect, status,
    with_status,
};
use crate::go::klog;
use crate::go::text::{self, Moment, quoted};

const NO_SHELL: &str =
    "this program does not run shell commands: use the endpoints of netexec, or agnhost itself";
const NO_UPLOAD: &str = "this program does not store uploaded files: use agnhost itself";

/// Answers a request, or the one that overrides all requests.
pub(super) async fn answer(request: HttpRequest, state: &Arc<NetexecState>) -> HttpResult {
    if let Some(redirected) = clean_redirect(&request) {
        return redirected;
    }
    if state.http_override.is_empty() {
        return route(request, state).await;
    }
    let request = match state.http_override.parse::<Uri>() {
        Ok(target) => HttpRequest::instead(target),
        Err(error) => {
            let text = format!("override request failed: {error}");
            return Ok(error_response(StatusCode::INTERNAL_SERVER_ERROR, &text));
        }
    };
    match clean_redirect(&request) {
        Some(redirected) => redirected,
        None => route(request, state).await,
    }
}

async fn route(mut request: HttpRequest, state: &Arc<NetexecState>) -> HttpResult {
    match request.path().as_slice() {
        b"/clientip" => logged("GET /clientip", request.peer()),
        b"/serverport" => logged("GET /serverport", state.http_port.to_string()),
        b"/header" => header(&mut request).await,
        b"/dial" => dial::dial(&request).await,
        b"/echo" => echo(&mut request).await,
        b"/exit" => exit::exit(&mut request, state).await,
        b"/healthz" => Ok(health(state)),
        b"/readyz" => Ok(readiness(state)),
        b"/hostname" => logged("GET /hostname", text::host_name()),
        b"/hostName" => logged("GET /hostName", text::host_name()),
        b"/redirect" => redirection(&mut request).await,
        b"/shell" => refused(&mut request, "/shell", NO_SHELL).await,
        b"/upload" => refused(&mut request, "/upload", NO_UPLOAD).await,
        b"/shutdown" => {
            klog::info("GET /shutdown");
            std::process::exit(0)
        }
        _ => logged("GET /", format!("NOW: {}", Moment::now().text())),
    }
}

fn logged(line: &str, body: String) -> HttpResult {
    klog::info(line);
    Ok(ok(body))
}

async fn echo(request: &mut HttpRequest) -> HttpResult {
    let form = request.form().await;
    let (message, code) = (form.bytes("msg").to_vec(), form.text("code"));
    klog::info(format!("GET /echo?msg={}&code={code}", String::from_utf8_lossy(&message)));
    let mut response = ok(message);
    if !code.is_empty() {
        match code.parse::<i64>() {
            Ok(number) => *response.status_mut() = status(number)?,
            Err(_) => return Ok(not_an_integer(&code)),
        }
    }
    Ok(response)
}

fn not_an_integer(code: &str) -> HttpResponse {
    let given = quoted(code.as_bytes());
    ok(format!("argument 'code' must be an integer or empty, got {given}\n"))
}

async fn redirection(request: &mut HttpRequest) -> HttpResult {
    let form = request.form().await;
    let (location, code) = (form.bytes("location").to_vec(), form.text("code"));
    klog::info(format!(
        "{} /redirect?msg={}&code={code}",
        request.method(),
        String::from_utf8_lossy(&location)
    ));
    let number = if code.is_empty() { Ok(302) } else { code.parse::<i64>() };
    match number {
        Ok(number) => redirect(request, &location, number),
        Err(_) => Ok(not_an_integer(&code)),
    }
}

async fn header(request: &mut HttpRequest) -> HttpResult {
    let key = request.form().await.text("key");
    let hidden = |name: &str| matches!(name, "host" | "transfer-encoding" | "trailer");
    if !key.is_empty() {
        klog::info(format!("GET /header?key={key}"));
        let value = request.headers().get(key.as_str()).filter(|_| !hidden(&key.to_ascii_lowercase()));
        return Ok(ok(value.map(|value| value.as_bytes().to_vec()).unwrap_or_default()));
    }
    klog::info("GET /header");
    let shown = headers_by_name(request.headers(), hidden);
    text::json(&shown).map(ok).map_err(|error| Abort(error.to_string()))
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

fn health(state: &NetexecState) -> HttpResponse {
    klog::info("GET /healthz");
    let ready = state.ready.load(Ordering::SeqCst);
    with_status(if ready { StatusCode::OK } else { StatusCode::PRECONDITION_FAILED }, Body::default())
}

fn readiness(state: &NetexecState) -> HttpResponse {
    klog::info("GET /readyz");
    if state.terminating.load(Ordering::SeqCst) {
        return with_status(StatusCode::SERVICE_UNAVAILABLE, Body::full("shutting down"));
    }
    if state.ready.load(Ordering::SeqCst) {
        return ok("ok");
    }
    with_status(StatusCode::PRECONDITION_FAILED, Body::default())
}

async fn refused(request: &mut HttpRequest, path: &str, why: &str) -> HttpResult {
    // The request is read to its end, so that the client sees the answer.
    request.form().await;
    klog::info(format!("GET {path}: refused"));
    Ok(error_response(StatusCode::FORBIDDEN, &format!("{path} is not available: {why}")))
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
