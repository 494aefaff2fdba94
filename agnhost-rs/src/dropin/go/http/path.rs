//! Paths and percent escapes in Go's way: cleaning, escaping, unescaping.

use super::redirect::redirect;
use super::{Answer, Asked};
use http::StatusCode;

/// Cleans a path lexically: no `.`, no `..`, no doubled or trailing slash. An empty path becomes `.`.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." => drop(kept.pop()),
                _ if rooted => {}
                _ => kept.push(".."),
            },
            part => kept.push(part),
        }
    }
    let joined = kept.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Cleans a path and keeps its trailing slash, as Go's request multiplexer does before it matches.
fn clean_for_match(path: &str) -> String {
    let cleaned = clean(&format!("/{path}"));
    if path.ends_with('/') && cleaned != "/" { cleaned + "/" } else { cleaned }
}

/// The redirect that Go's multiplexer sends for a path that is not clean.
pub(crate) fn clean_redirect(asked: &Asked) -> Option<Answer> {
    let escaped = asked.escaped_path();
    let cleaned = clean_for_match(escaped);
    if asked.method() == http::Method::CONNECT || cleaned == escaped {
        return None;
    }
    // Go escapes the escaped path once more here.
    let mut target = escape_path(cleaned.as_bytes());
    if let Some(query) = asked.query().filter(|query| !query.is_empty()) {
        target.push('?');
        target.push_str(query);
    }
    Some(redirect(asked, target.as_bytes(), i64::from(StatusCode::TEMPORARY_REDIRECT.as_u16())))
}

/// A root folder and a request's path made into one clean path.
pub(crate) fn join_clean(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    [b"/".as_slice(), &kept.join(&b'/')].concat()
}

/// Escapes what may not stand in a path.
pub(crate) fn escape_path(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Undoes percent escapes, and `+` for a space where it stands for one; nothing if an escape is broken.
pub(crate) fn unescape(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b'+' if plus_is_space => b' ',
            byte => byte,
        });
    }
    Some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
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
            assert_eq!(clean(path), cleaned, "{path}");
        }
        assert_eq!(clean_for_match("//a/"), "/a/");
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
