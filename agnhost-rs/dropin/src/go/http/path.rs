//! Cleans paths, and escapes and unescapes them, in the same way as Go.

use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::redirect::redirect;
use super::{HttpRequest, HttpResult};

/// The characters that Go escapes in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// Cleans a path lexically: no `.`, no `..`, no doubled or trailing slash. An empty path becomes `.`.
pub(crate) fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => drop(kept.pop()),
                _ if rooted => {}
                _ => kept.push(part),
            },
            part => kept.push(part),
        }
    }
    let root: &[u8] = if rooted { b"/" } else { b"" };
    let cleaned = [root, &kept.join(&b'/')].concat();
    if cleaned.is_empty() { b".".to_vec() } else { cleaned }
}

/// Cleans a path and keeps its trailing slash, as Go's request multiplexer does before it matches.
fn clean_for_match(path: &[u8]) -> Vec<u8> {
    let mut cleaned = clean(&[b"/", path].concat());
    if path.ends_with(b"/") && cleaned != b"/" {
        cleaned.push(b'/');
    }
    cleaned
}

/// The redirect that Go's multiplexer sends for a path that is not clean.
pub(crate) fn clean_redirect(request: &HttpRequest) -> Option<HttpResult> {
    let escaped = request.escaped_path().as_bytes();
    let cleaned = clean_for_match(escaped);
    if request.method() == http::Method::CONNECT || cleaned == escaped {
        return None;
    }
    // Go escapes the escaped path once more here.
    let mut target = escape_path(&cleaned);
    if let Some(query) = request.query().filter(|query| !query.is_empty()) {
        target.push('?');
        target.push_str(query);
    }
    Some(redirect(request, target.as_bytes(), i64::from(StatusCode::TEMPORARY_REDIRECT.as_u16())))
}

/// Escapes characters that are not allowed in a path.
pub(crate) fn escape_path(path: &[u8]) -> String {
    percent_encode(path, ESCAPED).to_string()
}

/// Decodes percent escapes, and `+` where it means a space. Returns nothing if an escape is broken.
pub(crate) fn unescape(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let is_whole = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    let text = if plus_is_space { &text.replace('+', " ") } else { text };
    Some(percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests {
    use super::{clean, clean_for_match, escape_path, unescape};

    #[test]
    fn cleaning_is_lexical() {
        let cases = [
            ("", "."),
            ("/", "/"),
            ("/a/../b", "/b"),
            ("/../a//b/./", "/a/b"),
            ("a/../..", ".."),
            ("a/..", "."),
        ];
        for (path, cleaned) in cases {
            assert_eq!(clean(path.as_bytes()), cleaned.as_bytes(), "{path}");
        }
        assert_eq!(clean_for_match(b"//a/"), b"/a/");
    }

    #[test]
    fn a_broken_escape_is_no_text() {
        assert_eq!(unescape("a%20b+c", true).as_deref(), Some(b"a b c".as_slice()));
        assert_eq!(unescape("a+b", false).as_deref(), Some(b"a+b".as_slice()));
        assert_eq!(unescape("%2", true), None);
        assert_eq!(unescape("%+1", true), None);
        assert_eq!(escape_path(b"/a b%"), "/a%20b%25");
    }
}
