//! Turns a file into a response, with its type, length and date, its preconditions, and the requested range.
//!
//! A request with several ranges gets the whole file (which HTTP allows), not parts as in Go.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;

use super::kinds;
use crate::go::http::{Body, HttpRequest, HttpResponse, content_type, error_response, with_status};

/// The start of a file, to detect its type.
const LOOKED_AT: u64 = 512;
const PIECE: u64 = 64 * 1024;

/// Answers with a file, or with the status that the preconditions or the range of the request require.
pub(super) fn of_file(request: &HttpRequest, mut file: File, found: &Metadata, name: &[u8]) -> HttpResponse {
    if let Some(status) = precondition(request, found) {
        let mut response = with_status(status, Body::default());
        add_last_modified(&mut response, found);
        return response;
    }
    let kind = match kinds::by_name(name) {
        Some(kind) => kind,
        None => match sniffed(&mut file) {
            Ok(kind) => kind,
            Err(error) => return super::failure(&error),
        },
    };
    let size = found.len();
    let part = match wanted_part(request, found, size) {
        Ok(part) => part,
        Err(words) => return unsatisfiable(words, size),
    };
    let (start, length) = part.unwrap_or((0, size));
    let mut response = HttpResponse::new(Body::default());
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static(kind));
    headers.insert("accept-ranges", HeaderValue::from_static("bytes"));
    headers.insert("content-length", HeaderValue::from(length));
    if part.is_some() {
        let range = format!("bytes {start}-{}/{size}", (start + length).saturating_sub(1));
        headers.extend(HeaderValue::from_str(&range).ok().map(|range| (http::header::CONTENT_RANGE, range)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    add_last_modified(&mut response, found);
    if request.method() != Method::HEAD {
        if let Err(error) = file.seek(SeekFrom::Start(start)) {
            return super::failure(&error);
        }
        *response.body_mut() = Body::streamed(StreamBody::new(stream::iter(pieces(file, length))));
    }
    response
}

/// Adds the date of the last change.
pub(super) fn add_last_modified(response: &mut HttpResponse, found: &Metadata) {
    let Some(seconds) = modified(found) else { return };
    let Ok(stamp) = jiff::Timestamp::from_second(seconds) else { return };
    let text = stamp.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert("last-modified", value);
    }
}

/// Seconds since 1970 of the last change; `None` for a file without a date.
fn modified(found: &Metadata) -> Option<i64> {
    let since = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().filter(|seconds| *seconds != 0)
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers().get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}

fn date(text: &str) -> Option<i64> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp().as_second())
}

/// There are no entity tags here, so a condition on entity tags matches only if it is `*`.
fn precondition(request: &HttpRequest, found: &Metadata) -> Option<StatusCode> {
    let star = |list: &str| list.trim_start_matches([',', ' ', '\t']).starts_with('*');
    let failed = match (header(request, "if-match"), header(request, "if-unmodified-since").and_then(date)) {
        (Some(list), _) => !star(list),
        (None, Some(limit)) => modified(found).is_some_and(|modified| modified > limit),
        (None, None) => false,
    };
    if failed {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    let reads = matches!(request.method(), Method::GET | Method::HEAD);
    let unchanged = header(request, "if-none-match").is_some_and(star);
    unchanged.then_some(if reads { StatusCode::NOT_MODIFIED } else { StatusCode::PRECONDITION_FAILED })
}

/// The requested range: start and length.
fn wanted_part(
    request: &HttpRequest,
    found: &Metadata,
    size: u64,
) -> Result<Option<(u64, u64)>, &'static str> {
    let Some(range) = header(request, "range") else { return Ok(None) };
    let reads = matches!(request.method(), Method::GET | Method::HEAD);
    if let (true, Some(condition)) = (reads, header(request, "if-range"))
        && date(condition) != modified(found)
    {
        return Ok(None);
    }
    let parts = ranges(range, size)?;
    match parts.as_slice() {
        // A range outside an empty file is tolerated.
        [] if size == 0 => Ok(None),
        [] if range.trim_end() == "bytes=" => Ok(None),
        [] => Err("invalid range: failed to overlap"),
        [one] if one.1 <= size => Ok(Some(*one)),
        _ => Ok(None),
    }
}

fn ranges(text: &str, size: u64) -> Result<Vec<(u64, u64)>, &'static str> {
    const INVALID: &str = "invalid range";
    let list = text.strip_prefix("bytes=").ok_or(INVALID)?;
    let mut found = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (start, end) = part.split_once('-').ok_or(INVALID)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| INVALID);
        if start.trim().is_empty() {
            let length = number(end)?.min(size);
            found.push((size - length, length));
            continue;
        }
        let start = number(start)?;
        if start >= size {
            continue;
        }
        let end = if end.trim().is_empty() { size - 1 } else { number(end)?.min(size - 1) };
        found.push((start, (end + 1).checked_sub(start).filter(|length| *length > 0).ok_or(INVALID)?));
    }
    Ok(found)
}

fn unsatisfiable(words: &str, size: u64) -> HttpResponse {
    let mut response = error_response(StatusCode::RANGE_NOT_SATISFIABLE, words);
    if words.ends_with("overlap") {
        let range = HeaderValue::from_str(&format!("bytes */{size}")).ok();
        response.headers_mut().extend(range.map(|range| (http::header::CONTENT_RANGE, range)));
    }
    response
}

fn sniffed(file: &mut File) -> io::Result<&'static str> {
    let mut beginning = Vec::new();
    file.by_ref().take(LOOKED_AT).read_to_end(&mut beginning)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(content_type(&beginning))
}

/// The next bytes of a file, piece by piece, at most `length` of them. The iterator ends early if the file does.
fn pieces(file: File, length: u64) -> impl Iterator<Item = io::Result<Frame<Bytes>>> {
    let mut part = file.take(length);
    std::iter::from_fn(move || {
        let mut piece = Vec::new();
        match part.by_ref().take(PIECE).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(Frame::data(piece.into()))),
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn a_range_is_cut_to_the_file() {
        assert_eq!(ranges("bytes=0-4", 10), Ok(vec![(0, 5)]));
        assert_eq!(ranges("bytes=5-", 10), Ok(vec![(5, 5)]));
        assert_eq!(ranges("bytes=-3", 10), Ok(vec![(7, 3)]));
        assert_eq!(ranges("bytes=8-99, 20-30", 10), Ok(vec![(8, 2)]));
        for wrong in ["items=1-2", "bytes=5-2", "bytes=a-", "bytes=1"] {
            assert_eq!(ranges(wrong, 10), Err("invalid range"), "{wrong}");
        }
    }
}
