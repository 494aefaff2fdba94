//! Redirects as Go sends them: a relative target becomes absolute against the request's path and is cleaned, and a GET
//! gets a line of HTML.

use http::{HeaderValue, Method};

use super::path::clean;
use super::response::reason;
use super::{Body, HttpRequest, HttpResult, status, unescape, with_status};

/// Redirects the client with the given status, which may be any number from 100 to 999.
pub(crate) fn redirect(request: &HttpRequest, target: &[u8], code: i64) -> HttpResult {
    let target = if is_relative(target) { absolute(request.escaped_path(), target) } else { target.to_vec() };
    let mut response = with_status(status(code)?, Body::default());
    response.headers_mut().insert("location", location(&target));
    let method = request.method();
    if method == Method::GET || method == Method::HEAD {
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
        let label = reason(response.status()).unwrap_or_default();
        let page =
            [b"<a href=\"", escape_html(&target).as_slice(), b"\">", label.as_bytes(), b"</a>.\n\n"].concat();
        // Go sends no page in the answer to HEAD, so no length is known either.
        *response.body_mut() = if method == Method::GET { Body::full(page) } else { Body::unsized_empty() };
    }
    Ok(response)
}

/// Whether Go's URL parser finds neither scheme nor host; a URL that it can't parse is also left unchanged.
fn is_relative(target: &[u8]) -> bool {
    let target = target.split(|byte| *byte == b'#').next().unwrap_or_default();
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let control = target.iter().any(|byte| byte.is_ascii_control());
    let broken = std::str::from_utf8(path).is_ok_and(|text| unescape(text, false).is_none());
    let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    // A colon in the first segment ends a scheme or is an error.
    let colon = first.contains(&b':');
    let host = path.starts_with(b"//") && !path.starts_with(b"///") && path.len() > 2;
    !control && !broken && !colon && !host
}

fn absolute(from: &str, target: &[u8]) -> Vec<u8> {
    let folder = &from[..=from.rfind('/').unwrap_or(0)];
    let mut whole = if target.starts_with(b"/") { Vec::new() } else { folder.as_bytes().to_vec() };
    whole.extend_from_slice(target);
    let cut = whole.iter().position(|byte| *byte == b'?').unwrap_or(whole.len());
    let (path, query) = whole.split_at(cut);
    let mut cleaned = clean(path);
    if path.ends_with(b"/") && !cleaned.ends_with(b"/") {
        cleaned.push(b'/');
    }
    [&cleaned, query].concat()
}

fn location(target: &[u8]) -> HeaderValue {
    let mut text = String::with_capacity(target.len());
    for &byte in target {
        match byte {
            0x80.. => text.push_str(&format!("%{byte:x}")),
            byte if byte.is_ascii_control() => text.push(' '),
            byte => text.push(char::from(byte)),
        }
    }
    HeaderValue::from_str(text.trim()).unwrap_or(HeaderValue::from_static("/"))
}

/// Escapes text for HTML, with numbers for the two quotes.
pub(crate) fn escape_html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            byte => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{absolute, is_relative};

    #[test]
    fn only_targets_without_scheme_and_host_are_relative() {
        for relative in ["", "/healthz", "a/b?x=http://y", "?q", "///x", "//"] {
            assert!(is_relative(relative.as_bytes()), "{relative}");
        }
        for other in ["http://0.0.0.0/", "//host/x", "mailto:x", ":80", "/%zz"] {
            assert!(!is_relative(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_relative_target_hangs_below_the_requests_folder() {
        assert_eq!(absolute("/redirect", b"x/../y/?q=.."), b"/y/?q=..");
        assert_eq!(absolute("/a/redirect", b""), b"/a/");
    }
}
